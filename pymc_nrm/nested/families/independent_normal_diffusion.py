"""Node means that diffuse down a tree, feature by feature."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text
from pymc_nrm.families.shared.moments import centred, check_ratio, check_shape
from pymc_nrm.families.shared.sample_covariance import feature_moments
from pymc_nrm.kernels.special import draw_gamma, log_rising_factorial, symbolic_log_rising_factorial
from pymc_nrm.nested.families.base import falling_steps, learned_steps, tree_family
from pymc_nrm.nested.families.symbolic_scatter import symbolic_scatter


@tree_family(
    hyperparameters={
        "mu": Hyperparameter(("d",), "real"),
        "tau": Hyperparameter(("depth + 1",), "positive"),
        "alpha": Hyperparameter(("d",), "positive"),
        "beta": Hyperparameter(("d",), "positive"),
    }
)
class IndependentNormalDiffusion(NamedTuple):
    """Real features, independent given the tree; node means diffuse from parents to children.

    ``m_root[j] ~ N(mu, tau[0] / lambda[j])``, ``m_child[j] ~ N(m_parent[j], tau[l] / lambda[j])`` for a child of level
    l, ``x[i, j] ~ N(m_leaf[j], 1 / lambda[j])``, ``lambda[j] ~ Gamma(alpha, rate beta)``, so that the prior mean of the
    variance of items about their leaf is ``beta / (alpha - 1)``.  For many features, or features that are nothing but
    noise, where :class:`NormalDiffusion` has too many covariances to learn.

    Parameters
    ----------
    mu : float, tensor or random variable, scalar or shape (d,)
        Prior mean of the root, in the units of the data.
    tau : positive float, tensor or random variable, scalar or shape (depth + 1,)
        Variance of the mean of a node about the mean of its parent, level by level, beginning with the root
        about mu: a multiple of the variance of items about their leaf.  A scalar holds for all levels.
    alpha : positive float, tensor or random variable, scalar or shape (d,)
        Shape of the prior of the precision, at most 1e8.
    beta : positive float, tensor or random variable, scalar or shape (d,)
        Rate of the prior of the precision, in squared units of the data.

    Notes
    -----
    With C as in :class:`NormalDiffusion` and ``Q_j = (x_j - mu_j)' inverse(C) (x_j - mu_j)`` for column j, its log
    density is ``log Gamma(alpha + n/2) / Gamma(alpha) + alpha log beta - (alpha + n/2) log(beta + Q_j/2) - n/2 log 2 pi
    - log|C| / 2``, a multivariate t.  ``log|C|`` and all Q follow from one pass over the tree, in O(n d).

    Examples
    --------
    >>> IndependentNormalDiffusion(mu=0.0, tau=[10.0, 5.0, 1.0], alpha=2.0, beta=1.0).tau
    [10.0, 5.0, 1.0]
    """

    mu: Any
    tau: Any
    alpha: Any
    beta: Any

    @classmethod
    @shared_text(", or a feature has no positive variance")
    def from_data(cls, X: Any, depth: int) -> "IndependentNormalDiffusion":
        """Weakly informative hyperparameters on the scale of the data.

        ``mu`` is the mean of each feature, and ``alpha = 2`` leaves the variance of items about their leaf a finite
        mean but no finite variance.  This mean is the share ``1 / (1 + total)`` of the variance of the feature, where
        ``total = 24`` is the sum of tau over the levels below the root.  tau falls by half from level to level, since
        nodes near the root are few and far apart; for the root it is ``total`` too.

        Examples
        --------
        >>> IndependentNormalDiffusion.from_data([[0.0], [5.0], [10.0]], depth=2).beta
        array([1.])
        """
        mean, variance = feature_moments(cls, X)
        tau = falling_steps(depth)
        return cls(mu=mean, tau=tau, alpha=2.0, beta=variance / (1.0 + tau[0]))

    @classmethod
    @shared_text(", or a feature has no positive variance")
    def learned(cls, name: str, X: Any, depth: int) -> "IndependentNormalDiffusion":
        """Hyperparameters learned with the tree: hyperpriors in the model at hand, centred at the sample moments.

        With m_j and v_j the mean and variance of feature j::

            tau[l] = step[l] ~ LogNormal(log default[l], 1)      for levels below the root
            tau[0] = sum of the steps                             mu = m
            spread_j ~ LogNormal(0, 1/2)                          alpha - 1 = excess ~ LogNormal(1, 1)
            beta_j / (alpha - 1) = spread_j v_j / (1 + sum of the steps)

        where the defaults of the steps are as in :meth:`from_data`.  Items about their leaf and all steps
        together have the prior mean variance ``spread_j v_j``.  The prior moves with the data:
        other units or origins of the features leave the distributions of trees and of predictions unchanged.

        Examples
        --------
        >>> import pymc as pm
        >>> X = np.random.default_rng(1).normal(size=(50, 2))
        >>> with pm.Model() as model:
        ...     family = IndependentNormalDiffusion.learned("x", X, depth=3)
        >>> [variable.name for variable in model.free_RVs]
        ['x_step', 'x_spread', 'x_excess']
        """
        prior = Hyperpriors(name, X)
        mean, variance = feature_moments(cls, prior.values)
        tau, share = learned_steps(prior, depth)
        spread = prior.log_normal("spread", 0.0, 0.5, dims=prior.features())
        excess = prior.log_normal("excess", 1.0, 1.0)
        return cls(mu=mean, tau=tau, alpha=1.0 + excess, beta=share * spread * variance * excess)

    def prepare_data(self, X):
        return centred(check_matrix(self, X))

    def check_resolution(self, data, title):
        check_shape("alpha of IndependentNormalDiffusion", self.alpha, "variance", "beta")
        check_ratio(data, np.sqrt(self.beta), "beta", title)

    def symbolic_log_likelihood(self, paths, X):
        mu, tau, alpha, beta = self
        n, d = X.shape[0], X.shape[1]
        scatter, log_determinant = symbolic_scatter(mu, tau, paths, X, is_full=False)
        half = scatter / 2
        of_features = (
            symbolic_log_rising_factorial(alpha, n / 2) - alpha * pt.log1p(half / beta) - n / 2 * pt.log(beta + half)
        )
        return of_features.sum() - n * d / 2 * math.log(2.0 * math.pi) - d / 2 * log_determinant

    def new_scatter(self):
        return np.zeros(self.mu.shape[0])

    def add_square(self, scatter, row, weight):
        for j in range(row.shape[0]):
            scatter[j] += weight * row[j] * row[j]

    def scatter_log_likelihood(self, scatter, log_determinant, n):
        d = scatter.shape[0]
        total = -0.5 * d * (n * math.log(2.0 * math.pi) + log_determinant)
        for j in range(d):
            half = 0.5 * scatter[j]
            total += log_rising_factorial(self.alpha[j], 0.5 * n)
            total -= self.alpha[j] * math.log1p(half / self.beta[j]) + 0.5 * n * math.log(self.beta[j] + half)
        return total

    def draw_whitening(self, scatter, n, rng):
        d = scatter.shape[0]
        whitening = np.empty((2, d))
        for j in range(d):
            precision = draw_gamma(rng, self.alpha[j] + 0.5 * n) / (self.beta[j] + 0.5 * scatter[j])
            whitening[0, j] = math.sqrt(precision)
            whitening[1, j] = 1.0 / whitening[0, j]
        return whitening

    def transform_row(self, matrix, row, work):
        for j in range(row.shape[0]):
            row[j] *= matrix[j]
