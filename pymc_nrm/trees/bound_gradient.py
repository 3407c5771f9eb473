"""The lower bound of the evidence of a fixed tree as a function of hyperparameters, and its gradient."""

import dataclasses
import functools
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import scipy

from pymc_nrm.common.checks import check_count, check_number, plain_values, random_generator
from pymc_nrm.common.supports import Support
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import complete, log_likelihood
from pymc_nrm.measures.base import log_joint_term, weights
from pymc_nrm.moves.guide_trees.tree import leaves, potentials_from_marginals, tree_log_marginals
from pymc_nrm.trees.clustering import bhc
from pymc_nrm.trees.clustering_result import make_dendrogram, node_log_probabilities
from pymc_nrm.trees.evidence import log_integrated_term, u_given_tree
from pymc_nrm.trees.inputs import as_rows, family_and_data, measure_of_numbers, names_per_item

# Ignore nodes whose probability of being a cluster is smaller than this.
_LEAST_PROBABILITY = 1e-12
# Step of finite differences in the coordinates of a measure.
_STEP = 1e-4


@dataclasses.dataclass(frozen=True, eq=False)
class Coordinates:
    """One hyperparameter as a function of a vector of logarithms, log odds, or entries of a Cholesky factor.

    The diagonal of the Cholesky factor is logarithmic.  Zeros of non-negative values stay zero.
    """

    support: Support
    # Coordinates of the initial value; shape (k,).
    start: Any
    # Position in the vector of each entry of the value; arbitrary for entries that stay zero.
    index: Any
    # Entries that do not stay zero.
    changes: Any
    n_features: int

    def __call__(self, x, module=np, parameters=None):
        """Value at a vector of coordinates; ``module`` is ``pt`` for symbolic coordinates.

        ``parameters`` is the measure or family with the values of the preceding hyperparameters, on which the support
        of this one may depend.
        """
        if self.start.size == 0:
            return np.zeros(self.index.shape)
        entries = x[self.index.ravel()].reshape(self.index.shape)
        support = self.support if parameters is None else self.support.given(parameters)
        return support.from_line(module, entries, self.changes, self.n_features)

    @property
    def is_log_scale(self):
        """Mask of the coordinates that are logarithms or log odds, shape (k,)."""
        return self.support.is_log_scale(self.index.shape)[self.changes]


def coordinates(value, support, n_features):
    """Coordinates of a hyperparameter."""
    entries, changes = support.to_line(np.asarray(value, dtype="float64"), n_features)
    index = np.zeros(changes.shape, dtype="int64")
    index[changes] = np.arange(changes.sum())
    return Coordinates(support, entries[changes], index, changes, n_features)


class Block:
    """Hyperparameters of a measure or a family as one vector."""

    def __init__(self, parameters, names, n_features, argument="names"):
        if not isinstance(names, list | tuple | None):
            raise TypeError(f"{argument} must be a list of names of hyperparameters; got {names!r}")
        defaults = type(parameters)._field_defaults
        # Item totals and numbers of levels default to None and are part of the data.
        variable = [name for name in parameters._fields if not (name in defaults and defaults[name] is None)]
        names = variable if names is None else list(names)
        for name in names:
            if name not in variable:
                raise ValueError(
                    f"{argument} must be hyperparameters of {type(parameters).__name__} that can vary, {variable}; "
                    f"got {name!r}"
                )
        self.parameters = parameters = plain_values(parameters)
        # In the order of the fields, since the support of a hyperparameter may depend on the preceding ones.
        names = [name for name in parameters._fields if name in names]
        supports = {name: parameters.hyperparameters[name].support.given(parameters) for name in names}
        self.coordinates = {name: coordinates(getattr(parameters, name), supports[name], n_features) for name in names}
        parts = [c.start for c in self.coordinates.values()]
        self.ends = np.cumsum([len(part) for part in parts], dtype="int64")
        self.start = np.concatenate([np.zeros(0), *parts])
        self.is_log_scale = np.concatenate([np.zeros(0, bool), *[c.is_log_scale for c in self.coordinates.values()]])

    def at(self, x, module=np):
        """The measure or family at a vector; ``module`` is ``pt`` for a symbolic vector."""
        values, first = {}, 0
        for (name, c), end in zip(self.coordinates.items(), self.ends, strict=True):
            value = c(x[first:end], module, self.parameters._replace(**values))
            # Kernels and checks need scalars as floats.
            values[name] = float(value) if module is np and np.ndim(value) == 0 else value
            first = end
        return self.parameters._replace(**values)

    def symbolic(self):
        """A symbolic vector, and the measure or family as a function of it."""
        x = pt.vector("x", dtype="float64")
        return x, self.at(x, pt)


class TreeBound:
    """Lower bound of the log evidence in unconstrained coordinates.

    Let ``P(v | u)`` be the probability, given tree and u, that node v is a cluster, and E the mean over u given the
    tree.  The gradient of the log bound is ``E[sum_v P(v | u)] d log p(X_v)`` with respect to hyperparameters of the
    family, and ``E[d log_joint_term(n, u) + sum_v P(v | u) d moment(n_v, u)]`` with respect to hyperparameters of the
    measure.  The bound is a sum of products over partitions, so the derivative of its logarithm is a posterior mean of
    sums.

    Parameters
    ----------
    X, family, measure, family_names, measure_names
        As in :func:`~pymc_nrm.trees.optimize_hyperparameters`.

    Examples
    --------
    >>> from pymc_nrm.families import NormalGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> from pymc_nrm.trees import bhc
    >>> X, family, measure = [0.0, 9.0, 0.3, 9.1], NormalGamma(5.0, 0.01, 2.0, 0.1), DirichletProcess(1.0)
    >>> bound, tree = TreeBound(X, family, measure), bhc(X, family, measure, random_seed=1)
    >>> value, gradient = bound.value_and_gradient(bound.start, tree.tree, tree.log_u)
    >>> round(value - tree.log_evidence, 6), gradient.shape
    (0.0, (5,))
    """

    def __init__(self, X, family, measure, family_names=None, measure_names=None):
        self.measure = Block(measure_of_numbers(measure), measure_names, 1, "measure_names")
        family_and_data(family, X)
        self.X, self._is_list = X, isinstance(family, list)
        families, data = (family, X) if self._is_list else ([family], [X])
        names = family_names if self._is_list and family_names is not None else [family_names] * len(families)
        if len(names) != len(families):
            raise ValueError(f"family_names must have one entry for each of {len(families)} families; got {len(names)}")
        self.families = [FamilyGradient(*triple) for triple in zip(families, map(as_rows, data), names, strict=True)]
        blocks = [self.measure, *(part.block for part in self.families)]
        self.start = np.concatenate([block.start for block in blocks])
        self.is_log_scale = np.concatenate([block.is_log_scale for block in blocks])
        masses = [np.full(len(c.start), c.support.name == "positive") for c in self.measure.coordinates.values()]
        self.is_mass = np.concatenate([*masses, np.zeros(len(self.start) - len(self.measure.start), bool)])
        self._ends = np.cumsum([len(block.start) for block in blocks])[:-1]

    def at(self, x):
        """The family, or list of families, and the measure at a point."""
        first, *of_families = np.split(x, self._ends)
        families = [part.block.at(values) for part, values in zip(self.families, of_families, strict=True)]
        return families if self._is_list else families[0], self.measure.at(first)

    def dendrogram(self, x, tree, log_u):
        """The same tree with the potentials and clusters under the hyperparameters at a point."""
        family, measure = self.at(x)
        family, data, _ = family_and_data(family, self.X)
        return make_dendrogram(tree, measure_of_numbers(measure), log_u, family, data, fixed_u=False)

    def value_and_gradient(self, x, tree, log_u):
        """Log bound and its gradient.

        Parameters
        ----------
        x : ndarray, shape (k,)
        tree : Tree
        log_u : float
            Start of the search for the mode of log u.

        Returns
        -------
        float
        ndarray, shape (k,)
        """
        family, measure = self.at(x)
        kernel_family, data, n = family_and_data(family, self.X)
        log_p = tree_log_marginals(tree, kernel_family, data)
        quadrature = u_given_tree(measure, tree, log_p, log_u)
        first, *of_families = np.split(x, self._ends)
        node_weights, size_weights = np.zeros(2 * n - 1), []
        for probability, s in zip(quadrature.probabilities, quadrature.log_u, strict=True):
            potentials = potentials_from_marginals(tree, weights(measure, n, s).moment, log_p)
            _, log_cluster = node_log_probabilities(tree, potentials.log_dissimilarity)
            share = probability * np.exp(log_cluster)
            node_weights += share
            size_weights.append(np.bincount(tree.size, share, n + 1))
        with np.errstate(invalid="ignore"):
            parts = [self._measure_gradient(first, quadrature, size_weights)]
        for part, values in zip(self.families, of_families, strict=True):
            parts.append(part(values, tree, node_weights))
        return quadrature.log_integral, np.concatenate(parts)

    def _measure_gradient(self, x, quadrature, size_weights):
        """Five-point differences of the log weights of u and of clusters, averaged over u given the tree.

        The distribution of u may be narrow, as for the Pitman-Yor process with a small discount, so its third
        derivative matters.
        """
        n = len(size_weights[0]) - 1
        gradient = np.zeros(len(x))
        log_term = log_joint_term if len(quadrature.log_u) > 1 else log_integrated_term
        for k in range(len(x)):
            for steps, share in ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)):
                measure = self.measure.at(x + steps * _STEP * (np.arange(len(x)) == k))
                for probability, s, by_size in zip(
                    quadrature.probabilities, quadrature.log_u, size_weights, strict=True
                ):
                    value = probability * log_term(measure, n, s) + by_size @ weights(measure, n, s).moment
                    gradient[k] += share * value / (12.0 * _STEP)
        return gradient


class FamilyGradient:
    """Gradient of a weighted sum of log marginals of nodes with respect to the coordinates of one family."""

    def __init__(self, family, X, names):
        self.block = Block(family, names, X.shape[1], "family_names")
        self.X = X

    def __call__(self, x, tree, node_weights):
        """Gradient at coordinates x; nodes with weight 0 cost nothing."""
        gradient = np.zeros(len(x))
        if len(x):
            for v in np.flatnonzero(node_weights > _LEAST_PROBABILITY):
                rows = self.X[leaves(tree, v)]
                rows = rows.toarray() if scipy.sparse.issparse(rows) else rows
                gradient += node_weights[v] * self._function(x, rows.astype("float64"))
        return gradient

    @functools.cached_property
    def _function(self):
        """Compiled gradient of the symbolic log-likelihood of one cluster."""
        x, family = self.block.symbolic()
        rows = pt.matrix("rows", dtype="float64")
        # These belong to the data: levels are known, and marginals of fixed data do not depend on values per item.
        filled = complete(self.block.parameters, self.X)
        of_items = names_per_item(family)
        for name in family.hyperparameters:
            if name in of_items:
                family = family._replace(**{name: 0.0})
            elif name not in self.block.coordinates:
                family = family._replace(**{name: getattr(filled, name)})
        full = broadcast_hyperparameters(family, rows.shape[0], self.X.shape[1])
        value = log_likelihood(full, rows, pt.zeros(rows.shape[0], dtype="int64"))
        return pytensor.function([x, rows], pt.grad(value, x))


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

    Examples
    --------
    >>> from pymc_nrm.families import PoissonGamma
    >>> from pymc_nrm.measures import DirichletProcess
    >>> X = [0, 1, 0, 2, 30, 40, 35]
    >>> result = optimize_hyperparameters(X, PoissonGamma(1.0, 1.0), DirichletProcess(1.0), n_rounds=2, random_seed=1)
    >>> type(result.family).__name__, result.dendrogram.labels.tolist()
    ('PoissonGamma', [0, 1, 0, 1, 2, 2, 2])
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
        Initial values.  A scalar hyperparameter stays a scalar; the entries of an array vary independently.  Levels
        with weight 0 keep this weight.
    measure : Measure
        Initial values; ``sigma = 0`` stays 0.
    family_names, measure_names : sequence of str, optional
        Hyperparameters to vary, by default all; for a list of families, a list of sequences.
    algorithm : callable
        :func:`~pymc_nrm.trees.bhc`, or a function that takes ``X, family, measure, random_seed`` and returns a
        dendrogram.
    n_rounds : int
        Maximum number of trees after the first.
    n_iterations : int
        Maximum number of optimiser steps on one tree; too many fit the hyperparameters to a bad first tree.
    tolerance : float
        Stop after a round that increases the log bound by no more than this.
    random_seed : int, numpy.random.Generator, optional

    Returns
    -------
    OptimizedHyperparameters

    %(errors_of_inputs)s

    Notes
    -----
    The gradient combines derivatives of the symbolic log-likelihood of single nodes; see
    :class:`~pymc_nrm.trees.bound_gradient.TreeBound`.  Coordinates are logarithms, log odds, and Cholesky factors with
    logarithmic diagonals.  Logarithms change by at most 10 on one tree, and the logarithms of a measure stay above -4.
    If the bound has no maximum, the result depends on the numbers of rounds and iterations.  This happens, for example,
    if all clusters have the same variance, since ``alpha`` and ``beta`` of a normal family may then grow together.

    Each evaluation calls a compiled gradient for every node whose probability of being a cluster is above 1e-12.

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
    """Coordinates with a larger bound on the same tree, or the initial coordinates if none are found."""
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
