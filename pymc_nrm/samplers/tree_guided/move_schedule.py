"""How often a tree-guided step makes each kind of move: defaults, what adapts during tuning, and less of it afterwards.

A draw makes one cycle of moves or several, and a cycle some moves of each kind.
"""

from typing import NamedTuple

import numpy as np

# Number of predictive densities that take as long as one log marginal, roughly, for any family and dimension.
_PREDICTIVES_PER_MARGINAL = 30.0

# Bounds of the number of split-merge moves of each kind, and the smallest share of their time for one kind.
_FEWEST, _MOST = 2, 16
_LEAST_SHARE = 0.25

# Number of log marginals that a cycle can always afford, times the length of a row of statistics.  They take about a
# tenth of a millisecond, less than PyMC itself.
_LEAST_NUMBERS = 6000.0

# A cycle updates this share of the items, but at least `_MANY_ITEMS` of them, or all if there are fewer.
_MANY_ITEMS, _SHARE = 20_000, 0.25

# A draw makes so many cycles that it visits this many items, but at most `_MOST_CYCLES`.
_VISITS, _MOST_CYCLES = 1000, 3

# Moves along the guide tree bring a chain to the bulk of the posterior.  There, Gibbs updates of items earn more, and
# this share of the moves along the tree is left.
_SHARE_AFTER_TUNING = 1.0 / 3.0

# Smallest total number of split-merge proposals from which their gain is estimated.
_ENOUGH_PROPOSALS = 100


class MovesPerCycle(NamedTuple):
    """Mean number of moves of each kind in a cycle, in the order of the cycle; for ``marginal_gibbs``, number of items.

    A mean that is not a whole number is rounded up or down at random in every cycle.
    """

    informed_split_merge: float
    tree_split_merge: float
    subtree_gibbs: float
    marginal_gibbs: int


ALONG_THE_TREE = MovesPerCycle._fields[:3]


def number_of_cycles(n):
    """Choose the number of cycles per draw.

    Beside a cycle of few items, the draw of the hyperparameters by NUTS takes most of the time, and yet it is the
    partition that mixes slowly.

    Parameters
    ----------
    n : int
        Number of items.

    Returns
    -------
    int

    Examples
    --------
    >>> number_of_cycles(150), number_of_cycles(500), number_of_cycles(2000)
    (3, 2, 1)
    """
    return max(1, min(_MOST_CYCLES, _VISITS // n))


def numbers_of_moves(n, n_clusters, n_statistics, tallies, chosen):
    """Choose the number of moves of each kind per cycle of a draw of tuning.

    Split-merge moves get half the time of the Gibbs updates of items, or the little that is always affordable.  The two
    kinds divide it in proportion to their accepted moves per time.  Time is counted in log marginals, not in seconds,
    so that the seed determines the draws.

    Parameters
    ----------
    n : int
        Number of items.
    n_clusters : int
    n_statistics : int
        Length of a row of sufficient statistics; 0 without data.
    tallies : pair of Tally
        Outcomes of the informed and of the other split-merge moves of past draws.
    chosen : dict of str to int or float
        Numbers that the user has set; a float is a share of the number of items.

    Returns
    -------
    MovesPerCycle

    Examples
    --------
    >>> from pymc_nrm.samplers.tally import empty_tally
    >>> numbers_of_moves(1000, 10, 6, [empty_tally(), empty_tally()], {"subtree_gibbs": 0.5}).subtree_gibbs
    500.0
    """
    defaults = {
        "informed_split_merge": 6,
        "tree_split_merge": 4,
        "subtree_gibbs": 5,
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
        time = max(time, _LEAST_NUMBERS / max(n_statistics, 1))
        adapted = np.clip(np.rint(share * time / work), _FEWEST, _MOST)
        for name, count in zip(("informed_split_merge", "tree_split_merge"), adapted, strict=True):
            if name not in chosen:
                counts[name] = int(count)
    if n == 1:
        counts |= dict.fromkeys(ALONG_THE_TREE, 0)
    return MovesPerCycle(**{name: float(count) if name in ALONG_THE_TREE else count for name, count in counts.items()})


def moves_after_tuning(n_moves, chosen):
    """Reduce the moves along the guide tree once tuning is over.

    Parameters
    ----------
    n_moves : MovesPerCycle
        Those of the last draw of tuning.
    chosen : dict of str to int or float
        Numbers that the user has set, which stay.

    Returns
    -------
    MovesPerCycle

    Examples
    --------
    >>> moves_after_tuning(MovesPerCycle(6.0, 3.0, 5.0, 100), {"subtree_gibbs": 5})
    MovesPerCycle(informed_split_merge=2.0, tree_split_merge=1.0, subtree_gibbs=5.0, marginal_gibbs=100)
    """
    fewer = [name for name in ALONG_THE_TREE if name not in chosen]
    return n_moves._replace(**{name: _SHARE_AFTER_TUNING * getattr(n_moves, name) for name in fewer})
