"""Normal clusters along the leading principal directions of a table, and noise along the rest that all share."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.checks import known_value, static_shape
from pymc_nrm.common.supports import AboveFeatures
from pymc_nrm.families import base, components, conjugate, fast
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Centred, Hyperparameter, conjugate_family
from pymc_nrm.families.definitions.normal_wishart import NormalWishart
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text, wishart_fields
from pymc_nrm.families.shared.moments import check_ratio, summation_grid
from pymc_nrm.families.shared.sample_covariance import check_columns_vary, check_full_rank, check_variances
from pymc_nrm.families.shared.wishart_rows import draw_mean_and_covariance
from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.lanes import LANES

_LOG_2_PI = math.log(2.0 * math.pi)

# Directions must be orthogonal up to this.
_LARGEST_ERROR = 1e-8


class AboveComponents(AboveFeatures):
    """Numbers above the number of leading directions minus 1."""

    description = "finite and greater than the number of leading directions minus 1"

    def __init__(self, k=None):
        self.k = k

    def given(self, parameters):
        Psi = parameters.Psi
        return self if Psi is None else AboveComponents(Psi.shape[0])

    def inside(self, x, d):
        return super().inside(x, self.k)


@generic
def leading(family):
    """The law of the leading scores."""
    raise NotImplementedError


class Scores(NamedTuple):
    """Data of a kernel: scores of the leading directions (n, k), lengths along the others (n, q), a grid for the
    former, and the logarithm of the volume of the map from scores to data.
    """

    values: Any
    rest: Any
    grid: Any
    log_volume: Any

    def take_items(self, items):
        return self._replace(values=self.values[items], rest=self.rest[items])


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
    that of the scores divided by the product of the scales.

    Parameters
    ----------
    center : array_like, shape (d,)
        Origin of the scores, in the units of the data.
    scale : array_like, shape (d,)
        What each column is divided by, in the units of the data.
    directions : array_like, shape (d, d)
        An orthogonal matrix; its columns are the directions, the leading ones first.
    location, kappa, Psi, nu
        Hyperparameters of the law of the first k scores, as those of :class:`NormalWishart`; shapes (k,), (), (k, k)
        and ().
    noise : tensor or random variable, shape (d - k,)
        Variances of the other scores.

    Notes
    -----
    A cluster has the mean ``center + A m`` and the covariance ``A S A' + B diag(noise) B'``, where m and S are those of
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
    def learned(cls, name: str, X: Any, n_components: int) -> "PrincipalNormalWishart":
        """Directions of the data, and hyperparameters learned with the partition.

        Directions are those of :func:`principal_directions`, which are data like the centre of any learned prior.  The
        first k scores have the hyperpriors of :meth:`NormalWishart.learned`, the others ``variance / (variance in the
        data) = noise ~ LogNormal(0, 1)``.  Other units and origins of the columns leave the laws of partitions and of
        predictions unchanged.

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
        k, d = n_components, len(center)
        prior.features()
        leading = prior.dimension("component", range(1, k + 1))
        fields = prior.normal_wishart(leading, np.diag(variances[:k]))
        noise = prior.log_normal("noise", 0.0, 1.0, dims=prior.dimension("noise_component", range(k + 1, d + 1)))
        # A product with a vector of one entry would have no fixed shape.
        noise = pt.specify_shape(noise, (d - k,)) * variances[k:]
        return cls(center, scale, directions, np.zeros(k), **fields, noise=noise)

    learned_fields = staticmethod(wishart_fields)

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
        check_ratio(Centred(data.rest, np.zeros(len(self.noise))), np.sqrt(self.noise), "noise", title)

    # A row of statistics: that of the leading scores, sums of squares of the others (q), and the sum of the logarithms
    # of the scales; a row of the cache is that of the leading scores.
    def statistics_size(self):
        return base.statistics_size(leading(self)) + self.noise.shape[0] + 1

    def add_item(self, statistics, data, item, sign):
        base.add_item(leading(self), statistics, data, item, sign)
        add_shared(statistics, data, item, sign)

    def cache_size(self):
        return base.cache_size(leading(self))

    def refresh_cache(self, statistics, cache):
        base.refresh_cache(leading(self), statistics, cache)

    def update_cache(self, statistics, cache, data, item, sign):
        fast.update_cache(leading(self), statistics, cache, data, item, sign)
        add_shared(statistics, data, item, sign)

    def log_predictive(self, cache, data, item):
        return base.log_predictive(leading(self), cache, data, item) + log_shared_density(self, data, item)

    def log_predictive_without(self, statistics, cache, data, item):
        value = fast.log_predictive_without(leading(self), statistics, cache, data, item)
        return value + log_shared_density(self, data, item)

    def panel_shape(self):
        return fast.panel_shape(leading(self))

    def write_panel(self, cache, rows, lanes, column):
        fast.write_panel(leading(self), cache, rows, lanes, column)

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        fast.add_log_predictives(leading(self), rows, lanes, data, item, width, values)
        add_shared_density(self, data, item, width, values)

    def log_likelihood(self, X, labels):
        center, scale, directions, location, kappa, Psi, nu, noise = self
        scores = ((X - center) / scale) @ directions
        k = location.shape[0]
        clustered = base.log_likelihood(NormalWishart(location, kappa, Psi, nu), scores[:, :k], labels)
        shared = (scores[:, k:] ** 2 / noise + pt.log(noise) + _LOG_2_PI).sum() / 2
        return clustered - shared - X.shape[0] * pt.log(scale).sum()

    def log_marginal(self, statistics):
        return conjugate.log_marginal(leading(self), statistics) + log_shared_marginal(self, statistics)

    def log_marginals_with_gradient(self, statistics, gradient):
        # The map is constant: its derivatives stay 0.
        d, q = self.scale.shape[0], self.noise.shape[0]
        start, end = 2 * d + self.directions.size, gradient.shape[0] - q
        total = fast.log_marginals_with_gradient(leading(self), statistics, gradient[start:end])
        for row in range(statistics.shape[0]):
            squares = statistics[row, statistics.shape[1] - q - 1 :]
            total += log_shared_marginal(self, statistics[row])
            for j in range(q):
                n_values = statistics[row, 0] * n_directions(self, j)
                gradient[end + j] += 0.5 * (squares[j] / self.noise[j] - n_values) / self.noise[j]
        return total

    def parameters_size(self):
        d = self.scale.shape[0]
        return d + d * d

    def draw_parameters(self, statistics, rng, parameters):
        d, k = self.scale.shape[0], self.location.shape[0]
        drawn = np.empty(k + k * k)
        draw_mean_and_covariance(leading(self), statistics, rng, drawn)
        along = np.empty(k)
        for i in range(d):
            parameters[i] = self.center[i]
            for a in range(k):
                parameters[i] += self.scale[i] * self.directions[i, a] * drawn[a]
                along[a] = 0.0
                for b in range(k):
                    along[a] += self.directions[i, b] * drawn[k + b * k + a]
            for j in range(d):
                total = 0.0
                for a in range(k):
                    total += along[a] * self.directions[j, a]
                for a in range(k, d):
                    total += self.noise[a - k] * self.directions[i, a] * self.directions[j, a]
                parameters[d + i * d + j] = self.scale[i] * self.scale[j] * total

    def component_panel(self, n_columns):
        return components.component_panel(leading(self), n_columns)

    def write_component(self, parameters, panel, column):
        d, k = self.scale.shape[0], self.location.shape[0]
        of_scores, along = np.zeros(k + k * k), np.empty(d)
        for a in range(k):
            for i in range(d):
                of_scores[a] += (parameters[i] - self.center[i]) / self.scale[i] * self.directions[i, a]
                along[i] = 0.0
                for j in range(d):
                    entry = parameters[d + i * d + j] / (self.scale[i] * self.scale[j])
                    along[i] += entry * self.directions[j, a]
            for b in range(k):
                for i in range(d):
                    of_scores[k + a * k + b] += along[i] * self.directions[i, b]
        components.write_component(leading(self), of_scores, panel, column)

    def add_component_densities(self, panel, data, item, width, values):
        components.add_component_densities(leading(self), panel, data, item, width, values)
        add_shared_density(self, data, item, width, values)

    def add_densities_of_items(self, panel, data, items, n_components, values):
        components.add_densities_of_items(leading(self), panel, data, items, n_components, values)
        for lane in range(LANES):
            shared = log_shared_density(self, data, items[lane])
            for k in range(n_components):
                values[k, lane] += shared

    draw_item = NormalWishart.draw_item
    component_mean = NormalWishart.component_mean
    component_cdf = NormalWishart.component_cdf
    log_affinities = NormalWishart.log_affinities


@kernel
def n_directions(family, j):
    """Number of directions that share a noise: one, but for the last noise all that are left."""
    q = family.noise.shape[0]
    return family.scale.shape[0] - family.location.shape[0] - (q - 1) if j == q - 1 else 1


@kernel
def add_shared(statistics, data, item, sign):
    """Add or subtract the squares of an item along the other directions, and the volume, at the end of a row."""
    q = data.rest.shape[1]
    start = statistics.shape[0] - q - 1
    for j in range(q):
        statistics[start + j] += sign * data.rest[item, j] * data.rest[item, j]
    statistics[start + q] += sign * data.log_volume


@kernel
def log_shared_density(family, data, item):
    """Log density of what is the same in all clusters: noise, and the volume of the map from scores to data."""
    total = -data.log_volume
    for j in range(family.noise.shape[0]):
        of_noise = n_directions(family, j) * (_LOG_2_PI + math.log(family.noise[j]))
        total -= 0.5 * (of_noise + data.rest[item, j] ** 2 / family.noise[j])
    return total


@kernel
def add_shared_density(family, data, item, width, values):
    """Add :func:`log_shared_density` to the values of all columns of a panel."""
    shared = log_shared_density(family, data, item)
    for k in range(width // LANES * LANES):
        values[k] += shared


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


def check_orthogonal(family, center, scale, directions):
    """Check that the map to scores is known, and that directions are orthonormal columns, shape (d, p)."""
    title = type(family).__name__
    if center is None or scale is None or directions is None:
        raise ValueError(f"center, scale and directions of {title} must be constants")
    if np.abs(directions.T @ directions - np.eye(directions.shape[1])).max() > _LARGEST_ERROR:
        raise ValueError(f"directions of {title} must be an orthogonal matrix, or columns of one")


def principal_directions(X):
    """Means and standard deviations of columns, principal directions of the scaled columns, and variances along them.

    Directions are orthonormal columns in order of decreasing variance; the entry of largest size of each is positive.
    They are p = min(n, d).  Shapes: ``X`` (n, d); returns (d,), (d,), (d, p), (p,).
    """
    check_columns_vary(X)
    check_variances(X.var(axis=0, ddof=1))
    center, scale = X.mean(axis=0), X.std(axis=0, ddof=1)
    _, lengths, rows = np.linalg.svd((X - center) / scale, full_matrices=False)
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return center, scale, np.ascontiguousarray((rows * np.sign(largest)).T), lengths**2 / (len(X) - 1)
