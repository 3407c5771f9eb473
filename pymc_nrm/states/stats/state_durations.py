"""Runs of hidden states: how many there are, and how long they last."""

import warnings
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import interval_probability
from pymc_nrm.common.marks import NAME, SEQUENCES, STARTS
from pymc_nrm.stats.contingency import contingency_table, match_clusters
from pymc_nrm.stats.draws import partition_draws, stack_draws
from pymc_nrm.stats.point_estimate import chosen_estimate


def state_durations(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    ci_prob: float | None = None,
) -> xr.Dataset:
    """Number and lengths of the runs of each hidden state: stretches of successive times in one state.

    Parameters
    ----------
    %(draws)s
    %(states_estimate)s
    %(var_name)s
    ci_prob : float, optional
        Probability of the intervals, which have equal tails; by default ``arviz_base.rcParams["stats.ci_prob"]``.

    Returns
    -------
    Dataset
        Dimension ``state``, with the labels of the estimate.

        - ``n_runs``, ``n_runs_low``, ``n_runs_high``: number of runs in a draw, its posterior mean and interval.
        - ``duration``: mean length of a run, in time points; ``duration_low`` and ``duration_high`` are quantiles of
          the length of a single run.  Both are over the runs of all draws, and NaN for a state without runs.
        - ``share``: mean share of the times.
        - ``probability``: share of the draws that have the state.

    Raises
    ------
    ValueError
        If there is no such partition, the estimate has a different number of items, or ``ci_prob`` is not between 0
        and 1.

    Warns
    -----
    UserWarning
        If draws do not say where sequences begin, as those of ``pm.sample``: all times then count as one sequence.

    Notes
    -----
    In each draw, states are matched to states of the estimate one to one, such that as many times as possible are in
    matched states; runs of states without a match are left out.  A run ends with its sequence, and counts with the
    length that is seen.

    Examples
    --------
    >>> draws = xr.DataArray([[[0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 1, 0]]], dims=("chain", "draw", "time"), name="z")
    >>> runs = state_durations(draws, [0, 0, 0, 1, 1, 0])
    >>> runs.n_runs.values.tolist(), runs.duration.values.tolist()
    ([2.0, 1.0], [1.75, 2.5])
    """
    ci_prob = interval_probability(ci_prob)
    draws = partition_draws(idata, var_name)
    labels, names = chosen_estimate(estimate, draws, random_seed=0)
    n, n_states, starts = len(labels), len(names), sequence_starts(draws)
    rows = stack_draws(draws)
    n_runs = np.zeros((len(rows), n_states))
    # Numbers of runs of all draws by state and length.
    lengths = np.zeros((n_states, n + 1), dtype=np.int64)
    for s, row in enumerate(rows):
        match = match_clusters(contingency_table(row, labels))
        first = run_starts(row, starts)
        state, length = match[row[first]], np.diff(first, append=n)
        state, length = state[state >= 0], length[state >= 0]
        n_runs[s] = np.bincount(state, minlength=n_states)
        np.add.at(lengths, (state, length), 1)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    low, high = np.quantile(n_runs, tails, axis=0, method="inverted_cdf")
    total, times = lengths.sum(axis=1), lengths @ np.arange(n + 1)
    with np.errstate(invalid="ignore"):
        duration = times / total
    quantiles = [_quantiles(counts, tails) for counts in lengths]
    variables = {
        "n_runs": n_runs.mean(axis=0),
        "n_runs_low": low,
        "n_runs_high": high,
        "duration": duration,
        "duration_low": [pair[0] for pair in quantiles],
        "duration_high": [pair[1] for pair in quantiles],
        "share": times / (n * len(rows)),
        "probability": (n_runs > 0).mean(axis=0),
    }
    return xr.Dataset({name: ("state", values) for name, values in variables.items()}, {"state": names})


def _quantiles(counts, tails):
    """Quantiles of whole numbers 0, 1, ... that occur so often; NaN if none does."""
    cumulative = np.cumsum(counts)
    if not cumulative[-1]:
        return [np.nan, np.nan]
    return [float(np.searchsorted(cumulative, tail * cumulative[-1])) for tail in tails]


def sequence_starts(draws):
    """Whether a sequence begins at each time of draws of a partition, shape (n,)."""
    if NAME not in draws.attrs and STARTS not in draws.attrs:
        warnings.warn(
            f"draws of {draws.name!r} do not say where sequences begin, so all times count as one sequence; draws of "
            "nrm.sample say so",
            UserWarning,
            stacklevel=3,
        )
    starts = np.zeros(draws.shape[2], dtype=bool)
    starts[[0, *np.asarray(draws.attrs.get(STARTS, ()), dtype=np.int64)]] = True
    return starts


def sequence_labels(draws, starts):
    """Label of the sequence of each time as text, shape (n,), None for a single one or draws that do not have them."""
    names = np.asarray(draws.attrs.get(SEQUENCES, ()), dtype=object)
    return names[np.cumsum(starts) - 1] if 1 < len(names) == starts.sum() else None


def run_starts(labels, starts):
    """Times at which a run of equal labels begins, given where sequences begin. Shapes: both (n,)."""
    changes = starts.copy()
    changes[1:] |= labels[1:] != labels[:-1]
    return np.flatnonzero(changes)
