"""Parts of a log-probability whose rows depend on the label of one item each, and sums of rows by item."""

from typing import NamedTuple

import numpy as np
from pytensor.graph.basic import Variable

from pymc_nrm.generic import kernel
from pymc_nrm.itemwise.rows import UNKNOWN

__all__ = ["Part", "add_rows", "kept_axes", "summed"]


class Part(NamedTuple):
    """Whose label the rows of a term depend on.

    Attributes
    ----------
    name : str
        Name of the variable or potential.
    graph : TensorVariable
    items : ndarray of int64 or UNKNOWN
        Along axes of length one, entries depend on the same label and are summed.
    """

    name: str
    graph: Variable
    items: object


def kept_axes(part):
    """Which axes of a part remain in its rows, or ``UNKNOWN``."""
    return UNKNOWN if part.items is UNKNOWN else tuple(length > 1 for length in part.items.shape)


def summed(graph, part):
    """The rows of a part as a vector, summed over axes along which entries depend on the same label."""
    graph = graph.astype("float64")
    if part.items is not UNKNOWN:
        alike = [axis for axis, kept in enumerate(kept_axes(part)) if not kept]
        graph = graph.sum(axis=alike) if alike else graph
    return graph if graph.type.ndim == 1 else graph.reshape((-1,))


@kernel
def add_rows(values, items, columns, table):
    """Write sums of rows into columns of a table; tell whether rows of no item differ between slots.

    Parameters
    ----------
    values : ndarray of float, shape (m, n_rows)
    items : ndarray of int64, shape (n_rows,)
    columns : ndarray of int64, shape (m,)
    table : ndarray of float, shape (n, width)

    Returns
    -------
    bool
    """
    m, n_rows = values.shape
    for i in range(table.shape[0]):
        for j in range(m):
            table[i, columns[j]] = 0.0
    differ = False
    for r in range(n_rows):
        i = items[r]
        if i < 0:
            for j in range(1, m):
                differ |= abs(values[j, r] - values[0, r]) > 1e-9 * (1.0 + abs(values[0, r]))
            continue
        for j in range(m):
            total = table[i, columns[j]] + values[j, r]
            table[i, columns[j]] = total if total == total else -np.inf
    return differ
