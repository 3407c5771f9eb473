"""Symbolic log determinants of the scatter matrices of clusters, without an (n, d, d) intermediate."""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply

from pymc_nrm.families.factors import factor_in_place, invert_factored
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.kernel_op import KernelOp
from pymc_nrm.kernels.special import cholesky_update, copy_row


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

    def make_node(self, matrices, rows, labels):
        return Apply(self, [matrices, rows, labels], [rows.type()])

    def connection_pattern(self, node):
        return [[True], [True], [False]]

    def pullback(self, inputs, outputs, cotangents):
        matrices, rows, labels = inputs
        [G] = cotangents
        of_matrices = pt.zeros_like(matrices)[labels].inc(G[:, :, None] * rows[:, None, :])
        return [of_matrices, ProductsWithRows()(matrices.transpose(0, 2, 1), G, labels), disconnected_type()]


class _ScatterOp(KernelOp):
    """Base class of functions of ``Psi`` plus the sums of ``x x'`` over the rows of each cluster.

    Inputs are Psi (d, d), rows (n, d), their labels (n,) and the number of clusters.
    """

    def make_node(self, Psi, rows, labels, n_clusters):
        inputs = [pt.as_tensor(value) for value in (Psi, rows, labels, n_clusters)]
        d = inputs[1].type.shape[1]
        return Apply(self, inputs, [pt.TensorType("float64", shape=(None, *[d] * self.n_axes))()])

    def connection_pattern(self, node):
        return [[True], [True], [False], [False]]

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
