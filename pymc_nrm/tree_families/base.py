"""What every tree family must define: the law of data whose means diffuse down a tree of nodes.

A tree family is a ``NamedTuple`` of hyperparameters, described by :func:`tree_family`.  The tree is given by paths, an
array of shape (n, depth): entry l - 1 of a row is the node of level l above the item, and the root is not written.
Items with equal nodes at one level have equal nodes at all levels above.

Given the covariance S of an item about the mean of its leaf, the columns of ``X inverse(L)'``, with ``L L' = S``, are
independent and have one covariance matrix, which the tree determines.  Kernels therefore work on *whitened* data; a
family only says how S is integrated out or drawn from sums of squares.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from pytensor.graph.basic import Variable

from pymc_nrm.common.hyperparameters import static_shape
from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.families import arguments
from pymc_nrm.kernels.generic import describe_fields, generic

__all__ = [
    "add_square",
    "broadcast_hyperparameters",
    "draw_whitening",
    "expected_covariance",
    "new_scatter",
    "scatter_log_likelihood",
    "symbolic_log_likelihood",
    "transform_row",
    "tree_family",
]


def tree_family[T](hyperparameters: dict[str, Hyperparameter]) -> Callable[[type[T]], type[T]]:
    """Give the ``NamedTuple`` of a tree family its class attributes: a decorator.

    Data are real numbers without missing values.
    """
    return describe_fields(hyperparameters, continuous=True, missing_allowed=False)


def broadcast_hyperparameters(family: Any, n: Any, d: Any, depth: int) -> Any:
    """Check the hyperparameters of a tree family and give them their full shapes. If one of them is a tensor, all
    become tensors.
    """
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
    import pytensor.tensor as pt

    if not isinstance(tau, Variable):
        return np.broadcast_to(tau, (length,)).copy()
    return pt.specify_shape(tau, (length,)) if tau.ndim else pt.broadcast_to(tau, (length,))


@generic
def symbolic_log_likelihood(family, paths, X):
    """Symbolic log density of the data given the tree, with node means and the covariance of items integrated out. It
    is differentiable in hyperparameters and data. Shapes: ``paths`` (n, depth), ``X`` (n, d).
    """
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
    """Draw the covariance S of items given the tree and the data, and return what whitens rows of data. It is a W with
    ``W S W' = I``; it is returned with its inverse, in a form that :func:`transform_row` reads. Shapes: returns (2,
    ...).
    """
    raise NotImplementedError


@generic
def transform_row(family, matrix, row, work):
    """Replace a row of features x by ``matrix x``, in place; ``work`` is memory of its length."""
    raise NotImplementedError


@generic
def expected_covariance(family, scatter, n):
    """Posterior mean of S, shape (d, d); infinite or NaN where it does not exist."""
    raise NotImplementedError
