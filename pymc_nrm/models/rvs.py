"""Find the partitions and mixtures of a PyMC model, their families, and the variables that depend on labels."""

from pymc.model import BaseModel, modelcontext
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors, graph_inputs

from pymc_nrm.common.checks import check_name
from pymc_nrm.models.chunked_mixture import ChunkedMixtureRV
from pymc_nrm.models.item_counts import count_value
from pymc_nrm.models.known_labels import check_observed_labels
from pymc_nrm.models.missing_entries import check_free_entries
from pymc_nrm.models.mixture import MixtureRV
from pymc_nrm.models.partition import PartitionRV
from pymc_nrm.models.values import computed_by, constant_value
from pymc_nrm.partitions.chunked import Chunked
from pymc_nrm.partitions.flat import Flat
from pymc_nrm.partitions.kind import Kind


def checked_model(model):
    """Return the argument ``model``, or the model of the context if it is None."""
    context = modelcontext(None) if model is None and BaseModel.get_context(error_if_none=False) else model
    if not isinstance(context, BaseModel):
        raise TypeError(
            "model must be a pymc.Model: pass model=, or call inside `with model:`; got "
            f"{'none and no context' if model is None else repr(model)}"
        )
    _check_observed(context)
    return context


def _check_observed(model):
    """Check the labels and missing entries that ``pm.observe`` or ``pm.do`` may have fixed."""
    for rv in model.observed_RVs:
        kind, value = kind_of(rv), model.rvs_to_values[rv]
        if kind is not None and all(isinstance(source, Constant | SharedVariable) for source in graph_inputs([value])):
            check_observed_labels(kind, rv.name, constant_value(value))
        if is_mixture(rv):
            check_free_entries(model, rv.name, value)


def kind_of(variable):
    """Return the kind of a random partition, bound to the name of the variable; None for all other variables."""
    return variable.owner.op.kind.named(variable.name) if computed_by(variable, PartitionRV) else None


def partitions_of(model, kinds=Kind):
    """Return the free partitions of a model that have one of these kinds, each with its kind."""
    partitions = {rv: kind_of(rv) for rv in model.free_RVs}
    return {rv: kind for rv, kind in partitions.items() if isinstance(kind, kinds)}


def is_mixture(variable):
    """Return whether a variable is the data of a mixture, observed or latent."""
    return computed_by(variable, MixtureRV | ChunkedMixtureRV)


def names_in_chunks(model):
    """Return the names of the partitions of rows in chunks, and of their mixtures."""
    mixtures = [rv for rv in model.free_RVs if computed_by(rv, ChunkedMixtureRV)]
    return [rv.name for rv in (*partitions_of(model, Chunked), *mixtures)]


def find_partition(model, name=None, *, nested=False, chunked=False):
    """Find the partition of a model, by name if there are several; only flat partitions unless ``nested``, or
    partitions of rows in chunks if ``chunked``.
    """
    kinds = Kind if nested else (Flat, Chunked) if chunked else Flat
    return _find(model, "Partition or NestedPartition" if nested else "Partition", kind_of, name, kinds)


def find_mixture(model, name=None, *, nested=False):
    """Find the mixture of a partition of a model, by name if there are several; see :func:`find_partition`."""
    kinds = Kind if nested else Flat
    return _find(model, "Mixture", lambda rv: kind_of(partition_of(rv)) if is_mixture(rv) else None, name, kinds)


def _find(model, title, kind_behind, name, kinds):
    if name is not None:
        check_name("var_name", name, f"a {title}")
    matches = {rv.name: rv for rv in model.basic_RVs if isinstance(kind_behind(rv), kinds)}
    others = {rv.name: kind_of(rv) for rv in model.basic_RVs if kind_of(rv) and not isinstance(kind_of(rv), kinds)}
    if others and (not matches or name in others):
        other = next(iter(others))
        if isinstance(others[other], Chunked):
            raise ValueError(f"model must have a {title} with an item for each row; {other!r} has rows in chunks")
        raise ValueError(f"model must have a {title} that is flat; got the {others[other].title} {other!r}")
    if not matches:
        fixed = [rv.name for rv in model.basic_RVs if is_mixture(rv) and kind_of(partition_of(rv)) is None]
        remedy = (
            f"; labels of {fixed} are data, as after pm.do, whereas pm.observe keeps the partition" if fixed else ""
        )
        raise ValueError(f"model must have a {title}; got one with the variables {sorted(model.named_vars)}{remedy}")
    if name is None and len(matches) == 1:
        [name] = matches
    if name is None:
        raise ValueError(f"var_name must be given, one of {sorted(matches)}: the model has several of kind {title}")
    if name not in matches:
        raise ValueError(f"var_name must name a {title} of the model, one of {sorted(matches)}; got {name!r}")
    return matches[name]


def n_items(partition):
    """Return the current number of items of a partition, which may follow ``pm.set_data``."""
    return count_value(partition.owner.op.n_items(partition.owner))


def partition_of(mixture):
    """Return the partition of a mixture."""
    return mixture.owner.op.partition(mixture.owner)


def rows_of(mixture):
    """Return the item of each row of a mixture as an index of labels: a full slice if every item has one row."""
    op = mixture.owner.op
    return op.rows(mixture.owner) if isinstance(op, MixtureRV) else slice(None)


def counts_of(mixture):
    """Return the number of observations of each row of a mixture, None if each is one."""
    op = mixture.owner.op
    return op.counts(mixture.owner) if isinstance(op, MixtureRV) else None


def family_of(mixture):
    """Return the family of a mixture; its fields are tensors in their full shape."""
    return mixture.owner.op.family(mixture.owner)


def dims_of(model, variable):
    """Return the names of the dimensions of a variable, as in results."""
    named = model.named_vars_to_dims.get(variable.name) or (None,) * variable.ndim
    return [dim if dim is not None else f"{variable.name}_dim_{axis}" for axis, dim in enumerate(named)]


def mixtures_of(model, partition):
    """List the mixtures of a model that share a partition."""
    return [rv for rv in model.basic_RVs if is_mixture(rv) and partition_of(rv) is partition]


def other_uses(model, partition):
    """List the random variables and potentials that use the labels of a partition other than as mixtures do. They
    depend on the labels directly, not through another random variable.  A mixture is among them if its hyperparameters
    depend on the labels.
    """
    return [
        variable
        for variable in (*model.basic_RVs, *model.potentials)
        if variable is not partition and depends_on(_parameters(model, variable, partition), partition, model)
    ]


def check_uses(model, partition, allowed=()):
    """Check that only the data of mixtures, and allowed variables, depend on a partition, if its kind requires it."""
    remedy = kind_of(partition).only_mixtures
    for variable in other_uses(model, partition) if remedy else []:
        if any(variable is one for one in allowed):
            continue
        raise ValueError(
            f"{variable.name!r} must not depend on the labels of {remedy.format(name=partition.name)}. Deterministics "
            "may use the labels"
        )


def _parameters(model, variable, partition):
    """Parents of a variable, except the labels that a mixture may use."""
    if variable in model.potentials:
        return [variable]
    if is_mixture(variable) and partition_of(variable) is partition:
        return list(family_of(variable))
    return variable.owner.inputs


def depends_on(variables, partition, model):
    """Whether variables depend on a partition directly, not through the value of another random variable."""
    blockers = [rv for rv in model.basic_RVs if rv is not partition]
    return partition in set(ancestors(variables, blockers=blockers))
