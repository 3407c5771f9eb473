"""The variables of a result that hold parameters of slots."""

from pytensor.graph.traversal import ancestors

from pymc_nrm.itemwise.local_variables import local_variables
from pymc_nrm.model.rvs import partitions_of


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
