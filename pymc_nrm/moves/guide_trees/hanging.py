"""Trees of many items from a tree of some of them: the others hang at sampled items that are near."""

import numpy as np

from pymc_nrm.families.features import features
from pymc_nrm.families.product import NoRows
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.moves.guide_trees.tree import build_tree


def points_of(data, n, rng):
    """Coordinates of n items, random ones if they have none."""
    has_none = isinstance(data, NoRows) or not (hasattr(data, "values") or hasattr(data, "features"))
    return rng.normal(size=(n, 1)) if has_none else features(data, rng)


@kernel
def nearest_rows(points, items, candidates):
    """The nearest of some candidates to each of some items, the first one of several. Shapes: ``points`` (n, k)."""
    nearest = np.empty(items.shape[0], dtype=np.int64)
    for i in range(items.shape[0]):
        check_signals()
        least = np.inf
        for candidate in candidates:
            distance = 0.0
            for j in range(points.shape[1]):
                difference = points[items[i], j] - points[candidate, j]
                distance += difference * difference
            if distance < least:
                least, nearest[i] = distance, candidate
                if distance == 0.0:
                    break
    return nearest


def near_sampled_items(points, sample):
    """A sampled item near each item, (n,), itself if it is sampled.

    It is the nearest one among those with the same nearest one of some centres.
    """
    n, m = len(points), len(sample)
    cells = nearest_rows(points, np.arange(n), sample[: int(np.sqrt(m))])
    order = np.argsort(cells, kind="stable")
    is_sampled, near = np.zeros(n, dtype=bool), np.empty(n, dtype=np.int64)
    is_sampled[sample] = True
    for members in np.split(order, np.flatnonzero(np.diff(cells[order])) + 1):
        near[members] = nearest_rows(points, members, members[is_sampled[members]])
    near[sample] = sample
    return near


@kernel
def join_groups_of_items(order, starts):
    """Merges that join each group of items into a balanced tree, and the node of each group, (n_groups,).

    Group g is ``order[starts[g] : starts[g + 1]]``, which is overwritten; merges are numbered from n.
    """
    n, n_groups = order.shape[0], starts.shape[0] - 1
    merges, tops, count = np.empty((n - n_groups, 2), dtype=np.int64), np.empty(n_groups, dtype=np.int64), 0
    for g in range(n_groups):
        check_signals()
        first, size = starts[g], starts[g + 1] - starts[g]
        while size > 1:
            for pair in range(size // 2):
                merges[count, 0], merges[count, 1] = order[first + 2 * pair], order[first + 2 * pair + 1]
                order[first + pair] = n + count
                count += 1
            if size % 2:
                order[first + size // 2] = order[first + size - 1]
            size = (size + 1) // 2
        tops[g] = order[first]
    return merges, tops


def hang_items(points, sample, merges, log_d):
    """The tree of all items whose upper part is that of a random sample of them, (m,), in random order.

    Merges of the sample, (m - 1, 2), are numbered from n.  Their log d is multiplied by n / m, since it is a sum over
    items; that of nodes below sampled items is minus infinity, so that no move looks for clusters there.
    """
    n, m = len(points), len(sample)
    near = near_sampled_items(points, sample)
    order = np.argsort(near, kind="stable")
    hosts, starts = np.unique(near[order], return_index=True)
    below, tops = join_groups_of_items(order, np.append(starts, n))
    names = np.arange(n + m - 1)
    names[hosts], names[n:] = tops, names[n:] + len(below)
    return build_tree(
        np.concatenate([below, names[merges]]), np.concatenate([np.full(len(below), -np.inf), log_d * (n / m)])
    )
