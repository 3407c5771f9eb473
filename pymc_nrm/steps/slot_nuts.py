"""NUTS for models whose parameters are indexed by labels of a partition or of hidden states.

Given the labels, a draw makes one transition of NUTS for everything continuous but parameters of empty slots, whose
prior is integrated out of the target, and then draws these from their prior.  The metric scales the parameters of a
slot by its number of items.

Read next ``models/itemwise/local_variables.py``, which parameters belong to one slot; ``steps/slot_gibbs.py``, the step
that moves the labels.
"""

import logging
from dataclasses import field
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.util import get_value_vars_from_user_vars
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import graph_inputs

from pymc_nrm.common.pymc_internals import (
    BaseHMCState,
    QuadPotentialDiagAdapt,
    QuadPotentialDiagAdaptState,
    ValueGradFunction,
    dataclass_state,
)
from pymc_nrm.models.itemwise.item_table import with_noise
from pymc_nrm.models.itemwise.local_variables import EmptySlots, local_variables
from pymc_nrm.models.missing_entries import continuous_values
from pymc_nrm.models.model_graphs import log_probabilities
from pymc_nrm.models.rvs import checked_model, kind_of, partitions_of
from pymc_nrm.partitions.slots import SlotLabels
from pymc_nrm.steps.comparison import OwnMove
from pymc_nrm.steps.label_moves import empty_slot_move
from pymc_nrm.steps.nuts_step import NUTSStep, warn_of_stock_nuts

_log = logging.getLogger(__name__)
# Share of the latest gradient in the running mean of squared gradients.
_SHARE = 0.02
# Standard deviation of a move of parameters that is compared with the model.
_SMALL = 0.1


@dataclass_state
class SlotMetricState(QuadPotentialDiagAdaptState):
    """Adaptation state of the metric."""

    information: list = field(default_factory=list)


class SlotMetric(QuadPotentialDiagAdapt):
    """Diagonal metric in which the variance of a slot's parameters falls with its number of items.

    Coordinate j of a slot of m items gets the variance ``1 / (c_j (m + 1))``, since precision grows by about the same
    amount with each item.  ``c_j`` is the mean over occupied slots of ``g^2 / (m + 1)``, where g is the gradient of the
    log-probability, whose mean square is the precision: slots are exchangeable, and gradients do not depend on the slot
    of a cluster.  Coordinates of empty slots have variance 0 and do not move.  All others are adapted as in PyMC.
    """

    _state_class = SlotMetricState

    def __init__(self, n, mean, places, rng=None):
        self.places = places
        self.information = [np.ones(len(place)) for place in places]
        super().__init__(n, mean, np.ones(n), 10, rng=rng)

    def reset(self):
        super().reset()
        self.information = [np.ones(len(place)) for place in self.places]

    def prepare(self, counts):
        """Set the variances of slots to what their numbers of items imply."""
        self._counts = counts
        for place, information, m in zip(self.places, self.information, counts, strict=True):
            precision = information[:, None] * (m + 1.0)
            self._var[place] = np.where(m > 0, 1.0 / precision, 0.0)
            self._stds[place] = np.sqrt(self._var[place])
            self._inv_stds[place] = np.where(m > 0, np.sqrt(precision), 0.0)

    def velocity_energy(self, x, v_out):
        # A trajectory that diverges is reported as such.
        with np.errstate(over="ignore", invalid="ignore"):
            return super().velocity_energy(x, v_out)

    def update(self, sample, grad, tune):
        if tune:
            for j, (place, m) in enumerate(zip(self.places, self._counts, strict=True)):
                occupied = m > 0
                squares = (grad[place][:, occupied] ** 2 / (m[occupied] + 1.0)).mean(axis=1)
                mean = (1.0 - _SHARE) * self.information[j] + _SHARE * np.clip(squares, 1e-8, 1e8)
                self.information[j] = mean
        super().update(sample, grad, tune)

    def raise_ok(self, map_info=None):
        """Variances of 0 belong to empty slots."""


def warn_without_slot_nuts(step, local, kwargs):
    """Warn if PyMC makes a step of labels, and its own NUTS samples the parameters of slots."""
    if local:
        warn_of_stock_nuts(
            kwargs,
            f"PyMC's NUTS samples parameters of empty slots of {step.partition.name!r} like all others, which is right "
            "but\nslow and may diverge. nrm.sample chooses SlotNUTS; step=[nrm.steps.SlotNUTS()] asks for it.",
        )


@dataclass_state
class SlotNUTSState(BaseHMCState):
    """Sampler state needed to resume a chain: also the generators of parameters of empty slots."""

    generators: list = field(default_factory=list)


class SlotNUTS(NUTSStep):
    """NUTS for the parameters of occupied slots; parameters of empty slots are drawn from their prior.

    Empty slots are integrated out of the target of NUTS: it has no prior of their parameters, which do not move, so
    that parameters of no item do not slow down hyperparameters.  A draw of these from their prior given the
    hyperparameters completes the step.  The metric gives the parameters of a slot a scale that fits its number of
    items.  The step leaves the posterior given the labels invariant.  It is irreducible together with a step that moves
    labels.

    Parameters
    ----------
    vars : list of variables, optional
        All continuous variables of the model by default.
    **kwargs
        As for ``pm.NUTS``, without ``potential`` and ``scaling``; ``target_accept`` is 0.9 by default.  With
        ``check_moves=False`` the step is not compared with the model before its first draw.

    Raises
    ------
    ValueError
        If the model has neither a partition with ``max_clusters`` nor hidden states with ``max_states``.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4, max_clusters=10)
    ...     rate = pm.Gamma("rate", 1, 1, shape=10)
    ...     x = pm.Poisson("x", rate[z], observed=[0, 1, 8, 9])
    ...     step = nrm.steps.SlotNUTS()
    >>> [variable.name for variable in step.vars]
    ['rate_log__']
    """

    name = "nuts"
    _state_class = SlotNUTSState

    def __init__(self, vars: Any = None, *, model: pm.Model | None = None, **kwargs: Any) -> None:
        model = checked_model(model)
        for option in ("potential", "scaling", "is_cov", "logp_dlogp_func"):
            if kwargs.get(option):
                raise ValueError(f"SlotNUTS adapts its own metric and does not take {option}; got {kwargs[option]!r}")
        point = kwargs.pop("initial_point", None) or model.initial_point()
        compile_kwargs = kwargs.pop("compile_kwargs", None)
        values = continuous_values(model) if vars is None else get_value_vars_from_user_vars(vars, model)
        # The posterior of a cluster of one item is almost its prior, which is wider than the metric assumes.
        kwargs.setdefault("target_accept", 0.9)
        partitions = list(partitions_of(model, SlotLabels))
        if not partitions:
            raise ValueError(
                "vars must be variables of a model that has a Partition with max_clusters or HiddenStates with "
                "max_states; it has none"
            )
        self._slots = []
        for partition in partitions:
            sampled = [rv for rv in model.free_RVs if model.rvs_to_values[rv] in values]
            local = local_variables(model, partition, kind_of(partition).max_clusters, point, sampled)
            self._slots.append((partition, local, EmptySlots(model, local, compile_kwargs)))
        function = _logp_dlogp_function(model, values, self._slots, point, compile_kwargs)
        super().__init__(
            values,
            model=model,
            initial_point=point,
            logp_dlogp_func=function,
            potential=_metric(model, values, self._slots, point),
            **kwargs,
        )

    @property
    def generators(self):
        """States of the generators that draw parameters of empty slots."""
        return [empty.state for _, _, empty in self._slots]

    @generators.setter
    def generators(self, states):
        for (_, _, empty), state in zip(self._slots, states, strict=True):
            empty.state = state

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        for _, _, empty in self._slots:
            empty.reseed(self.rng)

    def moves_to_compare(self, rng, point):
        """The draws for empty slots, and a move of parameters of occupied slots as the target of NUTS weighs it."""
        moved = dict(point)
        for partition, _, empty in self._slots:
            kind = kind_of(partition)
            yield from empty_slot_move(point, kind, empty, self.comparison.terms)
            occupied = np.bincount(kind.read(point), minlength=kind.max_clusters) > 0
            for name in empty.names:
                moved[name] = point[name].copy()
                moved[name][occupied] = with_noise(point[name][occupied], rng, _SMALL)
        if all(not empty.names for _, _, empty in self._slots):
            moved |= {name: with_noise(point[name], rng, _SMALL) for name in self.var_names}
        yield OwnMove(
            "parameters of occupied slots move", point, moved, self.log_target(moved) - self.log_target(point)
        )

    def before(self, point):
        counts = [np.bincount(point[rv.name], minlength=kind_of(rv).max_clusters) for rv, _, _ in self._slots]
        self.potential.prepare(counts)
        return point, counts

    def after(self, point, counts):
        for m, (_, _, empty) in zip(counts, self._slots, strict=True):
            point = empty.redraw(point, m == 0)
        return point


def _logp_dlogp_function(model, values, slots, point, compile_kwargs):
    """Log-probability of the model and its gradient, with local parameters of empty slots integrated out."""
    occupied = {}
    for partition, local, _ in slots:
        labels = model.rvs_to_values[partition]
        counts = kind_of(partition).symbolic_counts(labels)
        occupied.update(dict.fromkeys(local, counts > 0))
    terms = [*model.free_RVs, *model.observed_RVs, *model.potentials]
    total = 0.0
    for term, logp in zip(terms, log_probabilities(model, terms), strict=True):
        if term in occupied:
            logp = pt.switch(pt.shape_padright(occupied[term], logp.ndim - 1), logp, 0.0)
        total += logp.sum()
    inputs = {variable for variable in graph_inputs([total]) if not isinstance(variable, Constant)}
    held = {v: point[v.name] for v in model.value_vars if v in inputs and v not in values}
    function = ValueGradFunction(
        [total], values, held, model=model, initial_point=point, ravel_inputs=True, **(compile_kwargs or {})
    )
    function.trust_input = True
    function.set_extra_values(point)
    return function


def _metric(model, values, slots, point):
    starts, n = {}, 0
    for value in values:
        starts[value] = n
        n += np.size(point[value.name])
    places = []
    for partition, local, _ in slots:
        rows = [np.empty((0, kind_of(partition).max_clusters), dtype=np.int64)]
        for rv in local:
            value = model.rvs_to_values[rv]
            shape = np.shape(point[value.name])
            rows.append((starts[value] + np.arange(np.prod(shape))).reshape(shape[0], -1).T)
        places.append(np.concatenate(rows))
    mean = np.concatenate([np.ravel(point[value.name]) for value in values]) if values else np.zeros(0)
    return SlotMetric(n, mean.astype("float64"), places)
