"""Free variables that hold the parameters of single slots, found by tracing slots through the graph."""

import functools
import math
from typing import NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.pytensorf import compile as compile_function
from pymc.pytensorf import reseed_rngs
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, equal_computations
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors, graph_inputs, toposort
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar import basic
from pytensor.scalar import math as scalar_math
from pytensor.scalar.basic import Cast
from pytensor.tensor.basic import MakeVector, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.math import All
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor, unflatten_index_variables

from pymc_nrm.common.named_dims import distribution_of, lowered, named_dims
from pymc_nrm.common.pymc_internals import (
    CheckParameterValue,
    CustomDistRV,
    default_transform,
    is_transform_of_dims,
)
from pymc_nrm.models.itemwise.flow import LabelFlow, PresentValues
from pymc_nrm.models.itemwise.graphs import expanded, rebuilt
from pymc_nrm.models.itemwise.rules import NotItemwise, entry_sources, grouped
from pymc_nrm.models.model_graphs import log_probabilities
from pymc_nrm.models.rvs import kind_of
from pymc_nrm.models.values import computed_by, constant_value, in_value_space, with_own_generators


class Bounds(NamedTuple):
    """Bounds of a number: above ``low``, or equal to it if attained; likewise for ``high``."""

    low: float
    high: float
    low_attained: bool = False
    high_attained: bool = False


_ANY = Bounds(-math.inf, math.inf)
_POSITIVE = Bounds(0.0, math.inf)


def always_holds(condition):
    """Whether a condition on entries holds wherever its inputs are finite, proved from its operations."""
    node = condition.owner
    if node is None:
        return isinstance(condition, Constant) and bool(np.all(condition.data))
    sources = entry_sources(condition)
    if sources is not None:
        return all(always_holds(source) for source in sources)
    if not isinstance(node.op, Elemwise):
        return False
    # A subclass may compute something else.
    scalar = type(node.op.scalar_op)
    if scalar is basic.AND:
        return all(always_holds(operand) for operand in node.inputs)
    if scalar not in (basic.GT, basic.GE, basic.LT, basic.LE):
        return False
    larger, smaller = node.inputs if scalar in (basic.GT, basic.GE) else reversed(node.inputs)
    larger, smaller = _bounds(larger), _bounds(smaller)
    apart = not (smaller.high_attained and larger.low_attained)
    return smaller.high < larger.low or (smaller.high == larger.low and (apart or scalar in (basic.GE, basic.LE)))


def _bounds(variable):
    if isinstance(variable, Constant):
        value = np.asarray(variable.data)
        finite = value.size and np.isfinite(value).all()
        return Bounds(float(value.min()), float(value.max()), True, True) if finite else _ANY
    sources = entry_sources(variable)
    if sources is not None:
        return _union([_bounds(source) for source in sources])
    node = variable.owner
    return _of_elements(node) if node is not None and isinstance(node.op, Elemwise) else _ANY


def _union(parts):
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    low_attained = any(part.low == low and part.low_attained for part in parts)
    return Bounds(low, high, low_attained, any(part.high == high and part.high_attained for part in parts))


def _of_elements(node):
    parts = [_bounds(operand) for operand in node.inputs]
    scalar = type(node.op.scalar_op)
    if scalar in (basic.Cast, basic.Identity) and not node.outputs[0].type.dtype.startswith("float"):
        return _ANY
    rule = next((rule for operations, rule in _RULES.items() if scalar in operations), None)
    return _ANY if rule is None else rule(*parts)


def _is_positive(bounds):
    return bounds.low > 0.0 or (bounds.low == 0.0 and not bounds.low_attained)


def _reciprocal(bounds):
    if not _is_positive(bounds):
        return _ANY
    low = 0.0 if bounds.high == math.inf else 1.0 / bounds.high
    return Bounds(low, math.inf if bounds.low == 0.0 else 1.0 / bounds.low, bounds.high_attained, bounds.low_attained)


def _product(first, second):
    """Bounds of a product: its extremes are products of ends, and zero times infinity is zero."""
    corners = [
        Bounds(value := 0.0 if x == 0.0 or y == 0.0 else x * y, value, attained, attained)
        for x, x_attained in ((first.low, first.low_attained), (first.high, first.high_attained))
        for y, y_attained in ((second.low, second.low_attained), (second.high, second.high_attained))
        for attained in [(x_attained and y_attained) or (x == 0.0 and x_attained) or (y == 0.0 and y_attained)]
    ]
    return _union(corners)


def _sum(*parts):
    low, high = sum(part.low for part in parts), sum(part.high for part in parts)
    return Bounds(low, high, all(part.low_attained for part in parts), all(part.high_attained for part in parts))


def _negative(bounds):
    return Bounds(-bounds.high, -bounds.low, bounds.high_attained, bounds.low_attained)


# Bounds of an elementwise function, from the bounds of its arguments.
_RULES = {
    (basic.Exp, scalar_math.Softplus): lambda x: _POSITIVE,
    (scalar_math.Sigmoid,): lambda x: Bounds(0.0, 1.0),
    (basic.Abs, basic.Sqr): lambda x: _POSITIVE._replace(low_attained=not _is_positive(x)),
    (basic.Sign,): lambda x: Bounds(1.0, 1.0, True, True) if _is_positive(x) else _ANY,
    (basic.Sqrt, basic.Pow): lambda x, *others: _POSITIVE if _is_positive(x) else _ANY,
    (basic.Cast, basic.Identity): lambda x: x,
    (basic.Switch,): lambda condition, *parts: _union(parts),
    (basic.Neg,): _negative,
    (basic.Add,): _sum,
    (basic.Sub,): lambda x, y: _sum(x, _negative(y)),
    (basic.Mul,): lambda *parts: functools.reduce(_product, parts),
    (basic.TrueDiv,): lambda x, y: _product(x, _reciprocal(y)),
    (basic.Reciprocal,): _reciprocal,
}


# Flat variables have no prior to draw from, and draws of a CustomDist need not follow its density.
_WITHOUT_PRIOR = (type(pm.Flat.rv_op), type(pm.HalfFlat.rv_op), CustomDistRV)

# Transforms that map the real line, or vectors of reals, onto the support of the distributions that they belong to.
_ONTO_SUPPORT = ("log", "logodds", "interval", "simplex")

_MIXED = "labels of several items"


def with_conditions_by_row(graphs, flow):
    """Let conditions on parameters make only their own row impossible. Conditions whose rows cannot be separated make
    all rows impossible, as in PyMC.
    """

    def by_row(node, inputs):
        return _by_row(node, inputs[0], flow) if _makes_impossible(node) else None

    return rebuilt(graphs, by_row)


def _makes_impossible(node):
    """Whether a node is a check of parameters, whose density is zero where a condition fails."""
    return isinstance(node.op, CheckParameterValue) and node.op.can_be_replaced_by_ninf


def check_conditions(graph, flow):
    """Refuse conditions that belong to no row: of labels of several items, or where the value depends on no label."""
    for node in toposort([graph]):
        if not _makes_impossible(node):
            continue
        rows = _known(node.inputs[0], flow)
        for leaf in conditions_of(node):
            items = _known(leaf, flow)
            if items is None or always_holds(leaf):
                continue
            if items is _MIXED:
                raise NotItemwise("a condition combines labels of several items")
            if rows is None or rows is _MIXED or not np.array_equal(np.squeeze(items), np.squeeze(rows)):
                raise NotItemwise("a condition depends on labels of other items than the values it is about")


def _by_row(node, value, flow):
    rows = _known(node.inputs[0], flow)
    if rows is None:
        return None
    result = value
    for leaf in conditions_of(node):
        result = pt.switch(_aligned(pt.as_tensor(leaf), _known(leaf, flow), rows), result, -np.inf)
    return [result.astype(node.outputs[0].type.dtype)]


def _known(variable, flow):
    """Items on whose labels entries depend: None for no label, ``_MIXED`` where labels of several items may mix."""
    try:
        items = flow(variable)
    except NotItemwise:
        return _MIXED
    return None if items is None else grouped(items)


def conditions_of(node):
    """Conditions of a check that must all hold, before any reduction over all of their entries."""
    return [leaf for condition in node.inputs[1:] for leaf in leaves(condition)]


def leaves(condition):
    """Conditions that must all hold, before any reduction over all of their entries."""
    node = condition.owner
    op = None if node is None else node.op
    reduced = isinstance(op, All) and condition.type.ndim == 0
    if not reduced and not isinstance(op, ScalarFromTensor | TensorFromScalar | MakeVector):
        return [condition]
    return [leaf for operand in node.inputs for leaf in leaves(operand)]


def _aligned(leaf, items, rows):
    """Condition of each row, along the axes of the value; of all rows jointly if they cannot be separated."""
    known = isinstance(items, np.ndarray) and isinstance(rows, np.ndarray)
    if not known or not np.array_equal(items.squeeze(), rows.squeeze()):
        return pt.all(leaf)
    alike = [axis for axis, length in enumerate(items.shape) if length == 1]
    holds = pt.all(leaf, axis=alike) if alike else leaf
    places = iter(range(holds.type.ndim))
    return holds.dimshuffle([next(places) if length > 1 else "x" for length in rows.shape])


def local_variables(model, partition, max_clusters, point, among=None):
    """Free variables whose entries for empty slots depend only on their prior, in the order of the model.

    A step that redraws these entries for some variables only asks for local variables ``among`` them: no other variable
    then depends on an entry for an empty slot.

    A variable of K entries along its first axis is *local* if entry s of its log-probability depends on entry s of
    local variables only and not on labels, and if everything else reads it at indices that are labels.  Then entries of
    empty slots, given all other variables, have their prior as full conditional.  Both are proved from the graph: a
    variable without a proof is not local, which costs speed but not exactness.
    """
    terms = [*model.free_RVs, *model.observed_RVs, *model.potentials]
    graphs = dict(zip(terms, expanded(log_probabilities(model, terms)), strict=True))
    labels = model.rvs_to_values[partition]
    at_point = {value: np.asarray(point[value.name]) for value in model.value_vars}
    local = [
        rv
        for rv in (model.free_RVs if among is None else among)
        if max_clusters > 1
        and _may_be_local(model, rv, at_point[model.rvs_to_values[rv]], max_clusters)
        and labels not in set(ancestors([graphs[rv]]))
    ]
    uses = {rv: _uses(model.rvs_to_values[rv], labels, max_clusters, graphs, at_point) for rv in local}
    before = None
    while before != local:
        before = local
        local = [rv for rv in local if all(by_slot and term in local for term, by_slot in uses[rv].items())]
    return local


def _may_be_local(model, rv, value, max_clusters):
    has_slots = value.dtype.kind == "f" and value.shape[:1] == (max_clusters,)
    has_prior = has_slots and not kind_of(rv) and not isinstance(distribution_of(rv)[0], _WITHOUT_PRIOR)
    return has_prior and reaches_all_values(rv, model.rvs_to_transforms[rv])


def reaches_all_values(rv, transform):
    """Whether a transform is the default one. Another transform may not reach all values; unreached values would have
    no density, but draws could take them.
    """
    if named_dims(rv) is not None:
        return _is_usual_of_dims(rv, transform)
    usual = default_transform(rv.owner.op, rv)
    if transform is None or usual is None:
        return transform is None
    value = transform.forward(rv, *rv.owner.inputs).type()
    graphs = [
        [candidate.backward(value, *rv.owner.inputs), pt.as_tensor(candidate.log_jac_det(value, *rv.owner.inputs))]
        for candidate in (transform, usual)
    ]
    return equal_computations(*graphs)


def _is_usual_of_dims(rv, transform):
    """Whether a transform is the default one of a variable with named dimensions, or there is none."""
    [tensor] = lowered([rv])
    rv = next(
        ancestor
        for ancestor in ancestors([tensor])
        if computed_by(ancestor, RandomVariable | pm.SymbolicRandomVariable)
    )
    usual = default_transform(rv.owner.op, rv)
    if transform is None or usual is None:
        return transform is None
    if not is_transform_of_dims(transform, usual.name) or usual.name not in _ONTO_SUPPORT:
        return False
    if usual.name != "interval":
        return True
    bounds = zip((transform.lower, transform.upper), usual.args_fn(*rv.owner.inputs), (-np.inf, np.inf), strict=True)
    return all(_is_bound(named.data, infinity if bound is None else bound) for named, bound, infinity in bounds)


def _is_bound(value, bound):
    """Whether a bound, a number or a tensor, is constant and has this value."""
    bound = pt.as_tensor(bound)
    inputs = graph_inputs([bound])
    is_constant = all(isinstance(leaf, Constant) and not isinstance(leaf.type, RandomType) for leaf in inputs)
    return is_constant and bool((constant_value(bound) == value).all())


def _uses(value, labels, max_clusters, graphs, at_point):
    """Terms that depend on slots that may be empty, and whether each of their entries depends on its own slot only."""
    flow = SlotFlow(value, labels, max_clusters, PresentValues(at_point))
    uses = {}
    for term, graph in graphs.items():
        try:
            slots = flow(graph)
        except (NotItemwise, IndexError):
            uses[term] = False
            continue
        if slots is not None and (slots >= 0).any():
            along_first = slots.reshape(len(slots), -1) if slots.shape[:1] == (max_clusters,) else slots.reshape(1, -1)
            own_slots = np.arange(len(along_first))[:, None]
            uses[term] = len(own_slots) == max_clusters and bool(((along_first < 0) | (along_first == own_slots)).all())
    return uses


class SlotFlow(LabelFlow):
    """Finds for each entry of a variable the one slot of a parameter on which it depends, if the slot may be empty."""

    def __init__(self, value, labels, max_clusters, present):
        slots = np.arange(max_clusters).reshape(-1, *[1] * (value.type.ndim - 1))
        super().__init__({value: slots}, present)
        self._labels, self._max_clusters = labels, max_clusters

    def static(self, variable):
        """Return the value of a constant index; data may change."""
        if any(isinstance(ancestor, SharedVariable) for ancestor in ancestors([variable])):
            raise NotItemwise("slots are selected by an index that may change")
        return super().static(variable)

    def _find(self, variable):
        node = variable.owner
        if node is not None and isinstance(node.op, CheckAndRaise):
            self._check_conditions(node)
        if node is not None and isinstance(node.op, Subtensor | AdvancedSubtensor) and self._reads_labels(node):
            return None
        return super()._find(variable)

    def _check_conditions(self, node):
        # A condition that can fail in an empty slot makes other slots impossible, and draws do not respect it.
        for leaf in conditions_of(node):
            if not always_holds(leaf) and self(leaf) is not None:
                raise NotItemwise("a condition on a parameter may fail in an empty slot")

    def _reads_labels(self, node):
        """Whether entries of slots are read at labels, and so only in occupied slots."""
        slots = self._items.get(node.inputs[0])
        if slots is None:
            return False
        axes = [axis for axis, length in enumerate(slots.shape) if length > 1]
        index = unflatten_index_variables(node.inputs[1:], node.op.idx_list)
        return (
            len(axes) == 1
            and np.array_equal(slots.ravel(), np.arange(self._max_clusters))
            and axes[0] < len(index)
            and all(self._items.get(operand) is None for operand in node.inputs[1:])
            and not any(not isinstance(entry, slice) and entry.type.dtype == "bool" for entry in index)
            and not isinstance(index[axes[0]], slice)
            and self._is_labels(index[axes[0]])
        )

    def _is_labels(self, variable):
        """Whether all entries are labels."""
        node, sources = variable.owner, entry_sources(variable)
        if node is None:
            return variable is self._labels
        if sources is None and isinstance(node.op, CheckAndRaise):
            sources = node.inputs[:1]
        if sources is not None:
            return all(self._is_labels(source) for source in sources)
        if not isinstance(node.op, Elemwise) or not isinstance(node.op.scalar_op, Cast):
            return False
        dtype = np.dtype(variable.type.dtype)
        keeps = dtype.kind in "iu" and np.iinfo(dtype).max >= self._max_clusters
        return keeps and self._is_labels(node.inputs[0])


class EmptySlots:
    """Draws entries of local variables for empty slots from their prior given all other variables.

    The prior is their full conditional, see `local_variables`, so a draw leaves the posterior invariant.
    """

    def __init__(self, model, variables, compile_kwargs=None):
        self.variables = [rv.name for rv in variables]
        self.names = [model.rvs_to_values[rv].name for rv in variables]
        self._inputs, self._function, self._generators = [], None, []
        if not variables:
            return
        graphs = [in_value_space(model, rv) for rv in variables]
        others = [rv for rv in model.free_RVs if rv not in variables]
        replacements = dict(zip(others, model.replace_rvs_by_values(others), strict=True))
        graphs = graph_replace(graphs, replacements, strict=False)
        graphs, own_generators = with_own_generators(graphs)
        self._generators = list(own_generators.values())
        used = set(graph_inputs(graphs))
        inputs = [value for value in model.value_vars if value in used]
        self._inputs = [value.name for value in inputs]
        self._function = compile_function(inputs, graphs, **(compile_kwargs or {}))
        self._function.trust_input = True

    def reseed(self, rng):
        """Seed the draws from one draw of a generator."""
        reseed_rngs(self._generators, int(rng.integers(2**63)))

    @property
    def state(self):
        """States of the generators, as a list of dict."""
        return [generator.get_value(borrow=True).bit_generator.state for generator in self._generators]

    @state.setter
    def state(self, states):
        for generator, state in zip(self._generators, states, strict=True):
            value = generator.get_value(borrow=False)
            value.bit_generator.state = state
            generator.set_value(value, borrow=True)

    def redraw(self, point, empty):
        """Return the point with new entries for empty slots."""
        if self._function is None:
            return point
        draws = self._function(*[point[name] for name in self._inputs])
        point = dict(point)
        for name, draw in zip(self.names, draws, strict=True):
            value = point[name].copy()
            value[empty] = draw[empty]
            point[name] = value
        return point
