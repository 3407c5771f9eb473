"""Hidden states: labels of time points that are the states of a Markov chain with an unknown number of states."""

import math

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply, Constant

from pymc_nrm.common.marks import SEQUENCES, STARTS
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.kernel_op import KernelOp
from pymc_nrm.measures.prediction_rules import levels_of, symbolic_levels_of
from pymc_nrm.partitions.flat import Flat, InOrder
from pymc_nrm.partitions.user_labels import canonical_paths
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.prior import Starts, StatePrior, Transitions
from pymc_nrm.states.partitions.tables import log_states_with_gradient
from pymc_nrm.states.partitions.urns import draw_states

# The name of a further sequence in predictions.
NEW_SEQUENCE = "new"


@kernel
def _draw_labels(rng, n, measure, transitions, starts):
    if starts.starts.shape[0] != n:
        raise ValueError("sequences of HiddenStates must have one row for each item")
    levels = levels_of(measure)
    prior = StatePrior(levels.alpha, levels.sigma, transitions.alpha, transitions.kappa, starts.starts != 0)
    labels = np.empty(n, dtype=np.int64)
    none, all_others, unused = np.zeros((1, 0), dtype=np.int64), np.ones(1), np.empty((0, 1))
    draw_states(rng, 0, none, all_others, prior.starts, prior, labels, unused)
    return labels


@kernel
def _copy_in_order(labels, states):
    """Copy labels; return the number of states, or 0 if they are not in order of appearance."""
    n_states = 0
    for t in range(labels.shape[0]):
        if labels[t] < 0 or labels[t] > n_states:
            return 0
        n_states = max(n_states, labels[t] + 1)
        states[t] = labels[t]
    return n_states


@kernel
def _log_density(labels, n, starts, gamma, discount, alpha, kappa):
    """Log probability of labels, and its gradient in gamma, discount, alpha and kappa."""
    gradient, states = np.zeros(4), np.empty(labels.shape[0], dtype=np.int64)
    n_states = _copy_in_order(labels, states)
    if n_states == 0 or labels.shape[0] != n.item() or starts.shape[0] != n.item() or starts[0] == 0:
        return np.asarray(-math.inf), gradient
    counts = np.empty((n_states + 1, n_states), dtype=np.int64)
    is_start = starts != 0
    count_transitions(states, is_start, n_states, counts)
    prior = StatePrior(gamma.item(), discount.item(), alpha.item(), kappa.item(), is_start)
    return np.asarray(log_states_with_gradient(counts, n_states, prior, gradient)), gradient


class LogStates(KernelOp):
    """Log probability of hidden states, minus infinity if they are out of order, and its gradient.

    Inputs are labels, the number of items, starts, gamma, discount, alpha and kappa, the gradient is in the last four.
    """

    kernel = _log_density
    constant = (0, 1, 2)

    def make_node(self, labels, n, starts, *parameters):
        whole = [pt.as_tensor(value).astype("int64") for value in (labels, n, starts)]
        parameters = [pt.as_tensor(value).astype("float64") for value in parameters]
        return Apply(self, [*whole, *parameters], [pt.dscalar(), pt.TensorType("float64", shape=(4,))()])

    def infer_shape(self, node, shapes):
        return [(), (4,)]

    def pullback(self, inputs, outputs, cotangents):
        of_value, of_gradient = cotangents
        if not isinstance(of_gradient.type, DisconnectedType):
            raise NotImplementedError("the log-probability of HiddenStates has no second derivatives")
        return [*[disconnected_type() for _ in self.constant], *[of_value * outputs[1][i] for i in range(4)]]


class Chain(Flat):
    """States of the items in order of time: base of the kinds of hidden states.

    ``sequences`` are whole numbers or strings, one for each item, or None for a single sequence of any length.
    """

    title = "HiddenStates"
    has_neighbours = True
    further_priors = {Transitions: ("()", "()"), Starts: ("(n)",)}
    argument = "sequences"

    def take_sequences(self, sequences, title):
        """Read the labels of sequences; return what belongs to the key of the kind."""
        # Bool of shape (n,), and the labels of the sequences in order; None and () for a single sequence.
        self.starts, self.names = (None, ()) if sequences is None else _sequences(title, sequences)
        self.n_items = None if self.starts is None else len(self.starts)
        return None if self.starts is None else self.starts.tobytes(), self.names

    def further_fields(self, n):
        if self.starts is not None:
            return [pt.constant(self.starts.astype("int64"))]
        if isinstance(n, Constant):
            return [pt.constant((np.arange(int(n.data)) == 0).astype("int64"))]
        return [pt.eq(pt.arange(n), 0).astype("int64")]

    def marks(self):
        if self.starts is None:
            return super().marks() | {STARTS: [0]}
        starts = np.flatnonzero(self.starts).tolist()
        return super().marks() | {STARTS: starts, SEQUENCES: [str(name) for name in self.names]}


class States(Chain, InOrder):
    """States without an upper limit of their number, numbered from 0 in order of appearance over all sequences."""

    description, sampled_by = "", "of hidden states, which StateSampler samples"
    only_mixtures = (
        "hidden states {name!r}, which have no slots: give them max_states to index parameters with their labels, or "
        "use a Mixture"
    )
    why_not_fused = "hidden states differ in what follows them as well"
    draw = staticmethod(_draw_labels)
    # Whether the state of each time is known, of length 0 if none is.
    is_known = np.zeros(0, dtype=bool)

    def __init__(self, sequences=None, title="sequences of HiddenStates"):
        super().__init__(*self.take_sequences(sequences, title))

    def kernel_prior(self, priors):
        measure, transitions, starts = priors
        levels = levels_of(measure)
        return StatePrior(levels.alpha, levels.sigma, *transitions, starts.starts != 0)

    def log_density(self, priors, labels, n):
        measure, transitions, starts = priors
        levels = symbolic_levels_of(measure)
        discount = 0.0 if levels.sigma is None else levels.sigma
        return LogStates()(labels, n, starts.starts, levels.alpha, discount, *transitions)[0]


def _sequences(title, labels):
    """Where sequences start, and their labels, from a user's labels of the items."""
    if np.ndim(labels) != 1:
        raise ValueError(f"{title} must have shape (n,), one label for each item; got shape {np.shape(labels)}")
    paths, [nodes] = canonical_paths(title, labels)
    numbers = paths[:, 0]
    back = np.flatnonzero(np.diff(numbers) < 0)
    names = tuple(name for _, name in nodes)
    if len(back):
        row = int(back[0]) + 1
        raise ValueError(
            f"{title} must keep the rows of a sequence together; {names[numbers[row]]!r} returns at row {row}"
        )
    if NEW_SEQUENCE in names:
        raise ValueError(f"{title} must have no sequence named 'new', which stands for a further one in predictions")
    return np.diff(numbers, prepend=-1) > 0, names
