"""Rules of indexing: picking entries of a tensor, and writing them."""

import numpy as np

from pymc_nrm.models.itemwise.rows import FREE, NotItemwise, combine

_MASKED = "a mask picks entries along axes that are not told apart"


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
