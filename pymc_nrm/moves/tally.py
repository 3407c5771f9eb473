"""Acceptance of split-merge moves, and the statistics of them that a draw reports."""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.generic import kernel

# Indices into the counts of a tally.
SPLIT, MERGE = 0, 1

SPLIT_MERGE_STATS = {
    "n_splits_proposed": (np.int64, []),
    "n_splits_accepted": (np.int64, []),
    "n_merges_proposed": (np.int64, []),
    "n_merges_accepted": (np.int64, []),
    "acceptance_rate": (np.float64, []),
    "log_acceptance_ratio": (np.float64, []),
}


class Tally(NamedTuple):
    """Outcomes of split-merge moves."""

    # proposed, accepted: Numbers of splits and of merges; int64 of shape (2,).
    proposed: Any
    accepted: Any
    # Sum of the log acceptance ratios; shape (1,).
    log_ratio: Any
    # Number of moves that had a ratio; those that cannot be accepted are rejected without one; int64 of shape (1,).
    n_ratios: Any


@kernel
def empty_tally():
    """Return the tally of no moves."""
    return Tally(
        np.zeros(2, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.zeros(1),
        np.zeros(1, dtype=np.int64),
    )


@kernel
def accept(rng, tally, merging, log_ratio, log_bound=0.0):
    """Accept or reject a split or merge by Metropolis-Hastings, and count it; nan and -infinity mean impossible.

    Given a bound on the ratio below 1, the move has come so far with a probability of this bound.
    """
    kind = MERGE if merging else SPLIT
    tally.proposed[kind] += 1
    if math.isnan(log_ratio) or log_ratio == -math.inf:
        return False
    tally.n_ratios[0] += 1
    tally.log_ratio[0] += log_ratio
    accepted = math.log(rng.random()) < log_ratio - min(log_bound, 0.0)
    tally.accepted[kind] += accepted
    return accepted


def split_merge_statistics(totals):
    """Statistics of a draw from the summed fields of its kernels' counts, those of a tally among them."""
    proposed, accepted, log_ratio, n_ratios = (totals.pop(name) for name in Tally._fields)
    n_moves = proposed.sum()
    return totals | {
        "n_splits_proposed": proposed[SPLIT],
        "n_splits_accepted": accepted[SPLIT],
        "n_merges_proposed": proposed[MERGE],
        "n_merges_accepted": accepted[MERGE],
        "acceptance_rate": accepted.sum() / n_moves if n_moves else np.nan,
        "log_acceptance_ratio": log_ratio[0] / n_ratios[0] if n_ratios[0] else np.nan,
    }
