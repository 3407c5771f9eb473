"""Models of the cases, and runs of steps on their points as ``pm.sample`` makes them."""

import functools

import numpy as np
import pymc as pm

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_joint_term, weights
from pymc_nrm.testing import largest_z, mean_and_error
from tests.cases import MEASURES, SMALL
from tests.exact.laws import posterior
from tests.helpers import assert_law, seeded

CHAINS, DRAWS = 2, 2_500


def make_model(measure, family):
    """Model of a case; two mixtures where there are two families."""
    families, data = SMALL[family]
    if not isinstance(families, list):
        families, data = [families], [data]
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURES[measure], n=data[0].shape[0])
        for i, (one, X) in enumerate(zip(families, data, strict=True)):
            nrm.Mixture(f"x{i}", z, one, observed=X)
    return model


def run(step, n, rng, n_draws=DRAWS, starts=None):
    """Labels of chains of one step, from items together and apart or other starts, (CHAINS, n_draws, n); statistics."""
    chains, statistics = [], []
    for start in starts or (np.zeros(n, dtype=np.int64), np.arange(n)):
        step.setup_chain(rng.spawn(1)[0], 0, n_draws)
        point = {"z": start}
        draws = []
        for _ in range(n_draws):
            point, [stats] = step.step(point)
            draws.append(point["z"])
            statistics.append(stats)
        chains.append(draws)
    return np.array(chains), statistics


def run_steps(steps, point, rng, n_draws, read):
    """Arrays of what is read, some values, at each draw of a chain in which steps take turns."""
    for step, own in zip(steps, rng.spawn(len(steps)), strict=True):
        step.setup_chain(own, 0, n_draws)
    rows = []
    for _ in range(n_draws):
        for step in steps:
            point, _ = step.step(point)
        rows.append(read(point))
    return [np.array(column) for column in zip(*rows, strict=True)]


def assert_functionals(values, expected, error=0.0):
    """Assert that functionals, shape (chains, draws, number), have means that are known up to an error."""
    mean, error_of_chains, _ = mean_and_error(values)
    limit = largest_z(values.shape[:2], len(expected)) * np.hypot(error_of_chains, error)
    assert (np.abs(mean - expected) < limit + 1e-6).all()


def check_step(measure, family, step_class, **options):
    """Assert that a step draws partitions and u from their posterior; return the draws and its statistics."""
    model = make_model(measure, family)
    partitions, probabilities = posterior(measure, family)
    with model:
        step = step_class([model["z"]], rng=1, **options)
    rng = seeded(measure, family, step.name, options.keys())
    labels, statistics = run(step, partitions.shape[1], rng)
    assert_law(labels, partitions, probabilities)
    # Every draw of u is given the partition before the moves, so its law is also that of u given the data.
    u = np.array([stats["u"] for stats in statistics]).reshape(labels.shape[:2])
    n = partitions.shape[1]
    expected = probabilities @ [share_of_u(measure, n, labels.max() + 1) for labels in partitions]
    mean, error, _ = mean_and_error(u / (1.0 + u))
    assert abs(mean - expected) < largest_z(labels.shape, 1) * error
    assert all(set(stats) == set(step_class.stats_dtypes_shapes) for stats in statistics)
    return labels, statistics


@functools.cache
def share_of_u(measure, n, n_clusters):
    """Mean of u / (1 + u) given n items in a number of clusters; their sizes only change a constant factor."""
    log_u = np.linspace(-25.0, 25.0, 5001)
    sizes = [n - n_clusters + 1] + [1] * (n_clusters - 1)
    measure = MEASURES[measure]
    log_p = np.array([log_joint_term(measure, n, s) + s + weights(measure, n, s).moment[sizes].sum() for s in log_u])
    p = np.exp(log_p - log_p.max())
    return p @ (1.0 / (1.0 + np.exp(-log_u))) / p.sum()
