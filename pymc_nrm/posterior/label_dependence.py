"""What changes when clusters are renamed: parameters of slots, and what is made of them or of labels."""

from typing import Any, NamedTuple

from pytensor.compile.ops import TypeCastingOp
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import EQ, NEQ, Cast, Identity, ScalarMaximum
from pytensor.tensor.basic import ScalarFromTensor, TensorFromScalar
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.shape import Shape, Shape_i
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor, unflatten_index_variables

from pymc_nrm.common.marks import MISSING_OF, NOT_FUSED, RENAMED, SLOTS_OF
from pymc_nrm.common.named_dims import lowered
from pymc_nrm.models.itemwise.graphs import postorder
from pymc_nrm.models.itemwise.local_variables import local_variables
from pymc_nrm.models.missing_entries import missing_variables
from pymc_nrm.models.rvs import kind_of, partitions_of
from pymc_nrm.partitions.flat import Flat
from pymc_nrm.partitions.weighted_components import WeightedComponents
from pymc_nrm.posterior.fused_estimate import why_not_comparable
from pymc_nrm.posterior.marked_items import mark_items


def mark_variables(idata, model):
    """Mark, in place, partitions and why their clusters cannot be compared, their slots, items and data without values,
    and deterministics that may change when clusters are renamed.
    """
    kinds, slots = partitions_of(model), slot_parameters(model, idata["posterior"])
    renamed = changed_by_renaming(model, slots)
    marks = {partition.name: kind.marks() for partition, kind in kinds.items()}
    for partition, kind in kinds.items():
        reason = why_not_comparable(model, partition) if isinstance(kind, Flat) else None
        marks[partition.name] |= {} if reason is None else {NOT_FUSED: reason}
    marks |= {name: {SLOTS_OF: partition} for partition, names in slots.items() for name in names}
    marks |= {name: {RENAMED: partition} for name, partition in renamed.items()}
    marks |= {name: {MISSING_OF: mixture} for name, mixture in missing_variables(model).items()}
    for group in ("posterior", "warmup_posterior"):
        for name in marks if group in idata.children else ():
            if name in idata[group].data_vars:
                idata[group][name].attrs |= marks[name]
    for rv in model.observed_RVs:
        if isinstance(kind_of(rv), Flat) and "observed_data" in idata.children and rv.name in idata["observed_data"]:
            idata["observed_data"][rv.name].attrs |= kind_of(rv).marks()
    marked = posterior = idata["posterior"].to_dataset()
    for partition in kinds:
        marked = mark_items(marked, model, partition)
    if marked is not posterior:
        idata["posterior"].dataset = marked


class Role(NamedTuple):
    """What renaming clusters does to a variable; ``of`` is the partition whose clusters are renamed."""

    # "free", nothing; "labels"; "slots"; or "changed", anything.
    kind: str
    of: Any = None


_FREE = Role("free")


def changed_by_renaming(model, slots):
    """Variables besides parameters of slots that may change when clusters are renamed, with the names of their
    partitions: weights of components, and deterministics.
    """
    # By induction over the graph, every variable is free of names; or its entries are labels, replaced by their new
    # names; or its first axis is the axis of slots, and its entries change places.  Parameters of slots picked by
    # labels, comparisons of labels, and sums over slots are free.  Whatever has no rule may change.
    partitions = partitions_of(model)
    roles = dict.fromkeys(model.basic_RVs, _FREE)
    changed = {}
    for partition, kind in partitions.items():
        if isinstance(kind, WeightedComponents):
            weights = [rv for rv in _of_weights(model, partition) if rv.name not in slots.get(partition.name, [])]
            changed |= {rv.name: partition.name for rv in weights}
            roles |= {rv: Role("changed", partition) for rv in weights}
        roles[partition] = Role("labels" if partition.ndim == 1 else "changed", partition)
        roles |= {model[name]: Role("slots", partition) for name in slots.get(partition.name, [])}
    covered = {f"{rv.name}_{end}" for rv, kind in partitions.items() for end in kind.deterministics(rv)}
    covered |= {name for names in slots.values() for name in names}
    graphs = lowered(model.deterministics, keep=model.basic_RVs)
    for variable, graph in zip(model.deterministics, graphs, strict=True):
        for x in postorder(graph, lambda x: [] if x.owner is None else x.owner.inputs, roles):
            roles[x] = _FREE if x.owner is None else _role(x.owner, [roles[y] for y in x.owner.inputs])
        if roles[graph].kind != "free" and variable.name not in covered:
            changed[variable.name] = roles[graph].of.name
    return changed


def _of_weights(model, partition):
    """Free variables with an axis of components on which weights of components depend directly."""
    weights = partition.owner.op.prior_inputs(partition.owner)
    used = set(ancestors(weights, blockers=model.basic_RVs))
    n_components, shapes = kind_of(partition).max_clusters, model.eval_rv_shapes()
    return [rv for rv in model.free_RVs if rv in used and n_components in shapes[rv.name]]


def _role(node, roles):
    named = [role for role in roles if role.kind != "free"]
    if not named:
        return _FREE
    first, changed = roles[0], Role("changed", named[0].of)
    if any(role.kind == "changed" or role.of is not named[0].of for role in named):
        return changed
    op = node.op
    if isinstance(op, Shape | Shape_i):
        return _FREE
    if isinstance(op, TensorFromScalar | ScalarFromTensor | TypeCastingOp):
        return first
    if isinstance(op, Elemwise):
        return _of_elementwise(op.scalar_op, node.inputs, roles, changed)
    if isinstance(op, CAReduce):
        axes = range(node.inputs[0].type.ndim) if op.axis is None else op.axis
        if first.kind == "slots":
            return _FREE if 0 in axes else first
        # The largest of labels in order of appearance is the number of clusters less one.
        is_largest = isinstance(op.scalar_op, ScalarMaximum) and node.inputs[0] is first.of
        is_number = is_largest and kind_of(first.of).max_clusters is None
        return _FREE if is_number else changed
    if isinstance(op, DimShuffle):
        return first if first.kind == "labels" or op.new_order[:1] == (0,) else changed
    if isinstance(op, Subtensor | AdvancedSubtensor):
        index = unflatten_index_variables(node.inputs[1:], op.idx_list)
        return _of_entries(first, index, dict(zip(node.inputs, roles, strict=True)), changed)
    return changed


def _of_elementwise(scalar_op, inputs, roles, changed):
    if all(role.kind == "labels" for role in roles):
        if isinstance(scalar_op, EQ | NEQ):
            return _FREE
        is_whole = isinstance(scalar_op, Cast) and scalar_op.o_type.dtype.startswith("int")
        return roles[0] if is_whole or isinstance(scalar_op, Identity) else changed
    # Along the axis of slots, other inputs must be the same for all slots.
    is_equivariant = all(
        role.kind == "slots" or (role.kind == "free" and x.type.broadcastable[:1] in ((), (True,)))
        for x, role in zip(inputs, roles, strict=True)
    )
    return Role("slots", changed.of) if is_equivariant else changed


def _of_entries(role, index, roles, changed):
    """The role of some entries of a variable, given its own."""
    others = [part for entry in index[1:] for part in _parts(entry)]
    if any(roles.get(part, _FREE).kind != "free" for part in others):
        return changed
    first = roles.get(index[0], _FREE) if not isinstance(index[0], slice) else None
    if role.kind == "labels":
        return role if all(roles.get(part, _FREE).kind == "free" for part in _parts(index[0])) else changed
    if first is None:
        # Several arrays apart from each other put their axes in front.
        stays = index[0] == slice(None) and sum(not isinstance(entry, slice) for entry in index) < 2
        return role if stays else changed
    return _FREE if first.kind == "labels" and role.kind == "slots" else changed


def _parts(entry):
    """The variables and numbers in an entry of an index."""
    parts = [entry.start, entry.stop, entry.step] if isinstance(entry, slice) else [entry]
    return [part for part in parts if part is not None]


def slot_parameters(model, posterior):
    """Find the variables that hold parameters of slots, whose labels switch. These are its local variables, and the
    deterministics of as many entries that share their named dimension or are made from them alone.
    """
    slot_names = {}
    for partition, kind in partitions_of(model).items():
        if kind.max_clusters is None:
            continue
        local = local_variables(model, partition, kind.max_clusters, model.initial_point())
        dims = {_first_dim(model, rv) for rv in local} - {None}
        others = set(model.basic_RVs) - set(local)
        slot_names[partition.name] = [rv.name for rv in local]
        for variable in model.deterministics:
            dim = _first_dim(model, variable)
            used = set(ancestors([variable], blockers=model.basic_RVs))
            alone = not used.isdisjoint(local) and used.isdisjoint(others)
            has_slots = variable.name in posterior and posterior[variable.name].shape[2:3] == (kind.max_clusters,)
            if dim in dims or (dim is None and alone and has_slots):
                slot_names[partition.name].append(variable.name)
    return slot_names


def _first_dim(model, variable):
    return (model.named_vars_to_dims.get(variable.name) or (None,))[0]
