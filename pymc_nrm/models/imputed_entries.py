"""Missing entries of the user's own data, for which PyMC makes free variables, integrated out of a model.

PyMC gives the missing entries of ``y`` a free variable ``y_unobserved``.  If no other term of the log-probability reads
its value, the joint density is ``p(rest) p(y_unobserved | rest)``.  The second factor integrates to one wherever
parameters are in range, so that ``p(rest)`` is the log-probability without this term.  Steps that see ``p(rest)`` alone
leave the posterior of the rest invariant, and entries drawn from ``p(y_unobserved | rest)`` complete a draw of the rest
to a draw from the joint posterior.  No step reads these entries, so that drawing them for kept draws only is exact.

PyMC splits data of a distribution with a random generator of its own into two variables, of observed and of missing
entries.  Others, such as ``Censored``, have one operation for both (``PartialObservedRV``), whose observed part reads
all entries: it becomes a potential of the observed entries alone, after a proof that these depend on no missing one.

Where parameters are out of range, the log-probability of all entries is minus infinity.  Conditions that are neither
proved to hold nor conditions of other terms stay in the model as potentials of 0 or minus infinity.
"""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.builders import infer_shape
from pytensor.graph.basic import equal_computations
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors, toposort
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.random.op import RandomVariable

from pymc_nrm.common.pymc_internals import DiracDeltaRV, PartialObservedRV
from pymc_nrm.models.itemwise.flow import LabelFlow, PresentValues
from pymc_nrm.models.itemwise.graphs import expanded
from pymc_nrm.models.itemwise.local_variables import always_holds, leaves, reaches_all_values
from pymc_nrm.models.itemwise.rules import NotItemwise
from pymc_nrm.models.model_graphs import log_probabilities
from pymc_nrm.models.rvs import partitions_of
from pymc_nrm.models.values import constant_value, in_value_space

# Modules whose random variables have a density that integrates to one and draws that follow it, but for three.
_PROPER = (
    "pytensor.tensor.random.basic",
    *(f"pymc.distributions.{name}" for name in ("censored", "continuous", "discrete", "mixture", "truncated")),
)
_IMPROPER = (type(pm.Flat.rv_op), type(pm.HalfFlat.rv_op), type(pm.PolyaGamma.rv_op))

# What a model has, and what its variables have.
_LISTS = ("free_RVs", "observed_RVs", "deterministics", "potentials", "data_vars")
_DICTS = ("named_vars", "named_vars_to_dims", "values_to_rvs")
_OF_RVS = ("rvs_to_values", "rvs_to_transforms", "rvs_to_initial_values")


class IntegratedOut(NamedTuple):
    """A model without missing entries that integrate to one, and what became of all of them."""

    model: Any
    # Number of entries that are integrated out, by the name of the data.
    n_entries: dict
    # Why the entries of other data are not, by the name of their free variable.
    reasons: dict
    # Names of free variables and of values that the model no longer has.
    names: frozenset = frozenset()


def imputed_entries(model):
    """Free variables that PyMC has made for missing entries of data, with the names of the data."""
    observed = {rv.name for rv in model.observed_RVs}
    data = {variable.name for variable in model.deterministics}
    pairs = {rv: rv.name.removesuffix("_unobserved") for rv in model.free_RVs if rv.name.endswith("_unobserved")}
    return {rv: name for rv, name in pairs.items() if name in data and f"{name}_observed" in observed}


def integrate_out_imputed(model):
    """Integrate missing entries out of a model with a partition, where this is proved from the graph to be exact.

    The result shares all variables and data with the model.  The entries become deterministics whose graphs draw them
    given the rest.
    """
    imputed = imputed_entries(model) if type(model) is pm.Model and partitions_of(model) else {}
    if not imputed:
        return IntegratedOut(model, {}, {})
    terms = [*model.basic_RVs, *model.potentials]
    graphs = dict(zip(terms, expanded(log_probabilities(model, terms)), strict=True))
    assumed = [leaf for term, graph in graphs.items() if term not in imputed for leaf in _conditions(graph)]
    unproved = {rv: _not_implied(_conditions(graphs[rv]), assumed) for rv in imputed}
    reasons, before = {rv: _why_not_one(model, rv, graphs) for rv in imputed}, None
    while before != reasons:
        before = dict(reasons)
        # What remains of a term in the model without the entries.
        kept = {term: [graph] if before.get(term, "") is not None else unproved[term] for term, graph in graphs.items()}
        for rv in (rv for rv, reason in before.items() if reason is None):
            others = {term: graphs for term, graphs in kept.items() if term not in rv.owner.outputs}
            reader = _reader(model.rvs_to_values[rv], others)
            reasons[rv] = None if reader is None else f"{reader!r} depends on them"
    entries = [rv for rv, reason in reasons.items() if reason is None]
    # Potentials of the model without the entries, in terms of values: conditions, and data with one operation for all.
    added = {}
    for rv in entries:
        added |= {f"{rv.name}_in_range_{k}": pt.switch(leaf, 0.0, -np.inf) for k, leaf in enumerate(unproved[rv])}
        if isinstance(rv.owner.op, PartialObservedRV):
            added[rv.owner.outputs[0].name] = _term_of_observed(model, rv, graphs)
    return IntegratedOut(
        _without(model, entries, added) if entries else model,
        {imputed[rv]: _length(rv) for rv in entries},
        {rv.name: reason for rv, reason in reasons.items() if reason is not None},
        frozenset(name for rv in entries for name in (rv.name, model.rvs_to_values[rv].name)),
    )


def _why_not_one(model, rv, graphs):
    """Why the density of a variable may not integrate to one where its parameters are in range; None if it does."""
    if not all(map(_is_proper, _random_operations(model, rv))):
        return "their density is not known to integrate to one"
    if not isinstance(rv.owner.op, RandomVariable):
        observed, _ = rv.owner.outputs
        for term in graphs:
            if term is not observed and observed in set(ancestors([term])):
                return f"{term.name!r} depends on the observed ones"
        if _term_of_observed(model, rv, graphs) is None:
            return "they are not known to be independent"
    if not reaches_all_values(rv, model.rvs_to_transforms[rv]):
        return "their transform may not reach all values"
    if model.rvs_to_values[rv] in set(ancestors(_conditions(graphs[rv]))):
        return "a condition on their parameters reads them"
    return None


def _random_operations(model, rv):
    """The operations that draw a variable given other variables of the model."""
    blockers = [other for other in model.basic_RVs if other is not rv]
    ops = {
        variable.owner.op
        for variable in ancestors([rv], blockers=blockers)
        if variable.owner is not None and variable not in blockers
    }
    ops = {op for op in ops if isinstance(op, RandomVariable | pm.SymbolicRandomVariable)}
    return ops | {op.base_rv_op for op in ops if hasattr(op, "base_rv_op")}


def _is_proper(op):
    """Whether the density of an operation integrates to one, and its draws follow it."""
    if isinstance(op, DiracDeltaRV | PartialObservedRV):
        return True
    return type(op).__module__ in _PROPER and not isinstance(op, _IMPROPER)


def _term_of_observed(model, rv, graphs):
    """Log-probabilities of the observed entries of data with one operation for all entries, in terms of other values;
    None unless these depend on no missing entry, and those of missing entries on their own value alone.
    """
    if not isinstance(rv.owner.op, PartialObservedRV) or rv.owner.op.ndim_supp:
        return None
    point, value = model.initial_point(), model.rvs_to_values[rv]
    entries = np.arange(point[value.name].size)
    flow = LabelFlow(
        {value: entries},
        PresentValues({value_var: np.asarray(point[value_var.name]) for value_var in model.value_vars}),
    )
    try:
        observed, missing = (flow(graphs[output]) for output in rv.owner.outputs)
    except (NotItemwise, IndexError):
        return None
    if not np.array_equal(missing, entries) or (observed is not None and (observed >= 0).any()):
        return None
    start = pt.constant(np.asarray(point[value.name], dtype=value.dtype))
    return graph_replace([graphs[rv.owner.outputs[0]]], {value: start}, strict=False)[0]


def _conditions(graph):
    """Conditions without which a log-probability is minus infinity or an error."""
    checks = [node for node in toposort([graph]) if isinstance(node.op, CheckAndRaise)]
    return [leaf for node in checks for condition in node.inputs[1:] for leaf in leaves(condition)]


def _not_implied(conditions, assumed):
    """The conditions that may fail where all assumed ones hold, each once."""
    unproved = []
    for leaf in conditions:
        is_same = any(equal_computations([leaf], [other]) for other in (*assumed, *unproved))
        if not always_holds(leaf) and not is_same:
            unproved.append(leaf)
    return unproved


def _reader(value, graphs):
    """The name of a term that reads a value in one of its graphs, None if there is none."""
    return next((term.name for term, of_term in graphs.items() if value in set(ancestors(of_term))), None)


def _length(rv):
    lengths = infer_shape([rv], [], [])[0]
    return int(np.prod([constant_value(length) for length in lengths]))


def _without(model, entries, added):
    """A model that shares everything with another one, in which some free variables are deterministics, and with
    potentials, a dict of graphs in terms of value variables.
    """
    copied = pm.Model(name=model.name, check_bounds=model.check_bounds, model=None)
    copied._coords, copied._dim_lengths = model._coords, model._dim_lengths
    together = [rv.owner.outputs[0] for rv in entries if isinstance(rv.owner.op, PartialObservedRV)]
    gone = {rv: model.rvs_to_values[rv] for rv in (*entries, *together)}
    for name in _LISTS:
        getattr(copied, name).extend(variable for variable in getattr(model, name) if variable not in gone)
    for name in _DICTS:
        getattr(copied, name).update({key: of for key, of in getattr(model, name).items() if key not in gone.values()})
    for name in _OF_RVS:
        getattr(copied, name).update({rv: of for rv, of in getattr(model, name).items() if rv not in gone})
    drawn = [*entries, *copied.deterministics]
    if together:
        # What is drawn reads the data themselves.
        names = [variable.name for variable in drawn]
        drawn = graph_replace(drawn, {observed: gone[observed] for observed in together}, strict=False)
        for name, variable in zip(names, drawn, strict=True):
            variable.name, copied.named_vars[name] = name, variable
    copied.deterministics = type(copied.deterministics)(drawn)
    for observed in together:
        del copied.named_vars[observed.name]
    in_values = {value: in_value_space(model, rv) for value, rv in copied.values_to_rvs.items() if rv in model.free_RVs}
    for name, graph in added.items():
        pm.Potential(name, graph_replace([graph], in_values, strict=False)[0], model=copied)
    return copied
