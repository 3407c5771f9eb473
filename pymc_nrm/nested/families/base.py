"""What every tree family must define: the law of data whose means diffuse down a tree of nodes.

A tree family is a ``NamedTuple`` of hyperparameters, described by :func:`tree_family`.  The tree is given by paths, an
array of shape (n, depth): entry l - 1 of a row is the node of level l above the item, and the root is not written.
Items with equal nodes at one level have equal nodes at all levels above.

Given the covariance S of an item about the mean of its leaf, the columns of ``X inverse(L)'``, with ``L L' = S``, are
independent and have one covariance matrix, which the tree determines.  Kernels therefore work on *whitened* data; a
family only says how S is integrated out or drawn from sums of squares.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_nrm.common.checks import check_count, static_shape
from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.families import arguments
from pymc_nrm.kernels.generic import check_signals, describe_fields, generic, kernel
from pymc_nrm.nested.families.node_tree import build_node_tree


@kernel
def residual_scatter(family, tree, values):
    """The scatter and the log determinant of :func:`scatter_about` of values less mu."""
    return scatter_about(family, tree, values, np.zeros(values.shape[1]))


@kernel
def scatter_about(family, tree, values, mean):
    """Sums of squares and log determinant, which give the likelihood, of values (n, d) of prior mean (d,)."""
    n, depth = tree.paths.shape
    d = values.shape[1]
    scatter, row, log_determinant = new_scatter(family), np.empty(d), 0.0
    for item in range(n):
        leaf = tree.paths[item, depth - 1]
        p = tree.precisions[depth, leaf]
        for j in range(d):
            row[j] = values[item, j] - tree.totals[depth, leaf, j] / p
        add_square(family, scatter, row, 1.0)
    for level in range(depth + 1):
        for k in range(tree.sizes[level]):
            slot = tree.active[level, k]
            p, above = tree.precisions[level, slot], tree.parents[level, slot]
            growth = 1.0 + tree.tau[level] * p
            for j in range(d):
                center = mean[j]
                if level > 0:
                    center = tree.totals[level - 1, above, j] / tree.precisions[level - 1, above]
                row[j] = tree.totals[level, slot, j] / p - center
            add_square(family, scatter, row, p / growth)
            log_determinant += math.log(growth)
    return scatter, log_determinant


@kernel
def log_likelihood(paths, family, data):
    """Log density of the data given the tree, node means and the covariance of items integrated out. Shapes: ``paths``
    (n, depth).
    """
    values = data.values - family.mu
    scatter, log_determinant = residual_scatter(family, build_node_tree(paths, values, family.tau), values)
    return scatter_log_likelihood(family, scatter, log_determinant, values.shape[0])


@kernel
def node_moments(tree):
    """Means and variances of the node means given the data, for S = I.

    Given its parent's mean m, the mean of a node is normal with mean ``(tau total + m) / (1 + tau p)`` and variance
    ``tau / (1 + tau p)``; a pass from the root to the leaves therefore gives all laws. Means are written for occupied
    slots only, in the units of the data of the tree. Shapes: returns ``means`` (depth + 1, n, d), ``variances`` (depth
    + 1, n).
    """
    n_levels, n, d = tree.totals.shape
    means, variances = np.empty((n_levels, n, d)), np.zeros((n_levels, n))
    for level in range(n_levels):
        tau = tree.tau[level]
        for k in range(tree.sizes[level]):
            slot = tree.active[level, k]
            shrinkage = 1.0 / (1.0 + tau * tree.precisions[level, slot])
            variances[level, slot] = tau * shrinkage
            for j in range(d):
                means[level, slot, j] = shrinkage * tau * tree.totals[level, slot, j]
            if level > 0:
                above = tree.parents[level, slot]
                variances[level, slot] += shrinkage * shrinkage * variances[level - 1, above]
                for j in range(d):
                    means[level, slot, j] += shrinkage * means[level - 1, above, j]
    return means, variances


@kernel
def log_predictive_at_places(family, paths, data, points, start):
    """Log predictive density of new items in the leaves, and in new leaves below all other nodes.

    Given the tree and S, the mean of node z of level l is normal with mean m_z and covariance ``v_z S``, whatever S is.
    A new item in a leaf below it is normal with mean m_z and covariance c S, where ``c = 1 + v_z + tau_(l + 1) + ... +
    tau_L``.  Its density with S integrated out is therefore the ratio of the likelihoods of n + 1 and of n items, whose
    sums of squares differ by the square of ``x - m_z`` divided by c, and log determinants by log c. Shapes: ``paths``
    (n, depth), ``start`` (depth + 2,); returns (m, n_places).
    """
    n, depth = paths.shape
    d, m = family.mu.shape[0], points.values.shape[0]
    if n > 0:
        values = data.values - family.mu
        tree = build_node_tree(paths, values, family.tau)
        scatter, log_determinant = residual_scatter(family, tree, values)
        means, variances = node_moments(tree)
    else:
        scatter, log_determinant = new_scatter(family), 0.0
        means, variances = np.zeros((1, 1, d)), np.full((1, 1), family.tau[0])
    log_likelihood = scatter_log_likelihood(family, scatter, log_determinant, n)
    table, row = np.empty((m, start[depth + 1])), np.empty(d)
    for level in range(depth + 1):
        steps = 1.0
        for below in range(level + 1, depth + 1):
            steps += family.tau[below]
        for place in range(start[level], start[level + 1]):
            check_signals()
            slot = place - start[level]
            variance = variances[level, slot] + steps
            for item in range(m):
                for j in range(d):
                    row[j] = points.values[item, j] - family.mu[j] - means[level, slot, j]
                longer = scatter.copy()
                add_square(family, longer, row, 1.0 / variance)
                table[item, place] = (
                    scatter_log_likelihood(family, longer, log_determinant + math.log(variance), n + 1) - log_likelihood
                )
    return table


@kernel
def _draw_whitened_means(tree, rng):
    """Node means given what the tree says about them, for S = I, shape (depth + 1, n, d); occupied slots only."""
    n_levels, n, d = tree.totals.shape
    means = np.empty((n_levels, n, d))
    for level in range(n_levels):
        tau = tree.tau[level]
        for k in range(tree.sizes[level]):
            slot, above = tree.active[level, k], tree.parents[level, tree.active[level, k]]
            shrinkage = 1.0 / (1.0 + tau * tree.precisions[level, slot])
            for j in range(d):
                parent = means[level - 1, above, j] if level > 0 else 0.0
                means[level, slot, j] = shrinkage * (tau * tree.totals[level, slot, j] + parent)
                means[level, slot, j] += math.sqrt(tau * shrinkage) * rng.standard_normal()
    return means


@kernel
def draw_data(family, paths, rng):
    """Draw data given a tree: the covariance S of items, then the means of all nodes, then the items. Shapes: ``paths``
    (n, depth); returns (n, d).
    """
    n, depth = paths.shape
    d = family.mu.shape[0]
    tree = build_node_tree(paths, np.zeros((n, d)), family.tau)
    # Without data the messages are empty.
    tree.precisions[:] = 0.0
    means = _draw_whitened_means(tree, rng)
    root = draw_whitening(family, new_scatter(family), 0, rng)[1]
    values, work = np.empty((n, d)), np.empty(d)
    for item in range(n):
        for j in range(d):
            values[item, j] = means[depth, paths[item, depth - 1], j] + rng.standard_normal()
        transform_row(family, root, values[item], work)
        for j in range(d):
            values[item, j] += family.mu[j]
    return values


@kernel
def whitened_tree(rng, paths, family, data):
    """Draw S given the tree and the data, and build the state of the tree with whitened data. ``values`` are whitened
    data, relative to mu; ``root`` is R with ``R R' = S``. Shapes: ``paths`` (n, depth); returns ``values`` (n, d).
    """
    values = data.values - family.mu
    n, d = values.shape
    tree = build_node_tree(paths, values, family.tau)
    scatter, _ = residual_scatter(family, tree, values)
    whitening, work = draw_whitening(family, scatter, n, rng), np.empty(d)
    for item in range(n):
        transform_row(family, whitening[0], values[item], work)
    for level in range(tree.sizes.shape[0]):
        for k in range(tree.sizes[level]):
            transform_row(family, whitening[0], tree.totals[level, tree.active[level, k]], work)
    return tree, values, whitening[1]


@kernel
def draw_node_means(family, paths, data, rng):
    """Draw the means of all nodes given the tree and the data, the covariance S of items with them. ``means[l, k]``
    belongs to node k of level l, in the units of the data; ``root`` is R with ``R R' = S``. Shapes: ``paths`` (n,
    depth); returns ``means`` (depth + 1, n, d).
    """
    tree, values, root = whitened_tree(rng, paths, family, data)
    means, work = _draw_whitened_means(tree, rng), np.empty(values.shape[1])
    for level in range(tree.sizes.shape[0]):
        for k in range(tree.sizes[level]):
            row = means[level, tree.active[level, k]]
            transform_row(family, root, row, work)
            for j in range(row.shape[0]):
                row[j] += family.mu[j] + data.center[j]
    return means, root


@kernel
def draw_given_data(family, paths, data, rng):
    """Draw data of items given a tree and the data of the first ones: replications of these, and data of further items.

    The covariance S of items and the means of nodes are drawn given the data, the mean of a node without any of the
    first items given the mean of its parent. They are in the units of the data. Shapes: ``paths`` (n + m, depth);
    returns (n + m, d).
    """
    n, d = data.values.shape
    n_all, depth = paths.shape
    known_means, root = draw_node_means(family, paths[:n].copy(), data, rng)
    means = np.empty((depth + 1, n_all, d))
    drawn = np.zeros((depth + 1, n_all), dtype=np.bool_)
    means[0, 0] = known_means[0, 0]
    values, work, step = np.empty((n_all, d)), np.empty(d), np.empty(d)
    for item in range(n_all):
        parent = 0
        for level in range(1, depth + 1):
            node = paths[item, level - 1]
            if not drawn[level, node]:
                drawn[level, node] = True
                if item < n:
                    means[level, node] = known_means[level, node]
                else:
                    for j in range(d):
                        step[j] = math.sqrt(family.tau[level]) * rng.standard_normal()
                    transform_row(family, root, step, work)
                    means[level, node] = means[level - 1, parent] + step
            parent = node
        for j in range(d):
            step[j] = rng.standard_normal()
        transform_row(family, root, step, work)
        values[item] = means[depth, parent] + step
    return values


def tree_family[T](hyperparameters: dict[str, Hyperparameter]) -> Callable[[type[T]], type[T]]:
    """Decorator for the ``NamedTuple`` of a tree family, whose data are real numbers without missing values."""
    return describe_fields(hyperparameters, continuous=True, missing_allowed=False, for_trees=True)


def broadcast_hyperparameters(family: Any, n: Any, d: Any, depth: int) -> Any:
    """Check hyperparameters of a tree family and give them full shapes; if one is a tensor, all become tensors."""
    tau = family.tau if isinstance(family.tau, Variable) or family.tau is None else np.asarray(family.tau)
    shape = () if tau is None else static_shape(tau)
    if shape not in ((), (None,), (depth + 1,)):
        got = f"{tau} of type {tau.type}" if isinstance(tau, Variable) else f"shape {shape}"
        raise ValueError(
            f"tau of {type(family).__name__} must be a scalar or have one entry for the root and each of the {depth} "
            f"levels below it, shape ({depth + 1},); got {got}"
        )
    if tau is not None and shape != (depth + 1,):
        family = family._replace(tau=_one_per_level(tau, depth + 1))
    return arguments.broadcast_hyperparameters(family, n, d)


def _one_per_level(tau, length):
    if not isinstance(tau, Variable):
        return np.broadcast_to(tau, (length,)).copy()
    return pt.specify_shape(tau, (length,)) if tau.ndim else pt.broadcast_to(tau, (length,))


# The default variance between the means of leaves, in units of the variance of items about their leaf: leaves are then
# a fifth as wide as the data.
BETWEEN_LEAVES = 24.0


def falling_steps(depth):
    """Default of tau: levels below the root sum to 24 and fall by half from level to level; the root has 24 itself."""
    check_count("depth", depth, 1)
    shares = 0.5 ** np.arange(depth)
    return BETWEEN_LEAVES * np.concatenate([[1.0], shares / shares.sum()])


def learned_steps(prior, depth):
    """Add the steps from level to level; return tau and the share of items about their leaf in the variance."""
    default = falling_steps(depth)
    levels = prior.dimension("level", [f"level_{level}" for level in range(1, depth + 1)])
    steps = prior.log_normal("step", np.log(default[1:]), 1.0, dims=levels)
    total = steps.sum()
    # The sample mean is mu, so that the step from mu to the root is only loosely known; the data are as wide as this.
    return pt.concatenate([total[None], steps]), 1.0 / (1.0 + total)


@generic
def symbolic_log_likelihood(family, paths, X):
    """Symbolic log density of data (n, d) given paths (n, depth), differentiable in hyperparameters and data."""
    raise NotImplementedError


@generic
def new_scatter(family):
    """Zeros in the shape of the sums of squares that a family needs."""
    raise NotImplementedError


@generic
def add_square(family, scatter, row, weight):
    """Add the weighted square of a row of features to sums of squares, in place."""
    raise NotImplementedError


@generic
def scatter_log_likelihood(family, scatter, log_determinant, n):
    """Log density of n items."""
    raise NotImplementedError


@generic
def draw_whitening(family, scatter, n, rng):
    """Draw the covariance S of items given sums of squares; return W with ``W S W' = I`` and its inverse, (2, ...)."""
    raise NotImplementedError


@generic
def transform_row(family, matrix, row, work):
    """Replace a row of features x by ``matrix x``, in place; ``work`` is memory of its length."""
    raise NotImplementedError
