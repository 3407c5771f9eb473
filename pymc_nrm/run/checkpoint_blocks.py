"""Draws of a chain between two checkpoints, packed into a few arrays."""

import numpy as np

from pymc_nrm.partitions.labels import smallest_type

_NUMBERS = (bool, int, float, np.generic)


def pack_block(kept, points, stats, partitions):
    """Pack draws into an object that is small and fast to write."""
    rows = {}
    for name in points[0] if points else ():
        rows[name] = np.stack([point[name] for point in points])
        if name in partitions:
            rows[name] = rows[name].astype(smallest_type(rows[name].max()))
    return kept, rows, [_columns(dicts) for dicts in zip(*stats, strict=True)]


def unpack_block(block):
    """Yield the values of each iteration, None if they were not kept, and its statistics."""
    kept, rows, columns = block
    row = 0
    for i, is_kept in enumerate(kept):
        values = {name: values[row] for name, values in rows.items()} if is_kept else None
        yield (
            values,
            [{name: column[i] for name, column in of_step.items() if _is_there(column[i])} for of_step in columns],
        )
        row += is_kept


class _Absent:
    """Stands for a statistic that a step did not report."""


def _is_there(value):
    return value is not _Absent


def _columns(dicts):
    names = dict.fromkeys(name for stats in dicts for name in stats)
    return {name: _column([stats.get(name, _Absent) for stats in dicts]) for name in names}


def _column(values):
    types = set(map(type, values))
    return np.array(values) if len(types) == 1 and issubclass(*types, _NUMBERS) else values
