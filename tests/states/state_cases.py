"""Small models of hidden states whose posterior is enumerated, and exact independent draws from it."""

import itertools

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import gammaln

import pymc_nrm as nrm
from pymc_nrm.models.rvs import kind_of
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.prior import StatePrior
from pymc_nrm.states.partitions.tables import log_states
from tests.helpers import all_partitions, canonical_labels

X = np.array([1, 0, 9, 2])
SHAPE, RATE = 1.0, 0.5
# Gamma, discount, alpha, kappa and the sequences of the items.
PRIORS = {
    "kappa 0": (1.3, 0.0, 0.8, 0.0, None),
    "sticky": (1.3, 0.0, 0.8, 2.0, None),
    "two sequences": (0.9, 0.0, 1.5, 1.0, ["a", "a", "a", "b"]),
    "Pitman-Yor": (0.7, 0.4, 1.1, 0.6, None),
    "large discount": (0.5, 0.85, 1.4, 0.6, None),
}


def make_model(prior="sticky", x=X):
    gamma, discount, alpha, kappa, sequences = PRIORS[prior]
    measure = nrm.PitmanYorProcess(discount, gamma) if discount else nrm.DirichletProcess(gamma)
    with pm.Model() as model:
        size = {"n": len(x)} if sequences is None else {"sequences": sequences}
        z = nrm.states.HiddenStates("z", measure, nrm.states.Transitions(alpha, kappa), **size)
        nrm.Mixture("x", z, nrm.PoissonGamma(SHAPE, RATE), observed=x)
    return model


def log_prior(prior, labels, starts):
    """Log probability of labels, renamed in order of appearance."""
    labels, starts = canonical_labels(np.asarray(labels)), np.asarray(starts, dtype=bool)
    n_states = int(labels.max()) + 1
    counts = np.zeros((n_states + 1, n_states), dtype=np.int64)
    count_transitions(labels, starts, n_states, counts)
    return log_states(counts, n_states, StatePrior(*PRIORS[prior][:4], starts))


def starts_of(model):
    kind = kind_of(model["z"])
    return np.arange(len(X)) == 0 if kind.starts is None else kind.starts


def log_likelihood(labels, x=X, left_out=None):
    total = 0.0
    for label in set(labels.tolist()):
        own = [value for t, value in enumerate(x) if labels[t] == label and t != left_out]
        a, b = SHAPE + sum(own), RATE + len(own)
        total += SHAPE * np.log(RATE) - gammaln(SHAPE) + gammaln(a) - a * np.log(b) - gammaln(np.add(own, 1)).sum()
    return total


def posterior(prior, left_out=None):
    """All partitions, and the logarithm of their joint density with the data."""
    partitions, starts = all_partitions(len(X)), starts_of(make_model(prior))
    joint = [log_prior(prior, labels, starts) + log_likelihood(labels, left_out=left_out) for labels in partitions]
    return np.array(partitions), np.array(joint)


def exact_draws(prior, n_draws, seed):
    """Independent draws from the posterior, as a result of one chain."""
    partitions, log_joint = posterior(prior)
    p = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    rows = partitions[np.random.default_rng(seed).choice(len(p), n_draws, p=p)]
    return result(rows)


def result(labels):
    """A result of one chain of these draws."""
    array = xr.DataArray(np.asarray(labels)[None], dims=("chain", "draw", "item"))
    return xr.DataTree.from_dict({"posterior": xr.Dataset({"z": array})})


def paths_ahead(n_states, n_steps):
    """All states of the next times, new ones in order of appearance after the states in use."""
    for path in itertools.product(range(n_states + n_steps), repeat=n_steps):
        largest = n_states - 1
        for state in path:
            if state > largest + 1:
                break
            largest = max(largest, state)
        else:
            yield path
