"""Gibbs sampling of hidden states whose labels index parameters, for any likelihood.

Labels are slots from 0 to ``max_states`` - 1.  A draw makes some updates of these parts:

1. draw the parameters of empty slots from their prior, and of mixtures over the states from their full conditional;
2. compute the table of the log densities of all times in each slot, from the graph of the model;
3. draw the common weights of the states and the transition rows given the labels, and all labels jointly given these,
   by forward filtering and backward sampling over all slots; forget weights, rows and parameters of mixtures.

Read next ``states/partitions/slots.py``, the prior; ``states/moves/slot_paths.py``, part 3;
``models/itemwise/item_table.py``, the table; ``steps/slot_nuts.py``, the step that moves parameters of occupied slots.
"""

from typing import Any, NamedTuple

import numpy as np
from pymc.exceptions import SamplingError

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.marks import ALL_SLOTS_USED
from pymc_nrm.common.pymc_internals import Competence
from pymc_nrm.families.needs import COMPONENT_PANEL, PARAMETERS, PREDICTIVE
from pymc_nrm.kernels.generic import precompile
from pymc_nrm.states.moves.slot_paths import update_paths
from pymc_nrm.states.partitions.slots import StateSlots, log_state_slots
from pymc_nrm.steps.base import LabelStep, PartitionStep, common_statistics
from pymc_nrm.steps.indexed_data import IndexedData
from pymc_nrm.steps.label_moves import empty_slot_move
from pymc_nrm.steps.slot_nuts import warn_without_slot_nuts
from pymc_nrm.steps.slot_step import SlotStep
from pymc_nrm.steps.step import Draw


class Inputs(NamedTuple):
    """What a draw reads."""

    labels: Any
    prior: Any
    family: Any
    data: Any


class StateGibbs(SlotStep, LabelStep):
    """Gibbs sampling of hidden states whose labels index parameters, all times jointly, for any likelihood.

    Each of the updates of a draw first draws the parameters of empty slots from their prior, then common weights and
    transition rows given the labels, and then all labels given these, by forward filtering and backward sampling.  It
    leaves the posterior invariant; together with a step that moves the parameters it is irreducible.  An update costs
    the log density of all data in every slot that was empty before it, and ``n K^2`` operations for n times.

    Parameters
    ----------
    vars : list of HiddenStates
        With ``max_states``.
    n_blocked : int
        Number of updates per draw.
    %(step_options)s

    Raises
    ------
    ValueError
        If the model uses the labels other than item by item, or an option is not allowed.
    NotImplementedError
        If the family of a mixture over the states has no draws of parameters or no density given them.

    Notes
    -----
    Statistics of a draw, besides ``n_clusters``, ``entropy`` and ``log_joint``: ``n_moved``, the number of times that
    changed their state, summed over updates, and ``all_slots_used``, whether all states have times.

    References
    ----------
    Fox, Sudderth, Jordan & Willsky (2011), "A sticky HDP-HMM with application to speaker diarization", section 4 and
    algorithm 3; weights are drawn there given numbers of tables from the last draw, here exactly given the labels.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     transitions = nrm.states.Transitions(1.0, kappa=5.0)
    ...     z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), transitions, n=6, max_states=8)
    ...     rate = pm.Gamma("rate", 1, 1, shape=8)
    ...     x = pm.Poisson("x", rate[z], observed=[0, 1, 0, 9, 8, 11])
    ...     step = nrm.states.StateGibbs([z])
    >>> [variable.name for variable in step.vars]
    ['z']
    """

    name = "state_gibbs"
    stats_dtypes_shapes = {
        **{name: kind for name, kind in PartitionStep.common_stats.items() if name != "u"},
        "n_moved": (np.int64, []),
        ALL_SLOTS_USED: (bool, []),
    }
    kinds = (StateSlots,)
    _competence_for_partitions = Competence.IDEAL
    needs = (*PREDICTIVE, *PARAMETERS, *COMPONENT_PANEL)

    def __init__(self, vars: Any = None, *, n_blocked: int = 3, **kwargs: Any) -> None:
        check_count("n_blocked", n_blocked, 1)
        super().__init__(vars, options={"n_blocked": n_blocked}, **kwargs)
        warn_without_slot_nuts(self, self.local, kwargs)

    def check_variable(self, model, partition):
        """Check that the variable is of the kind that the step samples."""
        if not isinstance(self.partition, self.kinds):
            raise ValueError(
                f"vars of StateGibbs must be HiddenStates with max_states; {partition.name!r} is a "
                f"{self.partition.title} {self.partition.sampled_by}".rstrip()
            )

    def compile(self, model, point, compile_kwargs):
        """Read how the model uses the labels, and compile the kernels of a draw."""
        partition = self.variable_in(model)
        self.max_states = self.partition.max_clusters
        self.indexed = IndexedData(model, partition, point, compile_kwargs)
        self.target = self.indexed.target
        self.read_slots(model, partition, self.indexed.table, point, compile_kwargs)
        labels, prior, family, data = self.read_point(point)
        self.indexed.compile(self.rng, labels, family, data)
        table = np.zeros((len(labels), self.max_states))
        precompile(update_paths, self.rng, labels, prior, table, table)
        precompile(log_state_slots, labels, prior, self.max_states)

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self.indexed.refresh()
        self.empty_slots.reseed(self.rng)

    def read_point(self, point):
        return Inputs(self.partition.read(point), *self.target.at(point))

    def check_start(self, point, inputs):
        value = self._log_joint(inputs, inputs.labels, self.indexed.table.values(point, inputs.labels))
        if not np.isfinite(value):
            raise self.not_finite_error(point, value)

    def draw(self, point, inputs):
        labels, prior, family, data = inputs
        labels, n_moved = labels.copy(), 0
        # Interrupted kernels lose the arrays that they make.
        table, filtered = np.zeros((2, len(labels), self.max_states))
        changed = np.ones(self.max_states, dtype=bool)
        for _ in range(self.options["n_blocked"]):
            empty = np.bincount(labels, minlength=self.max_states) == 0
            point = self.empty_slots.redraw(point, empty)
            slots = np.flatnonzero(changed | empty)
            self.indexed.table.fill(point, slots, slots, table)
            changed[:] = False
            densities = table + self.indexed.densities_of_mixtures(self.rng, labels, family, data)
            n_moved += update_paths(self.rng, labels, prior, densities, filtered)
        log_joint = self._log_joint(inputs, labels, table[np.arange(len(labels)), labels])
        counts = np.bincount(labels)
        stats = common_statistics(counts, log_joint, self._number)
        stats |= {"n_moved": n_moved, ALL_SLOTS_USED: np.count_nonzero(counts) == self.max_states}
        return Draw(self.partition.write(point, labels), log_joint, stats)

    def moves_to_compare(self, rng, point):
        """The draw for empty slots, and moves of times between slots."""
        yield from empty_slot_move(point, self.partition, self.empty_slots, self.comparison.terms)
        _, prior, family, data = self.read_point(point)

        def log_ratio(before, after):
            values = [log_state_slots(labels, prior, self.max_states) for labels in (before, after)]
            return values[1] - values[0]

        yield from self.indexed.moves(rng, point, self.partition, family, data, log_ratio)

    def _log_joint(self, inputs, labels, rows):
        log_prior = log_state_slots(labels, inputs.prior, self.max_states)
        return float(log_prior + rows.sum() + self.indexed.log_marginal(labels, inputs.family, inputs.data))

    def not_finite_error(self, point, value):
        labels, prior, _, _ = self.read_point(point)
        names = self.empty_slots.names
        sentences = []
        for name, density, item in self.indexed.impossible_items(point, labels):
            entries = ", ".join(f"{v}[{labels[item]}]={point[v][labels[item]]}" for v in names)
            sentences.append(f"{name!r} has log density {density} for item {item} in state {labels[item]}: {entries}.")
        if not sentences:
            sentences.append(
                f"All items have finite log densities; the states have log probability "
                f"{log_state_slots(labels, prior, self.max_states)} with gamma {prior.gamma}, alpha {prior.alpha} and "
                f"kappa {prior.kappa}."
            )
        return SamplingError(
            f"the log joint density of hidden states {self.partition.name!r} and of what their labels index is not "
            f"finite {self.when}: {value}. {' '.join(sentences)} Check data and covariates, or priors that allow such "
            "values"
        )
