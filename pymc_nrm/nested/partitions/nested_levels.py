"""Nested partitions level by level: prediction rules, priors, known paths."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_nrm.common.checks import known_value, plain_values, static_shape
from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.kernels.generic import describe_fields, generic, kernel
from pymc_nrm.kernels.special import symbolic_log_rising_factorial
from pymc_nrm.measures.prediction_rules import Levels, levels_of


class KnownPaths(NamedTuple):
    """Known paths, which replace the measure and ``Levels`` of a random tree."""

    # In canonical form, see `canonical_paths`; ndarray of int64 or matrix tensor, shape (n, depth).
    paths: Any


@levels_of.register(KnownPaths)
def _levels_of_known_paths(measure):
    return measure


def broadcast_to_levels(parameters, depth):
    """Check the fields of a measure or of weights, and broadcast fields that may vary by level to one entry per level.
    They become tensors of float64.
    """
    parameters = plain_values(parameters)
    values = type(parameters)(*[known_value(value) for value in parameters])
    fields = []
    for name, value in parameters._asdict().items():
        title = f"{name} of {type(parameters).__name__}"
        specification = parameters.hyperparameters[name]
        if value is None:
            raise ValueError(f"{title} must be {specification.support.description}; got None")
        scalar_only = name in getattr(parameters, "scalars", ())
        shape = static_shape(value)
        if shape != () and (scalar_only or len(shape) != 1 or shape[0] not in (None, depth)):
            got = f"{value} of type {value.type}" if isinstance(value, Variable) else f"shape {shape}"
            per_level = "" if scalar_only else f", or have one entry for each of the {depth} levels, shape ({depth},)"
            raise ValueError(f"{title} must be a scalar{per_level}; got {got}")
        if getattr(values, name) is not None:
            support = specification.support.given(values)
            complaint = support.complaint(np.asarray(getattr(values, name), dtype="float64"), None)
            if complaint:
                raise ValueError(f"{title} must be {support.description}; {complaint}")
        fields.append(_tensor(value, () if scalar_only else (depth,)))
    return type(parameters)(*fields)


def _tensor(value, shape):
    if not isinstance(value, Variable):
        return pt.constant(np.broadcast_to(np.asarray(value, dtype="float64"), shape).copy())
    value = value.astype("float64")
    if static_shape(value) == shape:
        return value
    return pt.specify_shape(value, shape) if value.ndim == len(shape) else pt.broadcast_to(value, shape)


@describe_fields(
    {"gamma": Hyperparameter(("level",), "positive"), "gamma_0": Hyperparameter((), "positive")}, scalars=("gamma_0",)
)
class HierarchicalDirichletProcess(NamedTuple):
    """Mixing weights of all nodes of a tree over components that they share.

    The weights of the root are ``GEM(gamma_0)``.  The weights of a node of level l are a Dirichlet process of
    concentration ``gamma[l - 1]`` centred at the weights of its parent.  Every item draws its component from its leaf.
    This is the multilevel hierarchical Dirichlet process of Huang, Laitonjam, Piao & Hurley (2020).

    Parameters
    ----------
    gamma : positive float, tensor or random variable, scalar or shape (depth,)
        Concentrations of levels 1 to depth: with larger values the weights of a node are closer to its parent's.
    gamma_0 : positive float, scalar tensor or random variable
        Concentration of the root; the number of components grows with it.

    Notes
    -----
    Components are drawn once for the whole tree and independently of each other, and each item has one component.
    Given the components, a random tree is therefore independent of the data: similarity of two components is no
    evidence of their positions in the tree.  Over known groups this is the hierarchical Dirichlet process of Teh,
    Jordan, Beal & Blei (2006), and the data inform the components of each group.

    Examples
    --------
    >>> HierarchicalDirichletProcess(gamma=1.15, gamma_0=1.0)
    HierarchicalDirichletProcess(gamma=1.15, gamma_0=1.0)
    """

    gamma: Any = 1.0
    gamma_0: Any = 1.0


@kernel
def _log_prediction_rules(rooms, groups, arrives, alpha, sigma):
    """Log probability of the groups of customers that arrive one after the other, each in its room."""
    n = rooms.shape[0]
    seated, n_groups, sizes = np.zeros(n), np.zeros(n), np.zeros(n)
    total = 0.0
    for i in range(n):
        if not arrives[i]:
            continue
        room, group = rooms[i], groups[i]
        if seated[room] > 0.0:
            joins = sizes[group] > 0.0
            weight = sizes[group] - sigma if joins else alpha + sigma * n_groups[room]
            total += math.log(weight / (seated[room] + alpha))
        n_groups[room] += sizes[group] == 0.0
        seated[room] += 1.0
        sizes[group] += 1.0
    return total


@kernel
def _first_of_each(labels):
    """Mask of the items that are the first with their label."""
    first = np.zeros(labels.shape[0], dtype=np.bool_)
    largest = -1
    for i in range(labels.shape[0]):
        first[i] = labels[i] > largest
        largest = max(largest, labels[i])
    return first


@generic
def _log_probability(levels, paths):
    """Log probability of paths as random paths, or given known paths."""
    raise NotImplementedError


@_log_probability.register(KnownPaths)
def _log_probability_of_known(levels, paths):
    known_paths = levels.paths
    if known_paths.shape[0] != paths.shape[0]:
        return -math.inf
    for i in range(known_paths.shape[0]):
        for level in range(known_paths.shape[1]):
            if paths[i, level] != known_paths[i, level]:
                return -math.inf
    return 0.0


@_log_probability.register(Levels)
def _log_probability_of_random(levels, paths):
    n = paths.shape[0]
    everyone = np.ones(n, dtype=np.bool_)
    parents = np.zeros(n, dtype=np.int64)
    total = 0.0
    for level in range(levels.alpha.shape[0]):
        children = paths[:, level].copy()
        total += _log_prediction_rules(parents, children, everyone, levels.alpha[level], levels.sigma[level])
        parents = children
    return total


@kernel
def log_path_prior(levels, paths):
    """Log probability of the paths of items. Shapes: ``paths`` (n, at least depth)."""
    return _log_probability(levels, paths)


@kernel
def log_nested_prior(levels, gammas, values):
    """Log probability of paths and tables. Shapes: ``gammas`` (depth + 1,), ``values`` (n, 2 depth + 1)."""
    n, depth = values.shape[0], gammas.shape[0] - 1
    total = log_path_prior(levels, values)
    arrives = np.ones(n, dtype=np.bool_)
    for level in range(depth, -1, -1):
        nodes = values[:, level - 1].copy() if level > 0 else np.zeros(n, dtype=np.int64)
        tables = values[:, 2 * depth - level].copy()
        total += _log_prediction_rules(nodes, tables, arrives, gammas[level], 0.0)
        arrives = _first_of_each(tables)
    return total


def symbolic_log_nested_prior(value, levels, gammas, labels, n):
    """Symbolic log probability of paths and, with weights, of tables; differentiable in all concentrations. It is minus
    infinity unless the columns are nested and in order of appearance, with the known paths.
    """
    depth, width = value.depth, len(value.columns)
    in_range = pt.all(labels >= 0) & pt.all(labels < n)
    labels = pt.switch(in_range, labels, 0)
    n_rows = labels.shape[0]
    flat = labels + n_rows * pt.arange(width)
    first_row = _first_rows(flat, n_rows, width)
    first = pt.eq(first_row, pt.arange(n_rows)[:, None])
    canonical = pt.all(pt.eq(labels, pt.cumsum(first.astype("int64"), axis=0) - 1) | ~first)
    valid = in_range & canonical & pt.eq(n_rows, n)
    if value.refinements():
        fine, coarse = (np.array(columns) for columns in zip(*value.refinements(), strict=True))
        valid &= pt.all(pt.eq(labels[first_row[:, fine], coarse], labels[:, coarse]))
    if isinstance(levels, KnownPaths):
        log_p = 0.0
        valid &= pt.all(pt.eq(labels[:n, :depth], levels.paths[:n_rows]))
    else:
        sizes = _sums(flat, pt.ones_like(flat), n_rows * width)
        log_p = _log_paths(levels, labels, sizes, depth, n_rows, first)
    if gammas is not None:
        log_p += _log_tables(gammas, labels, flat, first, depth, n_rows)
    return pt.switch(valid, log_p, -np.inf)


def _first_rows(flat, n_rows, width):
    """Row of the first item of the block of each item, in each column."""
    # Later writes win, also in NumPy if indices are a vector: writing from last to first keeps the first appearance.
    rows = pt.repeat(pt.arange(n_rows)[::-1], width)
    places = pt.zeros(n_rows * width, dtype="int64")[flat[::-1].ravel()].set(rows)
    return places[flat]


def _sums(index, amounts, length):
    return pt.zeros(length, dtype="int64")[index].inc(amounts)


def _log_paths(levels, labels, sizes, depth, n_rows, first):
    """Log probability of paths; only counts of existing nodes are passed to log-gamma functions."""
    alpha, sigma = levels
    nodes = pt.nonzero(sizes[: depth * n_rows])[0]
    n_items, above = sizes[nodes], nodes // n_rows
    if sigma is None:
        log_p = pt.gammaln(n_items).sum()
    else:
        log_p = (pt.gammaln(n_items - sigma[above]) - pt.gammaln(1.0 - sigma[above])).sum()
    # The root, and the nodes that have children.
    inner = pt.nonzero(sizes[: (depth - 1) * n_rows])[0]
    n_items = pt.concatenate([n_rows[None], sizes[inner]])
    level = pt.concatenate([pt.zeros(1, dtype="int64"), inner // n_rows + 1])
    log_p -= symbolic_log_rising_factorial(alpha[level] + 1.0, n_items - 1).sum()
    if sigma is None:
        n_nodes = pt.concatenate([pt.ones(1, dtype="int64"), first[:, :depth].sum(axis=0)])
        return log_p + (pt.diff(n_nodes) * pt.log(alpha)).sum()
    above, rank = _ranks(labels, depth, n_rows, first)
    return log_p + pt.log(pt.switch(rank > 0, alpha[above] + rank * sigma[above], 1.0)).sum()


def _ranks(labels, depth, n_rows, first):
    """Level of the parent of each node, and its rank among its siblings, in any order."""
    above, rows = pt.nonzero(first[:, :depth].T)
    parents = pt.switch(above > 0, labels[rows, pt.maximum(above - 1, 0)], 0) + n_rows * above
    n_children = _sums(parents, pt.ones_like(parents), n_rows * depth)
    order = pt.argsort(parents)
    rank = pt.arange(parents.shape[0]) - (pt.cumsum(n_children) - n_children)[parents[order]]
    return above[order], rank


def _log_tables(gammas, labels, flat, first, depth, n_rows):
    """Log probability of tables given paths; columns of both are put in the order of levels 0 to depth."""
    tables = 2 * depth - np.arange(depth + 1)
    arrives = pt.concatenate([first[:, tables[1:]], pt.ones((n_rows, 1), dtype="bool")], axis=1).astype("int64")
    nodes = pt.concatenate([pt.zeros((n_rows, 1), dtype="int64"), labels[:, :depth]], axis=1)
    nodes = nodes + n_rows * pt.arange(depth + 1)
    n_customers = _sums(nodes, arrives, n_rows * (depth + 1))
    occupied = pt.nonzero(n_customers)[0]
    log_p = -symbolic_log_rising_factorial(gammas[occupied // n_rows] + 1.0, n_customers[occupied] - 1).sum()
    n_seated = _sums(flat[:, tables], arrives, n_rows * (2 * depth + 1))
    log_p += pt.gammaln(n_seated[pt.nonzero(n_seated)[0]]).sum()
    # The first table of a node is certain; each further table has weight gamma.
    n_further = first[:, tables].sum(axis=0) - _sums(occupied // n_rows, pt.ones_like(occupied), depth + 1)
    return log_p + (n_further * pt.log(gammas)).sum()
