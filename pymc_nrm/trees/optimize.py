"""Hyperparameters of measure and family that maximise the lower bound of the evidence from trees."""

import dataclasses
from typing import Any

import numpy as np
import scipy

from pymc_nrm.common.checks import check_count, check_number, random_generator
from pymc_nrm.trees.bound_gradient import TreeBound
from pymc_nrm.trees.clustering import bhc

# Logarithms of hyperparameters change by at most this much on one tree.
_LARGEST_CHANGE = 10.0

# The total mass of a measure stays above 0.02, below which the prior expects one cluster and quadrature over u is slow.
_LEAST_LOG_MASS = -4.0


@dataclasses.dataclass(frozen=True, eq=False)
class OptimizedHyperparameters:
    """Result of maximising the lower bound of the evidence.

    Parameters
    ----------
    family : Family or list of Family
    measure : Measure
    dendrogram : Dendrogram
        The tree with the largest bound.
    log_bounds : ndarray, shape (n_rounds + 1,)
        Lower bound of the log evidence at the start and after each tree; it never decreases.
    """

    family: Any
    measure: Any
    dendrogram: Any
    log_bounds: Any


def optimize_hyperparameters(
    X: Any,
    family: Any,
    measure: Any,
    *,
    family_names: Any = None,
    measure_names: Any = None,
    algorithm: Any = bhc,
    n_rounds: int = 30,
    n_iterations: int = 5,
    tolerance: float = 1e-3,
    random_seed: Any = None,
) -> OptimizedHyperparameters:
    """Maximise the lower bound of the log evidence over the hyperparameters (empirical Bayes).

    Each round grows a tree and raises its bound by a few steps of L-BFGS.  The next round grows a tree under the new
    hyperparameters, and keeps the old tree if its bound is larger.

    Parameters
    ----------
    X : array_like or sparse matrix, shape (n, d) or (n,), or list of them
        Data; NaN means missing, where the family allows it.
    family : Family or list of Family
        Where to start.  A scalar hyperparameter stays a scalar; the entries of an array vary independently.  Levels of
        weight 0 keep this weight.
    measure : Measure
        Where to start; ``sigma = 0`` stays 0.
    family_names, measure_names : sequence of str, optional
        Hyperparameters that vary, by default all; for a list of families, a list of sequences.
    algorithm : callable
        :func:`~pymc_nrm.trees.bhc`, or another that takes ``X, family, measure, random_seed`` and returns a dendrogram.
    n_rounds : int
        Largest number of trees after the first.
    n_iterations : int
        Largest number of steps of the optimiser on one tree; too many fit the hyperparameters to a bad first tree.
    tolerance : float
        Stop after a round that raises the log bound by no more than this.
    random_seed : int, numpy.random.Generator, optional

    Returns
    -------
    OptimizedHyperparameters

    %(errors_of_inputs)s

    Notes
    -----
    The gradient combines derivatives of the symbolic log-likelihood of single nodes; see
    :class:`~pymc_nrm.trees.bound_gradient.TreeBound`.  Coordinates are logarithms, log odds, and Cholesky factors with
    logarithmic diagonals.  Logarithms change by at most 10 on one tree, and those of a measure stay above -4.  If the
    bound has no maximum, the result depends on the numbers of rounds and iterations.  This happens, for example, if all
    clusters have the same variance, since ``alpha`` and ``beta`` of a normal family may then grow together.

    Each evaluation calls a compiled gradient for every node that is a cluster with a probability above 1e-12.

    References
    ----------
    Heller & Ghahramani (2005), "Bayesian hierarchical clustering", section 2.3.

    Examples
    --------
    >>> from pymc_nrm.families import PoissonGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> X = [0, 1, 0, 2, 30, 40, 35]
    >>> result = optimize_hyperparameters(X, PoissonGamma(1.0, 1.0), DirichletProcess(1.0), random_seed=1)
    >>> bool(result.log_bounds[-1] > result.log_bounds[0] + 1.0)
    True
    """
    for name, value in (("n_rounds", n_rounds), ("n_iterations", n_iterations)):
        check_count(name, value, 1)
    check_number("tolerance", tolerance, lambda x: 0.0 <= x < np.inf, "a finite number of at least 0")
    if not callable(algorithm):
        raise TypeError(f"algorithm must be a function such as bhc; got {algorithm!r}")
    rng = random_generator(random_seed)
    bound = TreeBound(X, family, measure, family_names, measure_names)
    x = bound.start
    best = algorithm(X, *bound.at(x), random_seed=rng)
    log_bounds = [best.log_evidence]
    for _ in range(n_rounds):
        x = _maximise(bound, x, best, n_iterations)
        best = bound.dendrogram(x, best.tree, best.log_u)
        grown = algorithm(X, *bound.at(x), random_seed=rng)
        if grown.log_evidence > best.log_evidence:
            best = grown
        log_bounds.append(best.log_evidence)
        if log_bounds[-1] - log_bounds[-2] <= tolerance:
            break
    return OptimizedHyperparameters(*bound.at(x), best, np.array(log_bounds))


def _maximise(bound, x, dendrogram, n_iterations):
    """Coordinates with a larger bound on the same tree, or the given ones if none are found."""
    best = [dendrogram.log_evidence, x]

    def negative(point):
        value, gradient = bound.value_and_gradient(point, dendrogram.tree, dendrogram.log_u)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return np.inf, np.zeros(len(point))
        if value > best[0]:
            best[:] = value, point.copy()
        return -value, -gradient

    reach = np.where(bound.is_log_scale, _LARGEST_CHANGE, np.inf)
    low = x - reach
    low = np.where(bound.is_mass, np.maximum(low, np.minimum(_LEAST_LOG_MASS, x)), low)
    limits = scipy.optimize.Bounds(low, x + reach)
    scipy.optimize.minimize(negative, x, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": n_iterations})
    return best[1]
