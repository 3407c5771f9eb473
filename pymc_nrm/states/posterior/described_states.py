"""What descriptions say of hidden states: how long they last, and when."""

import numpy as np
import pandas as pd

from pymc_nrm.common.dates import written_times
from pymc_nrm.models.rvs import kind_of
from pymc_nrm.posterior.description import Words
from pymc_nrm.posterior.number_of_clusters import number_of_clusters
from pymc_nrm.posterior.special_description import Special, described_data
from pymc_nrm.states.posterior.state_probabilities import find_states, state_probabilities
from pymc_nrm.states.stats.state_durations import run_starts, sequence_labels, sequence_starts, state_durations
from pymc_nrm.stats.draws import item_dimension, partition_draws
from pymc_nrm.stats.losses import read_estimate
from pymc_nrm.stats.point_estimate import point_estimate
from pymc_nrm.stats.result import posterior_of

# At most so many regimes have lines of their own, of at most so many lines each.
_MOST_REGIMES, _LINES_EACH = 7, 8
# Other states are mentioned if they have at least this share of the times.
_LEAST_SHARE = 0.005
# Runs are listed in so many characters, in fewer where regimes have few lines.
_WIDTHS, _FEW_REGIMES = (100, 50), 4


def of_states(asked):
    """Shares of the times, how long states last, when, and their data."""
    asked.refuse_what_is_of_clusters("has hidden states")
    rv = find_states(asked.model, asked.partition.name)
    # Draws of pm.sample do not say where sequences begin.
    draws = partition_draws(posterior_of(asked.idata), rv.name).assign_attrs(kind_of(rv).marks())
    estimate = point_estimate(draws, random_seed=0) if asked.estimate is None else asked.estimate
    labels, names = read_estimate(estimate, draws)
    durations = state_durations(draws, estimate, ci_prob=asked.ci_prob)
    shares = state_probabilities(draws, estimate=estimate)["probability"].values.mean(axis=0)
    numbers = {name: durations[name].values for name in durations.data_vars if name not in ("share", "probability")}
    _, described, _ = described_data(asked, labels, draws, np.ones(len(labels), dtype=bool), "regime")
    runs, n_sequences = _runs_of(asked.model, rv, draws, labels, names)
    width = _WIDTHS[len(names) > _FEW_REGIMES]
    entries = []
    for k, name in enumerate(names):
        data = [f"{column} {of_column.cells[k]}" for column, of_column in described.items() if of_column.cells[k]]
        row = {statistic: values[k] for statistic, values in numbers.items()}
        entries.append("; ".join([_numbers_of_runs(row), _when(runs[runs["regime"] == name], width), *data]))
    number = number_of_clusters(labels, draws, asked.ci_prob)
    return Special(
        words=Words("regime", "times", "runs, when, and data", False, _MOST_REGIMES, _LINES_EACH),
        title=_title(number, len(labels), 1.0 - shares.sum(), n_sequences),
        labels=labels,
        names=names,
        estimate=estimate,
        draws=draws,
        entries=entries,
        notes=(
            "certainty: how probable it is that two times of the regime are in one state",
            f"times, runs, length: means, and {100 * asked.ci_prob:.4g} % of draws and of runs",
            'all columns: .to_text(full=True); numbers: .table; all runs: .tables["runs"]',
        ),
        shares=shares,
        numbers=numbers,
        columns=described,
        tables={"runs": runs},
    )


def _title(number, n, others, n_sequences):
    title = number.title(f"{n:,} times", "regime", "regime")
    title += f", {100 * others:.0f} % in others" if others >= _LEAST_SHARE else ""
    return title + (f", {n_sequences:,} sequences" if n_sequences > 1 else "")


def _runs_of(model, rv, draws, labels, names):
    """The runs of an estimate in order of time, and the number of sequences."""
    starts = sequence_starts(draws)
    first = run_starts(labels, starts)
    last = np.append(first[1:], len(labels)) - 1
    dim = item_dimension(draws)
    times = model.coords.get(model.named_vars_to_dims.get(rv.name, (None,))[0])
    times = written_times(draws[dim].values if times is None or dim in draws.coords else list(times))
    ends = {"first": [times[t] for t in first], "last": [times[t] for t in last]}
    runs = pd.DataFrame({"regime": names[labels[first]], **ends, "length": last - first + 1})
    sequences = sequence_labels(draws, starts)
    if sequences is not None:
        runs.insert(1, "sequence", sequences[first])
    return runs, int(starts.sum())


def _numbers_of_runs(row):
    """How many runs there are, and how long they last."""
    text = f"{row['n_runs']:.3g} run{'' if row['n_runs'] == 1 else 's'}"
    if row["n_runs_low"] < row["n_runs_high"]:
        text += f" ({row['n_runs_low']:.0f} to {row['n_runs_high']:.0f})"
    if np.isfinite(row["duration"]):
        text += f" of length {row['duration']:.3g}"
        if row["duration_low"] < row["duration_high"]:
            text += f" ({row['duration_low']:.0f} to {row['duration_high']:.0f})"
    return text


def _when(runs, width):
    """The longest runs of a regime that fit in so many characters, in order of time."""
    texts = [a if a == b else f"{a} to {b}" for a, b in zip(runs["first"], runs["last"], strict=True)]
    if "sequence" in runs:
        texts = [f"{sequence}: {text}" for sequence, text in zip(runs["sequence"], texts, strict=True)]
    longest = np.argsort(-runs["length"].to_numpy(), kind="stable")
    line = ""
    for n_shown in range(1, len(texts) + 1):
        more = f" and {len(texts) - n_shown} more" if n_shown < len(texts) else ""
        longer = ", ".join(texts[k] for k in sorted(longest[:n_shown])) + more
        if len(longer) > width and line:
            break
        line = longer
    return line
