"""Checks of a table of log-probabilities against the model: lengths of what labels index, and rows at random labels."""

import numpy as np
from pytensor.graph.traversal import ancestors, toposort
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor, unflatten_index_variables

from pymc_nrm.models.itemwise.graphs import PresentValues

_SEED = 20261123
_RELATIVE, _ABSOLUTE = 1e-8, 1e-8


def check_lengths(model, partition, parts, given, max_clusters, expanded):
    """Check that whatever labels index is long enough for the largest label; machine code need not find out.

    Variables that the model samples must not be longer either: no label would reach their last entries.  Arrays that
    are given may be longer, and so may what is indexed by something else than the labels alone.  With as many items as
    slots, lengths say nothing: names of dimensions must differ, and variables without one are returned.
    """
    labels, unnamed = model.rvs_to_values[partition], set()
    dim_of_items = (model.named_vars_to_dims.get(partition.name) or (None,))[0]
    largest = given | {labels: np.full(len(given[labels]), max_clusters - 1, dtype=labels.dtype)}
    present = PresentValues(largest, expanded)
    for part in parts:
        for node in toposort([part.graph]):
            if not isinstance(node.op, Subtensor | AdvancedSubtensor):
                continue
            base, *inputs = node.inputs
            for axis, one in enumerate(unflatten_index_variables(inputs, node.op.idx_list)):
                if isinstance(one, slice) or one.type.dtype == "bool" or labels not in set(ancestors([one])):
                    continue
                values, length = np.asarray(present(one)), present.shape(base)[axis]
                if length == max_clusters == len(given[labels]):
                    sampled, data = _sources(base, axis, length, model, present)
                    name = next(iter([*sampled, *data]), None)
                    dims = model.named_vars_to_dims.get(name) or ()
                    dim = dims[axis] if axis < len(dims) else None
                    if dim is not None and dim == dim_of_items:
                        raise ValueError(
                            f"{part.name!r} indexes {name!r} with the labels of partition {partition.name!r}, but its "
                            f"axis {axis} is the dimension {dim!r} of the items: use {name!r} without labels, or give "
                            "it a dimension for clusters"
                        )
                    unnamed |= {name} if name is not None and None in (dim, dim_of_items) else set()
                if values.size and not -length <= values.min() <= values.max() < length:
                    wrong = _described(base, model, present)
                elif length > max_clusters and (values == max_clusters - 1).all():
                    sampled, _ = _sources(base, axis, length, model, present)
                    wrong = repr(sampled[0]) if sampled else None
                else:
                    continue
                if wrong is not None:
                    raise ValueError(
                        f"{part.name!r} indexes {wrong} with the labels of partition {partition.name!r}, which has "
                        f"{max_clusters} slots, but axis {axis} has length {length}: give it the length of max_clusters"
                    )
    return sorted(unnamed)


def _sources(base, axis, length, model, present):
    """Names of the sampled variables, and of the data, of this length along an axis that an array is computed from."""
    used = set(ancestors([base]))
    graphs = zip(model.free_RVs, model.replace_rvs_by_values(model.free_RVs), strict=True)
    sampled = [(rv.name, graph) for rv, graph in graphs if model.rvs_to_values[rv] in used]
    given = [(data.name, data) for data in model.data_vars if data in used]
    return (
        [name for name, graph in read if present.shape(graph)[axis : axis + 1] == (length,)]
        for read in (sampled, given)
    )


def _described(base, model, present):
    read = present.read_input(base)
    if base.name is not None and read is None:
        return repr(base.name)
    return "an array" if read is None else repr(model.values_to_rvs[read].name)


def random_points(point, count):
    """Add standard normal noise to a point, in the scale of value variables; discrete variables keep their values."""
    rng = np.random.default_rng(_SEED)
    return [{name: with_noise(value, rng) for name, value in point.items()} for _ in range(count)]


def with_noise(value, rng):
    """Add standard normal noise to an array of floats; return other arrays as they are."""
    value = np.asarray(value)
    if value.dtype.kind != "f":
        return value
    return (value + rng.standard_normal(value.shape)).astype(value.dtype)


def wrong_row(rows, items, n, slots, rng):
    """Find a row whose value at random labels is not that of the label of its item alone."""
    labels = rng.choice(slots, n)
    values = rows(labels)
    with np.errstate(invalid="ignore"):
        expected = values.copy()
        for slot in slots:
            chosen = (items >= 0) & (labels[items] == slot)
            expected[chosen] = rows(np.full(n, slot))[chosen]
        right = np.isclose(values, expected, rtol=_RELATIVE, atol=_ABSOLUTE, equal_nan=True)
    return None if right.all() else int(np.argmin(right))
