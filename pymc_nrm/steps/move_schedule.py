"""How often a tree-guided step makes each kind of move, and how many cycles of moves a draw has."""

from typing import NamedTuple

# A cycle updates this share of the items, but at least `_MANY_ITEMS` of them, or all if there are fewer.
_MANY_ITEMS, _SHARE = 20_000, 0.25

# A draw makes so many cycles that it visits this many items, but at most `_MOST_CYCLES`.
_VISITS, _MOST_CYCLES = 1000, 3


class MovesPerCycle(NamedTuple):
    """Number of moves of each kind in a cycle, in the order of the cycle; for ``marginal_gibbs``, number of items."""

    informed_split_merge: int
    tree_split_merge: int
    subtree_gibbs: int
    marginal_gibbs: int


def number_of_cycles(n):
    """Choose the number of cycles per draw.

    Beside a cycle of few items, the draw of the hyperparameters by NUTS takes most of the time, and yet it is the
    partition that mixes slowly.
    """
    return max(1, min(_MOST_CYCLES, _VISITS // n))


def numbers_of_moves(n, chosen, *, tuning):
    """Choose the number of moves of each kind per cycle.

    Informed splits and merges bring a chain to the bulk of the posterior.  There they earn nothing, so that they end
    with tuning.
    """
    defaults = {
        "informed_split_merge": 6 if tuning else 0,
        "tree_split_merge": 4,
        "subtree_gibbs": 5,
        "marginal_gibbs": min(n, max(_MANY_ITEMS, round(_SHARE * n))),
    }
    wanted = defaults | chosen
    counts = {name: round(count * n) if isinstance(count, float) else count for name, count in wanted.items()}
    if n == 1:
        counts |= dict.fromkeys([name for name in counts if name != "marginal_gibbs"], 0)
    return MovesPerCycle(**counts)
