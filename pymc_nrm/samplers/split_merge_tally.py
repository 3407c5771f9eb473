"""What split-merge moves of a draw report: proposals, acceptances and the mean log acceptance ratio."""

import math

import numpy as np

from pymc_nrm.generic import kernel

SPLIT_MERGE_STATS = {
    "n_splits_proposed": (np.int64, []),
    "n_splits_accepted": (np.int64, []),
    "n_merges_proposed": (np.int64, []),
    "n_merges_accepted": (np.int64, []),
    "acceptance_rate": (np.float64, []),
    "log_acceptance_ratio": (np.float64, []),
}


@kernel
def count_outcome(tally, outcome, log_ratio):
    """Count one move.

    Parameters
    ----------
    tally : ndarray, shape (at least 6,)
        Splits rejected and accepted, merges rejected and accepted, sum of log ratios, number of moves that had one.
    outcome : int
        0 split rejected, 1 split accepted, 2 merge rejected, 3 merge accepted.
    log_ratio : float
        nan for a move that was rejected before its ratio was known.
    """
    tally[outcome] += 1.0
    if not math.isnan(log_ratio):
        tally[4] += log_ratio
        tally[5] += 1.0


def split_merge_statistics(tally):
    """The statistics of ``SPLIT_MERGE_STATS`` from a tally."""
    splits_rejected, splits, merges_rejected, merges = map(int, tally[:4])
    total = splits_rejected + splits + merges_rejected + merges
    return {
        "n_splits_proposed": splits + splits_rejected,
        "n_splits_accepted": splits,
        "n_merges_proposed": merges + merges_rejected,
        "n_merges_accepted": merges,
        "acceptance_rate": (splits + merges) / total if total else np.nan,
        "log_acceptance_ratio": tally[4] / tally[5] if tally[5] else np.nan,
    }
