"""What the clusters of an estimate are like, in the columns of the data and the parameters of clusters."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_flag, interval_probability
from pymc_nrm.common.wrapping import whole_percent
from pymc_nrm.models.rvs import checked_model
from pymc_nrm.partitions.chunked import Chunked
from pymc_nrm.posterior.cluster_description import ClusterDescription
from pymc_nrm.posterior.component_shares import component_shares
from pymc_nrm.posterior.default_clusters import clusters_to_show, find_shown_partition
from pymc_nrm.posterior.describe_values import describe_column
from pymc_nrm.posterior.described_columns import columns_of_model, columns_of_table, of_items, rules_of_model
from pymc_nrm.posterior.described_parameters import described_parameters
from pymc_nrm.posterior.draws import check_same_model
from pymc_nrm.posterior.number_of_clusters import OVERLAP, clusters_overlap_in, number_of_clusters
from pymc_nrm.stats.contingency import contingency_table
from pymc_nrm.stats.draws import stack_draws
from pymc_nrm.stats.point_estimate import left_out_words
from pymc_nrm.stats.result import posterior_of
from pymc_nrm.stats.uncertainty import assignment_uncertainty

# A cluster is set apart by at most so many columns; beside the first, they differ by so many standard deviations.
_MOST_APART, _LEAST_DIFFERENCE = 6, 0.5
# Where most items are in clusters of less certainty, a note says so.
_LEAST_CERTAINTY = 0.5


def describe_clusters(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    estimate: Any = None,
    *,
    components: bool = False,
    level: int | None = None,
    data: pd.DataFrame | None = None,
    var_name: str | None = None,
    ci_prob: float | None = None,
) -> ClusterDescription:
    """Describe clusters: sizes, how certain they are, what sets them apart, and their data in every column.

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
        :func:`~pymc_nrm.nested.nested_point_estimate`, or an estimate of the components if there are weights.
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
    %(var_name)s
    ci_prob : float, optional
        Probability of the intervals of numbers of items and of parameters; by default
        ``arviz_base.rcParams["stats.ci_prob"]``.

    Returns
    -------
    ClusterDescription
        ``print`` shows a short text, ``.to_text(full=True)`` all columns and clusters, ``.table`` has the numbers,
        ``.estimate`` the estimate, ``.to_html()`` makes a table for a report.

    Raises
    ------
    TypeError
        If the model is not a model, the estimate does not hold integers, ``data`` is not a DataFrame, or ``components``
        is not a bool.
    ValueError
        If there is no such partition or level, the estimate has a different number of items, the draws do not belong
        to the model, ``data`` has other rows, ``ci_prob`` is not between 0 and 1, or there are both ``components`` and
        an estimate.

    Notes
    -----
    *Size.* The number of items of the cluster in the estimate.  In each draw, the cluster that holds most of these
    items, of several the smallest, stands for it: so many of them are *together* there, and so many *others* with them.
    Both intervals have equal tails.  Few are together where draws split the cluster, as they all may if they do not
    agree how; there are many others where draws join it with another one.

    *Certainty.* The mean posterior probability that two items of the cluster share one, over all pairs; for a single
    item, that it is alone.  This is one minus the mean of :func:`~pymc_nrm.assignment_uncertainty`.  Fused clusters are
    compared with draws whose components are fused in the same way, ``draw_fusion`` of the estimate.

    *Share.* With weights of your own, ``log_weights`` of the partition, the posterior mean and interval of the weight
    of the component, averaged over the items where these have weights of their own.  In each draw a cluster has the
    mean weight of the components of its items, so that names of components may change between draws.

    *Data.* Columns are the features of all observed mixtures over the partition, with names from the coordinates of the
    model, or the name of the mixture with a number.  Mean and standard deviation are taken over the items, or over all
    rows of the items where these have several, in units of the data in the model, of values as they were recorded where
    a recipe has spread repeated ones.  Binary columns have the share of ones, categorical ones the shares of levels,
    which have the names of the coordinate ``<column>_level`` or else ``level``.  Columns that are modelled on the
    logarithmic scale have the median and the quantiles ``low`` and ``high`` of 10 % and 90 %; columns that are zero or
    positive have these for their positive values, and the share of zeros.  Missing values are left out and counted.  Of
    rows in chunks, the followed ones are described.

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

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({"length": [3.1, 2.9, 5.5, 5.2, 5.0], "colour": ["red", "red", "blue", "blue", None]})
    >>> model = nrm.mixture_model(df)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1, 1], [0, 0, 1, 1, 2]]])})
    >>> description = nrm.describe_clusters(posterior, model, [0, 0, 1, 1, 1])
    >>> description.table["cluster"]["apart"][1]
    'length high 5.2 (3.0); colour blue: 100 % (0 %)'
    >>> description.cells["colour"].tolist()
    ['blue 100 % (1 missing)', 'red 100 %']
    """
    ci_prob = interval_probability(ci_prob)
    check_flag("components", components)
    if components and estimate is not None:
        raise ValueError("give either components=True or an estimate, not both")
    model = checked_model(model)
    partition = find_shown_partition(model, var_name)
    check_same_model(idata, model, partition.name)
    clusters = clusters_to_show(idata, model, partition, estimate, components, level)
    labels, draws = clusters.labels, clusters.draws
    counts, tails = np.bincount(labels), [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    partitions = stack_draws(draws)
    together, others = (
        np.quantile(numbers, tails, axis=0, method="inverted_cdf").astype("int64")
        for numbers in _numbers_in_draws(labels, partitions)
    )
    certainty = 1.0 - np.bincount(labels, assignment_uncertainty(draws, labels)) / counts

    columns = columns_of_model(model, partition, len(clusters.kept))
    if data is not None:
        columns = columns_of_table(data, columns, clusters.all_draws, rules_of_model(model, partition))
    columns = [of_items(column, clusters.kept) for column in columns]
    described = {column.name: describe_column(column, labels) for column in columns}
    parameters = described_parameters(idata, model, partition, posterior_of(idata), labels, tails, clusters.kept)
    described |= parameters
    own = {"size": counts, "together_low": together[0], "together_high": together[1]}
    own |= {"others_low": others[0], "others_high": others[1], "certainty": certainty}
    shares = component_shares(model, partition, posterior_of(idata), labels, clusters.kept)
    if shares is not None:
        low, high = np.quantile(shares, tails, axis=0)
        own |= {"share": shares.mean(axis=0), "share_low": low, "share_high": high}
    own["apart"] = [_most_apart(described, k) for k in range(len(counts))]
    table = {("cluster", name): values for name, values in own.items()}
    cells = {
        "items": list(map(str, counts)),
        "together": _ranges(together),
        "others": _ranges(others),
        "certainty": [f"{value:.2f}" for value in certainty],
    }
    if shares is not None:
        ends = zip(own["share"], 100 * low, 100 * high, strict=True)
        cells["share"] = [f"{whole_percent(mean)} ({first:.0f} to {last:.0f})" for mean, first, last in ends]
    for name, of_column in described.items():
        table |= {(name, statistic): values for statistic, values in of_column.statistics.items()}
        cells[name] = of_column.cells
    index, order = pd.Index(clusters.names, name="cluster"), np.argsort(-counts, kind="stable")
    word = "rows" if columns and all(column.items is None for column in columns) else "items"
    missing = any(statistic == "missing" for _, statistic in table)
    kinds = {column.kind for column in columns}
    return ClusterDescription(
        pd.DataFrame(table, index=index).iloc[order],
        pd.DataFrame(cells, index=index).iloc[order],
        _title(clusters, number_of_clusters(labels, draws, ci_prob), partition, word, components),
        _notes(word, kinds, parameters, shares is not None, counts, certainty, ci_prob, clusters_overlap_in(draws)),
        clusters.estimate,
        word,
        _long_notes(word, kinds, missing, ci_prob, len(partitions)),
    )


def _title(clusters, number, partition, word, components):
    n_left_out = np.count_nonzero(~clusters.kept)
    text = _title_of_kept(clusters, number, partition, word, components)
    return f"{text}; {left_out_words(n_left_out, word)}" if n_left_out else text


def _title_of_kept(clusters, number, partition, word, components):
    n, kind = len(clusters.labels), partition.owner.op.kind
    items = f"{n:,} followed rows of {kind.rows.n:,}" if isinstance(kind, Chunked) else f"{n:,} {word}"
    if clusters.of_tree is not None:
        return f"{number.title(items)}, {clusters.of_tree}"
    if clusters.why_not_fused is not None:
        return f"{number.title(items)}, of the point estimate (not joined: {clusters.why_not_fused})"
    if components:
        return f"{number.title(items)}, the components of the point estimate"
    if clusters.n_components in (None, number.estimate):
        return number.title(items)
    return number.title(items, further=f"{clusters.n_components:,} components, joined where they overlap")


def _notes(word, kinds, parameters, own_weights, counts, certainty, ci_prob, overlap):
    """At most three sentences that a reader of the short text needs."""
    notes = [f"certainty: how probable it is that two {word} of the cluster belong together"]
    if overlap:
        notes.append(OVERLAP.format(word=word))
    elif counts @ (certainty < _LEAST_CERTAINTY) > counts.sum() / 2:
        notes.append(
            f"most {word} are in clusters of certainty below {100 * _LEAST_CERTAINTY:.0f} %: the data do not settle "
            "where one cluster ends"
        )
    has_medians, has_shares = kinds & {"positive", "zero or positive"}, kinds & {"levels", "truth", "zero or positive"}
    told = ["numbers: means"] * ("number" in kinds) + ["medians where all are positive"] * bool(has_medians)
    told += [f"per cent: shares of {word}"] * bool(has_shares)
    told += ["share: the weight of the component"] * own_weights
    told += [f"ranges: {100 * ci_prob:.4g} % intervals"] * bool(parameters or own_weights)
    if len(notes) == 1 and told:
        notes.append("; ".join(told))
    return (*notes, "all columns: .to_text(full=True); data: .table; labels: .estimate")


def _long_notes(word, kinds, missing, ci_prob, n_draws):
    notes = [
        f"together, others: how many of these {word} are in one cluster, and how many other {word} with them, in "
        f"{100 * ci_prob:.4g} % of {n_draws} draws, each a clustering that the data allow"
    ]
    notes += ["numbers: mean ± standard deviation"] * ("number" in kinds)
    if kinds & {"positive", "zero or positive"}:
        notes.append("positive columns: median and range of the middle 80 %, after the share of zeros if there are any")
    return (*notes, *(["missing: without a value, which means and shares leave out"] * missing))


def _numbers_in_draws(labels, draws):
    """How many items of each cluster of the estimate are in that cluster of a draw which holds most of them, and how
    many others. Shapes: ``labels`` (n,), ``draws`` (S, n); returns (S, K) each.
    """
    n, n_clusters = len(labels), int(labels.max()) + 1
    together, others = np.empty((2, len(draws), n_clusters), dtype=np.int64)
    for s, draw in enumerate(draws):
        shared = contingency_table(draw, labels)
        sizes = shared.sum(axis=1)
        most = (shared * (n + 1) - sizes[:, None]).argmax(axis=0)
        together[s] = shared[most, np.arange(n_clusters)]
        others[s] = sizes[most] - together[s]
    return together, others


def _ranges(bounds):
    return [f"{low}" if low == high else f"{low} to {high}" for low, high in zip(*bounds, strict=True)]


def _most_apart(described, k):
    """The columns in which a cluster differs most from all other items; all columns if there are no others."""
    sizes = {name: of_column.differences[k] for name, of_column in described.items()}
    known = sorted((name for name, size in sizes.items() if np.isfinite(size)), key=lambda name: -sizes[name])
    if not known:
        return "; ".join(f"{name} {one.cells[k]}" for name, one in described.items() if one.cells[k])
    kept = [name for place, name in enumerate(known[:_MOST_APART]) if place == 0 or sizes[name] >= _LEAST_DIFFERENCE]
    return "; ".join(f"{name} {described[name].apart[k]}" for name in kept)
