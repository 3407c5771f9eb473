"""Parts of a log-probability whose rows depend on the label of one item each, and sums of rows by item."""

from typing import NamedTuple

import numpy as np
from pytensor.graph.basic import Variable

from pymc_nrm.kernels.generic import kernel


class Part(NamedTuple):
    """Whose label the rows of a term depend on."""

    # Name of the variable or potential.
    name: str
    graph: Variable
    # Along axes of length one, entries depend on the same label and are summed.
    items: object


def kept_axes(part):
    """Which axes of a part remain in its rows."""
    return tuple(length > 1 for length in part.items.shape)


def summed(graph, part):
    """The rows of a part as a vector, summed over axes along which entries depend on the same label."""
    graph = graph.astype("float64")
    alike = [axis for axis, kept in enumerate(kept_axes(part)) if not kept]
    graph = graph.sum(axis=alike) if alike else graph
    return graph if graph.type.ndim == 1 else graph.reshape((-1,))


@kernel
def add_rows(values, items, columns, table):
    """Write sums of the rows of items, given values (m, n_rows), into m columns of a table; NaN is impossible."""
    m, n_rows = values.shape
    for i in range(table.shape[0]):
        for j in range(m):
            table[i, columns[j]] = 0.0
    for r in range(n_rows):
        i = items[r]
        if i >= 0:
            for j in range(m):
                total = table[i, columns[j]] + values[j, r]
                table[i, columns[j]] = total if total == total else -np.inf
