"""New rows of data: of the type of the old ones, and functions whose value for a row depends on that row alone."""

import numpy as np


def of_type(values, data):
    """New rows as an array of the type of data of the model."""
    values, dtype = np.asarray(values), np.dtype(data.dtype)
    if dtype.kind in "iub" and values.dtype.kind == "f" and (values != np.floor(values)).any():
        wrong = values[values != np.floor(values)].flat[0]
        raise ValueError(
            f"{data.name!r} must be whole numbers, as in the model; got {wrong}: give floats to pm.Data of the model"
        )
    return values.astype(dtype)


def is_row_by_row(function, rows, values):
    """Whether the values of a function, a list of arrays (m, ...), stay the same beside one more row.

    Shapes: ``rows`` has an array (m, ...) for each name, of the types of the data.
    """
    # Whole numbers may be indices: another one may not exist.
    is_whole = any(array.dtype.kind in "iu" for array in rows.values())
    for step in (0, 1, -1) if is_whole else (0,):
        longer = {name: np.concatenate([array, _another(array, step)]) for name, array in rows.items()}
        try:
            extended = function(longer)
        except (ValueError, IndexError, AssertionError):
            if step == 0:
                raise
            continue
        for before, after in zip(values, extended, strict=True):
            if not np.allclose(after[: len(before)], before, rtol=1e-9, atol=1e-9, equal_nan=True):
                return False
    return True


def _another(array, step):
    """One more row: another one, at a distance of ``step`` where values are whole numbers."""
    return array[:1] + (1.0 if array.dtype.kind == "f" else step)
