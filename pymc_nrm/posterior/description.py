"""A description in words and numbers: a short text that is read first, a long one, and HTML."""

import dataclasses
import html
import textwrap
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymc_nrm.common.wrapping import percent, whole_percent

# The short text has lines of at most so many characters, and so many lines about clusters.
_WIDTH, _MOST_LINES = 80, 21
# Clusters with less than this share of the items are one line.
_LEAST_SHARE = 0.01
# Lines of the long text.
_LONG = 118
_FIXED_SPACE = "\u00a0"


class Words(NamedTuple):
    """What is described: what one cluster is called, what items are called, and the header of what it is like."""

    noun: str
    items: str
    like: str
    # Whether items are counted, or have shares alone.
    are_counted: bool = True
    # At most so many clusters have lines of their own, of at most so many lines each.
    most: int = 20
    lines_each: int = 3
    # Names of cells that the short text shows too.
    further: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Description:
    r"""Clusters, hidden states or groups of trajectories in words and numbers, from :func:`~pymc_nrm.describe`.

    ``print`` shows a text of at most 30 lines of 80 characters, a notebook the same as a table: each cluster, the
    largest first, with its size, its certainty, and what it is like.  Clusters with less than 1 % of the items, and
    those after the twentieth, are one line; of states those after the seventh, of groups those after the sixth.

    Parameters
    ----------
    table : DataFrame
        One row for each cluster, the largest first, with its label in the estimate as the index.  Columns have two
        levels.  Under ``cluster``, ``regime`` or ``group``: ``size``, ``share``, ``certainty`` and further numbers of
        this kind, which :func:`~pymc_nrm.describe` explains.  Under the name of a column of the data: ``mean`` and
        ``sd`` in its own units, or the share of each level (``yes`` for a binary column); and ``missing``, the number
        of items without a value, if the column has gaps.  Under the name of a parameter: ``mean``, ``low`` and
        ``high``.
    cells : DataFrame
        The same as short texts.
    entries : Series
        What each cluster is like, in short texts between semicolons, the most important first.
    title : str
        What is described.
    notes : tuple of str
        What the numbers mean, one sentence each.
    words : Words
        What a cluster, its items and its entries are called.
    estimate : Dataset or array_like
        The estimate that is described, for other functions: the default one is the result of
        :func:`~pymc_nrm.fused_estimate` or :func:`~pymc_nrm.point_estimate`.
    tables : mapping of str to DataFrame
        Further tables: ``runs`` of hidden states; ``curves``, ``members`` and ``effects`` of trajectories.
    long_notes : tuple of str
        What the numbers of the long text mean.

    Examples
    --------
    >>> import pandas as pd
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> model = nrm.mixture_model(pd.DataFrame({"spots": [1, 1, 0, 0], "wings": [0, 1, 1, 0]}))
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1], [0, 0, 0, 1]]])})
    >>> description = nrm.describe(posterior, model, [0, 0, 1, 1])
    >>> description.table["spots"]["yes"].tolist(), description.cells["wings"].tolist()
    ([1.0, 0.0], ['yes 50 %', 'yes 50 %'])
    >>> print("\n".join(str(description).splitlines()[:5]))
    4 rows in 2 clusters (in all draws)
    <BLANKLINE>
    cluster  rows        certainty  what sets it apart (all other rows)
    0           2  50 %      100 %  spots yes: 100 % (0 %)
    1           2  50 %       50 %  spots no: 100 % (0 %)
    """

    table: pd.DataFrame
    cells: pd.DataFrame
    entries: pd.Series
    title: str
    notes: tuple[str, ...]
    words: Words
    estimate: Any = None
    tables: Mapping[str, pd.DataFrame] = MappingProxyType({})
    long_notes: tuple[str, ...] = ()

    def to_text(self, *, full: bool = False) -> str:
        """The description as text.

        Parameters
        ----------
        full : bool
            Whether to show all clusters and all columns, in lines of up to 118 characters.

        Returns
        -------
        str
        """
        return self._long_text() if full else self._short_text()

    def to_html(self) -> str:
        """The description as HTML: a title, a table and notes."""
        shown, folded = self._shown()
        columns = self._columns(shown)
        lines = zip(*columns.values(), strict=True)
        rows = "".join(f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in line)}</tr>" for line in lines)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        last = f'<tr><td colspan="{len(columns)}">{html.escape(folded)}</td></tr>' if folded else ""
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return (
            f"<p><b>{html.escape(self.title)}</b></p>\n<table><thead><tr>{head}</tr></thead><tbody>{rows}{last}</tbody>"
            f"</table>\n<ul>{notes}</ul>"
        )

    def _repr_html_(self):
        return self.to_html()

    def __str__(self):
        return self.to_text()

    def _shown(self):
        """The clusters that have lines of their own, and the line about the others."""
        table, words = self.table[self.words.noun], self.words
        n_large = int((table["share"] >= _LEAST_SHARE).sum()) if words.are_counted else 0
        n_shown = min(n_large or len(table), words.most)
        folded = table.iloc[n_shown:]
        if folded.empty:
            return table, ""
        more = f"{len(folded):,} more {words.noun}{'s' * (len(folded) > 1)}"
        if not words.are_counted:
            return table.iloc[:n_shown], f"{more}: {percent(folded['share'].sum())} of {words.items}"
        low, high, total = folded["size"].min(), folded["size"].max(), folded["size"].sum()
        sizes = f"{high:,}" if low == high else f"{low:,} to {high:,}"
        text = f"{more} of {sizes} {words.items if high > 1 else words.items[:-1]}"
        if len(folded) > 1:
            text += f": {total:,} {words.items} ({100 * total / table['size'].sum():.2g} %)"
        return table.iloc[:n_shown], text

    def _columns(self, shown):
        """Texts of the short table by the names of its columns."""
        words = self.words
        shares = list(map(whole_percent if words.are_counted else percent, shown["share"]))
        counted = {words.items: [f"{size:,}" for size in shown["size"]], "": shares}
        return {
            words.noun: list(map(str, shown.index)),
            **(counted if words.are_counted else {words.items: shares}),
            **{name: list(self.cells[name].loc[shown.index]) for name in words.further},
            "certainty": list(map(whole_percent, shown["certainty"])),
            words.like: list(self.entries.loc[shown.index]),
        }

    def _short_text(self):
        shown, folded = self._shown()
        *columns, (header, entries) = self._columns(shown).items()
        prefix = [""] * (len(shown) + 1)
        for k, (name, texts) in enumerate(columns):
            width = max(map(len, (name, *texts)))
            lines = [text.rjust(width) if k else text.ljust(width) for text in (name, *texts)]
            prefix = [f"{left}{right}  " for left, right in zip(prefix, lines, strict=True)]
        room = max(_WIDTH - len(prefix[0]), 20)
        n_lines = int(np.clip(_MOST_LINES // max(len(shown), 1), 1, self.words.lines_each))
        lines = [*textwrap.wrap(self.title, _WIDTH), "", (prefix[0] + header).rstrip()]
        for left, text in zip(prefix[1:], entries, strict=True):
            first, *others = _fitted(text, room, n_lines)
            lines += [(left + first).rstrip(), *(" " * len(left) + line for line in others)]
        lines += [folded] if folded else []
        return "\n".join([*lines, "", *(line for note in self.notes for line in textwrap.wrap(note, _WIDTH))])

    def _long_text(self):
        lines = [*textwrap.wrap(self.title, _LONG), ""]
        for block in _blocks(self.cells.rename(columns={"items": self.words.items}), self.words.noun):
            lines += [*block, ""]
        entries = [f"{name}: {text}" for name, text in self.entries.items() if text]
        lines += [self.words.like, *(_wrapped(entry, "  ") for entry in entries), ""]
        return "\n".join([*lines, *map(_wrapped, (*self.long_notes, *self.notes[:1]))])


def _fitted(text, width, n_lines):
    """As many entries of a text as fit in so many lines, at least the first; a list of lines."""
    entries, lines = text.split("; "), [""]
    # Entries are broken where they are longer than a line, and nowhere else.
    entries = [entry.replace(" ", _FIXED_SPACE) if len(entry) < width else entry for entry in entries]
    for k in range(len(entries)):
        longer = textwrap.wrap("; ".join(entries[: k + 1]), width) or [""]
        if len(longer) > n_lines and k:
            break
        lines = longer
    if len(lines) > n_lines:
        lines = [*lines[: n_lines - 1], lines[n_lines - 1][: width - 1] + "…"]
    return [line.replace(_FIXED_SPACE, " ") for line in lines]


def _wrapped(text, indent=""):
    return textwrap.fill(text, _LONG, initial_indent=indent, subsequent_indent=f"{indent}  ")


def _blocks(cells, noun):
    """Lines of a table that is cut into several where it is too wide; each begins with the labels of the clusters."""
    index = _justified(noun, map(str, cells.index))
    blocks = [index]
    for name in cells.columns:
        column = _justified(name, cells[name])
        if len(blocks[-1][0]) + len(column[0]) + 2 > _LONG and blocks[-1] is not index:
            blocks.append(index)
        blocks[-1] = [f"{left}  {right}" for left, right in zip(blocks[-1], column, strict=True)]
    return [[line.rstrip() for line in block] for block in blocks]


def _justified(name, texts):
    lines = [str(name), *texts]
    width = max(map(len, lines))
    return [line.ljust(width) for line in lines]
