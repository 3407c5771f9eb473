"""Covariance matrices with the law of Wishart, as one operation of PyTensor.

PyTensor's numba backend compiles each product of matrices for ten seconds or more, and the gradient of this function
would have five of them.
"""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.kernel_op import KernelOp, symbolic_pullback


@kernel
def _root(scale, squares, below):
    """Product of the lower triangular ``scale`` and T, where ``T_ii^2 = squares_i``; ``below`` has T's other rows."""
    d = squares.shape[0]
    root = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            # Entry (m, j) of T stands at m (m - 1) / 2 + j of what is below the diagonal.
            total = scale[i, j] * math.sqrt(squares[j])
            for m in range(j + 1, i + 1):
                total += scale[i, m] * below[m * (m - 1) // 2 + j]
            root[i, j] = total
    return root


@kernel
def covariance_of(scale, squares, below):
    """``L T T' L'``, as an array."""
    d = squares.shape[0]
    root, product = _root(scale, squares, below), np.empty((d, d))
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for m in range(j + 1):
                total += root[i, m] * root[j, m]
            product[i, j] = product[j, i] = total
    return product


@kernel
def _covariance_gradient(scale, squares, below, G):
    """Gradient of ``sum(G * covariance)`` in ``squares`` and ``below``: of the root R it is (G + G') R."""
    d = squares.shape[0]
    root, of_root = _root(scale, squares, below), np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            for m in range(j, d):
                of_root[i, j] += (G[i, m] + G[m, i]) * root[m, j]
    of_squares, of_below = np.empty_like(squares), np.empty_like(below)
    for m in range(d):
        for j in range(m + 1):
            total = 0.0
            for i in range(m, d):
                total += scale[i, m] * of_root[i, j]
            if m == j:
                of_squares[j] = 0.5 * total / math.sqrt(squares[j])
            else:
                of_below[m * (m - 1) // 2 + j] = total
    return of_squares, of_below


def symbolic_covariance(scale, squares, below):
    """The same by products of matrices."""
    d = scale.type.shape[0]
    root = scale @ pt.diag(pt.sqrt(squares))[np.tril_indices(d, -1)].set(below)
    return root @ root.T


class CovarianceGradient(KernelOp):
    """Gradient of a weighted sum of the entries of a :class:`RandomCovariance`, in all but the scale."""

    kernel = _covariance_gradient

    def make_node(self, scale, squares, below, G):
        inputs = [pt.as_tensor(value) for value in (scale, squares, below, G)]
        return Apply(self, inputs, [squares.type(), below.type()])

    def pullback(self, inputs, outputs, cotangents):
        def gradient(scale, squares, below, G):
            return pt.grad((symbolic_covariance(scale, squares, below) * G).sum(), [squares, below])

        return symbolic_pullback(gradient, inputs, cotangents, constant=[0])

    def connection_pattern(self, node):
        return [[False, False], *[[True, True]] * 3]


class RandomCovariance(KernelOp):
    """``L T T' L'``; inputs are L (d, d), the squared diagonal of T (d,) and what is below it, d (d - 1) / 2 rows."""

    kernel = covariance_of

    def make_node(self, scale, squares, below):
        inputs = [pt.as_tensor(value) for value in (scale, squares, below)]
        return Apply(self, inputs, [pt.TensorType("float64", shape=inputs[0].type.shape)()])

    def pullback(self, inputs, outputs, cotangents):
        return [disconnected_type(), *CovarianceGradient()(*inputs, *cotangents)]

    def connection_pattern(self, node):
        return [[False], [True], [True]]


def random_covariance(scale, squares, below):
    """``L T T' L'``, given L, the squared diagonal of T (d,), and the d (d - 1) / 2 entries below it, by rows."""
    return RandomCovariance()(scale, squares, below)
