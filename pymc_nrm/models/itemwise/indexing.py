"""Arrays that say on whose label each entry of a tensor depends, and what an index does to them.

Such an array has the number of dimensions of the tensor, and broadcasts to its shape: along an axis of length one all
entries depend on the same label.  An entry is the number of an item, or ``FREE`` if no label matters.
"""

import numpy as np

_MASKED = "a mask picks entries along axes that are not told apart"

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


def picked(base, items, index, known, flow):
    """Whose labels the entries of ``base[index]`` depend on."""
    # Along an axis where all entries of the base depend on the same label, it does not matter which one is picked.
    if any(known.get(part) is not None for one in index if isinstance(one, slice) for part in _parts(one)):
        raise NotItemwise("labels say where a slice begins or ends")
    arrays = [one for one in index if not isinstance(one, slice)]
    if any(one.type.dtype == "bool" for one in arrays):
        return _picked_by_mask(items, index, known, flow)
    group = max((one.type.ndim for one in arrays), default=0)
    found = []
    if items is not None:
        places = tuple(_place(one, items.shape[axis], group, flow) for axis, one in enumerate(index))
        found.append(items[places])
    labelled = [known[one] for one in arrays if known.get(one) is not None]
    if labelled:
        found.append(_at_group(combine(labelled, "indexing"), index, group, base.type.ndim))
    return [combine(found, "indexing")]


def _parts(one):
    return [part for part in (one.start, one.stop, one.step) if part is not None]


def _place(one, length, group, flow):
    """The numpy index of one axis, of which all entries are alike if the length is one."""
    if isinstance(one, slice):
        if length == 1:
            return slice(None)
        return slice(*[None if part is None else int(flow.static(part)) for part in (one.start, one.stop, one.step)])
    if length == 1:
        return np.zeros((1,) * group, dtype="int64") if group else 0
    value = np.asarray(flow.static(one))
    return value if value.ndim else int(value)


def _at_group(items, index, group, ndim):
    """Put axes of the index where numpy puts them: at the first array if all arrays are adjacent, else in front."""
    places = [axis for axis, one in enumerate(index) if not isinstance(one, slice)]
    adjacent = places == list(range(places[0], places[0] + len(places)))
    before = places[0] if adjacent else 0
    after = ndim - len(places) - before
    items = items.reshape((1,) * (group - items.ndim) + items.shape)
    return items.reshape((1,) * before + items.shape + (1,) * after)


def _picked_by_mask(items, index, known, flow):
    if items is None or any(one is not None for one in known.values()):
        raise NotItemwise("a mask depends on labels")
    places, axis = [], 0
    for one in index:
        width = one.type.ndim if not isinstance(one, slice) and one.type.dtype == "bool" else 1
        if width > 1 and set(items.shape[axis : axis + width]) == {1}:
            raise NotItemwise(_MASKED)
        places.append((one, axis))
        axis += width
    shape = list(items.shape)
    values = []
    for one, start in places:
        if isinstance(one, slice):
            values.append(_place(one, shape[start], 0, flow))
            continue
        value = np.asarray(flow.static(one))
        whole = value.shape if value.dtype == bool else (None,)
        for offset, length in enumerate(whole):
            if shape[start + offset] == 1 and length is not None:
                shape[start + offset] = length
            elif shape[start + offset] == 1:
                raise NotItemwise(_MASKED)
        values.append(value)
    return [np.broadcast_to(items, shape)[tuple(values)]]


def written(inputs, items, index, known, replaces, flow):
    """Whose labels the entries of a tensor depend on after some were set or increased."""
    if any(one is not None for one in known.values()):
        if all(isinstance(one, slice) or known.get(one) is not None for one in index):
            raise NotItemwise("labels say which entries of a tensor are changed, so that these depend on all labels")
        raise NotItemwise("labels are a part of an index that says which entries of a tensor are changed")
    places = []
    for one in index:
        parts = _parts(one) if isinstance(one, slice) else [one]
        values = iter([np.asarray(flow.static(part)) for part in parts])
        if isinstance(one, slice):
            bounds = [None if part is None else int(next(values)) for part in (one.start, one.stop, one.step)]
            places.append(slice(*bounds))
        else:
            places.append(next(values))
    places = tuple(places)
    shape = flow.shape(inputs[0])
    entries = np.full(shape, FREE) if items[0] is None else np.broadcast_to(items[0], shape).copy()
    if not replaces and np.unique(np.arange(entries.size).reshape(shape)[places]).size < entries[places].size:
        raise NotItemwise("several values are added to one entry of a tensor")
    new = np.array(FREE) if items[1] is None else items[1]
    entries[places] = new if replaces else combine([entries[places], new], "IncSubtensor")
    return [entries]
