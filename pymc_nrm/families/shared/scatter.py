"""Random covariance matrices, and log determinants of the scatter of clusters without an (n, d, d) intermediate.

PyTensor's numba backend compiles each product of matrices for ten seconds or more, and the gradient of this function
would have five of them.
"""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply

from pymc_nrm.families.shared.factors import factor_in_place, invert_factored
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.kernel_op import KernelOp, symbolic_pullback
from pymc_nrm.kernels.special import cholesky_update, copy_row


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
    constant = (0,)

    def make_node(self, scale, squares, below, G):
        inputs = [pt.as_tensor(value) for value in (scale, squares, below, G)]
        return Apply(self, inputs, [squares.type(), below.type()])

    def pullback(self, inputs, outputs, cotangents):
        def gradient(scale, squares, below, G):
            return pt.grad((symbolic_covariance(scale, squares, below) * G).sum(), [squares, below])

        return symbolic_pullback(gradient, inputs, cotangents, self.constant)


class RandomCovariance(KernelOp):
    """``L T T' L'``; inputs are L (d, d), the squared diagonal of T (d,) and what is below it, d (d - 1) / 2 rows."""

    kernel = covariance_of
    constant = (0,)

    def make_node(self, scale, squares, below):
        inputs = [pt.as_tensor(value) for value in (scale, squares, below)]
        return Apply(self, inputs, [pt.TensorType("float64", shape=inputs[0].type.shape)()])

    def pullback(self, inputs, outputs, cotangents):
        return [disconnected_type(), *CovarianceGradient()(*inputs, *cotangents)]


def random_covariance(scale, squares, below):
    """``L T T' L'``, given L, the squared diagonal of T (d,), and the d (d - 1) / 2 entries below it, by rows."""
    return RandomCovariance()(scale, squares, below)


@kernel
def _copy_matrix(target, source):
    for i in range(source.shape[0]):
        copy_row(target[i], source[i])


@kernel
def _cluster_factors(Psi, rows, labels, n_clusters):
    """Lower Cholesky factors of ``Psi`` plus the sums of ``x x'`` over the rows of each cluster, (n_clusters, d, d)."""
    d = rows.shape[1]
    factors = np.zeros((n_clusters, d, d))
    for k in range(n_clusters):
        _copy_matrix(factors[k], Psi)
    for r in range(rows.shape[0]):
        sums = factors[labels[r]]
        for i in range(d):
            for j in range(i + 1):
                sums[i, j] += rows[r, i] * rows[r, j]
    right = np.ones(n_clusters, dtype=np.bool_)
    for k in range(n_clusters):
        right[k] = factor_in_place(factors[k])
    if not right.all():
        # A sum cannot hold a matrix that is much longer in one direction than in the others, but its factor can.
        prior = Psi.copy()
        factor_in_place(prior)
        for k in range(n_clusters):
            if not right[k]:
                _copy_matrix(factors[k], prior)
        for r in range(rows.shape[0]):
            if not right[labels[r]]:
                cholesky_update(factors[labels[r]], rows[r].copy())
    return factors


@kernel
def _log_determinants(Psi, rows, labels, n_clusters):
    factors = _cluster_factors(Psi, rows, labels, n_clusters.item())
    totals = np.zeros(factors.shape[0])
    for k in range(factors.shape[0]):
        for i in range(factors.shape[1]):
            totals[k] += 2.0 * math.log(factors[k, i, i])
    return totals


@kernel
def _inverses(Psi, rows, labels, n_clusters):
    factors = _cluster_factors(Psi, rows, labels, n_clusters.item())
    inverses = np.zeros_like(factors)
    for k in range(factors.shape[0]):
        invert_factored(factors[k], inverses[k])
    return inverses


@kernel
def _products_with_rows(matrices, rows, labels):
    products = np.zeros_like(rows)
    for r in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            for j in range(rows.shape[1]):
                products[r, i] += matrices[labels[r], i, j] * rows[r, j]
    return products


class ProductsWithRows(KernelOp):
    """Product of each row with the matrix of its cluster, shape (n, d).

    PyTensor's numba backend compiles its own product of matrices for ten seconds or more.
    """

    kernel = _products_with_rows
    constant = (2,)

    def make_node(self, matrices, rows, labels):
        return Apply(self, [matrices, rows, labels], [rows.type()])

    def pullback(self, inputs, outputs, cotangents):
        matrices, rows, labels = inputs
        [G] = cotangents
        of_matrices = pt.zeros_like(matrices)[labels].inc(G[:, :, None] * rows[:, None, :])
        return [of_matrices, ProductsWithRows()(matrices.transpose(0, 2, 1), G, labels), disconnected_type()]


class _ScatterOp(KernelOp):
    """Base class of functions of ``Psi`` plus the sums of ``x x'`` over the rows of each cluster.

    Inputs are Psi (d, d), rows (n, d), their labels (n,) and the number of clusters.
    """

    constant = (2, 3)

    def make_node(self, Psi, rows, labels, n_clusters):
        inputs = [pt.as_tensor(value) for value in (Psi, rows, labels, n_clusters)]
        d = inputs[1].type.shape[1]
        return Apply(self, inputs, [pt.TensorType("float64", shape=(None, *[d] * self.n_axes))()])

    def _pullback(self, inputs, G):
        """Cotangents of the inputs, given symmetric cotangents of the sums, (n_clusters, d, d)."""
        _, rows, labels, _ = inputs
        return [G.sum(axis=0), 2 * ProductsWithRows()(G, rows, labels), disconnected_type(), disconnected_type()]


class LogDeterminants(_ScatterOp):
    """Log determinants, shape (n_clusters,)."""

    kernel = _log_determinants
    n_axes = 0

    def pullback(self, inputs, outputs, cotangents):
        [g] = cotangents
        return self._pullback(inputs, g[:, None, None] * Inverses()(*inputs))


class Inverses(_ScatterOp):
    """Inverses, shape (n_clusters, d, d)."""

    kernel = _inverses
    n_axes = 2

    def pullback(self, inputs, outputs, cotangents):
        [G], [P] = cotangents, outputs
        return self._pullback(inputs, -P @ (G + G.transpose(0, 2, 1)) @ P / 2)


def log_determinants(Psi, rows, labels, n_clusters):
    """Log determinants (n_clusters,) of Psi (d, d) plus the outer products of the rows (n, d) with each label (n,)."""
    return LogDeterminants()(Psi, rows, labels, n_clusters)


def symbolic_log_determinant(A):
    """Log determinant of a positive definite matrix."""
    return 2 * pt.log(pt.diagonal(pt.linalg.cholesky(A))).sum()
