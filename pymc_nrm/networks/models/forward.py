"""Forward draws of networks and tables given partitions."""

import numpy as np

from pymc_nrm.families.base import statistics_size
from pymc_nrm.families.conjugate import draw_dirichlet, draw_item, draw_parameters, parameters_size
from pymc_nrm.kernels.generic import check_signals, kernel


@kernel
def draw_matrix(rng, labels, columns, family, mode, loops, concentration):
    """Draw a matrix given labels of rows and columns: first the parameters of all blocks, then the pairs.

    ``mode`` is 0 for undirected and 1 for directed networks, and 2 for tables.  With a ``concentration`` above 0, rates
    of pairs are multiplied by thetas of their nodes, and loops are part of the model.
    """
    n, m = labels.shape[0], columns.shape[0]
    n_rows, n_columns = labels.max() + 1, columns.max() + 1
    empty = np.zeros(statistics_size(family))
    parameters = np.empty((n_rows * n_columns, parameters_size(family)))
    for block in range(n_rows * n_columns):
        draw_parameters(family, empty, rng, parameters[block])
    matrix, value = np.zeros((n, m)), np.empty(1)
    parameter, thetas = np.empty(parameters.shape[1]), np.ones((2, n))
    is_corrected = concentration > 0.0
    if is_corrected:
        for direction in range(1 + mode):
            thetas[direction] = _draw_thetas(rng, labels, n_rows, concentration)
    for i in range(n):
        check_signals()
        for j in range(i if mode == 0 else 0, m):
            if mode < 2 and i == j and not (loops or is_corrected):
                continue
            r, s = labels[i], columns[j]
            if mode == 0:
                r, s = min(r, s), max(r, s)
            for k in range(parameter.shape[0]):
                parameter[k] = parameters[r * n_columns + s, k]
                if is_corrected:
                    parameter[k] *= thetas[0, i] * thetas[mode, j] * (0.5 if mode == 0 and i == j else 1.0)
            draw_item(family, parameter, rng, 0, value)
            matrix[i, j] = value[0]
            if mode == 0:
                matrix[j, i] = value[0]
    return matrix


@kernel
def _draw_thetas(rng, labels, n_clusters, concentration):
    """Draw thetas of nodes, whose sum in each cluster is its number of nodes."""
    thetas = np.empty(labels.shape[0])
    for cluster in range(n_clusters):
        members = np.flatnonzero(labels == cluster)
        shares = np.empty(members.shape[0])
        draw_dirichlet(rng, np.full(members.shape[0], concentration), shares)
        for k in range(members.shape[0]):
            thetas[members[k]] = shares[k] * members.shape[0]
    return thetas
