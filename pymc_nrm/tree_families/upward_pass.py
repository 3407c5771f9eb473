"""The likelihood of a tree in one pass from the leaves to the root, as a symbolic graph."""

import pytensor.tensor as pt
from pytensor.gradient import disconnected_grad

from pymc_nrm.families.base import segment_sum

__all__ = ["residual_rows"]


def residual_rows(mu, tau, paths, X):
    """Rows whose sum of squares is ``(X - mu)' inverse(C) (X - mu)``, and the log determinant of C.

    C is the covariance matrix of the items in one feature for S = I: ``C_ij = 1[i = j] + tau_0 + sum over l of tau_l
    1[i and j share their node of level l]``. Shapes: ``mu`` (d,), ``tau`` (depth + 1,), ``paths`` (n, depth), ``X`` (n,
    d); returns ``rows`` (n + number of nodes, d).
    """
    # All that the items of node z say about its mean is a normal likelihood with mean b and precision p; the node says
    # about the mean of its parent the same with precision `q = p / (1 + tau_l p)` (for items p = 1, tau = 0).  With
    # messages b_c, q_c of the children, `p = sum q_c`, `b = sum q_c b_c / p`, and their joint density is that of b
    # times normal densities of the differences `sqrt(q_c) (b_c - b)`, with log determinant `sum log(1 / q_c) - log(1 /
    # p)`.  The terms telescope: `log |C|` is the sum of `log(1 + tau_l p)` over nodes.
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
