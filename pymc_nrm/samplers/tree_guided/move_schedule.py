"""How often a tree-guided step makes each kind of move: defaults by size, split-merge moves adapted while tuning."""

from typing import NamedTuple

import numpy as np

# With more clusters, moves whose cost does not grow with their number replace most of the others.
_MANY_CLUSTERS = 50

# Evaluations of a predictive density that take as long as one log marginal, roughly, for every family and dimension.
_PREDICTIVES_PER_MARGINAL = 30.0

# Bounds of the number of split-merge moves of one kind, and of the share of their time that one kind gets.
_FEWEST, _MOST = 2, 16
_LEAST_SHARE = 0.25

# Log marginals that a draw can always afford, times the numbers they are computed from: about a tenth of a millisecond,
# less than PyMC itself takes.
_LEAST_NUMBERS = 6000.0

# A draw updates all items if there are at most `_MANY_ITEMS`, else a share of them.
_MANY_ITEMS, _SHARE = 20_000, 0.25

# Proposals of both kinds together that are enough to judge their gain.
_ENOUGH_PROPOSALS = 100


class MovesPerDraw(NamedTuple):
    """How often a cycle makes moves of each kind, in its order; ``marginal_gibbs`` is a number of items."""

    informed_split_merge: int
    tree_split_merge: int
    subtree_gibbs: int
    reference_subtree_gibbs: int
    marginal_gibbs: int


def numbers_of_moves(n, n_clusters, n_statistics, tallies, chosen):
    """Numbers of moves of each kind per draw.

    Split-merge moves get half the time of the Gibbs updates of items, or what is always affordable, and divide it in
    proportion to accepted moves per time.  Time is counted in log marginals, not in seconds, so that draws follow from
    the seed.

    Parameters
    ----------
    n : int
        Number of items.
    n_clusters : int
    n_statistics : int
        Length of a row of sufficient statistics.
    tallies : pair of Tally
        Informed and other split-merge moves of past draws.
    chosen : dict of str to int or float
        Numbers, or shares of the number of items, that the user wants.

    Returns
    -------
    MovesPerDraw

    Examples
    --------
    >>> from pymc_nrm.samplers.tally import empty_tally
    >>> numbers_of_moves(1000, 10, 6, [empty_tally(), empty_tally()], {"subtree_gibbs": 0.5}).subtree_gibbs
    500
    """
    many = n_clusters > _MANY_CLUSTERS
    defaults = {
        "informed_split_merge": 6,
        "tree_split_merge": 4,
        "subtree_gibbs": 5 if many else max(5, n // 128),
        "reference_subtree_gibbs": n // 40 if many else 0,
        "marginal_gibbs": min(n, max(_MANY_ITEMS, round(_SHARE * n))),
    }
    wanted = defaults | chosen
    counts = {name: round(count * n) if isinstance(count, float) else count for name, count in wanted.items()}
    proposals = np.array([tally.proposed.sum() for tally in tallies])
    if proposals.min() > 0 and proposals.sum() >= _ENOUGH_PROPOSALS:
        work = np.maximum([tally.n_log_marginals[0] for tally in tallies] / proposals, 1.0)
        gain = (np.array([tally.accepted.sum() for tally in tallies]) + 1.0) / (proposals + 20.0) / work
        share = np.clip(gain / gain.sum(), _LEAST_SHARE, 1.0 - _LEAST_SHARE)
        time = 0.5 * counts["marginal_gibbs"] * (n_clusters + 1.0) / _PREDICTIVES_PER_MARGINAL
        time = max(time, _LEAST_NUMBERS / n_statistics)
        adapted = np.clip(np.rint(share * time / work), _FEWEST, _MOST)
        for name, count in zip(("informed_split_merge", "tree_split_merge"), adapted, strict=True):
            if name not in chosen:
                counts[name] = int(count)
    if n == 1:
        counts |= dict.fromkeys([name for name in counts if name != "marginal_gibbs"], 0)
    return MovesPerDraw(**counts)
