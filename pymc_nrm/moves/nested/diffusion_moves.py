"""Gibbs moves on a tree whose node means diffuse: a part of the tree is cut off and gets a new place.

A part is an item or a node with all that is below it.  Items are nodes of level depth + 1, so that both are one move.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.diffusion.node_tree import add_message, open_node
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.special import draw_categorical, log_rising_factorial


class Work(NamedTuple):
    """Memory of the moves.

    Rows of ``means``, ``variances`` and ``log_shares`` are levels, the first of them above the root.
    """

    # Posterior means of the nodes without the part that moves; shape (depth + 2, n, d).
    means: Any
    # variances, log_shares: Posterior variances, and logarithms of the prior probability of getting to a node and then
    # being shared out among its children; shape (depth + 2, n).
    variances: Any
    log_shares: Any
    # Shape (depth n + 1,).
    log_weights: Any
    # centre, message: What the part says about the mean of its top, and to the node above; shape (d,).
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
    """Log weights of all places of a part of the tree that is cut off; a place is the lowest old node above it.

    A node y of level h < ``level`` is a place if new nodes on the levels between may lie above the part alone.  With
    N_y items and K_y children, and m items in the part, its weight is the ratio of the prior probabilities of the
    trees with and without the part, ::

        prod over the nodes z below the root down to y of (N_z - sigma)_m / (N_parent + alpha)_m
        times (alpha_h + K_y sigma_h) (1 - sigma_h)_(m-1) / (N_y + alpha_h)_m
        times prod over h < g < level of (1 - sigma_g)_(m-1) / (1 + alpha_g)_(m-1)

    with rising factorials, times the density of what the part says about its top: a normal observation ``centre`` of
    mean m_y and variance ``v_y + 1 / precision + tau_(h+1) + ... + tau_level``.  Leaves have no children to share their
    items among, so that items below a leaf have the first product only. Returns the number of places: the nodes of
    level 0, then those of level 1, and so on, in the order of ``active``.
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
    """Draw a place, open new nodes down to the level above the part, and return the slot of the last."""
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
    """Cut a part off its parent and draw its new one, whose slot is returned."""
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
    """Redraw the path of an item given all others and S = I: a Gibbs draw.

    It leaves the law of the tree given S and the data invariant.  Moves of all items in turn are irreducible: items may
    leave for new leaves one after the other, and then come together in any tree. Shapes: ``values`` (n, d).
    """
    depth = tree.paths.shape[1]
    for j in range(values.shape[1]):
        work.centre[j] = values[item, j]
    leaf = _place(rng, tree, levels, depth + 1, 1, 1.0, tree.paths[item, depth - 1], work)
    _write_path(tree, item, depth, leaf)


@kernel
def regraft_node(rng, tree, levels, level, slot, work):
    """Redraw where a node, with all that is below it, hangs in the tree, given S = I: a Gibbs draw.

    The part, the rest of the tree and the set of places do not depend on where the part hung.  A node of level l stays
    one, so that the level and the node may be drawn in any way that looks only at nodes of level l and their items.
    The law of the tree given S and the data stays invariant; alone these moves are not irreducible, since no item
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
