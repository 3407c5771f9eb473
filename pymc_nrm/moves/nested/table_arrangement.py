"""Gibbs update of all tables at once, with paths and components fixed.

First weights of all nodes but the leaves are drawn given the tables, from the root down::

    beta_root ~ Dirichlet(n_root1, ..., n_rootK, gamma_0)
    beta_z ~ Dirichlet(n_z1 + gamma_l b_1, ..., n_zK + gamma_l b_K, gamma_l b_*)

Here n_zk is the number of customers of node z whose dish is k, b are the weights of the parent of z, and b_* is the
remainder (Teh, Jordan, Beal & Blei 2006, section 5.3).  Given weights and components, tables no longer depend on each
other: the customers of node z with dish k sit as in a Chinese restaurant process of concentration gamma_l b_k, from the
leaves up.  Then the weights are forgotten.
"""

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.partitions.labels import rename_in_order


@kernel
def redraw_tables(rng, values, gammas):
    """Redraw weights, then all tables (n, 2 depth + 1), in place: each is a draw from its full conditional, so that the
    posterior stays invariant.  Alone it is not irreducible: paths and components stay as they are.
    """
    n_components = values[:, values.shape[1] - 1].max() + 1
    arrange_tables(rng, values, gammas, _node_weights(rng, values, gammas, n_components))


@kernel
def arrange_tables(rng, values, gammas, weights):
    """Redraw all tables given paths, components and ``weights[level, node, component]``, in place.

    Nodes and components may have any labels; each column of tables is in order of appearance.
    """
    n, depth = values.shape[0], values.shape[1] // 2
    components = values[:, 2 * depth]
    # A customer is known by its first item.
    customers, own = np.arange(n), np.arange(n)
    keys, seats = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for level in range(depth, 0, -1):
        n_customers = customers.shape[0]
        for j in range(n_customers):
            keys[j] = values[customers[j], level - 1] * weights.shape[2] + components[customers[j]]
        order = np.argsort(keys[:n_customers])
        n_tables, begin = 0, 0
        for place in range(n_customers):
            customer = order[place]
            if place == 0 or keys[customer] != keys[order[place - 1]]:
                begin = place
                item = customers[customer]
                parent = values[item, level - 2] if level > 1 else 0
                concentration = gammas[level] * weights[level - 1, parent, components[item]]
            seated = place - begin
            if seated == 0 or rng.random() * (seated + concentration) < concentration:
                seats[customer] = n_tables
                n_tables += 1
            else:
                seats[customer] = seats[order[begin + int(rng.random() * seated)]]
        column = values[:, 2 * depth - level]
        for i in range(n):
            column[i] = seats[own[i]]
        n_tables = rename_in_order(column, n)
        customers = np.full(n_tables, -1, dtype=np.int64)
        for i in range(n - 1, -1, -1):
            own[i] = column[i]
            customers[column[i]] = i


@kernel
def _node_weights(rng, values, gammas, n_components):
    """Weights of the components at all nodes but the leaves, given the tables. Rows are nodes by level and label; the
    last column is the weight of all other components. Shapes: returns (depth, n_nodes, n_components + 1).
    """
    n, depth = values.shape[0], values.shape[1] // 2
    components = values[:, 2 * depth]
    n_nodes = 1
    for level in range(1, depth):
        n_nodes = max(n_nodes, values[:, level - 1].max() + 1)
    weights = np.zeros((depth, n_nodes, n_components + 1))
    above = np.zeros(n_nodes, dtype=np.int64)
    for level in range(depth):
        own, tables = weights[level], values[:, 2 * depth - level - 1]
        here, n_customers = 1, 0
        for i in range(n):
            node = values[i, level - 1] if level > 0 else 0
            if level > 0:
                above[node] = values[i, level - 2] if level > 1 else 0
                here = max(here, node + 1)
            # Customers are tables of the level below, in order of appearance.
            if tables[i] == n_customers:
                own[node, components[i]] += 1.0
                n_customers += 1
        own[0, n_components] += gammas[0] if level == 0 else 0.0
        for node in range(here):
            total = 0.0
            for k in range(n_components + 1):
                shape = own[node, k]
                if level > 0:
                    shape += gammas[level] * weights[level - 1, above[node], k]
                own[node, k] = rng.standard_gamma(shape) if shape > 0.0 else 0.0
                total += own[node, k]
            for k in range(n_components + 1):
                own[node, k] /= total
    return weights
