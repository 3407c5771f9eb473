"""What the clusters, hidden states or groups of an estimate are like."""

import functools
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_flag, interval_probability
from pymc_nrm.models.rvs import checked_model, family_of, is_mixture, kind_of, mixtures_of, other_uses, partition_of
from pymc_nrm.models.values import computed_by
from pymc_nrm.posterior.default_clusters import find_shown_partition
from pymc_nrm.posterior.described_clusters import of_clusters
from pymc_nrm.posterior.description import Description
from pymc_nrm.posterior.draws import check_same_model
from pymc_nrm.posterior.special_description import Asked
from pymc_nrm.stats.uncertainty import assignment_uncertainty

# What describes a partition of a kind, and what describes one with a mixture of a family; wings register theirs.
special_of_kind = functools.singledispatch(lambda kind, asked: of_clusters(asked))
SPECIAL_OF_FAMILY: dict[type, Any] = {}
# What describes a partition on whose labels a variable of an operation depends otherwise than as a mixture does.
SPECIAL_OF_USE: dict[type, Any] = {}


def describe(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    estimate: Any = None,
    *,
    components: bool = False,
    level: int | None = None,
    data: pd.DataFrame | None = None,
    var_name: str | None = None,
    ci_prob: float | None = None,
) -> Description:
    """Describe clusters, hidden states or groups of trajectories: sizes, how certain they are, and what they are like.

    Parameters
    ----------
    %(idata)s
    %(model)s
    estimate : array_like of int, shape (n,), DataArray, or Dataset with the variable ``labels``, optional
        By default from :func:`~pymc_nrm.fused_estimate` with seed 0, whose clusters are components of the mixture
        that are joined where they overlap.  :func:`~pymc_nrm.plots.plot_clusters` shows the same clusters if it is
        given the model, with the same labels.  Where labels index parameters or are known, or a family has no affinity,
        the default is :func:`~pymc_nrm.point_estimate`, and the title says so.  Both leave out items without any known
        value; the title says how many.  For a nested partition it is
        :func:`~pymc_nrm.nested.nested_point_estimate`, or an estimate of the components if there are weights; for
        hidden states and groups of trajectories :func:`~pymc_nrm.point_estimate` with seed 0.
    components : bool
        Whether to describe the components of :func:`~pymc_nrm.point_estimate` with seed 0 instead; only without an
        estimate.
    level : int, optional
        Of a nested partition, the level whose nodes are described, from 1.  By default the deepest; or, with weights,
        no level but the components of the items.
    data : DataFrame, shape (n, d), optional
        Columns to describe instead of the model's columns, with a row for each item, such as columns that the model
        leaves out.  Text, categories and columns that the model takes as categories have shares; columns of the model
        are read as it has read them, dates from the same first one.
    var_name : str, optional
        Name of the partition, or of a mixture over it, if there are several.
    ci_prob : float, optional
        Probability of all intervals; by default ``arviz_base.rcParams["stats.ci_prob"]``.

    Returns
    -------
    Description
        ``print`` shows a short text, ``.to_text(full=True)`` all columns and clusters, ``.table`` has the numbers,
        ``.tables`` further tables, ``.estimate`` the estimate, ``.to_html()`` makes a table for a report.

    Raises
    ------
    TypeError
        If the model is not a model, the estimate does not hold integers, ``data`` is not a DataFrame, or ``components``
        is not a bool.
    ValueError
        If there is no such partition or level, the estimate has a different number of items, the draws do not belong
        to the model, ``data`` has other rows, ``ci_prob`` is not between 0 and 1, there are both ``components`` and
        an estimate, or an argument has no meaning for this kind of partition.

    Notes
    -----
    *Size.* The number of items of the cluster in the estimate.  In each draw, the cluster that holds most of these
    items, of several the smallest, stands for it: so many of them are *together* there, and so many *others* with them.
    Both intervals have equal tails.  Few are together where draws split the cluster, as they all may if they do not
    agree how; there are many others where draws join it with another one.  Of mixtures with ``counts``, all with the
    same, ``observations`` has the number of observations of the cluster.

    *Certainty.* The mean posterior probability that two items of the cluster share one, over all pairs; for a single
    item, that it is alone.  This is one minus the mean of :func:`~pymc_nrm.stats.assignment_uncertainty`.  Fused
    clusters are compared with draws whose components are fused in the same way, ``draw_fusion`` of the estimate.  The
    same number stands for hidden states and groups of trajectories.

    *Weight.* With weights of your own, ``log_weights`` of the partition, the posterior mean and interval of the weight
    of the component, averaged over the items where these have weights of their own.  In each draw a cluster has the
    mean weight of the components of its items, so that names of components may change between draws.

    *Data.* Columns are the features of all observed mixtures over the partition, with names from the coordinates of the
    model, or the name of the mixture with a number.  Mean and standard deviation are taken over the items, or over all
    rows or observations of the items where these have several, in units of the data in the model, of values as they
    were recorded where a recipe has spread repeated ones.  Binary columns have the share of ones, categorical ones the
    shares of levels, which have the names of the coordinate ``<column>_level`` or else ``level``.  Columns that are
    modelled on the logarithmic scale have the median and the quantiles ``low`` and ``high`` of 10 % and 90 %; columns
    that are zero or positive have these for their positive values, and the share of zeros.  Missing values are left out
    and counted.  Of rows in chunks, the followed ones are described.

    *Parameters.* Coefficients and variances of regressions, parameters of unobserved mixtures, and variables that
    labels index have posterior means and intervals, of the mean over the items of the cluster in each draw, see
    :func:`~pymc_nrm.stats.cluster_parameters`.  Parameters of mixtures are drawn given up to 200 draws of the
    partition.  Their differences are divided by the standard deviation over items and draws.

    *What sets it apart.* For each column, and each level of a category, the mean over the items of the cluster minus
    the mean over all other items, divided by the standard deviation of the column, or of the indicator of the level,
    over all items.  The columns with the largest differences are named, at most six, and after the first only
    differences of at least half a standard deviation; levels whose shares differ by less than 10 % are not.  Clusters
    that differ in how columns go together, as crabs of two species do at every size, may have small differences in
    each; :func:`~pymc_nrm.plots.plot_clusters` shows pairs.

    *Hidden states.* A state is a regime.  Its *share*, the "% of times", is its mean probability over all times, see
    :func:`~pymc_nrm.states.state_probabilities`; the legend of :func:`~pymc_nrm.states.plots.plot_state_sequence` has
    the same shares, and the title says which share of the times is in states that the estimate does not have, if it is
    at least 0.5 %.  Numbers and lengths of runs are those of :func:`~pymc_nrm.states.state_durations`;
    ``tables["runs"]`` has the runs of the estimate: ``regime``, ``first``, ``last``, ``length``, and of several
    sequences ``sequence``.

    *Groups of trajectories,* of :func:`~pymc_nrm.growth.growth_mixture`, or any mixture of
    :class:`~pymc_nrm.growth.NormalTrajectory` whose covariates are a function of one ``pm.Data``, the times of the
    visits.  The curve of a group in a draw is the mean of the curves of its members.  The table has ``first`` and
    ``last``, the curve at the first and last time, and ``slope``, its change per unit of time between them, each with
    ``_low`` and ``_high``; ``intercepts``, the standard deviation of the intercepts of subjects, and ``noise``, all in
    the units of the table.  ``tables`` has ``curves``, with ``mean``, ``low`` and ``high`` at 61 times; ``members``,
    the probability that a random member of the cluster of a subject is in each group; and ``effects`` of membership:
    probabilities of the groups with a column at two values for all subjects, and the other columns as they are: one
    standard deviation below and above the mean, or its two values, or the most frequent level and another one.  What
    they lack to one is the probability of groups that the estimate does not have.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({"length": [3.1, 2.9, 5.5, 5.2, 5.0], "colour": ["red", "red", "blue", "blue", None]})
    >>> model = nrm.mixture_model(df)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1, 1], [0, 0, 1, 1, 2]]])})
    >>> description = nrm.describe(posterior, model, [0, 0, 1, 1, 1])
    >>> description.entries[1]
    'length high 5.2 (3.0); colour blue: 100 % (0 %)'
    >>> description.cells["colour"].tolist()
    ['blue 100 % (1 missing)', 'red 100 %']
    """
    ci_prob = interval_probability(ci_prob)
    check_flag("components", components)
    if components and estimate is not None:
        raise ValueError("give either components=True or an estimate, not both")
    model = checked_model(model)
    named = isinstance(var_name, str) and var_name in model.named_vars
    mixture = var_name if named and is_mixture(model[var_name]) else None
    partition = find_shown_partition(model, var_name if mixture is None else partition_of(model[mixture]).name)
    check_same_model(idata, model, partition.name)
    asked = Asked(idata, model, partition, mixture, estimate, components, level, data, ci_prob)
    return _described(_special(asked), ci_prob)


def _special(asked):
    """What is said of this kind of partition."""
    for variable in other_uses(asked.model, asked.partition) if SPECIAL_OF_USE else []:
        for operation, special in SPECIAL_OF_USE.items():
            if computed_by(variable, operation):
                return special(asked)
    for mixture in mixtures_of(asked.model, asked.partition):
        for family, special in SPECIAL_OF_FAMILY.items():
            if isinstance(family_of(mixture), family):
                return special(asked)
    return special_of_kind(kind_of(asked.partition), asked)


def _described(special, ci_prob):
    """The description, with sizes, shares and the certainty that all kinds have."""
    labels, noun = special.labels, special.words.noun
    sizes = np.bincount(labels)
    certainty = 1.0 - np.bincount(labels, assignment_uncertainty(special.draws, labels)) / sizes
    shares = sizes / sizes.sum() if special.shares is None else special.shares
    numbers = {"size": sizes, "share": shares, "certainty": certainty} | special.numbers
    table = {(noun, name): values for name, values in numbers.items()}
    cells = {"items": list(map(str, sizes)), **special.cells, "certainty": [f"{value:.2f}" for value in certainty]}
    for name, column in special.columns.items():
        table |= {(name, statistic): values for statistic, values in column.statistics.items()}
        cells[name] = column.cells
    index, order = pd.Index(special.names, name=noun), np.argsort(-shares, kind="stable")
    return Description(
        table=pd.DataFrame(table, index=index).iloc[order],
        cells=pd.DataFrame(cells, index=index).iloc[order],
        entries=pd.Series(special.entries, index=index).iloc[order],
        title=special.title,
        notes=special.notes(certainty) if callable(special.notes) else special.notes,
        words=special.words,
        estimate=special.estimate,
        tables=special.tables,
        long_notes=special.long_notes,
    )
