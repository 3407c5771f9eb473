"""Moves of trees over which means diffuse: places of items and nodes, regrafts, splits and merges of nodes."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import draw_categorical, log_rising_factorial, shuffle
from pymc_nrm.moves.split_merge import choose_side
from pymc_nrm.nested.families.node_tree import add_message, close_node, open_node


class Work(NamedTuple):
    """Memory of the moves.

    Rows of ``means``, ``variances`` and ``log_shares`` are levels, the first of them above the root.
    """

    # Posterior means of the nodes without the moving part; shape (depth + 2, n, d).
    means: Any
    # variances, log_shares: Posterior variances, and logarithms of the prior probability of reaching a node and then
    # being divided among its children; shape (depth + 2, n).
    variances: Any
    log_shares: Any
    # Shape (depth n + 1,).
    log_weights: Any
    # centre, message: Information from the part about the mean of its top, and to the node above; shape (d,).
    centre: Any
    message: Any


@kernel
def new_work(n, d, depth):
    """Memory for moves on a tree of n items, d features and some levels below the root."""
    shape = (depth + 2, n)
    means, variances, log_shares = np.empty((depth + 2, n, d)), np.empty(shape), np.empty(shape)
    for j in range(d):
        means[0, 0, j] = 0.0
    variances[0, 0] = log_shares[0, 0] = 0.0
    return Work(means, variances, log_shares, np.empty(depth * n + 1), np.empty(d), np.empty(d))


@kernel
def _log_rising(a, n):
    return math.log(a) if n == 1 else log_rising_factorial(a, n)


@kernel(inner_loop=True)
def log_place_weights(tree, levels, level, n_items, precision, work):
    """Log weights of all places of a part of the tree that is cut off; a place is the lowest old node above the part.

    A node y of level h < ``level`` is a place if new nodes on the levels between may lie above the part alone.  With
    N_y items and K_y children, and m items in the part, its weight is the ratio of the prior probabilities of the
    trees with and without the part, ::

        prod over the nodes z below the root down to y of (N_z - sigma)_m / (N_parent + alpha)_m
        times (alpha_h + K_y sigma_h) (1 - sigma_h)_(m-1) / (N_y + alpha_h)_m
        times prod over h < g < level of (1 - sigma_g)_(m-1) / (1 + alpha_g)_(m-1)

    with rising factorials, times the density of the part's message about its top: a normal observation ``centre`` with
    mean m_y and variance ``v_y + 1 / precision + tau_(h+1) + ... + tau_level``.  Leaves have no children to divide
    their items among, so items below a leaf have only the first product. Returns the number of places: the nodes of
    level 0, then of level 1, and so on, in the order of ``active``.
    """
    depth, d = tree.paths.shape[1], work.centre.shape[0]
    n_places = 0
    for h in range(level):
        tau, noise = tree.tau[h], 1.0 / precision
        for g in range(h + 1, level + 1):
            noise += tree.tau[g]
        log_new = 0.0
        for g in range(h, min(level, depth)):
            log_new += log_rising_factorial(1.0 - levels.sigma[g], n_items - 1.0) if n_items > 1 else 0.0
            if g > h and n_items > 1:
                log_new -= log_rising_factorial(1.0 + levels.alpha[g], n_items - 1.0)
        for k in range(tree.sizes[h]):
            slot = tree.active[h, k]
            above = tree.parents[h, slot]
            shrinkage = 1.0 / (1.0 + tau * tree.precisions[h, slot])
            variance = shrinkage * (tau + shrinkage * work.variances[h, above])
            squares = 0.0
            for j in range(d):
                mean = shrinkage * (tau * tree.totals[h, slot, j] + work.means[h, above, j])
                work.means[h + 1, slot, j] = mean
                squares += (work.centre[j] - mean) ** 2
            work.variances[h + 1, slot] = variance
            count = tree.counts[h, slot]
            log_prior = work.log_shares[h, above]
            if h > 0:
                log_prior += _log_rising(count - levels.sigma[h - 1], n_items)
            if h < depth and count > 0:
                log_prior -= _log_rising(count + levels.alpha[h], n_items)
                work.log_shares[h + 1, slot] = log_prior
                log_prior += math.log(levels.alpha[h] + levels.sigma[h] * tree.n_children[h, slot]) + log_new
            # Only the root may be empty, and is then the only place.
            variance += noise
            work.log_weights[n_places] = log_prior - 0.5 * (d * math.log(variance) + squares / variance)
            n_places += 1
    return n_places


@kernel
def _draw_parent(rng, tree, levels, level, n_items, precision, work):
    """Draw a place, open new nodes down to the level above the part, and return the slot of the last node."""
    n_places = log_place_weights(tree, levels, level, n_items, precision, work)
    place, h = draw_categorical(rng, work.log_weights[:n_places]), 0
    while place >= tree.sizes[h]:
        place -= tree.sizes[h]
        h += 1
    node = tree.active[h, place]
    for g in range(h + 1, level):
        slot = tree.active[g, tree.sizes[g]]
        open_node(tree, g, slot, node)
        node = slot
    return node


@kernel
def _place(rng, tree, levels, level, n_items, precision, parent, work):
    """Cut a part off its parent and draw its new parent, whose slot is returned."""
    d = work.centre.shape[0]
    q = precision / (1.0 + tree.tau[level] * precision)
    for j in range(d):
        work.message[j] = -q * work.centre[j]
    tree.n_children[level - 1, parent] -= 1
    add_message(tree, level - 1, parent, -n_items, -q, work.message)
    parent = _draw_parent(rng, tree, levels, level, n_items, precision, work)
    for j in range(d):
        work.message[j] = q * work.centre[j]
    tree.n_children[level - 1, parent] += 1
    add_message(tree, level - 1, parent, n_items, q, work.message)
    return parent


@kernel
def _write_path(tree, item, level, slot):
    """Write the nodes of an item from a level up to the root."""
    for g in range(level, 0, -1):
        tree.paths[item, g - 1] = slot
        slot = tree.parents[g, slot]


@kernel
def move_item(rng, tree, levels, values, item, work):
    """Redraw the path of an item given all other paths and S = I: a Gibbs draw.

    It leaves the distribution of the tree given S and the data invariant.  Moves of all items in turn are irreducible:
    items may move to new leaves one by one, and then join in any tree. Shapes: ``values`` (n, d).
    """
    depth = tree.paths.shape[1]
    for j in range(values.shape[1]):
        work.centre[j] = values[item, j]
    leaf = _place(rng, tree, levels, depth + 1, 1, 1.0, tree.paths[item, depth - 1], work)
    _write_path(tree, item, depth, leaf)


@kernel
def regraft_node(rng, tree, levels, level, slot, work):
    """Redraw the position of a node and its descendants in the tree, given S = I: a Gibbs draw.

    The part, the remaining tree and the set of places do not depend on the old position.  A node of level l stays at
    level l, so the level and the node may be drawn by any rule that uses only nodes of level l and their items.  The
    distribution of the tree given S and the data stays invariant; alone these moves are not irreducible, since no item
    changes its leaf.  At level 1 there is one place.
    """
    precision = tree.precisions[level, slot]
    for j in range(work.centre.shape[0]):
        work.centre[j] = tree.totals[level, slot, j] / precision
    n_items = tree.counts[level, slot]
    parent = _place(rng, tree, levels, level, n_items, precision, tree.parents[level, slot], work)
    tree.parents[level, slot] = parent
    for item in range(tree.paths.shape[0]):
        if tree.paths[item, level - 1] == slot:
            _write_path(tree, item, level - 1, parent)


@kernel
def _read_message(tree, values, level, unit, message):
    """Write q b of a node of a level, or of an item below the leaves, and return q and its number of items."""
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
    """Node of a level above a unit of the level below it."""
    depth = tree.paths.shape[1]
    return tree.paths[unit, depth - 1] if level == depth else tree.parents[level + 1, unit]


@kernel
def _draw_mean(rng, tree, level, slot, mean):
    """Draw the mean of a node given the tree and the data, for S = I, with the means of nodes above integrated out."""
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
    """Log density of the messages of units about a common mean given the mean above, without factors of the units."""
    # `precision` is the sum of q, `squares` the squared length of the sum of q (b - mean above).
    growth = 1.0 + tau * precision
    return 0.5 * (tau * squares / growth - d * math.log(growth))


@kernel
def _log_group(levels, level, n_items, n_units):
    """Log of the factor of a node in the prior of the tree: of its items among its siblings, and of its units in it."""
    total = log_rising_factorial(1.0 - levels.sigma[level - 1], n_items - 1.0)
    if level < levels.alpha.shape[0]:
        alpha, sigma = levels.alpha[level], levels.sigma[level]
        for k in range(1, n_units):
            total += math.log(alpha + k * sigma)
        total -= log_rising_factorial(1.0 + alpha, n_items - 1.0)
    return total


@kernel
def _log_joins(levels, level, n_items, n_units, n_more):
    """Log of the ratio of the factors of a node with and without one more unit of ``n_more`` items."""
    total = log_rising_factorial(n_items - levels.sigma[level - 1], float(n_more))
    if level < levels.alpha.shape[0]:
        alpha, sigma = levels.alpha[level], levels.sigma[level]
        total += math.log(alpha + n_units * sigma) - log_rising_factorial(n_items + alpha, float(n_more))
    return total


@kernel(inner_loop=True)
def split_or_merge(rng, tree, levels, values, units, work):
    """Propose to split a node in two or to merge two nodes with one parent, and accept by Metropolis-Hastings.

    The units of the nodes of level l are nodes of level l + 1, or items if l is the depth.  A level, a unit of this
    level and another unit below the same node y of level l - 1 are drawn uniformly, independently of how the units of y
    are grouped.  If both are in one node, it is split between them: the other units are allocated one by one in random
    order, to either side in proportion to prior and density given the units already there (Dahl 2005,
    "Sequentially-allocated merge-split sampler").  If not, the two nodes are merged, and the reverse split is the same
    allocation with known outcome.

    Nodes below y depend on each other through its mean, which is therefore drawn from its distribution given the tree
    and the data, S = I, and discarded after the move, as S is after a sweep.  Given this mean, a group of units has the
    density of :func:`_log_marginal`, and the target is a product over groups.  The distribution of the tree given S and
    the data stays invariant; alone these moves are not irreducible. Returns whether the tree has changed. Shapes:
    ``values`` (n, d), ``units`` (2, n).
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

    # Old messages of the nodes to their parent, with a minus sign, and new messages.
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
