"""Checks of arrays of numbers, and texts of messages: what both packages share."""

import decimal
import numbers

import numpy as np


def first_few(texts, most=6):
    """The first few of some texts, and how many more there are."""
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def numeric_array(name, value):
    """Convert a value to an array of real numbers, in which NaN means missing."""
    if isinstance(value, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(value)
        value = np.where(mask, np.nan, numeric_array(name, value.data)) if mask.any() else value.data
    try:
        array = value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)
    except OverflowError:
        raise ValueError(f"{name} must be at most 1.8e308 in absolute value; got a larger number") from None
    except (TypeError, ValueError) as error:
        if "inhomogeneous" in str(error):
            raise ValueError(f"{name} must have rows of equal length; got rows of different lengths") from None
        raise TypeError(f"{name} must be real numbers; got an object of type {type(value).__name__}") from error
    if value is None:
        raise TypeError(f"{name} must be real numbers; got None")
    if array.dtype.kind == "O":
        return _numbers_of_objects(name, array)
    if array.dtype.kind not in "biuf":
        kinds = {"c": "complex numbers", "M": "dates", "m": "durations", "U": "text", "S": "text", "T": "text"}
        example = f" such as {array.flat[0].item()!r}" if array.size and array.dtype.kind in "cUST" else ""
        raise TypeError(
            f"{name} must be real numbers; got {kinds.get(array.dtype.kind, f'an array of {array.dtype}')}{example}"
        )
    return array


def _numbers_of_objects(name, array):
    """Convert an array of Python objects to floats."""
    floats = np.empty(array.shape)
    for place, entry in np.ndenumerate(array):
        if entry is None or type(entry).__name__ == "NAType":
            floats[place] = np.nan
        elif isinstance(entry, numbers.Real | decimal.Decimal):
            try:
                floats[place] = float(entry)
            except OverflowError:
                raise ValueError(f"{name} must be at most 1.8e308 in absolute value; got a larger number") from None
        else:
            where = f" at position {place}" if place else ""
            raise TypeError(f"{name} must be real numbers; got {entry!r} of type {type(entry).__name__}{where}")
    return floats


def refuse(title, words, values, bad):
    """Raise an error that names the first bad value."""
    if bad.any():
        row, column = (int(k) for k in np.argwhere(bad)[0])
        raise ValueError(f"{title} {words}; got {values[row, column]} in row {row}, column {column}")
