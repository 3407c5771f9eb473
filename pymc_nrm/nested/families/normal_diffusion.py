"""Node means that diffuse down a tree, with one full covariance for all features."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text
from pymc_nrm.families.shared.factors import draw_inverse_wishart, factor_in_place
from pymc_nrm.families.shared.moments import centred, check_ratio, check_shape
from pymc_nrm.families.shared.sample_covariance import sample_moments
from pymc_nrm.families.shared.scatter import log_determinants, random_covariance
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import log_rising_factorial, symbolic_log_rising_factorial
from pymc_nrm.nested.families.base import falling_steps, learned_steps, tree_family
from pymc_nrm.nested.families.symbolic_scatter import symbolic_scatter


@tree_family(
    hyperparameters={
        "mu": Hyperparameter(("d",), "real"),
        "tau": Hyperparameter(("depth + 1",), "positive"),
        "Psi": Hyperparameter(("d", "d"), "positive definite"),
        "nu": Hyperparameter((), "greater than d - 1"),
    }
)
class NormalDiffusion(NamedTuple):
    """Multivariate normal data around leaves of a tree, whose means diffuse from parents to children.

    ``m_root ~ N(mu, tau[0] S)``, ``m_child ~ N(m_parent, tau[l] S)`` for a child of level l, ``x[i] ~ N(m_leaf, S)``,
    ``S ~ inverse-Wishart(Psi, nu)``, so that the prior mean of S, the covariance of items about their leaf, is
    ``Psi / (nu - d - 1)``.  Items that part near the root tend to be far apart.

    Parameters
    ----------
    mu : float, tensor or random variable, scalar or shape (d,)
        Prior mean of the root, in the units of the data.
    tau : positive float, tensor or random variable, scalar or shape (depth + 1,)
        Covariance of the mean of a node about the mean of its parent, level by level, beginning with the root
        about mu: a multiple of the covariance of items about their leaf.  A scalar holds for all levels.
    Psi : positive definite tensor or random variable, shape (d, d)
        Prior scatter, in squared units of the data.
    nu : float, tensor or random variable, greater than d - 1
        Degrees of freedom, at most 1e8.

    Notes
    -----
    Given the tree and S, the items have covariance matrix ``C_ij = tau[0] + sum over l of tau[l] 1[i and j share their
    node of level l] + 1[i = j]`` in every whitened feature: a diffusion on a tree, as in Williams (2000), "A MCMC
    approach to hierarchical mixture modelling".  With S integrated out the n x d data are a matrix t: with ``Q = (X -
    mu)' inverse(C) (X - mu)`` and ``nu_n = nu + n``, the log density is ``-n d/2 log pi - d/2 log|C| + nu/2 log|Psi| -
    nu_n/2 log|Psi + Q| + log Gamma_d(nu_n/2) / Gamma_d(nu/2)`` (Dawid 1981, "Some matrix-variate distribution theory").
    Both ``log|C|`` and Q follow from one pass over the tree, in O(n d^2).

    Examples
    --------
    >>> NormalDiffusion(mu=[0.0, 0.0], tau=[10.0, 5.0, 1.0], Psi=np.eye(2), nu=8).tau
    [10.0, 5.0, 1.0]
    """

    mu: Any
    tau: Any
    Psi: Any
    nu: Any

    @classmethod
    @shared_text(", n is at most d, or columns are constant or linear combinations of others")
    def from_data(cls, X: Any, depth: int) -> "NormalDiffusion":
        """Weakly informative hyperparameters on the scale of the data.

        ``mu`` is the sample mean, ``nu = d + 6`` and ``Psi = (nu - d - 1) Sigma / (1 + total)``: of the sample
        covariance Sigma, items about their leaf have the share ``1 / (1 + total)``, where ``total = 24`` is the sum of
        tau over the levels below the root.  tau falls by half from level to level, since nodes near the root are few
        and far apart; for the root it is ``total`` too.  Tree and predictions are the same in all linear coordinates.

        Examples
        --------
        >>> X = np.random.default_rng(1).normal(size=(50, 2))
        >>> NormalDiffusion.from_data(X, depth=2).tau.tolist()
        [24.0, 16.0, 8.0]
        """
        mean, covariance = sample_moments(cls, X)
        tau = falling_steps(depth)
        return cls(mu=mean, tau=tau, Psi=5.0 * covariance / (1.0 + tau[0]), nu=len(mean) + 6.0)

    @classmethod
    @shared_text(", n is at most d, or columns are constant or linear combinations of others")
    def learned(cls, name: str, X: Any, depth: int) -> "NormalDiffusion":
        """Hyperparameters learned with the tree: hyperpriors in the model at hand, centred at the sample moments.

        With m and Sigma the mean and covariance of the data and ``L L' = Sigma``::

            tau[l] = step[l] ~ LogNormal(log default[l], 1)      for levels below the root
            tau[0] = sum of the steps                             mu = m
            spread ~ LogNormal(0, 1/2)                            nu - d - 1 = excess ~ LogNormal(1.5, 1)
            W ~ Wishart(d + 2, I) / (d + 2)
            Psi / (nu - d - 1) = spread L W L' / (1 + sum of the steps)

        where the defaults of the steps are as in :meth:`from_data`.  Items about their leaf and all steps
        together have the prior mean covariance ``spread L W L'``.  The prior moves with the data: if they become
        ``A x + b``, the distributions of trees and of predictions are unchanged.

        Examples
        --------
        >>> import pymc as pm
        >>> X = np.random.default_rng(1).normal(size=(50, 2))
        >>> with pm.Model() as model:
        ...     family = NormalDiffusion.learned("x", X, depth=3)
        >>> [variable.name for variable in model.free_RVs]
        ['x_step', 'x_spread', 'x_excess', 'x_squared_pivot', 'x_below_pivot']
        """
        prior = Hyperpriors(name, X)
        mean, covariance = sample_moments(cls, prior.values)
        features = prior.features()
        tau, share = learned_steps(prior, depth)
        spread = prior.log_normal("spread", 0.0, 0.5)
        excess = prior.log_normal("excess", 1.5, 1.0)
        squares, below, scale = prior.pivots(features, covariance)
        Psi = share * spread * excess * random_covariance(scale, squares, below)
        return cls(mu=mean, tau=tau, Psi=Psi, nu=len(mean) + 1.0 + excess)

    def prepare_data(self, X):
        return centred(check_matrix(self, X))

    def check_resolution(self, data, title):
        check_shape("nu of NormalDiffusion", self.nu, "covariance", "Psi")
        # The width of a leaf in each feature given all others.
        check_ratio(data, np.sqrt(1.0 / np.diag(np.linalg.pinv(self.Psi))), "Psi", title)

    def symbolic_log_likelihood(self, paths, X):
        mu, tau, Psi, nu = self
        n, d = X.shape[0], X.shape[1]
        scatter, log_determinant = symbolic_scatter(mu, tau, paths, X, is_full=True)
        nothing = pt.zeros((0, d)), pt.zeros(0, dtype="int64"), pt.constant(1)
        of_prior, of_sum = (log_determinants(matrix, *nothing)[0] for matrix in (Psi, Psi + scatter))
        log_gamma_ratio = symbolic_log_rising_factorial(nu / 2 - pt.arange(d) / 2, n / 2).sum()
        return (
            log_gamma_ratio
            - n * d / 2 * math.log(math.pi)
            - d / 2 * log_determinant
            + nu / 2 * of_prior
            - (nu + n) / 2 * of_sum
        )

    def new_scatter(self):
        d = self.mu.shape[0]
        return np.zeros((d, d))

    def add_square(self, scatter, row, weight):
        for i in range(row.shape[0]):
            weighted = weight * row[i]
            for j in range(i + 1):
                scatter[i, j] += weighted * row[j]

    def scatter_log_likelihood(self, scatter, log_determinant, n):
        d = self.mu.shape[0]
        prior, posterior = _factor(self.Psi, np.zeros_like(scatter)), _factor(self.Psi, scatter)
        total = -0.5 * d * (n * math.log(math.pi) + log_determinant)
        for i in range(d):
            total += log_rising_factorial(0.5 * (self.nu - i), 0.5 * n)
            total += self.nu * math.log(prior[i, i]) - (self.nu + n) * math.log(posterior[i, i])
        return total

    def draw_whitening(self, scatter, n, rng):
        # With F the factor of Psi_n and A the factor of a draw, inverse(S) = W' W with W = A' inverse(F).
        factor = _factor(self.Psi, scatter)
        d = factor.shape[0]
        bartlett, whitening = np.zeros((d, d)), np.zeros((2, d, d))
        draw_inverse_wishart(factor, self.nu + n, rng, bartlett, whitening[1])
        # Solve W F = A'.
        for i in range(d):
            for j in range(d - 1, -1, -1):
                total = bartlett[j, i]
                for m in range(j + 1, d):
                    total -= whitening[0, i, m] * factor[m, j]
                whitening[0, i, j] = total / factor[j, j]
        return whitening

    def transform_row(self, matrix, row, work):
        d = row.shape[0]
        for i in range(d):
            work[i] = row[i]
        for i in range(d):
            total = 0.0
            for j in range(d):
                total += matrix[i, j] * work[j]
            row[i] = total


@kernel
def _factor(Psi, scatter):
    """Lower Cholesky factor of Psi plus sums of squares, of which only the lower triangle is there."""
    factor = Psi + scatter
    factor_in_place(factor)
    return factor
