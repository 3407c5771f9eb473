"""Gibbs sampling of labels whose weights are the user's own: all labels at once.

Given weights and everything that labels index, items are independent.  A draw

1. swaps components, where labels index no parameters, see ``component_swaps.py``;
2. draws the parameters of all components of the mixtures over the partition from their full conditional;
3. draws the label of each item given its weights, its rows in each component, and these parameters;
4. forgets the parameters.

Families without densities given parameters have a sweep in place of 2 to 4: each label in turn, given all others, from
``softmax(W_i)[k] p(y_i | y of the other items in k)`` with parameters integrated out.

Read next ``partitions/weighted_components.py``, the prior; ``moves/component_labels.py``, the kernels;
``models/itemwise/item_table.py``, densities of what labels index; ``steps/weighted_nuts.py``, the step that moves
weights and parameters with labels summed out.
"""

from typing import Any

import numpy as np
import scipy
from pymc.exceptions import SamplingError
from pytensor.graph.traversal import ancestors

from pymc_nrm.common.marks import NUMBER
from pymc_nrm.common.pymc_internals import Competence
from pymc_nrm.families.needs import COMPONENT_PANEL, PARAMETERS
from pymc_nrm.kernels.generic import lacking, precompile
from pymc_nrm.kernels.lanes import LANES, whole_lanes
from pymc_nrm.models.missing_entries import continuous_values
from pymc_nrm.models.model_graphs import at_values
from pymc_nrm.models.rvs import checked_model, family_of, mixtures_of, partitions_of
from pymc_nrm.moves.gibbs import scan_order
from pymc_nrm.moves.slot_pool import build_pool, pool_sweep
from pymc_nrm.partitions.weighted_components import WeightedComponents, draw_of_rows
from pymc_nrm.steps.base import LabelStep, common_statistics
from pymc_nrm.steps.component_swaps import ComponentSwaps
from pymc_nrm.steps.indexed_data import IndexedData
from pymc_nrm.steps.label_moves import equal_weights
from pymc_nrm.steps.nuts_step import warn_of_stock_nuts
from pymc_nrm.steps.step import Draw


def has_densities(model, partition):
    """Whether families of all mixtures over a partition have densities given parameters, and draws of these."""
    families = [type(family_of(mixture)) for mixture in mixtures_of(model, partition)]
    return not any(lacking(family_class, (*PARAMETERS, *COMPONENT_PANEL)) for family_class in families)


def values_for_weighted_nuts(model, values):
    """The value variables, among these, that no mixture over such a partition depends on, nor has as its data."""
    mixtures = [rv for partition in partitions_of(model, WeightedComponents) for rv in mixtures_of(model, partition)]
    parts = [part for rv in mixtures for part in (*family_of(rv), model.rvs_to_values[rv])]
    used = set(ancestors(at_values(model, parts)))
    return [value for value in values if value not in used]


class ComponentLabels(IndexedData):
    """Draws of all labels of one partition with weights of the user's own, for the steps that make them."""

    def __init__(self, model, partition, point, compile_kwargs=None):
        super().__init__(model, partition, point, compile_kwargs)
        self.has_densities = has_densities(model, partition)

    def compile(self, rng, labels, family, data):
        precompile(draw_of_rows, rng, np.zeros((1, self.n_components)))
        if self.has_densities:
            super().compile(rng, labels, family, data)
            return
        self.log_marginal(labels * 0, family, data)
        pool, table, weights = build_pool(labels * 0, 1, family, data), np.zeros((len(labels), LANES)), equal_weights(1)
        precompile(scan_order, rng, 2, 1)
        precompile(pool_sweep, rng, pool, weights, family, data, table, weights.join, labels)

    def shares(self, prior):
        """Log probabilities of the components of each item, (n, K)."""
        log_weights = prior.log_weights
        wrong = ~np.isfinite(log_weights.max(axis=1))
        if wrong.any():
            item = int(np.argmax(wrong))
            raise SamplingError(
                f"log_weights of partition {self.name!r} must be below infinity, with a finite entry in every row; got "
                f"{log_weights[item][:6].tolist()} for item {item}"
            )
        return scipy.special.log_softmax(log_weights, axis=1)

    def draw(self, rng, point, shares, of_mixtures):
        """Draw all labels given everything that they index; also returns the densities of what they index, (n, K)."""
        indexed = np.zeros((len(shares), self.n_components))
        slots = np.arange(self.n_components)
        self.table.fill(point, slots, slots, indexed)
        return draw_of_rows(rng, shares + indexed + of_mixtures), indexed

    def moves_to_compare(self, rng, point, partition):
        """Moves of items between components."""
        prior, family, data = self.target.at(point)
        shares = self.shares(prior)
        items = np.arange(len(shares))

        def log_ratio(before, after):
            return shares[items, after].sum() - shares[items, before].sum()

        yield from self.moves(rng, point, partition, family, data, log_ratio)

    def log_probability_of_labels(self, point):
        """Log probability of the labels at a point given everything that they index, without mixtures."""
        shares = self.shares(self.target.at(point)[0])
        table, slots = np.zeros(shares.shape), np.arange(self.n_components)
        self.table.fill(point, slots, slots, table)
        return scipy.special.log_softmax(shares + table, axis=1)[np.arange(len(table)), point[self.name]].sum()

    def draw_in_turn(self, rng, point, labels, shares, family, data):
        """Redraw labels one by one in random order given all others, with parameters of mixtures integrated out; also
        returns the densities of what they index, (n, K).
        """
        n, n_components = shares.shape
        slots, indexed = np.arange(n_components), np.zeros((n, whole_lanes.__wrapped__(n_components)))
        self.table.fill(point, slots, slots, indexed)
        table, weights = indexed.copy(), equal_weights(max(n, n_components))
        table[:, :n_components] += shares
        pool = build_pool(labels, n_components, family, data)
        pool_sweep(rng, pool, weights, family, data, table, weights.join, scan_order(rng, n, n))
        return pool.columns, indexed


class WeightedGibbs(LabelStep):
    """Gibbs sampling of a partition with ``log_weights``, all labels at once, for any likelihood.

    Parameters of the components of mixtures are drawn given labels, all labels given these, and the parameters are
    forgotten.  Families that have no density given parameters have their labels drawn one by one, each given all
    others.  This leaves the posterior invariant; with steps for all other variables it is irreducible.

    Parameters
    ----------
    vars : list of Partition
        With ``log_weights``.
    %(step_options)s

    Raises
    ------
    ValueError
        If the model uses the labels other than item by item.

    See Also
    --------
    WeightedNUTS : moves weights and parameters with labels summed out, which is faster; ``nrm.sample`` chooses it.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.Partition("z", log_weights=np.log([0.5, 0.5]), n=4)
    ...     rate = pm.Gamma("rate", 1, 1, shape=2)
    ...     x = pm.Poisson("x", rate[z], observed=[0, 1, 8, 9])
    ...     step = nrm.steps.WeightedGibbs([z])
    >>> [variable.name for variable in step.vars]
    ['z']
    """

    name = "weighted_gibbs"
    stats_dtypes_shapes = {
        "n_clusters": (np.int64, []),
        "log_joint": (np.float64, []),
        "entropy": (np.float64, []),
        "n_moved": (np.int64, []),
        NUMBER: (np.int64, []),
    }
    kinds = (WeightedComponents,)
    _competence_for_partitions = Competence.IDEAL

    def __init__(self, vars: Any = None, **kwargs: Any) -> None:
        super().__init__(vars, options={}, **kwargs)
        model = checked_model(kwargs.get("model"))
        if self.labels.has_densities and values_for_weighted_nuts(model, continuous_values(model)):
            warn_of_stock_nuts(
                kwargs,
                f"PyMC's NUTS samples weights and parameters given labels of {self.partition.name!r}, which is exact "
                "but\nslow. nrm.sample chooses WeightedNUTS, with labels summed out; step=[nrm.steps.WeightedNUTS()] "
                "does so here.",
            )

    def check_variable(self, model, partition):
        if not isinstance(self.partition, self.kinds):
            raise ValueError(
                f"vars of WeightedGibbs must be a Partition with log_weights; {partition.name!r} is one "
                f"{self.partition.sampled_by}"
            )

    def compile(self, model, point, compile_kwargs):
        self.labels = ComponentLabels(model, self.variable_in(model), point, compile_kwargs)
        self.target = self.labels.target
        prior, family, data = self.target.at(point)
        self.labels.shares(prior)
        self.labels.compile(self.rng, self.partition.read(point), family, data)
        self._swaps = ComponentSwaps(model, self.variable_in(model), self.labels, [], point)

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self.labels.refresh()

    def read_point(self, point):
        prior, family, data = self.target.at(point)
        return self.partition.read(point), self.labels.shares(prior), family, data

    def check_start(self, point, inputs):
        labels, shares, family, data = inputs
        value = self._log_joint(shares, self.labels.table.values(point, labels), labels, family, data)
        if not np.isfinite(value):
            raise self.not_finite_error(point, value)

    def draw(self, point, inputs):
        old, shares, family, data = inputs
        swapped = self.partition.read(self._swaps.redraw(self.rng, point, shares))
        if self.labels.has_densities:
            of_mixtures = self.labels.densities_of_mixtures(self.rng, swapped, family, data)
            labels, indexed = self.labels.draw(self.rng, point, shares, of_mixtures)
        else:
            labels, indexed = self.labels.draw_in_turn(self.rng, point, swapped, shares, family, data)
        if labels.min() < 0:
            raise self.not_finite_error(point, -np.inf)
        rows = indexed[np.arange(len(labels)), labels]
        log_joint = self._log_joint(shares, rows, labels, family, data)
        stats = common_statistics(np.bincount(labels), log_joint, self._number)
        stats["n_moved"] = int((labels != old).sum())
        return Draw(self.partition.write(point, labels), log_joint, stats)

    def moves_to_compare(self, rng, point):
        """Moves of items between components, and a swap of two components."""
        yield from self.labels.moves_to_compare(rng, point, self.partition)
        yield from self._swaps.moves_to_compare(rng, point, self.labels.shares(self.target.at(point)[0]))

    def _log_joint(self, shares, rows, labels, family, data):
        log_prior = shares[np.arange(len(labels)), labels].sum()
        return float(log_prior + rows.sum() + self.labels.log_marginal(labels, family, data))

    def not_finite_error(self, point, value):
        labels = self.partition.read(point)
        sentences = [
            f"{name!r} has {density} for item {item} in component {labels[item]}."
            for name, density, item in self.labels.impossible_items(point, labels)
        ]
        return SamplingError(
            f"the log joint density of partition {self.partition.name!r} and of what its labels index is not finite "
            f"{self.when}: {value}. {' '.join(sentences)} Check data, covariates and log_weights, or priors that allow "
            "such values"
        )
