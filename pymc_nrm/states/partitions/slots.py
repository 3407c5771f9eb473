"""Hidden states with slots, so that labels index parameters: a chain with a finite number of possible states.

The common weights of K states are Dirichlet variables with parameters ``gamma / K``.  Over the order in which states
appear, they are the weights of a Pitman-Yor process of concentration gamma and discount ``-gamma / K`` (Pitman 1996,
section 4), whose probabilities of tables ``tables.py`` has for any discount below 1.  Each of the
``K! / (K - k)!`` ways to give the k states that appear their slots has the same share, since slots are exchangeable.
"""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.kernel_op import KernelOp
from pymc_nrm.kernels.special import draw_log_gamma, exponentiate
from pymc_nrm.measures.prediction_rules import levels_of, symbolic_levels_of
from pymc_nrm.partitions.labels import rename_in_order
from pymc_nrm.partitions.slots import SlotLabels, log_share_of_slots
from pymc_nrm.states.partitions.chain import Chain, LogStates
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.prior import StatePrior
from pymc_nrm.states.partitions.tables import log_states
from pymc_nrm.states.partitions.urns import draw_states


@kernel
def _draw_slots(rng, n, measure, transitions, starts, max_states):
    """Draw states of n items: common weights, then labels by urns, transition rows integrated out."""
    if starts.starts.shape[0] != n:
        raise ValueError("sequences of HiddenStates must have one row for each item")
    levels, common = levels_of(measure), np.empty(max_states + 1)
    for k in range(max_states):
        common[k] = draw_log_gamma(rng, levels.alpha / max_states)
    _, total = exponentiate(common, max_states)
    for k in range(max_states):
        common[k] /= total
    common[max_states] = 0.0
    prior = StatePrior(levels.alpha, levels.sigma, transitions.alpha, transitions.kappa, starts.starts != 0)
    labels, counts = np.empty(n, dtype=np.int64), np.zeros((max_states + 1, max_states), dtype=np.int64)
    draw_states(rng, 0, counts, common, prior.starts, prior, labels, np.empty((0, max_states + 1)))
    return labels


@kernel
def _in_order(labels, max_states):
    """Labels in order of appearance and their number; all are -1 if one is outside 0 to ``max_states - 1``."""
    states, K = np.empty(labels.shape[0], dtype=np.int64), max_states.item()
    for t in range(labels.shape[0]):
        if labels[t] < 0 or labels[t] >= K:
            states.fill(-1)
            return states, np.asarray(0)
        states[t] = labels[t]
    n_states = 0
    if labels.shape[0] > 0:
        n_states = rename_in_order(states, K)
    return states, np.asarray(n_states)


class RenamedSlots(KernelOp):
    """Labels in order of appearance, and how many there are; -1 and 0 if any is out of range."""

    kernel = _in_order
    constant = (0, 1)

    def make_node(self, labels, max_states):
        whole = [pt.as_tensor(value).astype("int64") for value in (labels, max_states)]
        return Apply(self, whole, [pt.lvector(), pt.lscalar()])

    def infer_shape(self, node, shapes):
        return [shapes[0], ()]


@kernel
def count_slots(labels, starts, n_slots, slots):
    """Transition counts (n_states + 1, n_states) of the states in use, whose slots in order of appearance are written
    into the first entries of ``slots`` (n_slots,).
    """
    states = labels.copy()
    n_states = rename_in_order(states, n_slots)
    for t in range(labels.shape[0]):
        slots[states[t]] = labels[t]
    counts = np.empty((n_states + 1, n_states), dtype=np.int64)
    count_transitions(states, starts, n_states, counts)
    return counts


@kernel
def log_state_slots(labels, prior, n_slots):
    """Log probability of labels from 0 to ``n_slots - 1``."""
    counts = count_slots(labels, prior.starts, n_slots, np.empty(n_slots, dtype=np.int64))
    n_states = counts.shape[1]
    value = log_states(counts, n_states, prior)
    for k in range(n_states):
        value -= math.log(n_slots - k)
    return value


class StateSlots(Chain, SlotLabels):
    """One of K states for each item, from 0 to K - 1, so that ``scale[labels]`` is the scale of every item."""

    description, sampled_by = "with max_states", "for StateGibbs, which nrm.sample chooses"
    argument_of_slots, one_label = "max_states", "state"
    learned_before_nuts = True
    draw = staticmethod(_draw_slots)

    def __init__(self, max_states, sequences=None, titles=("max_states", "sequences of HiddenStates")):
        super().__init__(max_states, titles[0])
        self.draw_options = self.key
        self.key += self.take_sequences(sequences, titles[1])

    def kernel_prior(self, priors):
        measure, transitions, starts = priors
        gamma = levels_of(measure).alpha
        return StatePrior(gamma, -gamma / self.max_clusters, *transitions, starts.starts != 0)

    def log_density(self, priors, labels, n):
        measure, transitions, starts = priors
        gamma = symbolic_levels_of(measure).alpha
        states, n_states = RenamedSlots()(labels, self.max_clusters)
        discount = -gamma / float(self.max_clusters)
        log_probability = LogStates()(states, n, starts.starts, gamma, discount, *transitions)[0]
        return log_probability + log_share_of_slots(self.max_clusters, n_states)
