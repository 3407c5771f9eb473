"""Gibbs sweeps of the kernels without PyMC, and the data to run them on."""

import time
from typing import Any, NamedTuple

import numpy as np

import pymc_nrm as nrm
from common.data import gaussian_clusters
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import complete, localise, prepare_data
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.product import product, product_data
from pymc_nrm.measures.base import weights
from pymc_nrm.moves.gibbs import gibbs_sweep, scan_order
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.labels import canonical_labels


class Problem(NamedTuple):
    """What kernels need to know of a Dirichlet process mixture: tables, family and data."""

    table: Any
    family: Any
    data: Any


class Sweeps(NamedTuple):
    """Results of some Gibbs sweeps."""

    seconds: float
    n_clusters: np.ndarray
    moved: float


def gaussian_family(d):
    """The normal-Wishart base measure for comparison with C++ programs: scatter 5 I with d + 6 degrees of freedom."""
    return nrm.NormalWishart(mu=0.0, kappa=0.1, Psi=5.0 * np.eye(d), nu=d + 6.0)


def spaced_clusters(n, d, n_clusters, *, nearest=5.0, seed=1):
    """Gaussian clusters, of which the median one is ``nearest`` standard deviations away from its nearest neighbour.
    The typical distance between two means that just separates clusters depends on their number and on the
    dimension. The distance to the nearest neighbour hardly does.
    """
    from scipy.spatial import KDTree

    # These are the means that gaussian_clusters draws first with separation 1.
    means = np.random.default_rng(seed).normal(0, 1 / np.sqrt(2 * d), (n_clusters, d))
    distances, _ = KDTree(means).query(means, k=2)
    separation = nearest / np.median(distances[:, 1])
    X, labels = gaussian_clusters(n, d, n_clusters, separation=separation, seed=seed)
    return X, canonical_labels(labels)


def problem(family, X, alpha=1.0):
    """Prepare a family and its data, or lists of both that share a partition, for the kernels.

    The weights of a Dirichlet process do not depend on u, except for a factor that cancels in a sweep.
    """
    if isinstance(family, list):
        parts = [problem(*pair, alpha) for pair in zip(family, X, strict=True)]
        data = product_data([part.data for part in parts])
        return Problem(parts[0].table, product([part.family for part in parts]), data)
    family = broadcast_hyperparameters(complete(family, X), *X.shape)
    data = prepare_data(family, X)
    return Problem(weights(nrm.DirichletProcess(alpha), X.shape[0], 0.0), localise(family, data), data)


@shared_kernel
def run_sweeps(rng, state, weights, family, data, n_sweeps):
    """Sweep over all items in random order; return the state, and the numbers of clusters and of moves per sweep."""
    n_clusters, n_moved = np.empty(n_sweeps, dtype=np.int64), np.empty(n_sweeps, dtype=np.int64)
    n = state.labels.shape[0]
    for sweep in range(n_sweeps):
        state, moved = gibbs_sweep(rng, state, weights, family, data, scan_order(rng, n, n))
        n_clusters[sweep], n_moved[sweep] = state.size[0], moved
    return state, n_clusters, n_moved


def compile_sweeps(prepared, labels):
    """Compile what :func:`timed_sweeps` runs, or load it from the cache."""
    state = build_state(labels, prepared.family, prepared.data)
    run_sweeps(np.random.default_rng(0), state, *prepared, 0)


def timed_sweeps(prepared, labels, n_sweeps, seed):
    """Run sweeps from the given labels; see :class:`Sweeps`."""
    state = build_state(labels, prepared.family, prepared.data)
    rng = np.random.default_rng(seed)
    start = time.process_time()
    _, n_clusters, n_moved = run_sweeps(rng, state, *prepared, n_sweeps)
    seconds = time.process_time() - start
    return Sweeps(seconds / n_sweeps, n_clusters, n_moved.mean() / len(labels))
