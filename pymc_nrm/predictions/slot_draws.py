"""Posterior draws of a partition whose labels index parameters, and the densities of items in every slot."""

from typing import Any, NamedTuple

import numpy as np
from pytensor.graph.traversal import ancestors

from pymc_nrm.itemwise.item_table import ItemTable
from pymc_nrm.model.dependents import other_uses
from pymc_nrm.model.rvs import find_partition, is_mixture, measure_of, n_items, n_slots
from pymc_nrm.model.values import Values, in_value_space
from pymc_nrm.predictions.same_model import check_same_model
from pymc_nrm.stats.draws import posterior_of, stacked


class SlotDraw(NamedTuple):
    """One posterior draw."""

    # The slot of each item; int64 of shape (n,).
    slots: Any
    # With float fields.
    measure: Any
    # The draw as values of the value variables, which PyMC may transform.
    point: Any


class SlotDraws:
    """An iterable of the posterior draws of a partition with ``max_clusters``, one :class:`SlotDraw` for each."""

    def __init__(self, idata, model, name, with_points=True, same_items=True):
        self.model, self.posterior = model, posterior_of(idata, by_chain=True)
        self.partition = find_partition(model, name)
        if self.partition not in model.free_RVs:
            raise ValueError(f"partition {name!r} must be sampled, since its labels index parameters; it is observed")
        if same_items:
            check_same_model(idata, model, self.partition)
        self.n_slots, self.n_items = n_slots(self.partition), n_items(self.partition)
        measure = measure_of(self.partition)
        self._measure_class, self._n_fields = type(measure), len(measure)
        variables = model.free_RVs if with_points else []
        self._values = [model.rvs_to_values[rv] for rv in variables]
        graphs = [in_value_space(model, rv) for rv in variables]
        self._at = Values.at_draws(model, [*measure, *graphs])
        self._draws = {variable.name: stacked(self.posterior, variable.name) for variable in self._at.inputs}
        self._slots = stacked(self.posterior, self.partition.name).astype(np.int64)
        if self._slots.ndim != 2 or self._slots.min() < 0 or self._slots.max() >= self.n_slots:
            raise ValueError(
                f"draws of {self.partition.name!r} must be slots from 0 to {self.n_slots - 1}, with dimensions (chain, "
                f"draw, item); got {dict(self.posterior[self.partition.name].sizes)} from {self._slots.min()} to "
                f"{self._slots.max()}"
            )
        self.n_old_items = self._slots.shape[1]

    def __len__(self):
        return self.posterior.sizes["chain"] * self.posterior.sizes["draw"]

    def __iter__(self):
        dtypes = {variable.name: variable.dtype for variable in self._at.inputs}
        for s in range(len(self)):
            values = self._at({name: np.asarray(draws[s], dtype=dtypes[name]) for name, draws in self._draws.items()})
            measure = self._measure_class(*[float(value) for value in values[: self._n_fields]])
            point = {
                value.name: np.asarray(found, dtype=value.dtype)
                for value, found in zip(self._values, values[self._n_fields :], strict=True)
            }
            yield SlotDraw(self._slots[s], measure, point or None)


class SlotDensities:
    """Log densities of the data of each item in every slot, at points."""

    def __init__(self, draws, names, point):
        self._names, self._n, self._n_slots = names, draws.n_items, draws.n_slots
        self._table = ItemTable(draws.model, draws.partition, draws.n_slots, point)

    def __call__(self, point):
        """Return the log densities at a point, shape (n, n_slots)."""
        table, slots = np.zeros((self._n, self._n_slots)), np.arange(self._n_slots)
        if set(self._names) >= set(self._table.names):
            self._table.fill(point, slots, slots, table)
            return table
        for slot in slots:
            rows = self._table.values(point, np.full(self._n, slot), by_term=True)
            table[:, slot] = sum((rows[name] for name in self._names), np.zeros(self._n))
        return np.nan_to_num(table, copy=False, nan=-np.inf, posinf=np.inf, neginf=-np.inf)


def data_of_items(model, partition):
    """Names of the observed variables that depend on labels, besides mixtures: the data of the items.

    Free variables that depend on labels and that no other variable depends on, such as missing values, are no data.
    """
    names = []
    for variable in other_uses(model, partition):
        if is_mixture(variable):
            continue
        if variable in model.potentials:
            raise ValueError(
                f"Potential {variable.name!r} depends on the labels of {partition.name!r} and does not say whether it "
                "is a density of data: write it as an observed variable, for example a pm.CustomDist"
            )
        if variable in model.observed_RVs:
            if model.logp(vars=[variable], sum=False)[0].type.ndim == 0:
                raise ValueError(
                    f"the log-probability of {variable.name!r} is one number for all items: give one for each row"
                )
            names.append(variable.name)
        else:
            for other in (*model.basic_RVs, *model.potentials):
                if other is not variable and variable in set(ancestors([other])):
                    raise ValueError(
                        f"{variable.name!r} is latent and depends on the labels of {partition.name!r}: the likelihood "
                        f"of an item is that of {other.name!r}, given a value of {variable.name!r} that was drawn with "
                        "its data; use a likelihood with the latent variable integrated out"
                    )
    return names
