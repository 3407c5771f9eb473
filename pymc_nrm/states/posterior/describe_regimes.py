"""What the hidden states of an estimate are like, how long they last, and when."""

import dataclasses
import textwrap
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import interval_probability
from pymc_nrm.common.dates import written_times
from pymc_nrm.common.wrapping import cut, percent, whole_percent
from pymc_nrm.models.rvs import checked_model, kind_of
from pymc_nrm.posterior.describe_values import describe_column
from pymc_nrm.posterior.described_columns import columns_of_model
from pymc_nrm.posterior.described_parameters import described_parameters
from pymc_nrm.posterior.draws import check_same_model
from pymc_nrm.posterior.number_of_clusters import number_of_clusters
from pymc_nrm.posterior.text_description import TextDescription
from pymc_nrm.states.posterior.state_probabilities import find_states, state_probabilities
from pymc_nrm.states.stats.state_durations import run_starts, sequence_labels, sequence_starts, state_durations
from pymc_nrm.stats.draws import item_dimension, partition_draws
from pymc_nrm.stats.losses import read_estimate
from pymc_nrm.stats.point_estimate import point_estimate
from pymc_nrm.stats.result import posterior_of

# Characters of a line, lines of the text, regimes that have lines of their own and lines for data of each, at most.
_WIDTH, _MOST_LINES, _MOST_REGIMES, _MOST_DATA_LINES = 80, 30, 8, 4
# Others are mentioned if they have at least this share of the times.
_LEAST_SHARE = 0.005


@dataclasses.dataclass(frozen=True, eq=False)
class RegimeDescription(TextDescription):
    """Regimes in words and numbers, the result of :func:`~pymc_nrm.states.describe_regimes`.

    ``print`` shows a text of at most 30 lines of 80 characters.

    Parameters
    ----------
    table : DataFrame
        One row for each regime, the most frequent first, with its label in the estimate as the index.
    runs : DataFrame
        One row for each run of the estimate in order of time: ``regime``, ``first``, ``last``, ``length``, and of
        several sequences also ``sequence``, its label.
    estimate : array_like
        The estimate that is described.
    text : str
        What ``print`` shows.

    Examples
    --------
    >>> runs = pd.DataFrame({"regime": [0], "first": [1950], "last": [1959], "length": [10]})
    >>> description = RegimeDescription(pd.DataFrame(index=[0]), runs, np.zeros(10, dtype=int), "one regime")
    >>> print(description)
    one regime
    """

    table: pd.DataFrame
    runs: pd.DataFrame
    estimate: Any
    text: str


def describe_regimes(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    ci_prob: float | None = None,
) -> RegimeDescription:
    """Describe the hidden states of a time series: their data, how long they last, when, and how certain they are.

    Parameters
    ----------
    %(idata)s
    %(model)s
    %(states_estimate)s
    %(states)s
    ci_prob : float, optional
        Probability of the intervals; by default ``arviz_base.rcParams["stats.ci_prob"]``.

    Returns
    -------
    RegimeDescription
        ``print`` shows at most 30 lines, ``.table`` has the numbers, ``.runs`` the runs of the estimate.  Columns of
        the table are ``share``, ``certainty``, the number and length of runs as in
        :func:`~pymc_nrm.states.state_durations`, and mean and standard deviation, or the shares, of each
        column of the data, or coefficients and variance of a regression with intervals.

    Raises
    ------
    ValueError
        If the partition has no hidden states, the estimate has a different number of items, the draws are not those of
        the model, or ``ci_prob`` is not between 0 and 1.

    See Also
    --------
    pymc_nrm.describe_clusters : What sets states apart, column by column.

    Notes
    -----
    *Share*, the "% of times", is the mean probability of the state over all times, and *certainty* that over its times
    in the estimate, see :func:`~pymc_nrm.states.state_probabilities`.  The legend of
    :func:`~pymc_nrm.states.plots.plot_state_sequence` has the same shares.  The title says which share of the times is
    in states that the estimate does not have, if it is at least 0.5 %.  Runs in the text are those of the estimate, the
    longest ones.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> series = pd.Series([0.1, -0.2, 0.0, 7.1, 6.9], pd.date_range("2020", periods=5, freq="MS"), name="rate")
    >>> model = nrm.states.regime_model(series)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "time"), [[[0, 0, 0, 1, 1], [0, 0, 1, 1, 1]]])})
    >>> print(nrm.states.describe_regimes(posterior, model, [0, 0, 0, 1, 1], ci_prob=0.9))
    5 times in 2 regimes (in all draws)
    <BLANKLINE>
    0: 50 % of times, certainty 83 %; 1 run of length 2.5 (2 to 3)
       rate 0.0 ± 0.2
       2020-01 to 2020-03
    1: 50 % of times, certainty 100 %; 1 run of length 2.5 (2 to 3)
       rate 7.0 ± 0.1
       2020-04 to 2020-05
    <BLANKLINE>
    % of times, runs, length: means, and 90 % of draws and of runs
    all numbers: .table; all runs: .runs
    """
    ci_prob = interval_probability(ci_prob)
    model = checked_model(model)
    rv = find_states(model, var_name)
    check_same_model(idata, model, rv.name)
    posterior = posterior_of(idata)
    # Draws of pm.sample do not say where sequences begin.
    draws = partition_draws(posterior, rv.name).assign_attrs(kind_of(rv).marks())
    estimate = point_estimate(draws, random_seed=0) if estimate is None else estimate
    labels, names = read_estimate(estimate, draws)
    durations = state_durations(draws, estimate, ci_prob=ci_prob)
    smoothed = state_probabilities(draws, estimate=estimate)
    probability = smoothed["probability"].values
    certainty = probability[np.arange(len(labels)), labels]
    table = {"share": probability.mean(axis=0), "certainty": np.bincount(labels, certainty) / np.bincount(labels)}
    table |= {name: durations[name].values for name in durations.data_vars if name not in ("share", "probability")}
    described = {column.name: describe_column(column, labels) for column in columns_of_model(model, rv, len(labels))}
    described |= described_parameters(idata, model, rv, posterior, labels, [(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    for name, column in described.items():
        table |= {f"{name} {statistic}": values for statistic, values in column.statistics.items()}
    order = np.argsort(-table["share"], kind="stable")
    starts = sequence_starts(draws)
    first = run_starts(labels, starts)
    last = np.append(first[1:], len(labels)) - 1
    dim = item_dimension(draws)
    times = model.coords.get(model.named_vars_to_dims.get(rv.name, (None,))[0])
    times = written_times(draws[dim].values if times is None or dim in draws.coords else list(times))
    runs = pd.DataFrame(
        {
            "regime": names[labels[first]],
            "first": [times[t] for t in first],
            "last": [times[t] for t in last],
            "length": last - first + 1,
        }
    )
    sequences = sequence_labels(draws, starts)
    if sequences is not None:
        runs.insert(1, "sequence", sequences[first])
    table = pd.DataFrame(table, index=pd.Index(names, name="regime")).iloc[order]
    cells = {name: [column.cells[k] for k in order] for name, column in described.items()}
    number = number_of_clusters(labels, draws, ci_prob)
    return RegimeDescription(table, runs, estimate, _text(table, cells, runs, number, int(starts.sum()), ci_prob))


def _text(table, cells, runs, number, n_sequences, ci_prob):
    n = runs["length"].sum()
    title = number.title(f"{n:,} times", "regime", "regime")
    others = 1.0 - table["share"].sum()
    title += f", {100 * others:.0f} % in others" if others >= _LEAST_SHARE else ""
    title += f", {n_sequences:,} sequences" if n_sequences > 1 else ""
    lines = [*textwrap.wrap(title, _WIDTH), ""]
    n_lines = min(_MOST_DATA_LINES, (_MOST_LINES - 6) // min(len(table), _MOST_REGIMES) - 2)
    for place, (name, row) in enumerate(table.iloc[:_MOST_REGIMES].iterrows()):
        shares = f"{percent(row['share'])} of times, certainty {whole_percent(row['certainty'])}"
        lines.append(cut(f"{name}: {shares}; {_runs(row)}", _WIDTH))
        data = [f"{column} {texts[place]}" for column, texts in cells.items() if texts[place]]
        own = runs[runs["regime"] == name]
        lines += _in_lines(data, n_lines)
        lines.append(f"   {_when(own)}")
    folded = table.iloc[_MOST_REGIMES:]
    if len(folded):
        lines.append(f"{len(folded):,} more regime{'s' * (len(folded) > 1)}: {percent(folded['share'].sum())} of times")
    return "\n".join(
        [
            *lines,
            "",
            f"% of times, runs, length: means, and {100 * ci_prob:.4g} % of draws and of runs",
            "all numbers: .table; all runs: .runs",
        ]
    )


def _runs(row):
    """How many runs there are, and how long they last."""
    text = f"{row['n_runs']:.3g} run{'' if row['n_runs'] == 1 else 's'}"
    if row["n_runs_low"] < row["n_runs_high"]:
        text += f" ({row['n_runs_low']:.0f} to {row['n_runs_high']:.0f})"
    if np.isfinite(row["duration"]):
        text += f" of length {row['duration']:.3g}"
        if row["duration_low"] < row["duration_high"]:
            text += f" ({row['duration_low']:.0f} to {row['duration_high']:.0f})"
    return text


def _when(runs):
    """The longest runs of a regime that fit in a line, in order of time."""
    texts = [a if a == b else f"{a} to {b}" for a, b in zip(runs["first"], runs["last"], strict=True)]
    if "sequence" in runs:
        texts = [f"{sequence}: {text}" for sequence, text in zip(runs["sequence"], texts, strict=True)]
    longest = np.argsort(-runs["length"].to_numpy(), kind="stable")
    line = ""
    for n_shown in range(1, len(texts) + 1):
        more = f" and {len(texts) - n_shown} more" if n_shown < len(texts) else ""
        longer = ", ".join(texts[k] for k in sorted(longest[:n_shown])) + more
        if len(longer) > _WIDTH - 3 and line:
            break
        line = longer
    return line


def _in_lines(texts, most):
    """Texts about a regime in at most so many lines, the last of which is cut if they do not fit."""
    lines = []
    for k, text in enumerate(texts):
        text += ";" if k < len(texts) - 1 else ""
        if lines and (len(f"{lines[-1]} {text}") <= _WIDTH or len(lines) == most):
            lines[-1] += f" {text}"
        else:
            lines.append(f"   {text}")
    return [cut(line, _WIDTH) for line in lines]
