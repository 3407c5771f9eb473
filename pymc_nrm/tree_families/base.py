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

from pymc_nrm.families import arguments
from pymc_nrm.generic import describe_fields, generic
from pymc_nrm.hyperparameters import static_shape
from pymc_nrm.supports import Hyperparameter

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

    Parameters
    ----------
    hyperparameters : dict of str to Hyperparameter
        One for each field; ``tau`` is among them, with the axis ``"depth + 1"``.

    Returns
    -------
    callable
        Takes the class and returns it.

    Raises
    ------
    ValueError
        If the names of the hyperparameters are not those of the fields.
    """
    return describe_fields(hyperparameters, continuous=True, missing_allowed=False)


def broadcast_hyperparameters(family: Any, n: Any, d: Any, depth: int) -> Any:
    """Check the hyperparameters of a tree family and give them their full shapes.

    Parameters
    ----------
    family : tree family
        Its fields are as a user wrote them: numbers, arrays of any library or tensors.
    n, d : int or scalar tensor
        Numbers of items and of features.
    depth : int
        Number of levels below the root.

    Returns
    -------
    tree family
        Fields are tensors if any of them was one, otherwise arrays and floats.

    Raises
    ------
    ValueError
        If a hyperparameter is None, or is no number or array of an allowed shape within its support.

    Examples
    --------
    >>> from pymc_nrm.tree_families import IndependentNormalDiffusion
    >>> family = IndependentNormalDiffusion(mu=0, tau=[9, 4, 1], alpha=2, beta=1)
    >>> broadcast_hyperparameters(family, 5, 2, depth=2).mu.tolist()
    [0.0, 0.0]
    >>> broadcast_hyperparameters(family, 5, 2, depth=3)
    Traceback (most recent call last):
    ValueError: tau of IndependentNormalDiffusion must be a scalar or have one entry for the root and each of the 3
    levels below it, shape (4,); got shape (3,)
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
    """Symbolic log density of the data given the tree, with node means and the covariance of items integrated out.

    Parameters
    ----------
    family : tree family
        Its fields are tensors of full shape.
    paths : integer tensor, shape (n, depth)
        Each column has the labels 0, 1, ... without gaps; the static shape tells the depth.
    X : tensor, shape (n, d)

    Returns
    -------
    scalar tensor
        Differentiable in hyperparameters and data.
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
    """Log density of n items.

    Parameters
    ----------
    family : tree family
    scatter : ndarray
        ``(X - mu)' inverse(C) (X - mu)``, or its diagonal, in the shape of :func:`new_scatter`, where C is the
        covariance matrix of the items in one feature for S = I.
    log_determinant : float
        Of C.
    n : int

    Returns
    -------
    float
    """
    raise NotImplementedError


@generic
def draw_whitening(family, scatter, n, rng):
    """Draw the covariance S of items given the tree and the data, and return what whitens rows of data.

    Parameters
    ----------
    family : tree family
    scatter : ndarray
        As in :func:`scatter_log_likelihood`; zeros for a draw from the prior.
    n : int
        Number of items, 0 for a draw from the prior.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (2, ...)
        W with ``W S W' = I``, and its inverse, in a form that :func:`transform_row` reads.
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
