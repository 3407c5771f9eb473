"""Trajectories: normal linear regressions of several responses of an item, with an intercept of each item."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.checks import known_value
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Centred, Hyperparameter, conjugate_family
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text
from pymc_nrm.families.learned.regressions import learned_regression
from pymc_nrm.families.shared import regression_rows, wishart_rows
from pymc_nrm.families.shared.moments import summation_grid
from pymc_nrm.families.shared.regression_data import center_of_responses, check_regression, checked_covariates
from pymc_nrm.families.shared.sample_covariance import feature_moments
from pymc_nrm.families.shared.symbolic_regression import regression_log_marginals, with_vector_of_means
from pymc_nrm.growth.families import trajectory_rows


@conjugate_family(
    hyperparameters={
        "covariates": Hyperparameter(("n", "d", "p"), "real"),
        "ratio": Hyperparameter((), "non-negative"),
        "mu": Hyperparameter(("p",), "real"),
        "Lambda": Hyperparameter(("p", "p"), "positive definite"),
        "alpha": Hyperparameter((), "positive"),
        "beta": Hyperparameter((), "positive"),
    },
    parameters={"coefficient": ("p",), "variance": ()},
    continuous=True,
    missing_allowed=True,
)
class NormalTrajectory(NamedTuple):
    """Real responses of an item at d visits: a linear regression in every cluster, and an intercept of each item.

    ``y[i, t] ~ N(w[i, t]' b[c] + a[i], s2[c])``, ``a[i] ~ N(0, ratio s2[c])``, ``b ~ N(mu, s2 inverse(Lambda))``, ``s2
    ~ InvGamma(alpha, beta)``.  Coefficients, variances and the intercepts of the items are integrated out.  Responses
    of an item thus have the correlation ``ratio / (1 + ratio)`` given its cluster.  Missing responses (NaN) have no
    likelihood, so that items may have different numbers of visits.

    Parameters
    ----------
    covariates : array_like, pm.Data or function of these, shape (n, d, p) or (d, p)
        Covariates w of the visits, such as a constant 1, time and its powers, in any units.  There is no common
        intercept unless a column is constant.  They are finite where the response is missing, too.
    ratio : non-negative float, tensor or random variable
        Variance of the intercepts of items relative to the variance of the noise; 0 leaves them out.
    mu : float, tensor or random variable, scalar or shape (p,)
        Prior mean of the coefficients, in units of the response per unit of the covariate.
    Lambda : positive definite tensor or random variable, shape (p, p)
        Prior precision of the coefficients, relative to the noise.
    alpha : positive float, tensor or random variable
        Shape of the prior of the variance of the noise, at most 1e8.
    beta : positive float, tensor or random variable
        Scale of the prior of the variance of the noise, in squared units of the response.

    Notes
    -----
    Given the ratio, rows of an item less ``1 - 1 / sqrt(1 + m ratio)`` times their mean, for m responses, are those of
    a linear regression with independent noise (Fuller & Battese 1973, "Transformations for estimation of linear models
    with nested-error structure"), whose log marginal :class:`~pymc_nrm.NormalRegression` states; the transformation
    adds ``-log(1 + m ratio) / 2`` for every item.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> W = np.column_stack([np.ones(4), np.arange(4.0)])
    >>> y = [[0.1, 1.2, 1.9, 3.1], [5.0, 4.1, np.nan, 2.0]]
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=2)
    ...     family = nrm.growth.NormalTrajectory(W, 2.0, 0.0, 0.1 * np.eye(2), 2.0, 1.0)
    ...     y = nrm.Mixture("y", z, family, observed=y)
    >>> print(model.str_repr())
    z ~ Partition[DirichletProcess](2, 1)
    z_n_clusters = Deterministic(f(z))
    y ~ Mixture[NormalTrajectory](z, <constant>, 2, <constant>, <constant>, 2, 1)
    """

    covariates: Any
    ratio: Any
    mu: Any
    Lambda: Any
    alpha: Any
    beta: Any

    @classmethod
    @shared_text(
        ", the responses have no positive variance, or covariates are missing, constant or linear combinations of "
        "others"
    )
    def learned(cls, name: str, X: Any, covariates: Any, ratio: Any = None) -> "NormalTrajectory":
        """Hyperparameters learned with the partition: hyperpriors in the model at hand, centred at the data.

        They are those of :class:`~pymc_nrm.NormalRegression` for the rows of all items, and::

            ratio ~ LogNormal(0, 1.5)

        so that the prior median of the correlation of two responses of an item, given its cluster, is 1/2.

        Examples
        --------
        >>> import pymc as pm
        >>> time = np.tile(np.arange(5.0), (30, 1))
        >>> y = time + np.random.default_rng(1).normal(size=(30, 5))
        >>> with pm.Model() as model:
        ...     family = NormalTrajectory.learned("y", y, time)
        >>> [variable.name for variable in model.free_RVs]
        ['y_ratio', 'y_share', 'y_kappa', 'y_g', 'y_excess']
        """
        prior = Hyperpriors(name, X)
        present = ~np.isnan(prior.values)
        y = prior.values[present]
        [m], [v] = feature_moments(cls, y[:, None])
        tensor, values = prior.covariates(covariates, "d")
        ratio = prior.log_normal("ratio", 0.0, 1.5) if ratio is None else ratio
        return cls(ratio=ratio, **learned_regression(cls, prior, (m, v), tensor, values[present], y))

    def canonical(self):
        return with_vector_of_means(self)

    def prepare_data(self, X):
        y = check_matrix(self, X)
        W = known_value(self.covariates)
        if W is None:
            # Covariates are tensors of a model that is being made.
            return None
        W, present = checked_covariates("NormalTrajectory", W, y.shape), ~np.isnan(y)
        center = center_of_responses(W[present], y[present])
        rows = trajectory_rows.rows_of_items(W, y - W @ center)
        return Centred(rows, center, summation_grid(rows.reshape(-1, rows.shape[2])))

    def prepare_alike(self, X, data):
        y = check_matrix(self, X)
        W = checked_covariates("NormalTrajectory", self.covariates, y.shape)
        return data._replace(values=trajectory_rows.rows_of_items(W, y - W @ data.center))

    def check_resolution(self, data, title):
        check_regression(self, data.values[:, :, -1], title)

    # A row of statistics: those of a regression, for rows within items and for means of items with 1, ..., d responses.
    def statistics_size(self):
        q = self.mu.shape[0] + 1
        return (1 + q * (q + 1)) * (self.covariates.shape[1] + 1)

    def add_item(self, statistics, data, item, sign):
        trajectory_rows.add_rows(statistics, data.values[item], data.grid, sign)

    def log_likelihood(self, X, labels):
        covariates, ratio, mu, *_ = self
        observed = pt.invert(pt.isnan(X))
        counts = observed.sum(axis=1).astype("float64")
        rows = pt.switch(observed[:, :, None], covariates, 0)
        residuals = pt.switch(observed, X, 0) - (rows * mu).sum(axis=2)
        share = ((1 - (1 + counts * ratio) ** -0.5) / pt.maximum(counts, 1))[:, None]
        rows = rows - pt.switch(observed, share, 0)[:, :, None] * rows.sum(axis=1, keepdims=True)
        residuals = residuals - pt.switch(observed, share, 0) * residuals.sum(axis=1, keepdims=True)
        rows, labels_of_rows = rows.reshape((-1, rows.shape[2])), pt.repeat(labels, X.shape[1])
        total = regression_log_marginals(self, rows, residuals.reshape((-1,)), counts, labels, labels_of_rows)
        return total - pt.log1p(counts * ratio).sum() / 2

    def log_marginal(self, statistics):
        p = self.mu.shape[0]
        total, log_determinant = trajectory_rows.combined(self, statistics)
        if total[0] <= 0.0:
            return 0.0
        work = np.empty((p + 2, p + 1))
        regression_rows.factor_moments(self, total, work)
        prior = wishart_rows.log_determinant_of(self.Lambda)
        return regression_rows.factored_log_marginal(self, total[0], work, prior) - 0.5 * log_determinant

    def parameters_size(self):
        return self.mu.shape[0] + 1

    def draw_parameters(self, statistics, rng, parameters):
        total, _ = trajectory_rows.combined(self, statistics)
        regression_rows.draw_coefficients_and_variance(self, total, rng, parameters)

    def log_density(self, parameters, data, item):
        return trajectory_rows.log_density_of_rows(self, parameters, data.values[item])

    def draw_item(self, parameters, rng, item, values):
        p = self.mu.shape[0]
        width = math.sqrt(parameters[p])
        intercept = math.sqrt(self.ratio) * width * rng.standard_normal()
        for t in range(values.shape[0]):
            values[t] = intercept + width * rng.standard_normal()
            for j in range(p):
                values[t] += parameters[j] * self.covariates[item, t, j]
