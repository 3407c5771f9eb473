"""Exact posterior of the hidden states of five times, and chains of kernels on them."""

import functools
from typing import Any, NamedTuple

import numpy as np

import pymc_nrm as nrm
from pymc_nrm.partitions.clusters import ordered_labels
from pymc_nrm.states.moves.blocked import BlockedUpdates, blocked_updates
from pymc_nrm.states.moves.direct import DirectUpdates, direct_updates, dyadic_blocks, successive_times
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.prior import StatePrior
from pymc_nrm.states.partitions.tables import log_states
from pymc_nrm.testing import all_partitions, kernel_inputs
from tests.cases import SMALL
from tests.helpers import log_density

N = 5
CHAINS = 4


class Case(NamedTuple):
    """Hyperparameters in the order of ``StatePrior``, and first times of sequences."""

    gamma: float
    discount: float
    alpha: float
    kappa: float
    first: Any = (0,)

    def starts(self, n):
        return np.isin(np.arange(n), self.first)

    def prior(self, n=N):
        return StatePrior(*map(float, self[:4]), self.starts(n))

    def variable(self, name, n):
        """Hidden states of n times with this prior, in the model at hand."""
        measure = nrm.PitmanYorProcess(self.discount, self.gamma) if self.discount else nrm.DirichletProcess(self.gamma)
        sequences = None if self.first == (0,) else np.cumsum(self.starts(n))
        return nrm.states.HiddenStates(
            name, measure, nrm.states.Transitions(self.alpha, self.kappa), n=n, sequences=sequences
        )


CASES = {
    "no kappa": Case(1.2, 0.0, 0.3, 0.0),
    "sticky": Case(1.2, 0.0, 0.9, 1.8),
    "two sequences": Case(0.8, 0.0, 1.5, 0.7, (0, 3)),
    "three sequences": Case(1.1, 0.0, 0.6, 1.3, (0, 1, 4)),
    "discount": Case(0.7, 0.45, 1.1, 0.9, (0, 3)),
    "discount, no kappa": Case(-0.1, 0.3, 1.4, 0.0),
    "large discount": Case(0.4, 0.85, 1.6, 0.5),
}
FAMILIES = ("NormalGamma, missing", "NormalWishart", "PoissonGamma, missing")


@functools.cache
def inputs(family):
    """Family and data of kernels, by name."""
    return kernel_inputs(*SMALL[family])


def log_prior(labels, prior):
    """Log probability of labels in order of appearance."""
    n_states = int(labels.max()) + 1
    counts = np.zeros((n_states + 1, n_states), dtype=np.int64)
    count_transitions(labels, prior.starts, n_states, counts)
    return log_states(counts, n_states, prior)


@functools.cache
def posterior(case, family):
    """All partitions of the times and their probabilities, by names."""
    X = SMALL[family].X
    n = (X[0] if isinstance(X, list) else X).shape[0]
    partitions = all_partitions(n)
    return partitions, probabilities(
        CASES[case].prior(n), partitions, lambda labels: log_density(*inputs(family), labels)
    )


def probabilities(prior, partitions, log_likelihood):
    """Posterior probabilities of partitions of the times."""
    log_p = np.array([log_prior(labels, prior) + log_likelihood(labels) for labels in partitions])
    p = np.exp(log_p - log_p.max())
    return p / p.sum()


NONE_KNOWN = np.zeros(0, dtype=bool)
NO_BLOCKS, NO_TIMES = np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64)


def single(rng, draw, labels, *model):
    """Direct updates of all times."""
    return direct(rng, labels, model, NO_BLOCKS, successive_times(rng, N, N))


def blocks(rng, draw, labels, *model):
    """Blocks, and one time, without which the chain would not be irreducible."""
    return direct(rng, labels, model, short_blocks(rng), successive_times(rng, N, 1))


def blocked(rng, draw, labels, *model):
    """A blocked update, and one time in every fourth draw."""
    labels = labels.copy()
    blocked_updates(rng, labels, *model, BlockedUpdates(1, 0.1, NONE_KNOWN), np.empty(N))
    return direct(rng, labels, model, NO_BLOCKS, successive_times(rng, N, 1)) if draw % 4 == 0 else labels


def default(rng, draw, labels, *model):
    """What a draw of the step makes, of few times."""
    labels = labels.copy()
    blocked_updates(rng, labels, *model, BlockedUpdates(3, 0.05, NONE_KNOWN), np.empty(10 * N))
    return direct(rng, labels, model, dyadic_blocks(rng, N), successive_times(rng, N, 1))


def short_blocks(rng):
    """Three random intervals, of two or more times each but for those of one, which are left out."""
    ends = np.sort([rng.choice(N + 1, 2, replace=False) for _ in range(3)], axis=1)
    return ends[ends[:, 1] - ends[:, 0] > 1]


def direct(rng, labels, model, of_blocks, times):
    state, _ = direct_updates(rng, labels, *model, DirectUpdates(of_blocks, times))
    return ordered_labels(state)


MOVES = {"single": single, "blocks": blocks, "blocked": blocked, "default": default}


def run(case, family, move, rng, n_draws):
    """Labels of chains of a move, (CHAINS, n_draws, N), from one state and from as many as times."""
    model, partitions = (CASES[case].prior(), *inputs(family)), all_partitions(N)
    chains = []
    for k, own in enumerate(rng.spawn(CHAINS)):
        labels, draws = partitions[0 if k % 2 == 0 else -1], np.empty((n_draws, N), dtype=np.int64)
        for draw in range(n_draws):
            labels = draws[draw] = MOVES[move](own, draw, labels, *model)
        chains.append(draws[20:])
    return np.array(chains)
