"""The partitions and mixtures of a PyMC model, and their measures, families and numbers of items."""

from pymc.model import Model, modelcontext

from pymc_nrm.common.checks import check_name
from pymc_nrm.distributions.item_counts import count_value
from pymc_nrm.distributions.mixture import MixtureRV
from pymc_nrm.distributions.nested_partition import NestedPartitionRV
from pymc_nrm.distributions.partition import PartitionRV
from pymc_nrm.distributions.tree_mixture import TreeMixtureRV


def checked_model(model):
    """Return the argument ``model``, or the model of the context if it is None."""
    context = modelcontext(None) if model is None and Model.get_context(error_if_none=False) else model
    if not isinstance(context, Model):
        raise TypeError(
            "model must be a pymc.Model: pass it as model=, or call inside of `with model:`; got "
            f"{'none and no context' if model is None else repr(model)}"
        )
    return context


def is_partition(variable):
    """Return whether a variable is a random partition."""
    return variable.owner is not None and isinstance(variable.owner.op, PartitionRV)


def is_nested_partition(variable):
    """Return whether a variable is a random nested partition."""
    return variable.owner is not None and isinstance(variable.owner.op, NestedPartitionRV)


def has_known_paths(variable):
    """Return whether a variable is a nested partition whose tree is known."""
    return is_nested_partition(variable) and variable.owner.op.has_known_paths


def is_mixture(variable):
    """Return whether a variable is the data of a mixture, observed or latent."""
    return variable.owner is not None and isinstance(variable.owner.op, MixtureRV | TreeMixtureRV)


def find_partition(model, name=None, *, nested=False):
    """Find the partition of a model, by its name if there are several."""
    kind = "Partition or NestedPartition" if nested else "Partition"
    return _find(model, kind, lambda rv: is_partition(rv) or (nested and is_nested_partition(rv)), name, nested)


def find_mixture(model, name=None, *, nested=False):
    """Find the mixture of a partition of a model, by its name if there are several; see :func:`find_partition`."""
    return _find(
        model, "Mixture", lambda rv: is_mixture(rv) and (nested or is_partition(partition_of(rv))), name, nested
    )


def _find(model, kind, is_kind, name, nested):
    if name is not None:
        check_name("var_name", name, f"a {kind}")
    found = {rv.name: rv for rv in model.basic_RVs if is_kind(rv)}
    refused = [] if nested else [rv.name for rv in model.basic_RVs if is_nested_partition(rv)]
    if refused and (not found or name in refused):
        raise ValueError(f"model must have a {kind} that is flat; got the NestedPartition {refused[0]!r}")
    if not found:
        raise ValueError(f"model must have a {kind}; got one with the variables {sorted(model.named_vars)}")
    if name is None and len(found) == 1:
        [name] = found
    if name is None:
        raise ValueError(f"var_name must be given, one of {sorted(found)}: the model has several of kind {kind}")
    if name not in found:
        raise ValueError(f"var_name must be that of a {kind} of the model, one of {sorted(found)}; got {name!r}")
    return found[name]


def measure_of(partition):
    """Return the measure of a partition; its fields are tensors."""
    return partition.owner.op.measure(partition.owner)


def n_items(partition):
    """Return the present number of items of a partition, which may follow ``pm.set_data``."""
    return count_value(partition.owner.op.n_items(partition.owner))


def n_slots(partition):
    """Return ``max_clusters`` of a partition, the number of slots of its labels, or None for labels without slots."""
    return partition.owner.op.max_clusters


def slot_partitions(model):
    """List the free partitions of a model whose labels are slots."""
    return [rv for rv in model.free_RVs if is_partition(rv) and n_slots(rv) is not None]


def value_of(partition):
    """Return the type of the values of a partition, such as a :class:`~pymc_nrm.partitions.value.FlatLabels`."""
    op = partition.owner.op
    return op.value(partition.name, partition.owner) if has_known_paths(partition) else op.value(partition.name)


def partition_of(mixture):
    """Return the partition of a mixture."""
    return mixture.owner.op.partition(mixture.owner)


def family_of(mixture):
    """Return the family of a mixture; its fields are tensors in their full shape."""
    return mixture.owner.op.family(mixture.owner)


def dims_of(model, variable):
    """Return the names of the dimensions of a variable, as in results."""
    named = model.named_vars_to_dims.get(variable.name) or (None,) * variable.ndim
    return [dim if dim is not None else f"{variable.name}_dim_{axis}" for axis, dim in enumerate(named)]
