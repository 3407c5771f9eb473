"""Normal clusters along the leading principal directions of a table, and one noise for all other directions."""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.checks import known_value
from pymc_nrm.families import base
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Hyperparameter, conjugate_family
from pymc_nrm.families.conjugate import gaussian_log_affinities
from pymc_nrm.families.definitions.normal_gamma import NormalGamma
from pymc_nrm.families.definitions.normal_wishart import NormalWishart
from pymc_nrm.families.definitions.principal_normal_wishart import (
    AboveComponents,
    PrincipalNormalWishart,
    Scores,
    check_n_directions,
    check_orthogonal,
    principal_directions,
)
from pymc_nrm.families.derived.mapped import inherit_methods
from pymc_nrm.families.learned.fields import as_operations
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text, wishart_fields
from pymc_nrm.families.shared.moments import summation_grid


@inherit_methods(PrincipalNormalWishart)
@conjugate_family(
    hyperparameters={
        "center": Hyperparameter(("d",), "real"),
        "scale": Hyperparameter(("d",), "positive"),
        "directions": Hyperparameter(("d", "k"), "real"),
        "location": Hyperparameter(("k",), "real"),
        "kappa": Hyperparameter((), "positive"),
        "Psi": Hyperparameter(("k", "k"), "positive definite"),
        "nu": Hyperparameter((), AboveComponents()),
        "noise": Hyperparameter(("q",), "positive"),
    },
    parameters={"mean": ("d",), "variance": ("d",), "score_mean": ("k",), "score_covariance": ("k", "k")},
    continuous=True,
    missing_allowed=False,
)
class SphericalPrincipalNormalWishart(NamedTuple):
    """Multivariate normal data of any number of columns, whose clusters differ along k orthogonal directions.

    With ``y[i] = (x[i] - center) / scale``, the scores ``t[i] = directions' y[i]`` follow a :class:`NormalWishart` with
    ``mu = location``.  Along every direction that is orthogonal to these k, ``y[i]`` is ``N(0, noise)`` in every
    cluster.  The data may have more columns than rows, since no direction but the leading ones has a variance of its
    own.

    Parameters
    ----------
    center : array_like, shape (d,)
        Origin of the scores, in the units of the data.
    scale : array_like, shape (d,)
        What each column is divided by, in the units of the data.
    directions : array_like, shape (d, k)
        Orthonormal columns, k < d.
    location, kappa, Psi, nu
        Hyperparameters of the distribution of the scores, as in :class:`NormalWishart`; shapes (k,), (), (k, k)
        and ().
    noise : tensor or random variable, shape (1,)
        Variance along every other direction.

    Notes
    -----
    With r the length of ``y - directions t``, the log density of a row is the log density of its scores, minus
    ``(d - k)/2 log(2 pi noise) + r^2 / (2 noise)`` and the sum of the logarithms of the scales.  A cluster has the mean
    ``center + A m`` and the covariance ``A S A' + noise (diag(scale)^2 - A A')`` with ``A = diag(scale) directions``,
    where m and S are the mean and the covariance of its scores.  This is the mixture of probabilistic principal
    component analysers (Tipping & Bishop 1999, eq. 8) with directions and noise that all clusters share.

    Directions of the rows at hand fit these rows: with far more columns than rows, scores of new rows are smaller than
    the scores of the old ones (Lee, Zou & Wright 2010, "Convergence and prediction of principal component scores in
    high-dimensional settings").
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
    @shared_text(", or columns are constant")
    def learned(cls, name: str, X: Any, n_directions: int) -> "SphericalPrincipalNormalWishart":
        """Directions of the data, and hyperparameters learned with the partition.

        Directions are the leading principal directions of the columns, divided by their standard deviations; they are
        data like the centre of any learned prior.  Scores have the hyperpriors of :meth:`NormalWishart.learned`, and
        the noise is ``noise ~ LogNormal(0, 1)`` times the mean variance in the data along all other directions.  Other
        units and origins of the columns leave the distributions of partitions and of predictions unchanged.

        Examples
        --------
        >>> import pymc as pm
        >>> X = np.random.default_rng(1).normal(size=(10, 50))
        >>> with pm.Model() as model:
        ...     family = SphericalPrincipalNormalWishart.learned("x", X, 2)
        >>> [variable.name for variable in model.free_RVs]
        ['x_share', 'x_kappa', 'x_excess', 'x_squared_pivot', 'x_below_pivot', 'x_noise']
        """
        prior = Hyperpriors(name, X)
        values = check_matrix(cls, prior.values)
        center, scale, directions, variances = principal_directions(values)
        check_n_directions(n_directions, values)
        k, d = n_directions, len(center)
        prior.features()
        fields = prior.normal_wishart(cls, prior.dimension("component", range(1, k + 1)), np.diag(variances[:k]))
        noise = prior.log_normal("noise", 0.0, 1.0, dims=prior.dimension("noise_component", [f"{k + 1} to {d}"]))
        directions = np.ascontiguousarray(directions[:, :k])
        noise = noise * (variances[k:].sum() / (d - k))
        return cls(center, scale, directions, np.zeros(k), **fields, noise=noise)

    learned_fields = staticmethod(as_operations(wishart_fields))

    def prepare_data(self, X):
        center, scale, directions = (known_value(field) for field in self[:3])
        check_orthogonal(self, center, scale, directions)
        scaled = (check_matrix(self, X) - center) / scale
        values = np.ascontiguousarray(scaled @ directions)
        residuals = np.linalg.norm(scaled - values @ directions.T, axis=1)
        return Scores(values, residuals[:, None], summation_grid(values), float(np.log(scale).sum()))

    # A row of statistics: the row of the scores, the sum of the squared lengths r^2, and the sum of the logarithms of
    # the scales; a row of the cache is the row of the scores.
    def log_likelihood(self, X, labels):
        center, scale, directions, location, kappa, Psi, nu, noise = self
        scaled = (X - center) / scale
        scores = scaled @ directions
        clustered = base.log_likelihood(NormalWishart(location, kappa, Psi, nu), scores, labels)
        squares = ((scaled - scores @ directions.T) ** 2).sum()
        n_values = X.shape[0] * (X.shape[1] - location.shape[0])
        shared = (squares / noise[0] + n_values * pt.log(2.0 * np.pi * noise[0])) / 2
        return clustered - shared - X.shape[0] * pt.log(scale).sum()

    def parameters_size(self):
        d, k = self.directions.shape
        return 2 * d + k + k * k

    def write_scores(self, parameters, scores):
        scores[:] = parameters[2 * self.directions.shape[0] :]

    def write_columns(self, scores, parameters):
        d, k = self.directions.shape
        parameters[2 * d :] = scores
        for i in range(d):
            total, variance = 0.0, self.noise[0]
            row = self.directions[i]
            for a in range(k):
                covariance = scores[k + a * k : k + (a + 1) * k]
                # Twice what is below the diagonal of the covariance.
                twice = (covariance[a] - self.noise[0]) * row[a]
                for b in range(a):
                    twice += 2.0 * covariance[b] * row[b]
                total += row[a] * scores[a]
                variance += row[a] * twice
            parameters[i] = self.center[i] + self.scale[i] * total
            parameters[d + i] = self.scale[i] * self.scale[i] * variance

    def draw_item(self, parameters, rng, item, values):
        # Noise of all directions, of which the leading ones are then replaced by scores.
        d, k = self.directions.shape
        scores, noise = np.empty(k), np.sqrt(self.noise[0])
        factor = np.linalg.cholesky(parameters[2 * d + k :].copy().reshape((k, k)))
        for a in range(k):
            scores[a] = parameters[2 * d + a]
        for b in range(k):
            step = rng.standard_normal()
            for a in range(b, k):
                scores[a] += factor[a, b] * step
        for i in range(d):
            values[i] = noise * rng.standard_normal()
        for a in range(k):
            for i in range(d):
                scores[a] -= self.directions[i, a] * values[i]
        for i in range(d):
            total = values[i]
            for a in range(k):
                total += self.directions[i, a] * scores[a]
            values[i] = self.center[i] + self.scale[i] * total

    component_mean = NormalGamma.component_mean
    component_cdf = NormalGamma.component_cdf

    def log_affinities(self, parameters):
        # Clusters share all but their scores, so that the integrals over the other directions are 1.
        return gaussian_log_affinities(parameters["score_mean"], parameters["score_covariance"])
