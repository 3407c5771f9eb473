"""A description of clusters as a table, as text and as HTML."""

import dataclasses
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

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

    table: "pd.DataFrame"
    cells: "pd.DataFrame"
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
