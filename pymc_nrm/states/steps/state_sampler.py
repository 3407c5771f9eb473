"""The step that samples hidden states, whose number is unknown.

Given the hyperparameters, a draw makes these moves.  Each draws the weights of the states given the labels, exactly,
and forgets them afterwards:

1. blocked updates: all times whose states weigh more than a level draw their labels jointly, by forward filtering and
   backward sampling given transition rows and parameters;
2. Gibbs updates of blocks of times that share their state, with rows and parameters integrated out;
3. the same for some single times.

Read next ``states/moves/blocked.py`` and ``states/moves/direct.py``, the moves and their proofs;
``states/partitions/tables.py``, the distribution of the labels and the weights given them; ``steps/step.py``, the
course of a draw.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
from pytensor.graph.traversal import ancestors

from pymc_nrm.common.checks import check_count, check_flag, check_number, check_values
from pymc_nrm.common.pymc_internals import Competence
from pymc_nrm.families.base import take_items
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.features import features
from pymc_nrm.families.needs import COMPONENT_PANEL, PARAMETERS, PREDICTIVE
from pymc_nrm.kernels.generic import lacking, precompile
from pymc_nrm.models.default_start import is_default_start
from pymc_nrm.partitions.clusters import build_state, ordered_labels
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.states.moves.blocked import BlockedUpdates, blocked_updates
from pymc_nrm.states.moves.density import log_joint_terms
from pymc_nrm.states.moves.direct import DirectUpdates, direct_updates, dyadic_blocks, successive_times
from pymc_nrm.states.partitions.chain import States
from pymc_nrm.states.partitions.prior import Transitions
from pymc_nrm.steps.base import LabelStep, PartitionStep, common_statistics
from pymc_nrm.steps.comparison import OwnMove
from pymc_nrm.steps.label_moves import MOST_ITEMS, data_ratios, item_moves
from pymc_nrm.steps.step import Draw
from pymc_nrm.steps.target import Target, check_against_graph, error_of_parts, graph_log_likelihoods

# What blocked updates need of a family besides the others.
_BLOCKED = (*PARAMETERS, *COMPONENT_PANEL)
# A start makes the moves of this many draws at most, or of fewer once this many in a row have not improved the density.
_MOST_STARTS, _PATIENCE = 40, 5
# With more times than the first, a start begins with a stretch of as many as the second.
_MANY, _STRETCH = 20_000, 5000
# Values of random hyperparameters of transitions that a start tries.
_TRIED = {"alpha": (0.5, 2.0, 8.0), "kappa": (0.0, 1.0, 5.0, 25.0, 125.0, 625.0)}
# Times to which a start assigns all others.
_CENTRES = 10


def nearest_times(rng, data):
    """Labels of the nearest of some times, drawn with probabilities in proportion to squared distances from others."""
    points = features(data, rng)
    n, distances, labels = len(points), np.full(len(points), np.inf), np.zeros(len(points), dtype=np.int64)
    centre = int(rng.integers(n))
    for k in range(min(_CENTRES, n)):
        of_centre = ((points - points[centre]) ** 2).sum(axis=1)
        labels[of_centre < distances] = k
        distances = np.minimum(distances, of_centre)
        if not distances.sum() > 0.0:
            break
        centre = int(rng.choice(n, p=distances / distances.sum()))
    return canonical_labels(labels)


class Inputs(NamedTuple):
    """What the moves of a draw read."""

    labels: Any
    prior: Any
    family: Any
    data: Any


class StateTarget(Target):
    """The terms of a model's log-probability that depend on hidden states."""

    def _check_prior(self, prior):
        op = self._partition.owner.op
        measure, transitions, _ = op.priors(op.prior_inputs(self._partition.owner))
        by_field = {"alpha": prior.gamma, "concentration": prior.gamma, "discount": prior.discount}
        measure = type(measure)(**{name: by_field[name] for name in measure._fields})
        for parameters in (measure, type(transitions)(prior.alpha, prior.kappa)):
            check_values(parameters, where=f" where the sampling of {self._partition.name!r} starts")


class StateSampler(LabelStep):
    """Sampling of hidden states: paths of all times jointly, blocks of times, and single times.

    A draw first makes ``n_blocked`` blocked updates, each of all times in states that weigh more than ``level``, by
    forward filtering and backward sampling.  Then it visits blocks of 4, 8, 16, ... times that share their state, and
    ``n_single`` successive single times, and redraws the state of each given all others, with transition rows and
    parameters of states integrated out.  All of it leaves the posterior invariant, and nothing is truncated.  With
    single times, draws are irreducible.

    Unless ``initval`` is given, chains start from the labels that such moves reach when the density has stopped
    increasing: the better ones of those from a single state, and from states of times with similar data.

    Parameters
    ----------
    vars : list of HiddenStates
    n_blocked : int
        Number of blocked updates per draw; 0 for families without draws of parameters.
    level : float
        Weight above which blocked updates draw states, from 0.0001 to 0.5.  Lower levels cost more time.
    blocks : bool
        Whether to visit blocks of times.
    n_single : int, optional
        Number of single times per draw; by default a twentieth of the number of times, and at least 300 or all.
    %(step_options)s

    Raises
    ------
    ValueError
        If an option is not allowed, or a hyperparameter is out of range where a chain starts.
    NotImplementedError
        If a family lacks draws of parameters or densities given them and ``n_blocked`` is not 0, or a log marginal.

    Notes
    -----
    Statistics of a draw, besides ``n_clusters``, ``entropy`` and ``log_joint``: ``n_moved``, the number of times that
    changed their state, summed over all moves.

    References
    ----------
    Teh, Jordan, Beal & Blei (2006), "Hierarchical Dirichlet processes", sections 5.3 and 7; Fox, Sudderth, Jordan &
    Willsky (2011), "A sticky HDP-HMM with application to speaker diarization".

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, kappa=5.0), n=6)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.1), observed=[0, 1, 0, 9, 8, 11])
    ...     step = nrm.states.StateSampler([z])
    >>> [variable.name for variable in step.vars]
    ['z']
    """

    name = "state_sampler"
    kinds = (States,)
    _competence_for_partitions = Competence.IDEAL
    target_class = StateTarget
    needs = (*PREDICTIVE, log_marginal)
    stats_dtypes_shapes = {
        **{name: kind for name, kind in PartitionStep.common_stats.items() if name != "u"},
        "n_moved": (np.int64, []),
    }

    def __init__(
        self,
        vars: Any = None,
        *,
        n_blocked: int = 3,
        level: float = 0.001,
        blocks: bool = True,
        n_single: int | None = None,
        **kwargs: Any,
    ) -> None:
        check_count("n_blocked", n_blocked, 0)
        check_number("level", level, lambda value: 1e-4 <= value <= 0.5, "a number from 0.0001 to 0.5")
        check_flag("blocks", blocks)
        check_count("n_single", n_single, 0, optional=True)
        if n_blocked == 0 and not blocks and n_single == 0:
            raise ValueError("n_blocked, blocks and n_single must leave some move; got 0, False and 0")
        options = {"n_blocked": n_blocked, "level": level, "blocks": blocks, "n_single": n_single}
        super().__init__(vars, options=options, needs=_BLOCKED if n_blocked else (), **kwargs)

    def check_variable(self, model, partition):
        """Check that the variable is of the kind that the step samples."""
        if not isinstance(self.partition, self.kinds):
            raise ValueError(
                f"vars of {type(self).__name__} must be HiddenStates; {partition.name!r} is a {self.partition.title} "
                f"{self.partition.sampled_by}".rstrip()
            )

    @classmethod
    def _steps_without(cls, family_class):
        return [] if lacking(family_class, cls.needs) else ["StateSampler(n_blocked=0)"]

    def compile_kernels(self, model, partition, point, compile_kwargs):
        """Compile the kernels of a draw and of a start, for the types of their arguments."""
        op, rvs = partition.owner.op, set(model.basic_RVs)
        [transitions] = [
            prior for prior in op.priors(op.prior_inputs(partition.owner)) if isinstance(prior, Transitions)
        ]
        self._random = {name for name, field in transitions._asdict().items() if rvs & set(ancestors([field]))}
        inputs = self.read_point(point)
        labels, prior, family, data = inputs
        state = build_state(labels, family, data)
        if self.options["n_blocked"]:
            precompile(blocked_updates, self.rng, *inputs, self._blocked(), np.empty(0))
        precompile(direct_updates, self.rng, *inputs, self._direct(np.random.default_rng(0), 1))
        precompile(log_joint_terms, state, prior, family, data)

    def _blocked(self):
        return BlockedUpdates(self.options["n_blocked"], float(self.options["level"]), self.partition.is_known)

    def _direct(self, rng, n):
        """Random blocks and single times for a draw of n times, none of which is known."""
        free = self._free_times(n)
        n_single = self.options["n_single"]
        if n_single is None:
            n_single = max(len(free) // 20, min(len(free), 300))
        blocks = dyadic_blocks(rng, n) if self.options["blocks"] else np.empty((0, 2), dtype=np.int64)
        if len(free) < n:
            before = np.append(0, np.cumsum(self.partition.is_known))
            blocks = blocks[before[blocks[:, 0]] == before[blocks[:, 1]]]
        return DirectUpdates(blocks, free[successive_times(rng, len(free), n_single)])

    def _free_times(self, n):
        """The times, of n, whose state is not known."""
        is_known = self.partition.is_known
        return np.flatnonzero(~is_known) if len(is_known) else np.arange(n)

    def read_point(self, point):
        return Inputs(self.partition.read(point), *self.target.at(point))

    def draw(self, point, inputs):
        if self._n_draws == 0 and is_default_start(point[self.partition.name]):
            # Hyperparameters fit a single state: other steps first draw them given these labels.
            state, n_moved = build_state(self.start(inputs), inputs.family, inputs.data), 0
        else:
            state, n_moved = self.moves(inputs)
        log_joint = sum(log_joint_terms(state, inputs.prior, inputs.family, inputs.data))
        point = self.partition.write(point, state)
        counts = np.bincount(point[self.partition.name])
        stats = common_statistics(counts, log_joint, self._number) | {"n_moved": n_moved}
        return Draw(point, log_joint, stats)

    def moves(self, inputs):
        """Make the moves of a draw; return the state of kernels, and how many times changed their label."""
        labels, n, n_moved = inputs.labels.copy(), len(inputs.labels), 0
        if self.options["n_blocked"]:
            # Interrupted kernels lose the arrays that they make.
            memory = np.empty(n * (labels.max(initial=0) + 17))
            n_moved = blocked_updates(self.rng, labels, *inputs[1:], self._blocked(), memory)
        state, n_single_moved = direct_updates(self.rng, labels, *inputs[1:], self._direct(self.rng, n))
        return state, n_moved + n_single_moved

    def start(self, inputs):
        """Initial labels; those of many times begin with a stretch of them."""
        n = len(inputs.labels)
        if n <= _MANY or len(self.partition.is_known):
            return self._best_climb(inputs).labels
        begin = int(self.rng.integers(n - _STRETCH + 1))
        times = np.arange(begin, begin + _STRETCH)
        starts = inputs.prior.starts[times]
        starts[0] = True
        few = Inputs(
            inputs.labels[times], inputs.prior._replace(starts=starts), inputs.family, take_items(inputs.data, times)
        )
        few = self._best_climb(few)
        # All other times share one more state, whose parameters are wide.
        labels = np.full(n, few.labels.max() + 1)
        labels[times] = few.labels
        prior = few.prior._replace(starts=inputs.prior.starts)
        return self._climb(inputs._replace(labels=canonical_labels(labels), prior=prior)).labels

    def _best_climb(self, inputs):
        """Inputs after the moves of some draws, from these labels or from the nearest of some times to each time."""
        climbs = [self._climb(inputs)]
        if self.target.has_mixtures:
            # States that alternate are far from a single state, and a large kappa hides them.
            prior = inputs.prior._replace(kappa=0.0) if "kappa" in self._random else inputs.prior
            labels = nearest_times(self.rng, inputs.data)
            if len(self.partition.is_known):
                labels = self.partition.with_known(labels)
            climbs.append(self._climb(inputs._replace(labels=labels, prior=prior)))
        return max(climbs, key=self._largest_density)

    def _climb(self, inputs):
        """Inputs after the moves of some draws, when the density has stopped increasing."""
        best, since = -np.inf, 0
        for _ in range(_MOST_STARTS):
            state, _ = self.moves(inputs)
            inputs = inputs._replace(labels=ordered_labels(state))
            value = sum(log_joint_terms(state, inputs.prior, inputs.family, inputs.data))
            since = 0 if value > best else since + 1
            best = max(best, value)
            if since == _PATIENCE:
                break
        return inputs

    def _largest_density(self, inputs):
        """Largest log joint density of labels over values of random hyperparameters of transitions."""
        state, fixed = build_state(inputs.labels, inputs.family, inputs.data), inputs.prior._asdict()
        values = [_TRIED[name] if name in self._random else (fixed[name],) for name in _TRIED]
        priors = [
            inputs.prior._replace(**dict(zip(_TRIED, combination, strict=True)))
            for combination in itertools.product(*values)
        ]
        return max(sum(log_joint_terms(state, prior, inputs.family, inputs.data)) for prior in priors)

    def check_start(self, point, inputs):
        labels, prior, family, data = inputs
        log_prior, log_likelihood = log_joint_terms(build_state(labels, family, data), prior, family, data)
        if not np.isfinite(log_prior + log_likelihood):
            raise self.not_finite_error(point, log_prior + log_likelihood)
        _, mixtures = self.target.parts(point)
        check_against_graph(self.partition.name, mixtures, labels, log_likelihood)

    def moves_to_compare(self, rng, point):
        """Moves of single times."""
        labels, prior, family, data = self.read_point(point)
        if len(labels) > MOST_ITEMS:
            return
        items = self._free_times(len(labels))
        for before, after, item in item_moves(rng, labels, min(labels.max() + 2, len(labels)), items):
            states = [build_state(canonical_labels(chosen), family, data) for chosen in (before, after)]
            priors = [log_joint_terms(state, prior, family, data)[0] for state in states]
            points = [self.partition.write(point, state) for state in states]
            what = f"time {item} of {self.partition.name!r} leaves state {before[item]} for state {after[item]}"
            log_target = lambda state, family=family, data=data: log_joint_terms(state, prior, family, data)[1]  # noqa: E731
            for how, ratio in data_ratios(family, data, (before, after), states, item, log_target):
                yield OwnMove(f"{what}, {how}", *points, ratio + priors[1] - priors[0])

    def not_finite_error(self, point, value):
        labels, prior, family, data = self.read_point(point)
        _, mixtures = self.target.parts(point)
        log_prior, _ = log_joint_terms(build_state(labels, family, data), prior, family, data)
        parts = graph_log_likelihoods(mixtures, labels)
        words = f"with gamma {prior.gamma}, discount {prior.discount}, alpha {prior.alpha} and kappa {prior.kappa}"
        title = f"hidden states {self.partition.name!r}"
        return error_of_parts(title, words, log_prior, mixtures, parts, value, self.when)
