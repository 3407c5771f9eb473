"""Sums of squares of the data of a tree and their derivatives, as operations of PyTensor.

The graph of the upward pass has a hundred operations, which PyTensor's numba backend compiles for a minute.
"""

from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_grad, disconnected_type
from pytensor.graph.basic import Apply

from pymc_nrm.families.base import segment_sum
from pymc_nrm.kernels.generic import kernel, kernels_in_python
from pymc_nrm.kernels.kernel_op import KernelOp, symbolic_pullback
from pymc_nrm.nested.families.base import scatter_about
from pymc_nrm.nested.families.node_tree import build_node_tree


@kernel
def _centred_tree(mu, tau, paths, X):
    """The tree of data minus their mean, these data, and mu minus their mean."""
    # Differences of far data would lose digits.
    n, d = X.shape
    center = np.zeros(d)
    for i in range(n):
        for j in range(d):
            center[j] += X[i, j] / n
    values, offset = X - center, mu - center
    return build_node_tree(paths.astype(np.int64), values, tau), values, offset


class _Products(NamedTuple):
    """What takes the place of a family: sums of products of features, or of their squares if there is one column."""

    mu: Any
    n_columns: Any

    def new_scatter(self):
        return np.zeros((self.mu.shape[0], self.n_columns))

    def add_square(self, scatter, row, weight):
        is_full = scatter.shape[1] > 1
        for i in range(scatter.shape[0]):
            for j in range(scatter.shape[1]):
                scatter[i, j] += weight * row[i] * row[j if is_full else i]


@kernel
def _scatter(mu, tau, paths, X, n_columns):
    """Scatter (d, n_columns) and log determinant."""
    tree, values, offset = _centred_tree(mu, tau, paths, X)
    scatter, log_determinant = scatter_about(_Products(mu, n_columns.item()), tree, values, offset)
    return scatter, np.array(log_determinant)


@kernel
def _gradient(mu, tau, paths, X, G, g):
    """Gradient of ``sum(G * scatter) + g * log_determinant`` in mu, tau and X.

    Let ``R = inverse(C) (X - mu)``; a node z stands for the indicator of its items.  Then ``dC / dtau_l`` is the sum of
    ``z z'`` over the nodes of level l, so that ``log |C|`` has the derivative ``sum z' inverse(C) z``, and ``(X - mu)'
    inverse(C) (X - mu)`` has ``-sum u u'`` with ``u = R' z``.

    With messages b, q of a node, and mean m and variance v of the mean of its parent given all data, the step from the
    parent has the posterior mean ``tau q (b - m)``, which is tau u, and the variance ``tau - tau^2 (q - q^2 v)``, in
    which the bracket is ``z' inverse(C) z``.  The items have q = 1 and b = x: their rows of R are ``x - m``.
    """
    tree, values, offset = _centred_tree(mu, tau, paths, X)
    n, depth = paths.shape
    d = values.shape[1]
    is_full = G.shape[1] > 1
    of_mu, of_tau, of_X = np.zeros(d), np.zeros(depth + 1), np.zeros((n, d))
    means, variances, u = np.empty((depth + 1, n, d)), np.zeros((depth + 1, n)), np.empty(d)
    for level in range(depth + 1):
        for k in range(tree.sizes[level]):
            slot = tree.active[level, k]
            p, above = tree.precisions[level, slot], tree.parents[level, slot]
            shrinkage = 1.0 / (1.0 + tau[level] * p)
            q, v = shrinkage * p, 0.0
            if level > 0:
                v = variances[level - 1, above]
            for j in range(d):
                m = offset[j]
                if level > 0:
                    m = means[level - 1, above, j]
                u[j] = shrinkage * tree.totals[level, slot, j] - q * m
                means[level, slot, j] = m + tau[level] * u[j]
            variances[level, slot] = shrinkage * (tau[level] + shrinkage * v)
            of_tau[level] += g.item() * (q - q * q * v)
            for i in range(d):
                for j in range(G.shape[1]):
                    of_tau[level] -= u[i] * G[i, j] * u[j if is_full else i]
    for item in range(n):
        for j in range(d):
            u[j] = values[item, j] - means[depth, tree.paths[item, depth - 1], j]
        for i in range(d):
            if is_full:
                for j in range(d):
                    of_X[item, i] += (G[i, j] + G[j, i]) * u[j]
            else:
                of_X[item, i] = 2.0 * G[i, 0] * u[i]
            of_mu[i] -= of_X[item, i]
    return of_mu, of_tau, of_X


def residual_rows(mu, tau, paths, X):
    """Rows whose sum of squares is ``(X - mu)' inverse(C) (X - mu)``, and the log determinant of C.

    C is the covariance matrix of the items in one feature for S = I: ``C_ij = 1[i = j] + tau_0 + sum over l of tau_l
    1[i and j share their node of level l]``. Shapes: ``mu`` (d,), ``tau`` (depth + 1,), ``paths`` (n, depth), ``X`` (n,
    d); returns ``rows`` (n + number of nodes, d).
    """
    # All that the items of node z say about its mean is a normal likelihood with mean b and precision p; the node says
    # about the mean of its parent the same with precision `q = p / (1 + tau_l p)` (for items p = 1, tau = 0).  With
    # messages b_c, q_c of the children, `p = sum q_c`, `b = sum q_c b_c / p`, and their joint density is the density of
    # b times normal densities of the differences `sqrt(q_c) (b_c - b)`, with log determinant `sum log(1 / q_c) - log(1
    # / p)`.  The terms telescope: `log |C|` is the sum of `log(1 + tau_l p)` over nodes.
    depth = paths.type.shape[1]
    if depth is None:
        raise ValueError(f"paths must have a static number of columns, one for each level; got type {paths.type}")
    # Shifting data and mu changes nothing, so the gradient may treat the centre as a constant.
    center = disconnected_grad(X.mean(axis=0))
    b, q = X - center, pt.ones(X.shape[:1], dtype="float64")
    rows, log_determinant = [], 0.0
    for level in range(depth, 0, -1):
        # The node of this level above every item or, further up, above every node of the level below.
        labels = paths[:, level - 1]
        n_nodes = labels.max() + 1
        owner = labels if level == depth else _one_of_each(labels, paths[:, level], b.shape[0])
        p = segment_sum(q, owner, n_nodes)
        # Labels with gaps have probability zero, but must not make the likelihood NaN.
        divisor = pt.switch(pt.gt(p, 0.0), p, 1.0)
        mean = segment_sum(q[:, None] * b, owner, n_nodes) / divisor[:, None]
        rows.append(pt.sqrt(q)[:, None] * (b - mean[owner]))
        growth = 1.0 + tau[level] * p
        log_determinant += pt.log(growth).sum()
        b, q = mean, p / growth
    p = q.sum()
    mean = (q[:, None] * b).sum(axis=0) / p
    rows.append(pt.sqrt(q)[:, None] * (b - mean))
    growth = 1.0 + tau[0] * p
    rows.append((pt.sqrt(p / growth) * (mean + (center - mu)))[None, :])
    return pt.concatenate(rows), log_determinant + pt.log(growth)


def _one_of_each(values, labels, n):
    """The value that all entries with a label share, shape (n,)."""
    return pt.zeros((n,), dtype=values.dtype)[labels].set(values)


def _graph(mu, tau, paths, X, is_full):
    """The same by operations of PyTensor."""
    rows, log_determinant = residual_rows(mu, tau, paths, X)
    return rows.T @ rows if is_full else (rows**2).sum(axis=0)[:, None], log_determinant


class ScatterGradient(KernelOp):
    """Gradient of a weighted sum of the outputs of :class:`Scatter` in mu, tau and the data."""

    kernel = _gradient
    constant = (2,)

    def make_node(self, mu, tau, paths, X, G, g):
        return Apply(self, [mu, tau, paths, X, G, g], [mu.type(), tau.type(), X.type()])

    def pullback(self, inputs, outputs, cotangents):
        def gradient(mu, tau, paths, X, G, g):
            scatter, log_determinant = _graph(mu, tau, paths, X, is_full=G.type.shape[1] != 1)
            return pt.grad((scatter * G).sum() + log_determinant * g, [mu, tau, X])

        return symbolic_pullback(gradient, inputs, cotangents, self.constant)


# For more terms than this, .1 s in Python, machine code is loaded or compiled.
_MOST_TERMS = 20_000


class Scatter(KernelOp):
    """Sums of squares and log determinant; the last input is their number of columns, 1 for their diagonal."""

    kernel = _scatter
    constant = (2, 4)

    def perform(self, node, inputs, output_storage):
        if inputs[3].size * (4 + inputs[4]) <= _MOST_TERMS:
            return super().perform(node, inputs, output_storage)
        # Read-only arrays would be another type, with machine code of its own.
        with kernels_in_python(False):
            return super().perform(node, [np.array(value, order="C") for value in inputs], output_storage)

    def make_node(self, mu, tau, paths, X, n_columns):
        n_columns = pt.as_tensor(n_columns, dtype="int64")
        shape = (X.type.shape[1], 1 if getattr(n_columns, "data", None) == 1 else None)
        return Apply(self, [mu, tau, paths, X, n_columns], [pt.TensorType("float64", shape=shape)(), pt.dscalar()])

    def pullback(self, inputs, outputs, cotangents):
        mu, tau, paths, X, _ = inputs
        G, g = (
            pt.zeros_like(output) if isinstance(cotangent.type, DisconnectedType) else cotangent
            for output, cotangent in zip(outputs, cotangents, strict=True)
        )
        of_mu, of_tau, of_X = ScatterGradient()(mu, tau, paths, X, G, g)
        return [of_mu, of_tau, disconnected_type(), of_X, disconnected_type()]


def symbolic_scatter(mu, tau, paths, X, *, is_full):
    """``(X - mu)' inverse(C) (X - mu)`` (d, d), or its diagonal (d,), and ``log |C|``, see :func:`residual_rows`."""
    scatter, log_determinant = Scatter()(mu, tau, paths, X, mu.shape[0] if is_full else 1)
    return (scatter if is_full else scatter[:, 0]), log_determinant
