"""Metropolis moves that split a node of a diffusion tree in two, or merge two nodes with one parent."""

import math

import numpy as np

from pymc_nrm.families.diffusion.node_tree import add_message, close_node, open_node
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import log_rising_factorial
from pymc_nrm.moves.split_merge import choose_side


@kernel
def shuffle(rng, order):
    """Put the entries of an array into uniformly random order."""
    for i in range(order.shape[0] - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        order[i], order[j] = order[j], order[i]


@kernel
def _read_message(tree, values, level, unit, message):
    """Write q b of a node of some level, an item if it is below the leaves, and return q and its number of items."""
    if level == tree.sizes.shape[0]:
        for j in range(message.shape[0]):
            message[j] = values[unit, j]
        return 1.0, 1
    shrinkage = 1.0 / (1.0 + tree.tau[level] * tree.precisions[level, unit])
    for j in range(message.shape[0]):
        message[j] = shrinkage * tree.totals[level, unit, j]
    return shrinkage * tree.precisions[level, unit], tree.counts[level, unit]


@kernel
def _node_of(tree, level, unit):
    """The node of some level above a unit of the level below it."""
    depth = tree.paths.shape[1]
    return tree.paths[unit, depth - 1] if level == depth else tree.parents[level + 1, unit]


@kernel
def _draw_mean(rng, tree, level, slot, mean):
    """Draw the mean of a node given the tree and the data, for S = I, from those of all nodes above, integrated out."""
    d = mean.shape[0]
    line = np.empty(level + 1, dtype=np.int64)
    for h in range(level, -1, -1):
        line[h] = slot
        slot = tree.parents[h, slot]
    variance = 0.0
    for j in range(d):
        mean[j] = 0.0
    for h in range(level + 1):
        tau = tree.tau[h]
        shrinkage = 1.0 / (1.0 + tau * tree.precisions[h, line[h]])
        variance = shrinkage * (tau + shrinkage * variance)
        for j in range(d):
            mean[j] = shrinkage * (tau * tree.totals[h, line[h], j] + mean[j])
    for j in range(d):
        mean[j] += math.sqrt(variance) * rng.standard_normal()


@kernel
def _log_marginal(tau, precision, squares, d):
    """Log density of what units say about a common mean given that above, from sums of q and of ``q (b - mean above)``:
    ``precision``, and the squared length ``squares``; without factors of the units.
    """
    growth = 1.0 + tau * precision
    return 0.5 * (tau * squares / growth - d * math.log(growth))


@kernel
def _log_group(levels, level, n_items, n_units):
    """Log of the factor of a node in the prior of the tree: of its items among its siblings, of its units in it."""
    total = log_rising_factorial(1.0 - levels.sigma[level - 1], n_items - 1.0)
    if level < levels.alpha.shape[0]:
        alpha, sigma = levels.alpha[level], levels.sigma[level]
        for k in range(1, n_units):
            total += math.log(alpha + k * sigma)
        total -= log_rising_factorial(1.0 + alpha, n_items - 1.0)
    return total


@kernel
def _log_joins(levels, level, n_items, n_units, n_more):
    """Log of the ratio of the factors of a node with and without a further unit of some items."""
    total = log_rising_factorial(n_items - levels.sigma[level - 1], float(n_more))
    if level < levels.alpha.shape[0]:
        alpha, sigma = levels.alpha[level], levels.sigma[level]
        total += math.log(alpha + n_units * sigma) - log_rising_factorial(n_items + alpha, float(n_more))
    return total


@kernel(inner_loop=True)
def split_or_merge(rng, tree, levels, values, units, work):
    """Propose to split a node in two or to merge two nodes with one parent, and accept by Metropolis-Hastings.

    The units of the nodes of level l are nodes of level l + 1, or items if l is the depth.  A level, a unit of this
    level and another one below the same node y of level l - 1 are drawn uniformly; none of this depends on how the
    units of y are grouped.  If both are in one node, it is split between them: the other units come one after the other
    in random order and join either side in proportion to prior and density given the units that are there (Dahl 2005,
    "Sequentially-allocated merge-split sampler").  If not, the two nodes are merged, and the reverse split is
    the same allocation with known outcome.

    Nodes below y depend on each other through its mean, which is therefore drawn from its law given the tree and the
    data, S = I, and forgotten after the move, as S is after a sweep.  Given this mean, a group of units has the density
    of :func:`_log_marginal`, and the target is a product over groups.  The law of the tree given S and the data stays
    invariant; alone these moves are not irreducible. Returns whether the tree has changed. Shapes: ``values`` (n, d),
    ``units`` (2, n).
    """
    n, depth = tree.paths.shape
    d = values.shape[1]
    level = 1 + int(rng.random() * depth)
    n_all = n if level == depth else tree.sizes[level + 1]
    first = int(rng.random() * n_all)
    first = first if level == depth else tree.active[level + 1, first]
    node = _node_of(tree, level, first)
    parent = tree.parents[level, node]
    n_units = 0
    for k in range(n_all):
        unit = k if level == depth else tree.active[level + 1, k]
        if unit != first and tree.parents[level, _node_of(tree, level, unit)] == parent:
            units[0, n_units] = unit
            n_units += 1
    if n_units == 0:
        return False
    second = units[0, int(rng.random() * n_units)]
    other = _node_of(tree, level, second)
    splits = other == node
    n_kept = 0
    for k in range(n_units):
        above = _node_of(tree, level, units[0, k])
        if units[0, k] != second and above in (node, other):
            units[0, n_kept] = units[0, k]
            n_kept += 1
    chosen, sides = units[0, :n_kept], units[1, :n_kept]
    shuffle(rng, chosen)
    mean, message, tau = work.centre, work.message, tree.tau[level]
    _draw_mean(rng, tree, level - 1, parent, mean)

    # Sums of both sides: items, units, q, q b, and the squared length of q (b - mean).
    counts, sizes, precisions = np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64), np.zeros(2)
    totals, squares, log_p, new_squares = np.zeros((2, d)), np.zeros(2), np.zeros(2), np.zeros(2)
    for side in range(2):
        precisions[side], counts[side] = _read_message(tree, values, level + 1, second if side else first, message)
        for j in range(d):
            totals[side, j] = message[j]
            squares[side] += (message[j] - precisions[side] * mean[j]) ** 2
    log_proposal = 0.0
    for k in range(n_kept):
        q, n_more = _read_message(tree, values, level + 1, chosen[k], message)
        for side in range(2):
            joint = 0.0
            for j in range(d):
                joint += (totals[side, j] + message[j] - (precisions[side] + q) * mean[j]) ** 2
            new_squares[side] = joint
            log_p[side] = _log_joins(levels, level, counts[side], sizes[side], n_more)
            log_p[side] += _log_marginal(tau, precisions[side] + q, joint, d)
            log_p[side] -= _log_marginal(tau, precisions[side], squares[side], d)
        goal = -1 if splits else int(_node_of(tree, level, chosen[k]) != node)
        side, log_probability = choose_side(rng, log_p[1] - log_p[0], goal)
        log_proposal += log_probability
        sides[k] = side
        counts[side] += n_more
        sizes[side] += 1
        precisions[side] += q
        squares[side] = new_squares[side]
        for j in range(d):
            totals[side, j] += message[j]

    together = 0.0
    for j in range(d):
        together += (totals[0, j] + totals[1, j] - (precisions[0] + precisions[1]) * mean[j]) ** 2
    n_nodes = tree.n_children[level - 1, parent] - (0 if splits else 1)
    log_ratio = math.log(levels.alpha[level - 1] + levels.sigma[level - 1] * n_nodes) - log_proposal
    log_ratio -= _log_group(levels, level, counts[0] + counts[1], sizes[0] + sizes[1])
    log_ratio -= _log_marginal(tau, precisions[0] + precisions[1], together, d)
    for side in range(2):
        log_ratio += _log_group(levels, level, counts[side], sizes[side])
        log_ratio += _log_marginal(tau, precisions[side], squares[side], d)
    if not math.log1p(-rng.random()) < (log_ratio if splits else -log_ratio):
        return False

    # What the nodes said to their parent before, with a minus sign, and what they say afterwards.
    old, change = work.centre, 0.0
    for j in range(d):
        old[j] = 0.0
    for side in range(1 if splits else 2):
        change -= _read_message(tree, values, level, other if side else node, message)[0]
        for j in range(d):
            old[j] -= message[j]
    if splits:
        other = tree.active[level, tree.sizes[level]]
        open_node(tree, level, other, parent)
        for k in range(n_kept):
            if sides[k] == 1:
                _move_unit(tree, level, chosen[k], other)
        _move_unit(tree, level, second, other)
        for side in range(2):
            _set_node(tree, level, other if side else node, counts[side], sizes[side], precisions[side], totals[side])
    else:
        for k in range(n_kept):
            _move_unit(tree, level, chosen[k], node)
        _move_unit(tree, level, second, node)
        for j in range(d):
            totals[0, j] += totals[1, j]
        _set_node(tree, level, node, counts.sum(), sizes.sum(), precisions.sum(), totals[0])
        close_node(tree, level, other)
    if level < depth:
        for item in range(n):
            tree.paths[item, level - 1] = tree.parents[level + 1, tree.paths[item, level]]
    for side in range(2 if splits else 1):
        change += _read_message(tree, values, level, other if side else node, message)[0]
        for j in range(d):
            old[j] += message[j]
    add_message(tree, level - 1, parent, 0, change, old)
    return True


@kernel
def _move_unit(tree, level, unit, node):
    depth = tree.paths.shape[1]
    if level == depth:
        tree.paths[unit, depth - 1] = node
    else:
        tree.parents[level + 1, unit] = node


@kernel
def _set_node(tree, level, slot, n_items, n_units, precision, total):
    tree.counts[level, slot] = n_items
    tree.n_children[level, slot] = n_units
    tree.precisions[level, slot] = precision
    for j in range(total.shape[0]):
        tree.totals[level, slot, j] = total[j]
