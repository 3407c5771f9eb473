"""What the clusters of an estimate are like, in the columns of the data: a table, text and HTML."""

import dataclasses
import textwrap
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import interval_probability
from pymc_nrm.models.rvs import checked_model, find_partition
from pymc_nrm.posterior.described_columns import columns_of_model, columns_of_table, describe_column
from pymc_nrm.posterior.draws import check_same_model
from pymc_nrm.stats.contingency import contingency_table
from pymc_nrm.stats.draws import partition_draws, posterior_of, stack_draws
from pymc_nrm.stats.point_estimate import chosen_estimate
from pymc_nrm.stats.uncertainty import assignment_uncertainty

# Lines of text have at most so many characters, and show at most so many clusters, of which so many of one item.
_WIDTH, _MOST_CLUSTERS, _MOST_SINGLE = 118, 30, 3


@dataclasses.dataclass(frozen=True, eq=False)
class ClusterDescription:
    """Clusters of an estimate in words and numbers, the result of :func:`~pymc_nrm.describe_clusters`.

    ``print`` shows it as text, a notebook as a table.  Both leave clusters of a single item out if there are more than
    three, and say how many.

    Parameters
    ----------
    table : DataFrame
        One row for each cluster, the largest first, with its label in the estimate as the index.  Columns have two
        levels.  Under ``cluster``: ``size``, ``together_low``, ``together_high``, ``others_low``, ``others_high``,
        ``certainty`` and the text ``apart``.  Under the name of a column of the data: ``mean`` and ``sd`` in its own
        units, or the share of each level (``yes`` for a binary column); and ``missing``, the number of items without a
        value, if the column has gaps.
    cells : DataFrame
        The same as short texts, for the 20 columns of the data that differ most between a cluster and the others.
    title : str
        What is described, in one line.
    notes : tuple of str
        What the numbers mean, one sentence each.

    Examples
    --------
    >>> import pandas as pd
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> model = nrm.mixture_model(pd.DataFrame({"spots": [1, 1, 0, 0], "wings": [0, 1, 1, 0]}))
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1], [0, 0, 0, 1]]])})
    >>> description = nrm.describe_clusters(posterior, model, [0, 0, 1, 1])
    >>> description.table["spots"]["yes"].tolist(), description.cells["wings"].tolist()
    ([1.0, 0.0], ['yes 50 %', 'yes 50 %'])
    >>> print(str(description).split("What")[0].strip())
    4 items in 2 clusters, the largest first
    <BLANKLINE>
    cluster  items  together  others  certainty  spots      wings
    0        2      2         0 to 1  1.00       yes 100 %  yes 50 %
    1        2      1 to 2    0       0.50       yes 0 %    yes 50 %
    """

    table: pd.DataFrame
    cells: pd.DataFrame
    title: str
    notes: tuple[str, ...]

    def to_html(self) -> str:
        """The description as HTML: a title, a table and notes."""
        shown = self._shown()
        notes = "".join(f"<li>{note}</li>" for note in (*self._left_out(shown), *self.notes))
        # The name of the index stands in the one line of names.
        cells = shown.rename_axis(index=None, columns=shown.index.name)
        return f"<p><b>{self.title}</b></p>\n{cells.to_html()}\n<ul>{notes}</ul>"

    def _repr_html_(self):
        return self.to_html()

    def __str__(self):
        shown = self._shown().head(_MOST_CLUSTERS)
        *columns, apart = shown.columns
        lines = [self.title, ""]
        for block in _blocks(shown[columns]):
            lines += [*block, ""]
        entries = [f"{k}: {text}" for k, text in shown[apart].items() if text]
        entries += self._left_out(shown)
        lines += [apart, *(_wrapped(entry, "  ") for entry in entries), "", *map(_wrapped, self.notes)]
        return "\n".join(lines)

    def _shown(self):
        alone = (self.table["cluster", "size"] == 1).to_numpy()
        return self.cells[~alone] if _MOST_SINGLE < alone.sum() < len(alone) else self.cells

    def _left_out(self, shown):
        """A line about the clusters that are not shown, if there are any."""
        left_out = self.table["cluster"].iloc[len(shown) :]
        if left_out.empty:
            return []
        what = "smaller clusters" if left_out["size"].max() > 1 else "clusters of one item each"
        low, high = left_out["certainty"].min(), left_out["certainty"].max()
        return [f"not shown: {len(left_out)} {what}, of certainty {low:.2f} to {high:.2f}; .cells has them, too"]


def _wrapped(text, indent=""):
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")


def _blocks(cells):
    """Lines of a table that is cut into several where it is too wide; each begins with the labels of the clusters."""
    index = _justified("cluster", map(str, cells.index))
    blocks = [index]
    for name in cells.columns:
        column = _justified(name, cells[name])
        if len(blocks[-1][0]) + len(column[0]) + 2 > _WIDTH and blocks[-1] is not index:
            blocks.append(index)
        blocks[-1] = [f"{left}  {right}" for left, right in zip(blocks[-1], column, strict=True)]
    return [[line.rstrip() for line in block] for block in blocks]


def _justified(name, texts):
    lines = [str(name), *texts]
    width = max(map(len, lines))
    return [line.ljust(width) for line in lines]


# A cluster is set apart by at most so many columns; beside the first, they differ by so many standard deviations.
_MOST_APART, _LEAST_DIFFERENCE = 3, 0.5
# Texts show at most so many columns.
_MOST_COLUMNS = 20
_APART = "What sets a cluster apart most: its mean or share against that of all other items"


def describe_clusters(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    estimate: Any = None,
    *,
    data: pd.DataFrame | None = None,
    var_name: str | None = None,
    ci_prob: float | None = None,
) -> ClusterDescription:
    """Describe the clusters of an estimate: sizes, how certain they are, their data, and what sets them apart.

    Parameters
    ----------
    %(idata)s
    %(model)s
    estimate : array_like of int, shape (n,), DataArray, or Dataset with the variable ``labels``, optional
        By default that of :func:`~pymc_nrm.point_estimate` with seed 0, as in
        :func:`~pymc_nrm.plots.plot_clusters`, whose legend has the same labels.
    data : DataFrame, shape (n, d), optional
        Columns to describe in place of those of the model, with a row for each item, such as columns that the model
        leaves out.  Text, categories and columns that the model takes as categories have shares.
    %(var_name)s
    ci_prob : float, optional
        Probability of the intervals of numbers of items; by default ``arviz_base.rcParams["stats.ci_prob"]``.

    Returns
    -------
    ClusterDescription
        ``print`` shows a text, ``.table`` has the numbers, ``.to_html()`` makes a table for a report.

    Raises
    ------
    TypeError
        If the model is not a model, the estimate does not hold integers, or ``data`` is not a DataFrame.
    ValueError
        If there is no such partition, the estimate has a different number of items, the draws are not those of the
        model, ``data`` has other rows, or ``ci_prob`` is not between 0 and 1.

    Notes
    -----
    *Size.* The number of items of the cluster in the estimate.  In each draw, the cluster that holds most of these
    items, of several the smallest, stands for it: so many of them are *together* there, and so many *others* with them.
    Both intervals have equal tails.  Few are together where draws split the cluster, as they all may if they do not
    agree how; there are many others where draws join it with another one.

    *Certainty.* The mean posterior probability that two items of the cluster share one, over all pairs; for a single
    item, that it is alone.  This is one minus the mean of :func:`~pymc_nrm.assignment_uncertainty`.

    *Data.* Columns are the features of all observed mixtures over the partition, but of those with ``rows``, with
    names from the coordinates of the model, or the name of the mixture with a number.  Mean and standard deviation are
    those of the items, in units of the data in the model, of values as they were recorded where a recipe has spread
    repeated ones.  Binary columns have the share of ones, categorical ones the
    shares of levels, which have the names of the coordinate ``<column>_level`` or else ``level``.  Missing values are
    left out and counted.

    *What sets it apart.* Of each column, and each level of a category, the mean of the items of the cluster minus that
    of all other items, divided by the standard deviation of the column, or of the indicator of the level, over all
    items.  The three columns with the largest differences are named, and of the second and third only those of at least
    half a standard deviation.  Clusters that differ in how columns go together, as crabs of two species do at every
    size, may have small differences in each; :func:`~pymc_nrm.plots.plot_clusters` shows pairs.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({"length": [3.1, 2.9, 5.5, 5.2, 5.0], "colour": ["red", "red", "blue", "blue", None]})
    >>> model = nrm.mixture_model(df)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1, 1], [0, 0, 1, 1, 2]]])})
    >>> description = nrm.describe_clusters(posterior, model, [0, 0, 1, 1, 1])
    >>> description.table["cluster"]["apart"][1]
    'length high: 5.2 against 3.0; colour blue: 100 % against 0 %'
    >>> description.cells["colour"].tolist()
    ['blue 100 % (1 missing)', 'red 100 %']
    """
    ci_prob = interval_probability(ci_prob)
    model = checked_model(model)
    partition = find_partition(model, var_name)
    draws = partition_draws(posterior_of(idata), partition.name)
    check_same_model(idata, model, partition.name)
    labels, names = chosen_estimate(estimate, draws, random_seed=0)
    counts = np.bincount(labels)
    order = np.argsort(-counts, kind="stable")
    partitions, tails = stack_draws(draws), [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    together, others = (
        np.quantile(numbers, tails, axis=0, method="inverted_cdf").astype("int64")
        for numbers in _numbers_in_draws(labels, partitions)
    )
    certainty = 1.0 - np.bincount(labels, assignment_uncertainty(draws, labels)) / counts

    own = {"size": counts, "together_low": together[0], "together_high": together[1]}
    own |= {"others_low": others[0], "others_high": others[1], "certainty": certainty, "apart": None}
    table = {("cluster", name): values for name, values in own.items()}
    cells = {
        "items": list(map(str, counts)),
        "together": _ranges(together),
        "others": _ranges(others),
        "certainty": [f"{value:.2f}" for value in certainty],
    }
    apart, largest = [[] for _ in counts], {}
    columns = columns_of_model(model, partition, len(labels))
    if data is not None:
        columns = columns_of_table(data, columns, draws)
    for column in columns:
        statistics, texts, differences = describe_column(column, labels)
        table |= {(column.name, statistic): values for statistic, values in statistics.items()}
        cells[column.name] = texts
        largest[column.name] = max((difference[0] for difference in differences if difference), default=0.0)
        for entries, difference in zip(apart, differences, strict=True):
            entries += [difference] if difference else []
    left_out = sorted(largest, key=largest.get, reverse=True)[_MOST_COLUMNS:]
    cells = {name: texts for name, texts in cells.items() if name not in left_out}
    cells[_APART] = table["cluster", "apart"] = [_most_apart(entries) for entries in apart]
    index = pd.Index(names, name="cluster")
    notes = [
        f"together, others: how many of these items are in one cluster, and how many other items with them, in "
        f"{100 * ci_prob:.4g} % of {len(partitions)} draws, each a clustering that the data allow",
        "certainty: how probable it is that two items of the cluster belong together, or that a single one is alone",
    ]
    if any(column.levels is None for column in columns):
        notes.append("numbers: mean ± standard deviation of the items")
    if any(statistic == "missing" for _, statistic in table):
        notes.append("missing: items without a value, which means and shares leave out")
    if left_out:
        notes.append(
            f"columns: the {_MOST_COLUMNS} of {len(columns)} that differ most between a cluster and the others"
        )
    return ClusterDescription(
        pd.DataFrame(table, index=index).iloc[order],
        pd.DataFrame(cells, index=index).iloc[order],
        f"{len(labels)} items in {len(counts)} cluster{'s' * (len(counts) > 1)}, the largest first",
        tuple(notes),
    )


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


def _most_apart(entries):
    entries = sorted(entries, key=lambda entry: -entry[0])
    kept = [text for k, (size, text) in enumerate(entries[:_MOST_APART]) if k == 0 or size >= _LEAST_DIFFERENCE]
    return "; ".join(kept)
