"""What groups of trajectories are like, and who belongs to them."""

import dataclasses
import textwrap
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import interval_probability
from pymc_nrm.common.wrapping import cut, percent, whole_percent
from pymc_nrm.growth.posterior.trajectory_groups import find_trajectories, membership_effects, trajectory_groups
from pymc_nrm.models.rvs import checked_model, partition_of
from pymc_nrm.posterior.describe_values import number_writer
from pymc_nrm.posterior.draws import check_same_model
from pymc_nrm.posterior.number_of_clusters import number_of_clusters
from pymc_nrm.posterior.text_description import TextDescription
from pymc_nrm.stats.draws import partition_draws
from pymc_nrm.stats.result import posterior_of

# Lines of the text have at most so many characters; at most so many groups have lines of their own.
_WIDTH, _MOST_GROUPS = 80, 6


@dataclasses.dataclass(frozen=True, eq=False)
class TrajectoryDescription(TextDescription):
    """Groups of trajectories in words and numbers, the result of :func:`~pymc_nrm.growth.describe_trajectories`.

    ``print`` shows a text of lines of at most 80 characters.

    Parameters
    ----------
    table : DataFrame
        One row for each group, the largest first, with its label in the estimate as the index.
    curves : DataFrame
        Mean curves of the groups with intervals: ``group``, ``time``, ``mean``, ``low``, ``high``.
    members : DataFrame
        One row for each item: its ``group``, its ``certainty``, and the probability of each group.
    effects : DataFrame
        One row for each group and term of membership, empty without one.
    estimate : array_like
        The estimate that is described.
    text : str
        What ``print`` shows.

    Examples
    --------
    >>> tables = [pd.DataFrame(index=[0])] * 4
    >>> print(TrajectoryDescription(*tables, np.zeros(10, dtype=int), "10 subjects in one group"))
    10 subjects in one group
    """

    table: pd.DataFrame
    curves: pd.DataFrame
    members: pd.DataFrame
    effects: pd.DataFrame
    estimate: Any
    text: str


def describe_trajectories(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    ci_prob: float | None = None,
) -> TrajectoryDescription:
    """Describe groups of trajectories: their sizes, curves and change, who belongs to them, and by which covariates.

    Parameters
    ----------
    %(idata)s
    %(model)s
    estimate : array_like of int, shape (n,), DataArray, or Dataset with the variable ``labels``, optional
        Groups of the subjects; by default those of :func:`~pymc_nrm.point_estimate` with seed 0.
    var_name : str, optional
        Name of the mixture of trajectories; by default the only one.
    ci_prob : float, optional
        Probability of the intervals; by default ``arviz_base.rcParams["stats.ci_prob"]``.

    Returns
    -------
    TrajectoryDescription
        Of :func:`~pymc_nrm.growth.growth_mixture`, or any model with a Mixture of
        :class:`~pymc_nrm.growth.NormalTrajectory` whose covariates are a function of one ``pm.Data``, the times of the
        visits.  ``.table`` has the columns ``size``, ``share`` and ``certainty``; ``first`` and ``last``, the curve at
        the first and last time, and ``slope``, its change per unit of time between them, each with ``_low`` and
        ``_high``; ``intercepts``, the standard deviation of the intercepts of subjects, and ``noise``.  All are in the
        units of the table.

    Raises
    ------
    ValueError
        If the model has no such mixture, the estimate has a different number of items, the draws are not those of the
        model, or ``ci_prob`` is not between 0 and 1.

    See Also
    --------
    pymc_nrm.growth.plots.plot_trajectories : The picture.

    Notes
    -----
    The curve of a group in a draw is the mean of the curves of its members.  The probability that a subject is in a
    group is the probability that a random member of its cluster is in it; *certainty* is the mean over the members.
    Effects of membership are probabilities of the groups with a column at two values for all subjects, and the other
    columns as they are: one standard deviation below and above the mean, or its two values, or the most frequent level
    and another one.  What they lack to one is the probability of groups that the estimate does not have.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({
    ...     "id": [1, 1, 1, 2, 2, 2, 3, 3, 3],
    ...     "day": 3 * [0, 1, 2],
    ...     "weight": [5.0, 6.1, 6.9, 5.2, 6.0, 7.1, 8.0, 7.4, 7.1],
    ... })
    >>> model = nrm.growth.growth_mixture(df, subject="id", time="day", target="weight", degree=1)
    >>> constants = {"trajectory_ratio": 0.1, "trajectory_share": 0.01, "trajectory_kappa": 0.01, "trajectory_g": 1e4}
    >>> constants |= {"trajectory_excess": 10.0, "alpha": 1.0}
    >>> draws = {name: (("chain", "draw"), [[value] * 200]) for name, value in constants.items()}
    >>> draws["z"] = (("chain", "draw", "subject"), [[[0, 0, 1]] * 200])
    >>> description = nrm.growth.describe_trajectories(xr.Dataset(draws), model, ci_prob=0.9)
    >>> description.table[["size", "first"]].round(1).values.tolist()
    [[2.0, 5.1], [1.0, 7.9]]
    >>> print(description.text.splitlines()[0])
    3 subjects in 2 groups (in all draws); weight over day, degree 1
    """
    ci_prob = interval_probability(ci_prob)
    model = checked_model(model)
    partition = partition_of(find_trajectories(model, var_name)).name
    check_same_model(idata, model, partition)
    groups = trajectory_groups(idata, model, estimate, var_name)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    sizes = np.bincount(groups.labels)
    order = np.argsort(-sizes, kind="stable")
    table = {"size": sizes, "share": sizes / sizes.sum()}
    own = groups.probability[np.arange(len(groups.labels)), groups.labels]
    table["certainty"] = np.bincount(groups.labels, own) / sizes
    first, last = groups.curves[:, :, 0], groups.curves[:, :, -1]
    slope = (last - first) / (groups.times[-1] - groups.times[0])
    for name, values in {"first": first, "last": last, "slope": slope}.items():
        table |= _with_interval(name, values, tails)
    table |= {"intercepts": groups.intercepts.mean(axis=0), "noise": groups.noise.mean(axis=0)}
    table = pd.DataFrame(table, index=pd.Index(groups.names, name="group")).iloc[order]
    low, high = np.quantile(groups.curves, tails, axis=0)
    curves = pd.DataFrame(
        {
            "group": np.repeat(groups.names, len(groups.times)),
            "time": np.tile(groups.times, len(groups.names)),
            "mean": groups.curves.mean(axis=0).ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
    )
    dim = groups.dim
    items = model.coords.get(dim)
    items = pd.Index(range(len(groups.labels)) if items is None else list(items), name=dim)
    members = pd.DataFrame({"group": groups.names[groups.labels], "certainty": own}, index=items)
    members = members.join(pd.DataFrame(groups.probability, index=items, columns=groups.names))
    effects = _effects(membership_effects(idata, model, groups), groups.names, tails)
    number = number_of_clusters(groups.labels, partition_draws(posterior_of(idata), partition), ci_prob)
    text = _text(groups, table, effects, number, ci_prob)
    return TrajectoryDescription(table, curves, members, effects, groups.estimate, text)


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


def _text(groups, table, effects, number, ci_prob):
    growth, dim, n = groups.growth, groups.dim, len(groups.labels)
    target, time, curve, unit = groups.mixture.name, "time", "", " per unit of time"
    if growth is not None:
        target, time, curve = growth.target, growth.time_label, f", {growth.curve}"
        unit = f" a {growth.unit.removesuffix('s')}" if growth.unit else f" per unit of {growth.time}"
    counted = f"{dim}s" if n > 1 else dim
    title = f"{number.title(f'{n:,} {counted}', 'group')}; {target} over {time}{curve}"
    lines = [*textwrap.wrap(title, _WIDTH), ""]
    write = number_writer(np.nanstd(groups.values), False)
    spread = np.nanstd(groups.values) / max(np.ptp(groups.times), 1e-300)
    write_slope = number_writer(spread, False)
    start, end = (_written_time(growth, t) for t in groups.times[[0, -1]])
    for name, row in table.iloc[:_MOST_GROUPS].iterrows():
        size = int(row["size"])
        who = f"{size:,} {dim}{'s' * (size > 1)}, {percent(row['share'])}"
        lines.append(f"{name}: {who}, certainty {whole_percent(row['certainty'])}")
        lines.append(f"   from {_interval(row, 'first', write)} at {start}")
        lines.append(f"   to {_interval(row, 'last', write)} at {end}: {_interval(row, 'slope', write_slope)}{unit}")
        between = f"{dim}s differ by ± {write(row['intercepts'])}, " if row["intercepts"] > 0 else ""
        lines.append(f"   {between}errors ± {write(row['noise'])}")
        if len(effects):
            for _, effect in effects[effects["group"] == name].iterrows():
                lines.append("   " + _effect(effect))
    folded = table.iloc[_MOST_GROUPS:]
    if len(folded):
        lines.append(f"{len(folded):,} more groups: {percent(folded['share'].sum())} of {dim}s")
    lines += ["", f"means and {100 * ci_prob:.4g} % intervals", "numbers: .table, .curves; who belongs: .members"]
    return "\n".join(cut(line, _WIDTH) for line in lines)


def _interval(row, name, write):
    return f"{write(row[name])} ({write(row[f'{name}_low'])} to {write(row[f'{name}_high'])})"


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
