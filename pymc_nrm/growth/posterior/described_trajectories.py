"""What descriptions say of groups of trajectories: curves, and by which covariates items belong to groups."""

import numpy as np
import pandas as pd

from pymc_nrm.common.wrapping import whole_percent
from pymc_nrm.growth.posterior.trajectory_groups import membership_effects, trajectory_groups
from pymc_nrm.posterior.describe_values import number_writer
from pymc_nrm.posterior.description import Words
from pymc_nrm.posterior.number_of_clusters import number_of_clusters
from pymc_nrm.posterior.special_description import Special, described_data
from pymc_nrm.stats.draws import partition_draws
from pymc_nrm.stats.result import posterior_of

# At most so many groups have lines of their own, of at most so many lines each.
_MOST_GROUPS, _LINES_EACH = 6, 7


def of_trajectories(asked):
    """Curves of groups, how their members differ, and by which covariates items belong to them."""
    asked.refuse_what_is_of_clusters("has groups of trajectories")
    groups = trajectory_groups(asked.idata, asked.model, asked.estimate, asked.mixture, asked.partition)
    draws = partition_draws(posterior_of(asked.idata), asked.partition.name)
    first, last = groups.curves[:, :, 0], groups.curves[:, :, -1]
    slope = (last - first) / (groups.times[-1] - groups.times[0])
    numbers = {}
    for name, values in {"first": first, "last": last, "slope": slope}.items():
        numbers |= _with_interval(name, values, asked.tails)
    numbers |= {"intercepts": groups.intercepts.mean(axis=0), "noise": groups.noise.mean(axis=0)}
    effects = _effects(membership_effects(asked.idata, asked.model, groups), groups.names, asked.tails)
    columns = {}
    if asked.data is not None:
        _, columns, _ = described_data(asked, groups.labels, draws, np.ones(len(groups.labels), dtype=bool), "group")
    entries = [_entries(groups, numbers, effects, k) for k in range(len(groups.names))]
    if columns:
        of_columns = [[f"{name} {column.cells[k]}" for name, column in columns.items()] for k in range(len(entries))]
        entries = ["; ".join([text, *texts]) for text, texts in zip(entries, of_columns, strict=True)]
    number = number_of_clusters(groups.labels, draws, asked.ci_prob)
    return Special(
        words=Words("group", f"{groups.dim}s", "curve, and who belongs to it", True, _MOST_GROUPS, _LINES_EACH),
        title=_title(groups, number),
        labels=groups.labels,
        names=groups.names,
        estimate=groups.estimate,
        draws=draws,
        entries=entries,
        notes=(
            f"certainty: how probable it is that two {groups.dim}s of the group belong together",
            f"curves, differences: means and {100 * asked.ci_prob:.4g} % intervals",
            'numbers: .table, .tables["curves"]; who belongs to a group: .tables["members"]',
        ),
        numbers=numbers,
        columns=columns,
        tables={"curves": _curves(groups, asked.tails), "members": _members(asked.model, groups), "effects": effects},
    )


def _title(groups, number):
    n, growth = len(groups.labels), groups.growth
    target, time, curve = groups.mixture.name, "time", ""
    if growth is not None:
        target, time, curve = growth.target, growth.time_label, f", {growth.curve}"
    counted = f"{groups.dim}s" if n > 1 else groups.dim
    return f"{number.title(f'{n:,} {counted}', 'group')}; {target} over {time}{curve}"


def _entries(groups, numbers, effects, k):
    """The curve of a group at its ends, its change, spreads, and effects on the probability of the group."""
    growth, unit = groups.growth, " per unit of time"
    if growth is not None:
        unit = f" a {growth.unit.removesuffix('s')}" if growth.unit else f" per unit of {growth.time}"
    spread = np.nanstd(groups.values)
    write, write_slope = (number_writer(scale, False) for scale in (spread, spread / max(np.ptp(groups.times), 1e-300)))
    start, end = (_written_time(growth, t) for t in groups.times[[0, -1]])
    entries = [
        f"from {_interval(numbers, 'first', k, write)} at {start}",
        f"to {_interval(numbers, 'last', k, write)} at {end}",
        f"{_interval(numbers, 'slope', k, write_slope)}{unit}",
    ]
    between = numbers["intercepts"][k]
    differ = f"{groups.dim}s differ by ± {write(between)}, " if between > 0 else ""
    entries.append(f"{differ}errors ± {write(numbers['noise'][k])}")
    group_effects = effects[effects["group"] == groups.names[k]].iterrows() if len(effects) else []
    return "; ".join([*entries, *(_effect(effect) for _, effect in group_effects)])


def _curves(groups, tails):
    low, high = np.quantile(groups.curves, tails, axis=0)
    curves = {"mean": groups.curves.mean(axis=0), "low": low, "high": high}
    index = pd.MultiIndex.from_product([groups.names, groups.times], names=["group", "time"])
    return pd.DataFrame({name: values.ravel() for name, values in curves.items()}, index=index).reset_index()


def _members(model, groups):
    """The group of each item, and the probabilities of all groups."""
    items = model.coords.get(groups.dim)
    items = pd.Index(range(len(groups.labels)) if items is None else list(items), name=groups.dim)
    member_probability = groups.probability[np.arange(len(groups.labels)), groups.labels]
    members = pd.DataFrame({"group": groups.names[groups.labels], "probability": member_probability}, index=items)
    return members.join(pd.DataFrame(groups.probability, index=items, columns=groups.names))


def _with_interval(name, values, tails):
    low, high = np.quantile(values, tails, axis=0)
    return {name: values.mean(axis=0), f"{name}_low": low, f"{name}_high": high}


def _effects(effects, names, tails):
    """A table of the effects of all terms on all groups."""
    rows = []
    for effect in effects:
        change = _with_interval("difference", effect.high - effect.low, tails)
        for k, name in enumerate(names):
            row = {"group": name, "term": effect.label, "from": effect.low_value, "to": effect.high_value}
            row |= {"probability_from": effect.low[:, k].mean(), "probability_to": effect.high[:, k].mean()}
            rows.append(row | {key: values[k] for key, values in change.items()})
    return pd.DataFrame(rows)


def _interval(numbers, name, k, write):
    value, low, high = (write(numbers[name + end][k]) for end in ("", "_low", "_high"))
    return f"{value} ({low} to {high})"


def _effect(effect):
    """The probability of a group at two values of a term."""
    low, high = (whole_percent(effect[f"probability_{end}"]) for end in ("from", "to"))
    ends = [value if isinstance(value, str) else f"{value:.3g}" for value in effect[["from", "to"]]]
    difference = f"{100 * effect['difference_low']:+.0f} to {100 * effect['difference_high']:+.0f}"
    return f"probability {low} at {effect['term']} {ends[0]}, {high} at {ends[1]} ({difference})"


def _written_time(growth, time):
    """A time as a number, or as a date."""
    if growth is None or growth.start is None:
        return f"{time:.4g}"
    days = time * growth.divisor
    return str((growth.start + pd.Timedelta(days, unit="D" if growth.unit != "seconds" else "s")).date())
