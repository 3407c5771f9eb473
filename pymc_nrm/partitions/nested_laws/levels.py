"""The law by which the items of a node are shared among its children, level by level."""

import numbers
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_nrm.common.checks import known_value, plain_values, static_shape
from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.kernels.generic import describe_fields, generic
from pymc_nrm.measures import DirichletProcess, PitmanYorProcess


class KnownPaths(NamedTuple):
    """Paths that are known, where a random tree has its measure and ``Levels``."""

    # In canonical form, see `canonical_paths`; ndarray of int64 or matrix tensor, shape (n, depth).
    paths: Any


def canonical_paths(title, labels, known=()):
    """Number the nodes of each level in order of appearance, from the labels of groups that a user gives. Also returns
    the parent and the label of each node, for each level. Shapes: ``labels`` (n,) or (n, depth); returns ``paths`` (n,
    depth).
    """
    if isinstance(labels, Variable):
        raise TypeError(f"{title} must be an array of labels, which are known; got {labels} of type {labels.type}")
    array = np.asarray(labels, dtype=object)
    n_missing = int(np.ma.count_masked(labels)) if np.ma.is_masked(labels) else int(pd.isna(array).sum())
    if n_missing:
        raise ValueError(f"{title} must have no missing labels; {n_missing} of {array.size} are missing")
    fits = array.ndim in (1, 2) and array.size > 0
    if fits and known:
        fits = len(known) == (1 if array.ndim == 1 else array.shape[1])
    if not fits:
        allowed = f"(n, {len(known)})" if known else "(n, depth)"
        allowed = f"(n,) or {allowed}" if len(known) <= 1 else allowed
        raise ValueError(f"{title} must have shape {allowed}, with at least one item; got shape {array.shape}")
    array = array.reshape(len(array), -1)
    numbered = [{node: k for k, node in enumerate(level)} for level in known or ((),) * array.shape[1]]
    paths = np.empty(array.shape, dtype=np.int64)
    for row, path in zip(array, paths, strict=True):
        parent = 0
        for level, label in enumerate(row):
            nodes = numbered[level]
            parent = path[level] = nodes.setdefault((parent, _plain(title, label)), len(nodes))
    return paths, tuple(map(tuple, numbered))


def _plain(title, label):
    """A label as a string or an int of Python."""
    if isinstance(label, str):
        return str(label)
    is_whole = isinstance(label, float | np.floating) and float(label).is_integer()
    if isinstance(label, numbers.Integral | np.bool_) or is_whole:
        return int(label)
    raise TypeError(f"{title} must be whole numbers or strings; got {label!r} of type {type(label).__name__}")


class Levels(NamedTuple):
    """Prediction rules of the levels of a nested partition; entry l is that for the children of a node of level l.

    With N items in m children, of which one has N_c, the next item follows this child with probability
    ``(N_c - sigma) / (N + alpha)`` and a new one with probability ``(alpha + m sigma) / (N + alpha)`` (Pitman 1995,
    proposition 9).  With sigma = 0 this is the nested Chinese restaurant process of Blei, Griffiths & Jordan (2010).
    """

    # alpha, sigma: ndarray of float64 or vector tensor, shape (depth,).
    alpha: Any
    sigma: Any


@generic
def levels_of(measure):
    """Prediction rules of all levels, from a measure whose fields have one entry for each level.

    A measure fits if the probability of the next item's cluster depends on the sizes of clusters and their number in
    the way of :class:`Levels`.  Known paths have no such rules, and stay what they are.
    """
    raise NotImplementedError


@levels_of.register(DirichletProcess)
def _levels_of_dirichlet(measure):
    return Levels(measure.alpha, 0.0 * measure.alpha)


@levels_of.register(PitmanYorProcess)
def _levels_of_pitman_yor(measure):
    return Levels(measure.concentration, measure.discount)


@levels_of.register(KnownPaths)
def _levels_of_known_paths(measure):
    return measure


def symbolic_levels_of(measure):
    """Prediction rules as :func:`levels_of` gives them, with None for a sigma that the measure fixes at 0."""
    levels = levels_of(measure)
    return levels._replace(sigma=None) if isinstance(measure, DirichletProcess) else levels


def broadcast_to_levels(parameters, depth):
    """Check the fields of a measure or of weights, and give those that may vary by level one entry for each level. They
    become tensors of float64.
    """
    parameters = plain_values(parameters)
    known = type(parameters)(*[known_value(value) for value in parameters])
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
        if getattr(known, name) is not None:
            support = specification.support.given(known)
            complaint = support.complaint(np.asarray(getattr(known, name), dtype="float64"), None)
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

    The weights of the root are ``GEM(gamma_0)``; those of a node of level l are a Dirichlet process of concentration
    ``gamma[l - 1]`` whose centre are the weights of its parent.  Every item draws its component from its leaf.  This is
    the multilevel hierarchical Dirichlet process of Huang, Laitonjam, Piao & Hurley (2020).

    Parameters
    ----------
    gamma : positive float, tensor or random variable, scalar or shape (depth,)
        Concentrations of levels 1 to depth: the larger, the more the weights of a node resemble those of its parent.
    gamma_0 : positive float, scalar tensor or random variable
        Concentration of the root; the number of components grows with it.

    Notes
    -----
    Components are drawn once for the whole tree and independently of each other, and each item shows one component
    once.  Given the components, a random tree is therefore independent of the data: how near two components are says
    nothing about where they stand in the tree.  Over known groups this is the hierarchical Dirichlet process of Teh,
    Jordan, Beal & Blei (2006), and the data say which components each group has.

    Examples
    --------
    >>> HierarchicalDirichletProcess(gamma=1.15, gamma_0=1.0)
    HierarchicalDirichletProcess(gamma=1.15, gamma_0=1.0)
    """

    gamma: Any = 1.0
    gamma_0: Any = 1.0
