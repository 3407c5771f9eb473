"""What changes when clusters are renamed: parameters of slots, and what is made of them or of labels."""

import numpy as np
from pytensor.compile.mode import Mode
from pytensor.graph.traversal import ancestors

from pymc_nrm.models.itemwise.item_table import random_points
from pymc_nrm.models.itemwise.local_variables import local_variables
from pymc_nrm.models.rvs import names_in_chunks, partitions_of
from pymc_nrm.models.values import Values

# Points at which values are compared, and labels of partitions without slots there.
_POINTS, _LABELS = 2, 8
_SEED = 20261126
_INTERPRETED = {"mode": Mode(linker="py", optimizer="minimum_compile")}


def changed_by_renaming(model, slots):
    """Deterministics that change when clusters are renamed, with the names of their partitions."""
    partitions, in_chunks, found = partitions_of(model), names_in_chunks(model), {}
    own = {f"{rv.name}_{end}" for rv, kind in partitions.items() for end in kind.deterministics(rv)}
    own |= {name for names in slots.values() for name in names}
    variables = [one for one in model.deterministics if one.name not in own]
    points = random_points(model.initial_point(), _POINTS) if variables else []
    for partition, kind in partitions.items():
        if partition.name in in_chunks:
            continue
        parameters = [model[name] for name in slots.get(partition.name, []) if model[name] in model.free_RVs]
        renamed = [model.rvs_to_values[rv].name for rv in (partition, *parameters)]
        for variable in variables:
            depends = not set(ancestors([variable])).isdisjoint([partition, *parameters])
            if depends and _changes(model, variable, points, kind.max_clusters, *renamed):
                found.setdefault(variable.name, partition.name)
    return {one.name: found[one.name] for one in variables if one.name in found}


def _changes(model, variable, points, max_clusters, labels, *parameters):
    """Whether a variable has other values after cyclic changes of the names of clusters, of labels and slots alike."""
    rng = np.random.default_rng(_SEED)
    try:
        values = Values.at_points(model, [variable], _INTERPRETED)
        for point in points:
            shape = point[labels].shape
            used = min(shape[0], max_clusters or _LABELS)
            number = max_clusters or used
            # Each column by itself has all labels that are used.
            columns = np.broadcast_to((np.arange(shape[0]) % used).reshape(-1, *[1] * (len(shape) - 1)), shape)
            point = point | {labels: rng.permuted(columns, axis=0)}
            with np.errstate(all="ignore"):
                [before] = values(point)
                for shift in range(1, number):
                    rolled = {name: np.roll(point[name], shift, axis=0) for name in parameters}
                    [after] = values(point | rolled | {labels: (point[labels] + shift) % number})
                    if not np.allclose(before, after, equal_nan=True):
                        return True
    except Exception:  # an operation of the user may refuse a point
        return True
    return False


def slot_parameters(model, posterior):
    """Find the variables that hold parameters of slots, whose labels switch. These are its local variables, and the
    deterministics of as many entries that share their named dimension or are made from them alone.
    """
    found = {}
    for partition, kind in partitions_of(model).items():
        if kind.max_clusters is None:
            continue
        local = local_variables(model, partition, kind.max_clusters, model.initial_point())
        dims = {_first_dim(model, rv) for rv in local} - {None}
        others = set(model.basic_RVs) - set(local)
        found[partition.name] = [rv.name for rv in local]
        for variable in model.deterministics:
            dim = _first_dim(model, variable)
            used = set(ancestors([variable], blockers=model.basic_RVs))
            alone = not used.isdisjoint(local) and used.isdisjoint(others)
            if dim in dims or (dim is None and alone and _length(posterior, variable) == kind.max_clusters):
                found[partition.name].append(variable.name)
    return found


def _first_dim(model, variable):
    return (model.named_vars_to_dims.get(variable.name) or (None,))[0]


def _length(posterior, variable):
    """Length of the first axis of a variable in its draws, or None."""
    shape = posterior[variable.name].shape[2:] if variable.name in posterior else ()
    return shape[0] if shape else None
