"""What changes when clusters are renamed: parameters of slots, and what is made of them or of labels."""

import numpy as np
from pytensor.graph.traversal import ancestors

from pymc_nrm.models.itemwise.flow import PresentValues
from pymc_nrm.models.itemwise.item_table import random_points
from pymc_nrm.models.itemwise.local_variables import local_variables
from pymc_nrm.models.rvs import partitions_of

_SEED, _POINTS = 20261126, 4
# Clusters of a partition whose labels index nothing.
_MOST_CLUSTERS = 4


def changed_by_renaming(model, slots):
    """Deterministics that change when clusters are renamed, with the names of their partitions."""
    # They are computed before and after at random points; what cannot be computed there counts as changed.
    partitions, rng = partitions_of(model), np.random.default_rng(_SEED)
    own = {f"{rv.name}_{end}" for rv, kind in partitions.items() for end in kind.deterministics(rv)}
    own |= {name for names in slots.values() for name in names}
    variables = [variable for variable in model.deterministics if variable.name not in own]
    graphs, found = model.replace_rvs_by_values(variables), {}
    for point in random_points(model.initial_point(), _POINTS if variables else 0):
        for rv, kind in partitions.items():
            point[rv.name] = _random_labels(rng, np.shape(point[rv.name]), kind.max_clusters)
        given = {value: np.asarray(point[value.name]) for value in model.value_vars}
        for rv, kind in partitions.items():
            parameters = [model[name] for name in slots.get(rv.name, [])]
            parameters = [model.rvs_to_values[one] for one in parameters if one in model.free_RVs]
            renamed = _with_other_names(rng, given, model.rvs_to_values[rv], parameters, kind.max_clusters)
            for variable, graph in zip(variables, graphs, strict=True):
                if variable.name not in found and _differs(graph, given, given | renamed, renamed):
                    found[variable.name] = rv.name
    return {variable.name: found[variable.name] for variable in variables if variable.name in found}


def _random_labels(rng, shape, max_clusters):
    n_clusters = min(shape[0], max_clusters or _MOST_CLUSTERS)
    labels = np.arange(shape[0]) % n_clusters
    return rng.permuted(np.broadcast_to(labels.reshape(-1, *[1] * (len(shape) - 1)), shape), axis=0)


def _with_other_names(rng, given, labels, parameters, max_clusters):
    """Values of labels and of parameters of slots after every cluster has got the name of another."""
    order = rng.permutation(max_clusters or given[labels].max() + 1)
    name = np.empty_like(order)
    name[order] = np.roll(order, 1)
    return {labels: name[given[labels]], **{one: given[one][np.argsort(name)] for one in parameters}}


def _differs(graph, before, after, renamed):
    if set(renamed).isdisjoint(ancestors([graph])):
        return False
    try:
        return not np.allclose(PresentValues(before)(graph), PresentValues(after)(graph), equal_nan=True)
    except Exception:  # operations may raise anything
        return True


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
