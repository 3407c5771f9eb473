"""Normal linear regressions, one in every cluster, with a normal-inverse-gamma base measure."""

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

_LOG_2_PI = math.log(2.0 * math.pi)


@conjugate_family(
    hyperparameters={
        "covariates": Hyperparameter(("n", "p"), "real"),
        "mu": Hyperparameter(("p",), "real"),
        "Lambda": Hyperparameter(("p", "p"), "positive definite"),
        "alpha": Hyperparameter((), "positive"),
        "beta": Hyperparameter((), "positive"),
    },
    parameters={"coefficient": ("p",), "variance": ()},
    continuous=True,
    missing_allowed=True,
)
class NormalRegression(NamedTuple):
    """A real response of each item, with a linear regression on covariates of its own in every cluster.

    ``y[i] ~ N(w[i]' b[c], s2[c])``, ``b ~ N(mu, s2 inverse(Lambda))``, ``s2 ~ InvGamma(alpha, beta)``, so that the
    prior mean of the variance is ``beta / (alpha - 1)``.  An item whose response is missing (NaN) has no likelihood.

    Parameters
    ----------
    covariates : array_like, pm.Data, Mixture or function of these, shape (n, p) or (n,)
        Covariates w of the items, one row per item, in any units.  There is no intercept unless a column is constant.
        With a ``Mixture`` over the same partition, membership depends on covariates; predictions for new covariates
        need a ``Mixture`` or ``pm.Data``.
    mu : float, tensor or random variable, scalar or shape (p,)
        Prior mean of the coefficients, in units of the response per unit of the covariate.
    Lambda : positive definite tensor or random variable, shape (p, p)
        Prior precision of the coefficients, relative to the noise: ``W' W`` of as many items as the prior is worth.
    alpha : positive float, tensor or random variable
        Shape of the prior of the variance, at most 1e8.
    beta : positive float, tensor or random variable
        Scale of the prior of the variance, in squared units of the response.

    Notes
    -----
    With ``Lambda_n = Lambda + W' W``, ``m_n = inverse(Lambda_n) (Lambda mu + W' y)``, ``alpha_n = alpha + n/2`` and
    ``beta_n = beta + (y' y + mu' Lambda mu - m_n' Lambda_n m_n) / 2``, the log marginal is
    ``log Gamma(alpha_n) / Gamma(alpha) + alpha log beta - alpha_n log beta_n + log(|Lambda| / |Lambda_n|)/2 -
    n/2 log 2 pi``, and the predictive is a Student t with ``2 alpha_n`` degrees of freedom, location ``w' m_n`` and
    squared scale ``beta_n / alpha_n (1 + w' inverse(Lambda_n) w)`` (Murphy 2012, "Machine learning: a probabilistic
    perspective", eq. 7.69 to 7.76).

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> w = np.linspace(0.0, 1.0, 8)
    >>> W = np.column_stack([np.ones(8), w])
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=8)
    ...     y = nrm.Mixture("y", z, nrm.NormalRegression(W, 0.0, 0.1 * np.eye(2), 2.0, 1.0), observed=3.0 * w)
    >>> print(model.str_repr())
    z ~ Partition[DirichletProcess](8, 1)
    z_n_clusters = Deterministic(f(z))
    y ~ Mixture[NormalRegression](z, <constant>, <constant>, <constant>, 2, 1)
    """

    covariates: Any
    mu: Any
    Lambda: Any
    alpha: Any
    beta: Any

    @classmethod
    @shared_text(
        ", the response has no positive variance, or covariates are missing, constant or linear combinations of others"
    )
    def learned(cls, name: str, X: Any, covariates: Any) -> "NormalRegression":
        """Hyperparameters learned with the partition: hyperpriors in the model at hand, centred at the data.

        The covariates of the family are a constant 1, for the intercept, and those given less their means.  With m
        and v the mean and variance of the response, C the covariance of the covariates, and b the slopes of the
        least-squares line through all data::

            share ~ LogNormal(-1, 1)                 kappa ~ LogNormal(-2, 2)
            g ~ LogNormal(0, 2)                      alpha - 1 = excess ~ LogNormal(1, 1)
            beta / (alpha - 1) = share v             mu = (m, t b)
            Lambda has the blocks kappa and C / g

        Clusters are expected to have the variance ``share v`` about their lines, and these to be near a common one
        (small g, large kappa) or far from each other: the data say which.  The common slopes are shrunk by
        ``t = max(0, 1 - p s2 / S)``, with s2 the variance about the line and S the sum of squares that it explains
        (James & Stein 1961, "Estimation with quadratic loss").  Deviations from them have the g-prior of Zellner (1986,
        "On assessing prior distributions and Bayesian regression analysis with g-prior distributions").  The prior
        moves with the data: other units and origins of the response, and linear maps and shifts of the covariates,
        leave the distributions of partitions and of predictions unchanged.

        Examples
        --------
        >>> import pymc as pm
        >>> w = np.random.default_rng(1).normal(size=(50, 2))
        >>> with pm.Model() as model:
        ...     family = NormalRegression.learned("y", w[:, 0] ** 2, w)
        >>> [variable.name for variable in model.free_RVs]
        ['y_share', 'y_kappa', 'y_g', 'y_excess']
        """
        prior = Hyperpriors(name, X)
        [m], [v] = feature_moments(cls, prior.values)
        tensor, values = prior.covariates(covariates)
        return cls(**learned_regression(cls, prior, (m, v), tensor, values, prior.values[:, 0]))

    def complete(self, X):
        # A vector stands for one covariate.
        return self._replace(covariates=self.covariates[:, None]) if np.ndim(self.covariates) == 1 else self

    def canonical(self):
        return with_vector_of_means(self)

    def prepare_data(self, X):
        values = check_matrix(self, X)
        if values.shape[1] != 1:
            raise ValueError(f"data of NormalRegression must be a vector of responses; got shape {values.shape}")
        W = known_value(self.covariates)
        if W is None:
            # Covariates are tensors of a model that is being made.
            return None
        W, y = checked_covariates("NormalRegression", W, (len(values),)), values[:, 0]
        present = ~np.isnan(y)
        center = center_of_responses(W[present], y[present])
        rows = np.column_stack([W, y - W @ center])
        return Centred(rows, center, summation_grid(rows))

    def prepare_alike(self, X, data):
        y = check_matrix(self, X)[:, 0]
        W = checked_covariates("NormalRegression", self.covariates, (len(y),))
        return data._replace(values=np.column_stack([W, y - W @ data.center]))

    def check_resolution(self, data, title):
        check_regression(self, data.values[:, None, -1], title)

    # A row of statistics: count, sums of products of v = (w, y), lower triangle, by rows, and the low parts of these.
    def statistics_size(self):
        q = self.mu.shape[0] + 1
        return 1 + q * (q + 1)

    def add_item(self, statistics, data, item, sign):
        v = data.values[item]
        if not math.isnan(v[v.shape[0] - 1]):
            regression_rows.add_products(statistics, v, data.grid, sign)

    def log_likelihood(self, X, labels):
        observed = pt.invert(pt.isnan(X[:, 0]))
        rows = pt.switch(observed[:, None], self.covariates, 0)
        residuals = pt.switch(observed, X[:, 0], 0) - (rows * self.mu).sum(axis=1)
        return regression_log_marginals(self, rows, residuals, observed.astype("float64"), labels, labels)

    def log_marginal(self, statistics):
        p = self.mu.shape[0]
        if statistics[0] <= 0.0:
            return 0.0
        work = np.empty((p + 2, p + 1))
        regression_rows.factor_moments(self, statistics, work)
        log_determinant = wishart_rows.log_determinant_of(self.Lambda)
        return regression_rows.factored_log_marginal(self, statistics[0], work, log_determinant)

    def parameters_size(self):
        return self.mu.shape[0] + 1

    def draw_parameters(self, statistics, rng, parameters):
        regression_rows.draw_coefficients_and_variance(self, statistics, rng, parameters)

    def log_density(self, parameters, data, item):
        v, p = data.values[item], self.mu.shape[0]
        if math.isnan(v[p]):
            return 0.0
        residual = v[p]
        for j in range(p):
            residual -= parameters[j] * v[j]
        return -0.5 * (_LOG_2_PI + math.log(parameters[p]) + residual * residual / parameters[p])

    def draw_item(self, parameters, rng, item, values):
        p = self.mu.shape[0]
        values[0] = math.sqrt(parameters[p]) * rng.standard_normal()
        for j in range(p):
            values[0] += parameters[j] * self.covariates[item, j]
