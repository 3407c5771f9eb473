"""Arrays that say on whose label each entry of a tensor depends.

Such an array has the number of dimensions of the tensor, and broadcasts to its shape: along an axis of length one all
entries depend on the same label.  An entry is the number of an item, or ``FREE`` if no label matters.
"""

import numpy as np

FREE = -1


class NotItemwise(Exception):
    """Nothing shows that a value depends on the label of one item only; the message is the reason."""


def combine(arrays, operation):
    """Whose label an entry depends on that is computed from one entry of each of several tensors."""
    first, *others = arrays
    for other in others:
        if other is first:
            continue
        if ((first != other) & (first >= 0) & (other >= 0)).any():
            raise NotItemwise(f"{operation} combines labels of different items")
        first = np.maximum(first, other)
    return first


def uniform_along(items, axes, reason):
    """Reduce axes along which all entries depend on the same item, or on none, to length one."""
    axes = tuple(axis for axis in axes if items.shape[axis] > 1)
    if not axes:
        return items
    largest = items.max(axis=axes, keepdims=True)
    if ((items >= 0) & (items != largest)).any():
        raise NotItemwise(reason)
    return largest


def only_item(arrays):
    """The one item that all entries of all arrays depend on, or None if there are several."""
    found = {int(item) for array in arrays for item in np.unique(array[array >= 0])}
    return found.pop() if len(found) == 1 else None


def grouped(items):
    """Let entries that depend on no label join others along an axis, if these all depend on the same one."""
    for axis in range(items.ndim):
        try:
            shorter = uniform_along(items, [axis], "")
        except NotItemwise:
            continue
        if shorter.size > 1 or (items >= 0).all():
            items = shorter
    return items
