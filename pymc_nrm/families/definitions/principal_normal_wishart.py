"""Normal clusters along the leading principal directions of a table, and noise along the rest that all share."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.checks import known_value, static_shape
from pymc_nrm.families import base, conjugate
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Centred, Hyperparameter, conjugate_family
from pymc_nrm.families.definitions.normal_wishart import NormalWishart
from pymc_nrm.families.learned.fields import as_operations
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text, wishart_fields
from pymc_nrm.families.shared import two_components
from pymc_nrm.families.shared.moments import summation_grid
from pymc_nrm.families.shared.principal_scores import (
    AboveComponents,
    Scores,
    check_n_directions,
    check_orthogonal,
    check_residuals,
    principal_directions,
)
from pymc_nrm.families.shared.sample_covariance import check_full_rank
from pymc_nrm.kernels.generic import generic, kernel

_LOG_2_PI = math.log(2.0 * math.pi)


@generic
def leading(family):
    """The family of the leading scores."""
    raise NotImplementedError


@generic
def write_scores(family, parameters, scores):
    """Write the mean (k) and the covariance (k, k) of the leading scores of a cluster, given its parameters."""
    raise NotImplementedError


@generic
def write_columns(family, scores, parameters):
    """Write the parameters of a cluster, given the mean and the covariance of its leading scores."""
    raise NotImplementedError


@conjugate_family(
    hyperparameters={
        "center": Hyperparameter(("d",), "real"),
        "scale": Hyperparameter(("d",), "positive"),
        "directions": Hyperparameter(("d", "d"), "real"),
        "location": Hyperparameter(("k",), "real"),
        "kappa": Hyperparameter((), "positive"),
        "Psi": Hyperparameter(("k", "k"), "positive definite"),
        "nu": Hyperparameter((), AboveComponents()),
        "noise": Hyperparameter(("q",), "positive"),
    },
    parameters={"mean": ("d",), "covariance": ("d", "d")},
    continuous=True,
    missing_allowed=False,
)
class PrincipalNormalWishart(NamedTuple):
    """Multivariate normal data whose clusters differ along k of d orthogonal directions of the scaled columns.

    The scores ``t[i] = directions' ((x[i] - center) / scale)`` are independent in two parts.  The first k follow a
    :class:`NormalWishart` with ``mu = location``; the others are ``N(0, noise)`` in every cluster.  The density of x is
    the density of the scores divided by the product of the scales.

    Parameters
    ----------
    center : array_like, shape (d,)
        Origin of the scores, in the units of the data.
    scale : array_like, shape (d,)
        What each column is divided by, in the units of the data.
    directions : array_like, shape (d, d)
        An orthogonal matrix; its columns are the directions, the leading ones first.
    location, kappa, Psi, nu
        Hyperparameters of the first k scores, as in :class:`NormalWishart`; shapes (k,), (), (k, k) and ().
    noise : tensor or random variable, shape (d - k,)
        Variances of the other scores.

    Notes
    -----
    A cluster has the mean ``center + A m`` and the covariance ``A S A' + B diag(noise) B'``, where m and S belong to
    its first k scores, and A and B are the first k and the other columns of ``diag(scale) directions``.  With a common
    spherical noise this is the model of Bouveyron & Brunet (2012), "Simultaneous model-based clustering and
    visualization in the Fisher discriminative subspace", for directions that are given.
    """

    center: Any
    scale: Any
    directions: Any
    location: Any
    kappa: Any
    Psi: Any
    nu: Any
    noise: Any

    @classmethod
    @shared_text(", n is at most d, or columns are constant or linear combinations of others")
    def learned(cls, name: str, X: Any, n_directions: int) -> "PrincipalNormalWishart":
        """Directions of the data, and hyperparameters learned with the partition.

        Directions come from :func:`principal_directions` and count as data, like the centre of any learned prior.  The
        first k scores have the hyperpriors of :meth:`NormalWishart.learned`, the others ``variance / (variance in the
        data) = noise ~ LogNormal(0, 1)``.  Other units and origins of the columns leave the
        distributions of partitions and of predictions unchanged.

        Examples
        --------
        >>> import pymc as pm
        >>> X = np.random.default_rng(1).normal(size=(50, 3))
        >>> with pm.Model() as model:
        ...     family = PrincipalNormalWishart.learned("x", X, 2)
        >>> [variable.name for variable in model.free_RVs]
        ['x_share', 'x_kappa', 'x_excess', 'x_squared_pivot', 'x_below_pivot', 'x_noise']
        """
        prior = Hyperpriors(name, X)
        values = check_matrix(cls, prior.values)
        check_full_rank(values)
        center, scale, directions, variances = principal_directions(values)
        check_n_directions(n_directions, values)
        k, d = n_directions, len(center)
        prior.features()
        leading = prior.dimension("component", range(1, k + 1))
        fields = prior.normal_wishart(cls, leading, np.diag(variances[:k]))
        noise = prior.log_normal("noise", 0.0, 1.0, dims=prior.dimension("noise_component", range(k + 1, d + 1)))
        # A product with a vector of one entry would have no fixed shape.
        noise = pt.specify_shape(noise, (d - k,)) * variances[k:]
        return cls(center, scale, directions, np.zeros(k), **fields, noise=noise)

    learned_fields = staticmethod(as_operations(wishart_fields))

    def leading(self):
        return NormalWishart(self.location, self.kappa, self.Psi, self.nu)

    def prepare_data(self, X):
        center, scale, directions = (known_value(field) for field in self[:3])
        check_orthogonal(self, center, scale, directions)
        scores = (check_matrix(self, X) - center) / scale @ directions
        [k] = static_shape(self.location)
        values = np.ascontiguousarray(scores[:, :k])
        log_volume = float(np.log(scale).sum())
        return Scores(values, np.ascontiguousarray(scores[:, k:]), summation_grid(values), log_volume)

    def prepare_alike(self, X, data):
        return self.prepare_data(X)._replace(grid=data.grid)

    def check_resolution(self, data, title):
        title = f"{title}, principal directions"
        base.check_resolution(leading(self), Centred(data.values, np.zeros(len(self.location)), data.grid), title)
        check_residuals(data.residuals, self.noise, title)

    # A row of statistics: the row of the leading scores, sums of squares of the others (q), and the sum of the
    # logarithms of the scales.
    def statistics_size(self):
        return base.statistics_size(leading(self)) + self.noise.shape[0] + 1

    def add_item(self, statistics, data, item, sign):
        base.add_item(leading(self), statistics, data, item, sign)
        add_shared(statistics, data, item, sign)

    def log_likelihood(self, X, labels):
        center, scale, directions, location, kappa, Psi, nu, noise = self
        scores = ((X - center) / scale) @ directions
        k = location.shape[0]
        clustered = base.log_likelihood(NormalWishart(location, kappa, Psi, nu), scores[:, :k], labels)
        shared = (scores[:, k:] ** 2 / noise + pt.log(noise) + _LOG_2_PI).sum() / 2
        return clustered - shared - X.shape[0] * pt.log(scale).sum()

    def log_marginal(self, statistics):
        return conjugate.log_marginal(leading(self), statistics) + log_shared_marginal(self, statistics)

    def parameters_size(self):
        d = self.scale.shape[0]
        return d + d * d

    def write_scores(self, parameters, scores):
        d, k = self.scale.shape[0], self.location.shape[0]
        along = np.empty(d)
        for a in range(k):
            scores[a] = 0.0
            for i in range(d):
                scores[a] += (parameters[i] - self.center[i]) / self.scale[i] * self.directions[i, a]
                along[i] = 0.0
                for j in range(d):
                    entry = parameters[d + i * d + j] / (self.scale[i] * self.scale[j])
                    along[i] += entry * self.directions[j, a]
            for b in range(k):
                scores[k + a * k + b] = 0.0
                for i in range(d):
                    scores[k + a * k + b] += along[i] * self.directions[i, b]

    def write_columns(self, scores, parameters):
        d, k = self.scale.shape[0], self.location.shape[0]
        along = np.empty(k)
        for i in range(d):
            parameters[i] = self.center[i]
            for a in range(k):
                parameters[i] += self.scale[i] * self.directions[i, a] * scores[a]
                along[a] = 0.0
                for b in range(k):
                    along[a] += self.directions[i, b] * scores[k + b * k + a]
            for j in range(d):
                total = 0.0
                for a in range(k):
                    total += along[a] * self.directions[j, a]
                for a in range(k, d):
                    total += self.noise[a - k] * self.directions[i, a] * self.directions[j, a]
                parameters[d + i * d + j] = self.scale[i] * self.scale[j] * total

    def draw_parameters(self, statistics, rng, parameters):
        scores = new_scores(self)
        conjugate.draw_parameters(leading(self), statistics, rng, scores)
        write_columns(self, scores, parameters)

    # Densities of parameters are with respect to the mean and covariance of the leading scores.
    def log_parameter_density(self, statistics, parameters):
        scores = new_scores(self)
        write_scores(self, parameters, scores)
        return conjugate.log_parameter_density(leading(self), statistics, scores)

    def split_parameters(self, parameters, p, q, rng, first, second):
        whole, first_scores, second_scores = new_scores(self), new_scores(self), new_scores(self)
        write_scores(self, parameters, whole)
        two_components.split_parameters(leading(self), whole, p, q, rng, first_scores, second_scores)
        write_columns(self, first_scores, first)
        write_columns(self, second_scores, second)

    def join_parameters(self, p, q, first, second, parameters):
        whole, first_scores, second_scores = new_scores(self), new_scores(self), new_scores(self)
        write_scores(self, first, first_scores)
        write_scores(self, second, second_scores)
        value = two_components.join_parameters(leading(self), p, q, first_scores, second_scores, whole)
        write_columns(self, whole, parameters)
        return value

    def log_density(self, parameters, data, item):
        scores = new_scores(self)
        write_scores(self, parameters, scores)
        return conjugate.log_density(leading(self), scores, data, item) + log_shared_density(self, data, item)

    draw_item = NormalWishart.draw_item
    component_mean = NormalWishart.component_mean
    component_cdf = NormalWishart.component_cdf
    log_affinities = NormalWishart.log_affinities


@kernel
def new_scores(family):
    """Memory for :func:`write_scores`."""
    k = family.location.shape[0]
    return np.empty(k + k * k)


@kernel
def n_directions(family, j):
    """Number of directions that share a noise: one, but for the last noise all that are left."""
    q = family.noise.shape[0]
    return family.scale.shape[0] - family.location.shape[0] - (q - 1) if j == q - 1 else 1


@kernel
def add_shared(statistics, data, item, sign):
    """Add or subtract the squares of an item along the other directions, and the volume, at the end of a row."""
    q = data.residuals.shape[1]
    start = statistics.shape[0] - q - 1
    for j in range(q):
        statistics[start + j] += sign * data.residuals[item, j] * data.residuals[item, j]
    statistics[start + q] += sign * data.log_volume


@kernel
def log_shared_density(family, data, item):
    """Log density of what is the same in all clusters: noise, and the volume of the map from scores to data."""
    total = -data.log_volume
    for j in range(family.noise.shape[0]):
        of_noise = n_directions(family, j) * (_LOG_2_PI + math.log(family.noise[j]))
        total -= 0.5 * (of_noise + data.residuals[item, j] ** 2 / family.noise[j])
    return total


@kernel
def log_shared_marginal(family, statistics):
    """The sum of :func:`log_shared_density` over the items of a cluster."""
    n, q = statistics[0], family.noise.shape[0]
    start = statistics.shape[0] - q - 1
    total = -statistics[start + q]
    for j in range(q):
        of_noise = n * n_directions(family, j) * (_LOG_2_PI + math.log(family.noise[j]))
        total -= 0.5 * (of_noise + statistics[start + j] / family.noise[j])
    return total
