"""Node means that diffuse down a tree, with one full covariance for all features."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.learned import learned_family
from pymc_nrm.families.moments import centred, check_ratio, check_shape
from pymc_nrm.families.sample_covariance import sample_moments
from pymc_nrm.families.scatter import log_determinants
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import log_rising_factorial, symbolic_log_rising_factorial
from pymc_nrm.tree_families.base import (
    tree_family,
)
from pymc_nrm.tree_families.step_variances import falling_steps
from pymc_nrm.tree_families.symbolic_scatter import symbolic_scatter


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
        How far the mean of a node is from that of its parent, level by level and that of the root from mu first: as a
        multiple of the covariance of items about their leaf.  A scalar holds for all levels.
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
    def from_data(cls, X: Any, depth: int) -> "NormalDiffusion":
        """Weakly informative hyperparameters on the scale of the data.

        ``mu`` is the sample mean, ``nu = d + 6`` and ``Psi = (nu - d - 1) Sigma / (1 + total)``: of the sample
        covariance Sigma, items about their leaf have the share ``1 / (1 + total)``, where ``total = 24`` is the sum of
        tau over the levels below the root.  tau falls by half from level to level, since nodes near the root are few
        and far apart; that of the root is ``total`` too.  Tree and predictions are the same in all linear coordinates.

        Parameters
        ----------
        X : array_like, shape (n, d)
        depth : int
            Number of levels below the root.

        Returns
        -------
        NormalDiffusion

        Raises
        ------
        ValueError
            If the data are not a finite matrix with more items than features, or if columns are constant or linear
            combinations of others, or the depth is no whole number of at least 1.

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
    def learned(cls, name: str, X: Any, depth: int) -> "NormalDiffusion":
        """Hyperparameters learned with the tree: hyperpriors in the model at hand, centred at the sample moments.

        With m and Sigma the mean and covariance of the data and ``L L' = Sigma``::

            tau[l] = step[l] ~ LogNormal(log default[l], 1)      for levels below the root
            tau[0] = sum of the steps                             mu = m
            spread ~ LogNormal(0, 1/2)                            nu - d - 1 = excess ~ LogNormal(1.5, 1)
            W ~ Wishart(d + 2, I) / (d + 2)
            Psi / (nu - d - 1) = spread L W L' / (1 + sum of the steps)

        where the defaults of the steps are those of :meth:`from_data`.  The variance of the data is expected to be that
        of items about their leaf and all steps together.  The prior moves with the data: if they become
        ``A x + b``, the laws of trees and of predictions are unchanged.

        Parameters
        ----------
        name : str
            Names of the new variables begin with it; usually the name of the Mixture.
        X : array_like or DataFrame, shape (n, d)
            The data. Columns of a DataFrame name the features.
        depth : int
            Number of levels below the root.

        Returns
        -------
        NormalDiffusion
            Its fields are tensors.

        Raises
        ------
        TypeError
            If there is no model at hand, or the data are not numbers.
        ValueError
            If the family does not allow these values, there are no more items than features, or columns are constant or
            linear combinations of others.

        Examples
        --------
        >>> import pymc as pm
        >>> X = np.random.default_rng(1).normal(size=(50, 2))
        >>> with pm.Model() as model:
        ...     family = NormalDiffusion.learned("x", X, depth=3)
        >>> [variable.name for variable in model.free_RVs]
        ['x_step', 'x_spread', 'x_excess', 'x_squared_pivot', 'x_below_pivot']
        """
        return learned_family(cls, name, (X, depth))

    def prepare_data(self, X):
        return centred(check_matrix(self, X))

    def check_resolution(self, data, title):
        check_shape("nu of NormalDiffusion", self.nu, "covariance", "Psi")
        # The width of a leaf in each feature given all others.
        check_ratio(data, np.sqrt(1.0 / np.diag(np.linalg.pinv(self.Psi))), "Psi", title)

    def localise(self, data):
        return self._replace(mu=self.mu - data.center)

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
        # inverse(S) ~ Wishart(nu_n, inverse(Psi_n)).  With Psi_n = F F' and A the Bartlett factor of Wishart(nu_n, I),
        # inverse(S) = inverse(F)' A A' inverse(F) = W' W with W = A' inverse(F).
        factor = _factor(self.Psi, scatter)
        d = factor.shape[0]
        bartlett = np.zeros((d, d))
        for i in range(d):
            bartlett[i, i] = math.sqrt(rng.chisquare(self.nu + n - i))
            for j in range(i):
                bartlett[i, j] = rng.standard_normal()
        whitening = np.zeros((2, d, d))
        # Solve W F = A' and R A' = F, with R = inverse(W).
        for i in range(d):
            for j in range(d - 1, -1, -1):
                total = bartlett[j, i]
                for m in range(j + 1, d):
                    total -= whitening[0, i, m] * factor[m, j]
                whitening[0, i, j] = total / factor[j, j]
            for j in range(d):
                total = factor[i, j]
                for m in range(j):
                    total -= whitening[1, i, m] * bartlett[j, m]
                whitening[1, i, j] = total / bartlett[j, j]
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

    def expected_covariance(self, scatter, n):
        factor = _factor(self.Psi, scatter)
        return factor @ factor.T / max(self.nu + n - factor.shape[0] - 1.0, 0.0)


@kernel
def _factor(Psi, scatter):
    """Lower Cholesky factor of Psi plus sums of squares, of which only the lower triangle is there."""
    # Numba takes many times as long to compile the function of NumPy.
    d = Psi.shape[0]
    factor = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            total = Psi[i, j] + scatter[i, j]
            for m in range(j):
                total -= factor[i, m] * factor[j, m]
            factor[i, j] = math.sqrt(total) if i == j else total / factor[j, j]
    return factor
