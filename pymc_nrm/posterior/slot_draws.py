"""Draws of a partition whose labels index parameters, with the densities of items in every slot."""

import functools

import numpy as np
from pytensor.graph.traversal import ancestors

from pymc_nrm.common.progress import tracked
from pymc_nrm.models.itemwise.flow import terms_of
from pymc_nrm.models.itemwise.item_table import ItemTable
from pymc_nrm.models.model_graphs import log_probabilities
from pymc_nrm.models.rvs import dims_of, other_uses
from pymc_nrm.models.values import Values, in_value_space
from pymc_nrm.partitions.slots import MOST_TRIES
from pymc_nrm.posterior.draws import Draws
from pymc_nrm.posterior.tables import log_sum_rows
from pymc_nrm.stats.draws import stacked


class SlotDraws(Draws):
    """Draws of a partition with ``max_clusters``, whose values are the slots of the items.

    Its data may be mixtures, or other variables given parameters of the slots, which are a part of every draw.
    """

    def __init__(self, idata, model, rv, *, same_items=True):
        super().__init__(idata, model, rv, same_items=same_items)
        self.max_clusters, self._item_table = self.kind.max_clusters, None
        if self.is_observed:
            return
        stored = self.posterior[rv.name]
        if len(self.dims) != 1 or stored.min() < 0 or stored.max() >= self.max_clusters:
            raise ValueError(
                f"draws of {rv.name!r} must be slots from 0 to {self.max_clusters - 1}, with dimensions (chain, draw, "
                f"item); got {dict(stored.sizes)} from {int(stored.min())} to {int(stored.max())}"
            )
        self.n_old_items = stored.sizes[self.item_dim]

    @classmethod
    def for_new_items(cls, idata, model, rv, X_new):
        names = data_of_items(model, rv)
        if not names:
            return super().for_new_items(idata, model, rv, X_new)
        if X_new is not None:
            raise ValueError(
                f"X_new must be None, since {names[0]!r} depends on the labels of {rv.name!r} as an index: give the "
                "data of new items to the model by pm.set_data"
            )
        return cls.with_new_data(idata, model, rv)

    @classmethod
    def with_new_data(cls, idata, model, rv):
        draws = cls(idata, model, rv, same_items=False)
        if draws.is_observed:
            raise ValueError(
                f"partition {rv.name!r} must be sampled, since its labels index parameters; it is observed"
            )
        if draws.mixtures:
            raise ValueError(
                f"labels of new items cannot be drawn, since Mixture {draws.mixtures[0]!r} depends on the partition "
                f"{rv.name!r}: its clusters need the old data, which are no longer in the model"
            )
        return draws

    @functools.cached_property
    def indexed(self):
        """Names of the data that depend on labels as an index."""
        return data_of_items(self.model, self.rv)

    def names_of_data(self):
        return [*self.mixtures, *self.indexed]

    def new_items(self, X_new):
        return super().new_items(X_new) if X_new is not None else self.new_slots(self.indexed)

    def new_slots(self, names):
        """Data of new items, which the model holds, of the given names."""
        return NewSlots(self, names)

    @functools.cached_property
    def _points(self):
        """The free value variables, their values as functions of a draw, and the draws that they are functions of."""
        model = self.model
        at = Values.at_draws(model, [in_value_space(model, rv) for rv in model.free_RVs])
        values = [model.rvs_to_values[rv] for rv in model.free_RVs]
        return values, at, {variable: stacked(self.posterior, variable.name) for variable in at.inputs}

    def point(self, draw):
        """A draw as values of the value variables, which PyMC may transform."""
        values, at, draws = self._points
        point = {variable.name: np.asarray(rows[draw.index], variable.dtype) for variable, rows in draws.items()}
        return {value.name: np.asarray(entry, value.dtype) for value, entry in zip(values, at(point), strict=True)}

    def log_densities(self, point, names):
        """Log densities of data of each item in every slot at a point, shape (n_items, max_clusters)."""
        if self._item_table is None:
            self._item_table = ItemTable(self.model, self.rv, self.max_clusters, point)
        items = self._item_table
        table, slots = np.zeros((self.n_items, self.max_clusters)), np.arange(self.max_clusters)
        if set(names) >= set(items.names):
            items.fill(point, slots, slots, table)
            return table
        for slot in slots:
            rows = items.values(point, np.full(self.n_items, slot), by_term=True)
            table[:, slot] = sum((rows[name] for name in names), np.zeros(self.n_items))
        return np.nan_to_num(table, copy=False, nan=-np.inf, posinf=np.inf, neginf=-np.inf)

    def leave_one_out(self, draw):
        """Log density of the data of each item given all other items, and the parameters of all slots."""
        table = np.zeros((self.n_items, self.max_clusters))
        if self.indexed:
            table += self.log_densities(self.point(draw), self.indexed)
        if self.mixtures:
            of_clusters = self.leave_one_out_table(draw)
            table += by_slot(of_clusters, slots_in_use(draw), self.max_clusters)
        weights = log_slot_weights(self.log_join_others(draw), slots_in_use(draw), self.max_clusters)
        return log_sum_rows(table + weights)

    def log_weights_of_new(self, draw):
        """Log probabilities of the slot of one more item, before its data are seen, shape (1, max_clusters)."""
        return log_slot_weights(self.log_join(draw, 1), slots_in_use(draw), self.max_clusters)

    def draw_new_slots(self, draw, rng):
        """Draw the slots of the new items one after another, given that there are at most ``max_clusters`` clusters."""
        used_slots, n_old = slots_in_use(draw), len(draw.labels)
        for _ in range(MOST_TRIES):
            labels = self.labels_with_new(draw, self.n_items, rng)[n_old:]
            if labels.max() < self.max_clusters:
                empty = np.setdiff1d(np.arange(self.max_clusters), used_slots)
                return np.concatenate([used_slots, rng.permutation(empty)])[labels]
        raise ValueError(self.kind.failed_draw)


def slots_in_use(draw):
    """The slot of each cluster, in the order of their labels."""
    return draw.value[np.unique(draw.labels, return_index=True)[1]]


def by_slot(table, used_slots, max_clusters):
    """Give a table a column for each slot: the column of a cluster in its own slot, the last column in all others."""
    whole = np.repeat(table[:, -1:], max_clusters, axis=1)
    whole[:, used_slots] = table[:, :-1]
    return whole


def log_slot_weights(join, used_slots, max_clusters):
    """Log probabilities of slots, given those of clusters and of a new one, which the free slots share equally. If none
    is free, the item joins an old cluster. A cluster of probability zero, from which its only item was removed, leaves
    its slot free.
    Shapes: ``join`` (m, n_clusters + 1), ``used_slots`` (n_clusters,); returns (m, max_clusters).
    """
    free = np.ones((len(join), max_clusters), dtype=bool)
    free[:, used_slots] = np.isneginf(join[:, :-1])
    new = join[:, -1:] - np.log(np.maximum(free.sum(axis=1, keepdims=True), 1))
    weights = np.where(free, new, by_slot(join, used_slots, max_clusters))
    return weights - log_sum_rows(weights)[:, None]


def data_of_items(model, partition):
    """Names of the observed variables that depend on labels, besides mixtures: the data of the items.

    Free variables that depend on labels and that no other variable depends on, such as missing values, are not data.
    """
    names = []
    for variable in other_uses(model, partition):
        if variable in model.potentials:
            raise ValueError(
                f"Potential {variable.name!r} depends on the labels of {partition.name!r} and may or may not be a "
                "density of data: write it as an observed variable, for example a pm.CustomDist"
            )
        if variable in model.observed_RVs:
            if log_probabilities(model, [variable])[0].type.ndim == 0:
                raise ValueError(
                    f"the log-probability of {variable.name!r} is one number for all items: give one for each row"
                )
            names.append(variable.name)
        else:
            for other in (*model.basic_RVs, *model.potentials):
                if other is not variable and variable in set(ancestors([other])):
                    raise ValueError(
                        f"{variable.name!r} is latent and depends on the labels of {partition.name!r}: {other.name!r} "
                        f"would be the likelihood of an item given a value of {variable.name!r} that was drawn with "
                        "its data; use a likelihood with the latent variable integrated out"
                    )
    return names


class NewSlots:
    """New items, each taken by itself, with data of the given names."""

    def __init__(self, draws, names):
        self._draws, self._names = draws, names
        dim = dims_of(draws.model, draws.rv)[0]
        values = draws.model.coords.get(dim)
        self.dim, self.coords = f"new_{dim}", {} if values is None else {f"new_{dim}": np.asarray(values)}

    @staticmethod
    def places(draw):
        """Where the items of a draw are, as indices of the columns of a table."""
        return draw.value

    def tables(self, description, progressbar):
        """Iterate over the draws, with log probabilities of the slots of every new item, shape (m, max_clusters)."""
        draws, name = self._draws, self._draws.partition
        for draw in tracked(draws, description, progressbar):
            point = {**draws.point(draw), name: np.zeros(draws.n_items, dtype=np.int64)}
            if draw.index == 0:
                _check_shapes(draws, point)
            table = draws.log_densities(point, self._names) + draws.log_weights_of_new(draw)
            total = log_sum_rows(table)
            if not np.isfinite(total).all():
                item = int(np.argmin(np.isfinite(total)))
                raise ValueError(
                    f"data of new item {item} of partition {name!r} have log density {total[item]} given a draw: "
                    "they are impossible in every slot"
                )
            yield draw, table - total[:, None]


def _check_shapes(draws, point):
    """Check that draws of the variables that the data depend on have the shapes that new data need."""
    model = draws.model
    used = set(ancestors([term.graph for term in terms_of(model, draws.rv)]))
    shapes = model.eval_rv_shapes()
    for rv in model.free_RVs:
        value = model.rvs_to_values[rv]
        if value in used and rv is not draws.rv and np.shape(point[value.name]) != tuple(shapes[value.name]):
            raise ValueError(
                f"known must be [], since the data of new items depend on {rv.name!r}, which has values for the "
                f"old items only: its draws have shape {np.shape(point[value.name])}, the model needs "
                f"{tuple(map(int, shapes[value.name]))}"
            )
