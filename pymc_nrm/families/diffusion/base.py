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
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.hyperparameters import static_shape
from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.families import arguments
from pymc_nrm.kernels.generic import describe_fields, generic


def tree_family[T](hyperparameters: dict[str, Hyperparameter]) -> Callable[[type[T]], type[T]]:
    """Decorator for the ``NamedTuple`` of a tree family, whose data are real numbers without missing values."""
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
