"""Second moments of the clusters as one symbolic operation, without an (n, d, d) intermediate."""

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply

from pymc_nrm.generic import kernel
from pymc_nrm.kernel_op import KernelOp


@kernel
def _second_moments(X, labels, n_clusters):
    d = X.shape[1]
    sums = np.zeros((n_clusters.item(), d, d))
    for item in range(X.shape[0]):
        cluster = labels[item]
        for i in range(d):
            for j in range(i + 1):
                sums[cluster, i, j] += X[item, i] * X[item, j]
    for cluster in range(sums.shape[0]):
        for i in range(d):
            for j in range(i):
                sums[cluster, j, i] = sums[cluster, i, j]
    return sums


class SecondMoments(KernelOp):
    """Sums over the items of each cluster of ``x x'``: of X (n, d), labels (n,) and their number, shape (K, d, d)."""

    kernel = _second_moments

    def make_node(self, X, labels, n_clusters):
        X, labels, n_clusters = pt.as_tensor(X), pt.as_tensor(labels), pt.as_tensor(n_clusters)
        d = X.type.shape[1]
        return Apply(self, [X, labels, n_clusters], [pt.TensorType("float64", shape=(None, d, d))()])

    def infer_shape(self, node, input_shapes):
        [(_, d), _, _] = input_shapes
        return [(node.inputs[2], d, d)]

    def connection_pattern(self, node):
        return [[True], [False], [False]]

    def pullback(self, inputs, outputs, cotangents):
        X, labels, _ = inputs
        [G] = cotangents
        symmetric = G + G.transpose(0, 2, 1)
        return [(symmetric[labels] @ X[:, :, None])[:, :, 0], disconnected_type(), disconnected_type()]


def second_moments(X, labels, n_clusters):
    """Sums of outer products of the rows of ``X`` with equal labels.

    Parameters
    ----------
    X : tensor, shape (n, d), float64
    labels : integer tensor, shape (n,)
    n_clusters : integer scalar tensor

    Returns
    -------
    tensor, shape (n_clusters, d, d)
    """
    return SecondMoments()(X, labels, n_clusters)
