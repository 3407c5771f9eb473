"""Missing entries of an observed mixture: a free variable, which also fills the gaps in the value of the mixture."""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.subtensor import AdvancedIncSubtensor

from pymc_nrm.common.pymc_internals import ValuedRV, logprob, support_point
from pymc_nrm.families.shared.scale import from_scale, to_scale
from pymc_nrm.models.values import computed_by, constant_value


class MissingEntriesRV(pm.SymbolicRandomVariable):
    """Entries of a mixture at fixed positions; the log-probability of the mixture covers all of its entries."""

    _print_name = ("Missing", "\\operatorname{Missing}")


def add_missing_entries(model, mixture, values):
    """Add the NaN entries in the data of a mixture to the model, and to the value of the mixture.

    Forward draws take them from the mixture, so the two are jointly distributed.  Shapes: ``values`` (n, d) or (n,).
    """
    places = np.nonzero(np.isnan(values))
    is_known, family = ~np.isnan(values), mixture.owner.op.family(mixture.owner)
    totals = np.where(
        is_known, to_scale(family, slice(None), values.reshape(len(values), -1)).reshape(values.shape), 0.0
    )
    start = np.broadcast_to(totals.sum(axis=0) / np.maximum(is_known.sum(axis=0), 1), values.shape)[places]
    start = from_scale(family, places[1] if values.ndim == 2 else np.zeros_like(places[0]), start)
    inputs = [mixture.type(), pt.vector(), *[pt.lvector() for _ in places]]
    op = MissingEntriesRV(inputs, [inputs[0][tuple(inputs[2:])]], ndim_supp=1, on_unused_input="ignore")
    dim = f"{mixture.name}_missing_entry"
    model.add_coord(dim, _names_of_entries(model, mixture, places))
    entries = model.register_rv(op(mixture, start, *places), f"{mixture.name}_missing", dims=(dim,))
    observed = model.rvs_to_values.pop(mixture)
    del model.values_to_rvs[observed]
    value = pt.set_subtensor(observed[places], model.rvs_to_values[entries])
    model.create_value_var(mixture, value_var=value, transform=None, default_transform=None)
    return entries


def missing_variables(model):
    """Names of the variables of missing entries in a model, with the names of their mixtures."""
    return {rv.name: rv.owner.inputs[0].name for rv in model.free_RVs if isinstance(rv.owner.op, MissingEntriesRV)}


def _names_of_entries(model, mixture, places):
    """Item and feature of each entry, by coordinates if there are any."""
    dims = model.named_vars_to_dims.get(mixture.name) or (None,) * len(places)
    names_of_axes = [model.coords.get(dim) for dim in dims]
    columns = [
        place if names is None else [names[i] for i in place]
        for names, place in zip(names_of_axes, places, strict=True)
    ]
    return [", ".join(map(str, names)) for names in zip(*columns, strict=True)]


class Gaps(NamedTuple):
    """Data with NaN, the symbolic vector of missing entries, and their positions, an index for each axis."""

    values: Any
    entries: Any
    places: Any
    # Whether the data are constant.
    are_fixed: bool

    @property
    def rows_and_columns(self):
        """Positions in the data as a matrix (n, d)."""
        rows, *columns = self.places
        return rows, columns[0] if columns else np.zeros_like(rows)


def gaps_of(value):
    """Gaps in the value of a mixture, or None if no gaps are drawn."""
    if value is None or not computed_by(value, AdvancedIncSubtensor):
        return None
    observed, entries, *places = value.owner.inputs
    if not all(isinstance(place, Constant) for place in places):
        return None
    return Gaps(
        constant_value(observed), entries, tuple(place.data for place in places), isinstance(observed, Constant)
    )


def check_gaps(mixture, value):
    """Check that new data of a mixture have NaN at the original positions."""
    gaps = gaps_of(value)
    if gaps is None:
        return
    expected = np.zeros(gaps.values.shape, dtype=bool)
    if all(place.max() < length for place, length in zip(gaps.places, expected.shape, strict=True)):
        expected[gaps.places] = True
    differs = np.isnan(gaps.values) != expected
    if differs.any():
        place = np.argwhere(differs)[0].tolist()
        raise ValueError(
            f"data of Mixture {mixture!r} must have NaN where they had NaN when the model was created, since missing "
            f"values are variables of the model; they differ at {place}. Create the model again"
        )


def check_free_entries(model, mixture, value):
    """Check that the missing entries in the value of a mixture are free: the value keeps the original variable."""
    gaps = gaps_of(value)
    if gaps is not None and set(model.value_vars).isdisjoint(graph_inputs([gaps.entries])):
        raise _not_free_error(mixture)


def _not_free_error(mixture):
    return ValueError(
        f"missing entries of Mixture {mixture!r} must stay free: pm.observe and pm.do cannot fix them. Create the "
        "model with these values in the array observed"
    )


def continuous_values(model):
    """Continuous value variables of a model that a gradient moves: all but missing entries."""
    return [
        value
        for value in model.continuous_value_vars
        if not isinstance(model.values_to_rvs[value].owner.op, MissingEntriesRV)
    ]


@logprob.register(MissingEntriesRV)
def _missing_entries_logp(op, values, mixture, *inputs, **kwargs):
    # The value of the mixture keeps the variable of free entries.
    gaps = gaps_of(mixture.owner.inputs[1]) if computed_by(mixture, ValuedRV) else None
    if gaps is not None and values[0] not in graph_inputs([gaps.entries]):
        raise _not_free_error(mixture.name)
    return pt.zeros(())


@support_point.register(MissingEntriesRV)
def _missing_entries_support_point(op, rv, mixture, start, *places):
    return start
