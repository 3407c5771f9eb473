"""Functionals of draws of labels that do not depend on the names of clusters, and their effective sample sizes."""

import math

import arviz_stats
import numpy as np
import xarray as xr

from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import add_item, localise, prepare_data, statistics_size
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.partitions.labels import canonical_labels


@kernel
def log_marginals(labels, family, data, n_clusters):
    """Sum over clusters of the log marginal of their data."""
    rows = np.zeros((n_clusters, statistics_size(family)))
    for i in range(labels.shape[0]):
        add_item(family, rows[labels[i]], data, i, 1.0)
    total = 0.0
    for k in range(n_clusters):
        total += log_marginal(family, rows[k])
    return total


class Functionals:
    """Number of clusters, collapsed log joint density, and whether the items of given pairs are together."""

    def __init__(self, X, family, measure, pairs):
        family = broadcast_hyperparameters(family, *X.shape)
        self.data = prepare_data(family, X)
        self.family, self.measure, self.pairs = localise(family, self.data), measure, np.asarray(pairs)

    def __call__(self, draws):
        """Values for draws of labels, shape (m, n), with any names: columns K, log joint, then one for each pair."""
        values = np.empty((len(draws), 2 + len(self.pairs)))
        for s, row in enumerate(draws):
            labels = canonical_labels(row)
            counts = np.bincount(labels)
            log_prior = log_eppf(self.measure, counts)
            values[s, :2] = len(counts), log_prior + log_marginals(labels, self.family, self.data, len(counts))
            values[s, 2:] = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        return values


def uncertain_pairs(draws, n_pairs, rng, least=0.2, n_candidates=20_000):
    """Random pairs of items that share a cluster with a probability from ``least`` to one less it: shape (p, 2)."""
    pairs = np.sort(rng.integers(0, draws.shape[1], (n_candidates, 2)), axis=1)
    pairs = rng.permutation(np.unique(pairs, axis=0))
    share = sum((labels[pairs[:, 0]] == labels[pairs[:, 1]]).astype(float) for labels in draws) / len(draws)
    return pairs[(share > least) & (share < 1 - least)][:n_pairs]


def convergence(chains):
    """Mean, Monte Carlo error, effective sample size and R-hat of functionals over several chains."""
    length = min(len(chain) for chain in chains)
    values = np.array([chain[len(chain) - length :] for chain in chains])
    if length < 4:
        nothing = np.full(values.shape[2], math.nan)
        return {"mean": values.mean(axis=(0, 1)), "mcse": nothing, "ess": nothing, "r_hat": nothing}
    draws = xr.DataArray(values, dims=("chain", "draw", "functional")).to_dataset(name="x")
    ess, r_hat = arviz_stats.ess(draws).x.values, arviz_stats.rhat(draws).x.values
    mean_ess = arviz_stats.ess(draws, method="mean").x.values
    # A functional that never moved has no effective sample size that could be estimated.
    constant = values.std(axis=(0, 1)) == 0.0
    ess, r_hat, mean_ess = (np.where(constant, math.nan, x) for x in (ess, r_hat, mean_ess))
    mcse = values.std(axis=(0, 1), ddof=1) / np.sqrt(mean_ess)
    return {"mean": values.mean(axis=(0, 1)), "mcse": mcse, "ess": ess, "r_hat": r_hat}


def rates(values, chains, names):
    """Entries of a row: for each functional mean, Monte Carlo error, R-hat and effective samples per CPU second after
    tuning, of all chains together; what is not known is None.
    """
    found = convergence([np.asarray(one, dtype=float) for one in values])
    shortest = min(len(one) for one in values)
    # CPU seconds of the draws that are used.
    seconds = sum(chain.seconds[-1] * shortest / len(one) for chain, one in zip(chains, values, strict=True))
    row = {"draws": shortest, "n_tune": min(chain.n_tune for chain in chains), "seconds": seconds}
    row |= {"milliseconds": 1e3 * seconds / (shortest * len(chains))}
    row["tuning_seconds"] = sum(chain.tuning_seconds for chain in chains)
    for j, name in enumerate(names):
        row |= {name: found["mean"][j], f"{name}_mcse": found["mcse"][j]}
        row |= {f"r_hat_{name}": found["r_hat"][j], f"rate_{name}": found["ess"][j] / seconds}
    return {key: None if math.isnan(value) else np.asarray(value).item() for key, value in row.items()}
