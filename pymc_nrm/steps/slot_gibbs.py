"""Gibbs sampling of labels that index parameters, for any likelihood.

Labels are slots from 0 to ``max_clusters`` - 1.  Given the auxiliary variable u, a draw makes sweeps of these parts:

1. draw the parameters of empty slots from their prior;
2. draw a pool: all occupied slots and a random few of the empty ones;
3. compute the table of the log densities of all items in each slot of the pool, from the graph of the model;
4. redraw the slot of each item within the pool, from its exact conditional distribution.

Read next ``moves/slot_pool.py``, the pool and the proof that it is exact; ``models/itemwise/item_table.py``, the table;
``models/itemwise/local_variables.py``, which parameters empty slots may redraw; ``steps/slot_nuts.py``, the step that
moves parameters of occupied slots.
"""

import math
from functools import partial
from typing import Any

import numpy as np
from pymc.exceptions import SamplingError

from pymc_nrm.common.checks import check_count, check_number
from pymc_nrm.common.marks import ALL_SLOTS_USED
from pymc_nrm.common.pymc_internals import Competence
from pymc_nrm.kernels.generic import precompile
from pymc_nrm.kernels.lanes import LANES, whole_lanes
from pymc_nrm.models.itemwise.item_table import ItemTable
from pymc_nrm.models.rvs import kind_of
from pymc_nrm.moves.gibbs import scan_order, weights_given
from pymc_nrm.moves.slot_pool import Pool, build_pool, draw_pool, log_truncation, pool_sweep, sum_of_items
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.labels import canonical_labels, label_counts
from pymc_nrm.partitions.slots import Slots
from pymc_nrm.steps.base import PartitionStep
from pymc_nrm.steps.comparison import OwnMove
from pymc_nrm.steps.label_moves import (
    MOST_ITEMS,
    PartitionRatios,
    empty_slot_move,
    equal_weights,
    indexed_moves,
    item_moves,
    log_ratio_of_choices,
)
from pymc_nrm.steps.slot_nuts import warn_without_slot_nuts
from pymc_nrm.steps.slot_step import SlotStep


class SlotGibbs(SlotStep, PartitionStep):
    """Gibbs sampling of a partition whose labels index parameters, one item at a time, for any likelihood.

    Each of the sweeps of a draw first draws the parameters of empty slots from their prior, then a random pool of
    slots, the occupied ones and a few empty ones, and then the slot of every item within the pool.  All of it leaves
    the posterior invariant; together with a step that moves the parameters it is irreducible.

    Parameters
    ----------
    vars : list of Partition
        With ``max_clusters``.
    n_sweeps : int
        Sweeps per draw.
    mean_empty : float
        Mean number of empty slots in the pool.
    %(step_options)s

    Raises
    ------
    ValueError
        If the model uses the labels other than item by item, or an option is not allowed.

    References
    ----------
    Neal (2000), "Markov chain sampling methods for Dirichlet process mixture models", algorithm 8; Favaro & Teh (2013),
    "MCMC for normalized random measure mixture models", section 4.2, who keep the parameters of empty clusters.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4, max_clusters=10)
    ...     rate = pm.Gamma("rate", 1, 1, shape=10)
    ...     x = pm.Poisson("x", rate[z], observed=[0, 1, 8, 9])
    ...     step = nrm.steps.SlotGibbs([z])
    >>> [variable.name for variable in step.vars]
    ['z']
    """

    name = "slot_gibbs"
    stats_dtypes_shapes = {**PartitionStep.common_stats, "n_moved": (np.int64, []), ALL_SLOTS_USED: (bool, [])}
    kinds = (Slots,)
    _competence_for_partitions = Competence.IDEAL

    def __init__(self, vars: Any = None, *, n_sweeps: int = 5, mean_empty: float = 4.0, **kwargs: Any) -> None:
        super().__init__(vars, options={"n_sweeps": n_sweeps, "mean_empty": mean_empty}, **kwargs)
        warn_without_slot_nuts(self, self.local, kwargs)

    def check_options(self, n):
        """Check the options."""
        check_count("n_sweeps", self.options["n_sweeps"], 1)
        mean = self.options["mean_empty"]
        check_number("mean_empty", mean, lambda value: 1e-3 <= value <= 1e3, "from 0.001 to 1000")

    def compile_kernels(self, model, partition, point, compile_kwargs):
        """Read how the model uses the labels, and compile the kernels of a draw."""
        self.max_clusters = kind_of(partition).max_clusters
        self.check_options(len(point[self.partition.name]))
        self._log_truncation = log_truncation(self.max_clusters, self.options["mean_empty"])
        self.table = ItemTable(model, partition, self.max_clusters, point, compile_kwargs)
        self.read_slots(model, partition, self.table, point, compile_kwargs)
        measure, family, data = self.target.at(point)
        labels = self.partition.read(point)
        precompile(weights_given, self.rng, measure, len(labels), 1, math.nan)
        table, _, _ = self._draw_weights(np.random.default_rng(0), measure, labels)
        precompile(scan_order, self.rng, 2, 1)
        precompile(draw_pool, self.rng, np.zeros(self.max_clusters, dtype=np.int64), 1.0)
        pool = build_pool(labels * 0, 1, family, data)
        values = np.zeros((len(labels), LANES))
        precompile(pool_sweep, self.rng, pool, table, family, data, values, self._log_truncation, labels)
        sum_of_items(values, pool.columns)
        if self.target.has_mixtures:
            self._log_target(build_state(canonical_labels(labels), family, data), table, family, data)

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self.table.refresh()
        self.empty_slots.reseed(self.rng)

    def check_start(self, point, inputs):
        labels, weights, family, data = inputs[:4]
        self.check_options(len(labels))
        log_density = self.table.values(point, labels).sum()
        value = inputs.u_term + log_density + self._log_prior_and_mixtures(labels, weights, family, data)
        if not math.isfinite(value):
            raise self.not_finite_error(point, value)

    def draw(self, point, inputs):
        labels, weights, family, data = inputs[:4]
        log_empty = weights.join[0] - math.log(self.options["mean_empty"]) + self._log_truncation
        items = scan_order(self.rng, len(labels), len(labels))
        table = slots = None
        n_moved = 0
        for _ in range(self.options["n_sweeps"]):
            counts = np.bincount(labels, minlength=self.max_clusters)
            point = self.empty_slots.redraw(point, counts == 0)
            kept, kept_table = slots, table
            slots, n_occupied = draw_pool(self.rng, counts, self.options["mean_empty"])
            table = self._fill(point, slots, n_occupied, kept, kept_table, len(labels))
            place = np.zeros(self.max_clusters, dtype=np.int64)
            place[slots] = np.arange(len(slots))
            pool = build_pool(place[labels], len(slots), family, data)
            n_moved += pool_sweep(self.rng, pool, weights, family, data, table, log_empty, items)
            labels = slots[pool.columns]
        log_target = sum_of_items(table, pool.columns) + self._log_prior_and_mixtures(labels, weights, family, data)
        stats = {"n_moved": n_moved, ALL_SLOTS_USED: len(np.unique(labels)) == self.max_clusters}
        return self.make_draw(self.partition.write(point, labels), inputs, log_target, stats)

    def not_finite_error(self, point, value):
        labels = self.partition.read(point)
        sentences = []
        for name, values in self.table.values(point, labels, by_term=True).items():
            if not np.isfinite(values).all():
                item = int(np.argmin(np.isfinite(values)))
                entries = ", ".join(f"{v}[{labels[item]}]={point[v][labels[item]]}" for v in self.empty_slots.names)
                sentences.append(f"{name!r} has log density {values[item]} for item {item}, whose slot has {entries}.")
        if not sentences:
            measure, _, _ = self.target.at(point)
            sentences.append(f"All items have finite log densities; the partition has {measure}.")
        return SamplingError(
            f"the log joint density of partition {self.partition.name!r} and parameters by label is not finite "
            f"{self.when}: {value}. {' '.join(sentences)} Check data and covariates, or priors that allow such values"
        )

    def moves_to_compare(self, rng, point):
        """The draw for empty slots, and moves of items between slots."""
        yield from empty_slot_move(point, self.partition, self.empty_slots, self.comparison.terms)
        labels = self.partition.read(point)
        if len(labels) > MOST_ITEMS:
            return
        measure, family, data = self.target.at(point)
        ratios, table = PartitionRatios(measure, len(labels)), equal_weights(len(labels))

        def log_ratio(before, after):
            before, after = (label_counts(canonical_labels(chosen)) for chosen in (before, after))
            ratio, n_empty = ratios(before, after), self.max_clusters - len(before)
            # The slot of a new cluster is one of the empty ones.
            return ratio if ratio is None or len(after) == len(before) else ratio - math.log(n_empty)

        log_target = partial(self._log_target, table=table, family=family, data=data)
        yield from indexed_moves(
            rng,
            point,
            self.partition,
            self.table,
            family,
            data,
            log_ratio,
            log_target if self.target.has_mixtures else None,
        )
        yield from self._moves_of_sweep(rng, point, labels, family, data, log_ratio)

    def _moves_of_sweep(self, rng, point, labels, family, data, log_ratio):
        """Moves of items, read from the probabilities of a sweep."""
        for before, after, item in item_moves(rng, labels, self.max_clusters):
            if (prior := log_ratio(before, after)) is None:
                continue
            slots = np.union1d(before, after[item])
            columns, weights = np.searchsorted(slots, before), equal_weights(len(before))
            pool = build_pool(columns, len(slots), family, data)
            table = np.zeros((len(before), whole_lanes.__wrapped__(len(slots))))
            self.table.fill(point, slots, np.arange(len(slots)), table)
            no_weight, items = np.zeros(self.max_clusters), np.array([item])

            def chosen(generator, pool=pool, table=table, weights=weights, no_weight=no_weight, items=items):
                pool = Pool(*map(np.copy, pool))
                pool_sweep(generator, pool, weights, family, data, table, no_weight, items)
                return int(pool.columns[items[0]])

            new = int(np.searchsorted(slots, after[item]))
            ratio = log_ratio_of_choices(chosen, int(columns[item]), new, len(slots))
            if ratio is not None:
                yield OwnMove(
                    f"item {item} of {self.partition.name!r} moves from slot {before[item]} to slot {after[item]}, by "
                    "its Gibbs update",
                    *(self.partition.write(point, chosen) for chosen in (before, after)),
                    ratio + prior,
                )

    def _fill(self, point, slots, n_occupied, kept, kept_table, n):
        """The table of a pool; columns of slots that were in the last pool and occupied are copied from its table."""
        width = whole_lanes.__wrapped__(len(slots))
        table = np.zeros((n, width))
        if kept is None:
            new = np.arange(len(slots))
        else:
            old_place = np.full(self.max_clusters, -1)
            old_place[kept] = np.arange(len(kept))
            # Empty slots have new parameters; occupied ones were in the last pool.
            table[:, :n_occupied] = kept_table[:, old_place[slots[:n_occupied]]]
            new = np.arange(n_occupied, len(slots))
        self.table.fill(point, slots[new], new, table)
        return table

    def _log_prior_and_mixtures(self, labels, weights, family, data):
        canonical = canonical_labels(labels)
        if self.target.has_mixtures:
            return self._log_target(build_state(canonical, family, data), weights, family, data)
        return weights.moment[label_counts(canonical)].sum()
