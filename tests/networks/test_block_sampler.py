"""Frequencies of partitions against enumeration: families, measures, networks, attributes, tables, moves alone."""

import dataclasses
import functools
import gc
import weakref

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.erased.shared_kernel import erase
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.models.values import kernel_family
from pymc_nrm.moves.guide_trees import guide_tree
from pymc_nrm.moves.split_merge import empty_tally, split_merge_statistics
from pymc_nrm.networks import BlockModel, BlockSampler
from pymc_nrm.networks.models.forward import draw_matrix
from pymc_nrm.networks.partitions.pair_data import read_pairs
from pymc_nrm.networks.steps import block_target
from pymc_nrm.testing import all_partitions, exact_posterior
from tests.cases import MEASURES
from tests.exact.models import run
from tests.helpers import assert_law, label_counts, seeded
from tests.networks.block_cases import (
    FAMILIES,
    N,
    log_degree_corrected,
    log_network,
    log_table,
    matrix,
    network_model,
    partitions_and_posterior,
    symmetric,
)

SEED, DRAWS = 11, 4_000


def check(model, partitions, probabilities, *names, draws=DRAWS, **options):
    """Assert that chains of the step have a posterior; options are those of the step."""
    with model:
        step = BlockSampler([model["z"]], rng=1, **options)
    assert step.comparison.n_compared == 0
    labels, statistics = run(step, partitions.shape[1], seeded(SEED, *names), draws)
    assert step.comparison.n_compared > 0
    assert_law(labels, partitions, probabilities)
    return labels, statistics


def of_network(A, name, measure, directed=False, loops=False):
    log_marginal = FAMILIES[name].log_marginal
    return partitions_and_posterior(lambda z: log_network(A, z, log_marginal, directed, loops), measure)


@pytest.mark.quick("Bernoulli-False")
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_networks_with_gaps_of_every_family(name, directed):
    A, measure = matrix(name, SEED, directed, gaps=2), nrm.DirichletProcess(1.3)
    model = network_model(A, FAMILIES[name].family, measure, directed=directed)
    check(model, *of_network(A, name, measure, directed), name, directed)


@pytest.mark.slow
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
def test_networks_with_loops_of_every_measure(measure, directed):
    A = matrix("Poisson", SEED, directed, gaps=1)
    model = network_model(A, FAMILIES["Poisson"].family, MEASURES[measure], directed=directed, loops=True)
    check(model, *of_network(A, "Poisson", MEASURES[measure], directed, True), measure, directed)


ATTRIBUTES = nrm.NormalGamma(0.0, 0.3, 2.0, 1.0), np.array([0.3, 2.5, np.nan, 2.2, -0.4])
# Options, and the place of the moves among the calls of a draw.
MOVES = {
    "splits and merges": ({"n_moves": 12, "n_tree_moves": 0}, 0),
    "splits and merges along a tree": ({"n_moves": 1, "n_tree_moves": 12}, 0),
    "units of nodes": ({"n_tree_moves": 12}, 1),
    "Gibbs updates": ({"n_moves": 0}, 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("moves", MOVES)
def test_moves_alone(moves, directed, monkeypatch):
    """Each kind of moves alone reaches all partitions; units of several nodes are allocated, also to other anchors."""
    name, measure = "Bernoulli", nrm.PitmanYorProcess(0.3, 1.0)
    A, (options, place) = matrix(name, SEED, directed, gaps=1), MOVES[moves]
    calls = BlockSampler.calls
    monkeypatch.setattr(guide_tree, "_COARSER", 2)
    monkeypatch.setattr(BlockSampler, "calls", lambda *given: [list(calls(*given))[place]])
    nothing = {"n_moved": 0, "n_blocks_moved": 0, **empty_tally()._asdict()}
    monkeypatch.setattr(
        BlockSampler, "statistics", staticmethod(lambda totals: split_merge_statistics(nothing | totals))
    )
    model = network_model(A, FAMILIES[name].family, measure, ATTRIBUTES, directed=directed)
    partitions, p = exact_posterior(measure, ATTRIBUTES[0], ATTRIBUTES[1][:, None])
    p *= np.exp([log_network(A, z, FAMILIES[name].log_marginal, directed) for z in partitions])
    check(model, partitions, p / p.sum(), moves, directed, draws=8_000, **options)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["NGG", "PY"])
def test_attributes_and_several_networks(measure):
    """Two undirected networks, a directed one, and a number for each node."""
    first, second = matrix("Bernoulli", 1, gaps=2), matrix("normal", 2)
    third = matrix("Poisson", 3, directed=True, gaps=1)
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURES[measure], n=N)
        BlockModel("first", z, FAMILIES["Bernoulli"].family, observed=first, directed=False)
        BlockModel("third", z, FAMILIES["Poisson"].family, observed=third, directed=True)
        BlockModel("second", z, FAMILIES["normal"].family, observed=second, directed=False)
        nrm.Mixture("x", z, ATTRIBUTES[0], observed=ATTRIBUTES[1])
    partitions, of_attributes = exact_posterior(MEASURES[measure], ATTRIBUTES[0], ATTRIBUTES[1][:, None])
    log_p = np.log(of_attributes)
    for k, z in enumerate(partitions):
        log_p[k] += log_network(first, z, FAMILIES["Bernoulli"].log_marginal)
        log_p[k] += log_network(second, z, FAMILIES["normal"].log_marginal)
        log_p[k] += log_network(third, z, FAMILIES["Poisson"].log_marginal, True)
    p = np.exp(log_p - log_p.max())
    check(model, partitions, p / p.sum(), measure)


@pytest.mark.slow
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_degree_correction(directed, loops):
    A, measure = matrix("Poisson", SEED, directed), nrm.DirichletProcess(1.3)
    options = {"directed": directed, "loops": loops, "degree_corrected": 0.8}
    model = network_model(A, nrm.PoissonGamma(1.2, 0.6), measure, **options)
    law = partitions_and_posterior(lambda z: log_degree_corrected(A, z, 0.8, directed, loops), measure)
    check(model, *law, directed, loops)


GROUPS = np.array([0, 1, 0, 2, 1, 3])
KNOWN = np.array([0, -1, 1, -1, 0, -1])


@pytest.mark.slow
@pytest.mark.parametrize("only_known", [None, False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_units_of_nodes(directed, only_known):
    """Six nodes of which some stay together, or of which three have known labels."""
    name, measure = "Poisson", nrm.PitmanYorProcess(0.3, 1.0)
    A = matrix(name, SEED, directed, gaps=2, n=6)
    options = {"together": GROUPS} if only_known is None else {"known": KNOWN, "only_known": only_known}
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=6, **options)
        BlockModel("ties", z, FAMILIES[name].family, observed=A, directed=directed, loops=True)
        nrm.Mixture("x", z, nrm.NormalGamma(0.0, 0.3, 2.0, 1.0), observed=np.linspace(-1, 1, 6) ** 2)
    logp, partitions = model.compile_logp(vars=[z]), all_partitions(6)
    log_prior = np.array([float(logp({"z": labels})) for labels in partitions])
    partitions, log_p = partitions[np.isfinite(log_prior)], log_prior[np.isfinite(log_prior)]
    x = model.compile_logp(vars=[model["x"]])
    log_p += [float(np.sum(x({"z": labels}))) for labels in partitions]
    log_p += [log_network(A, labels, FAMILIES[name].log_marginal, directed, True) for labels in partitions]
    p = np.exp(log_p - log_p.max())
    with model:
        step = BlockSampler([z], rng=1)
    starts = [partitions[0], partitions[-1]]
    labels, _ = run(step, 6, seeded(directed, only_known), DRAWS, starts)
    assert_law(labels, partitions, p / p.sum())


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.slow) for case in ("3 x 3", "4 x 4")])
def test_tables_whose_rows_and_columns_are_clustered(case):
    """Labels of rows and of columns jointly."""
    n = int(case[0])
    family, log_marginal, _ = FAMILIES["Bernoulli" if n == 3 else "normal"]
    X = np.asarray(
        FAMILIES["Bernoulli" if n == 3 else "normal"].simulate(np.random.default_rng(2), (n, n)), dtype=float
    )
    X[0, 1] = np.nan
    measures = nrm.DirichletProcess(1.2), nrm.PitmanYorProcess(0.3, 1.0)
    with pm.Model():
        z, w = nrm.Partition("z", measures[0], n=n), nrm.Partition("w", measures[1], n=n)
        BlockModel("visits", (z, w), family, observed=X)
        steps = [BlockSampler([z], rng=1), BlockSampler([w], rng=2)]
    partitions = all_partitions(n)
    log_prior = [[log_eppf(measure, label_counts(labels)) for labels in partitions] for measure in measures]
    log_p = np.add.outer(*map(np.array, log_prior))
    log_p += [[log_table(X, rows, columns, log_marginal) for columns in partitions] for rows in partitions]
    p = np.exp(log_p - log_p.max())
    chains = []
    for seed, start in enumerate((np.zeros(n, dtype=np.int64), np.arange(n))):
        for step, rng in zip(steps, np.random.default_rng(seed).spawn(2), strict=True):
            step.setup_chain(rng, 0, 1)
        point, draws = {"z": start, "w": start}, []
        for _ in range(3_000 if n == 3 else 10_000):
            for step in steps:
                point, _ = step.step(point)
            draws.append(np.concatenate([point["z"], n + point["w"]]))
        chains.append(draws)
    pairs = np.array([np.concatenate([rows, n + columns]) for rows in partitions for columns in partitions])
    # Pairs of partitions as partitions of rows and columns together, whose labels are in order of appearance.
    names = np.array([_in_order(row) for row in pairs])
    labels = np.apply_along_axis(_in_order, -1, np.array(chains))
    assert_law(labels, names, p.ravel() / p.sum())


def _in_order(labels):
    known = {}
    return np.array([known.setdefault(int(label), len(known)) for label in labels])


@pytest.mark.slow
def test_a_network_and_a_table_share_a_partition():
    A, measure = matrix("Bernoulli", 4, gaps=1), nrm.DirichletProcess(1.3)
    X = np.random.default_rng(3).poisson(1.5, (N, 4)).astype(float)
    columns = np.array([0, 0, 1, 0])
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=N)
        w = nrm.Partition("w", measure, n=4, observed=columns)
        BlockModel("ties", z, FAMILIES["Bernoulli"].family, observed=A, directed=False)
        BlockModel("visits", (z, w), FAMILIES["Poisson"].family, observed=X)

    def log_likelihood(labels):
        of_ties = log_network(A, labels, FAMILIES["Bernoulli"].log_marginal)
        return of_ties + log_table(X, labels, columns, FAMILIES["Poisson"].log_marginal)

    check(model, *partitions_and_posterior(log_likelihood, measure))


@pytest.mark.slow
def test_hyperparameters_are_sampled_with_the_partition():
    """Labels given data with the concentration and a hyperparameter of the family integrated out on a grid."""
    A = matrix("Bernoulli", 9, gaps=1)
    with pm.Model():
        alpha, a = pm.Gamma("alpha", 2.0, 2.0), pm.Gamma("a", 2.0, 2.0)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=N)
        BlockModel("ties", z, nrm.BernoulliBeta(a, 1.1), observed=A, directed=False)
        draws = pm.sample(4_000, tune=1_000, chains=2, cores=1, random_seed=3, progressbar=False, quiet=True)
    partitions, grid = all_partitions(N), np.linspace(0.005, 12.0, 600)
    weights = grid * np.exp(-2.0 * grid)
    of_measure = np.exp([[log_eppf(nrm.DirichletProcess(x), label_counts(z)) for x in grid] for z in partitions])
    of_ties = [
        [log_network(A, z, functools.partial(FAMILIES["Bernoulli"].log_marginal, a=x)) for x in grid]
        for z in partitions
    ]
    p = (of_measure @ weights) * (np.exp(of_ties) @ weights)
    assert_law(draws.posterior["z"].values, partitions, p / p.sum())


@pytest.mark.slow
def test_runs_choose_the_step():
    A = np.kron(np.eye(2, dtype=int), np.ones((6, 6), dtype=int))
    model = network_model(A, nrm.BernoulliBeta(1.0, 1.0), nrm.DirichletProcess(1.0), directed=False)
    idata = nrm.sample(model=model, random_seed=1, draws=200, tune=100, chains=2, cores=1, progressbar=False)
    assert "n_splits_proposed" in idata.sample_stats
    np.testing.assert_array_equal(nrm.point_estimate(idata)["labels"], np.repeat([0, 1], 6))


@pytest.mark.slow
def test_the_joint_distribution_of_data_and_labels():
    """Forward draws of data between draws of the step leave the prior of the labels as it is."""
    check_joint(nrm.BernoulliBeta(0.7, 1.1), {"directed": False}, 2_000)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"directed": True, "loops": True}, {"directed": False, "degree_corrected": 0.8}])
def test_the_joint_distribution_of_counts_and_labels(options):
    check_joint(nrm.PoissonGamma(1.2, 0.6), options, 6_000)


def check_joint(family, options, draws):
    n, measure, directed = 4, nrm.DirichletProcess(1.3), options["directed"]
    loops = options.get("loops", False) or "degree_corrected" in options
    model = network_model(np.ones((n, n)), family, measure, **{**options, "loops": loops})
    with model:
        step = BlockSampler([model["z"]], rng=1, check_moves=False)
    [network], numbers = step.target.networks, kernel_family(type(family), [np.array([float(x)]) for x in family])
    chains = []
    for seed, start in enumerate((np.zeros(n, dtype=np.int64), np.arange(n))):
        rng = np.random.default_rng(seed)
        step.setup_chain(rng.spawn(1)[0], 0, draws)
        point, labels = {"z": start}, []
        for _ in range(draws):
            mode, z = int(directed), point["z"]
            A = draw_matrix(rng, z, z, numbers, mode, loops, options.get("degree_corrected", 0.0))
            network.data = dataclasses.replace(network.data, observed=read_pairs("A", A, directed, loops, False))
            step.target.refresh()
            point, _ = step.step(point)
            labels.append(point["z"])
        chains.append(labels)
    partitions = all_partitions(n)
    assert_law(np.array(chains), partitions, np.exp([log_eppf(measure, label_counts(z)) for z in partitions]))


def test_values_far_apart_are_exact():
    """Sums of statistics lose no digits where nodes come and go."""
    A = symmetric(np.random.default_rng(3).normal(size=(12, 12)) + 1e6 * (np.arange(12) % 2))
    family = nrm.NormalGamma(0.0, 0.1, 2.0, 1.0)
    model = network_model(A, family, nrm.DirichletProcess(1.0), directed=False)
    with model:
        step = BlockSampler([model["z"]], rng=1)
    _, statistics = run(step, 12, np.random.default_rng(7), 20)
    logp = model.compile_logp()
    assert np.isfinite([row["log_joint"] for row in statistics]).all() and np.isfinite(logp({"z": np.arange(12)}))


def test_addresses_live_as_long_as_their_family(monkeypatch):
    """Families of tables at many points are read after each other, as in the comparison with the model."""
    memory = []

    def remembered(family, data, form):
        result = erase(family, data, form)
        memory.append(weakref.ref(result[0].parts.base))
        return result

    monkeypatch.setattr(block_target, "erase", remembered)
    model = nrm.networks.two_way_model(np.random.default_rng(1).integers(2, size=(6, 4)))
    with model:
        step = BlockSampler([model["rows"]], rng=1)
    point = model.initial_point()
    memory.clear()
    families = [step.target.at(point)[1] for _ in range(5)]
    gc.collect()
    assert len(memory) == 5 and all(of_family() is not None for of_family in memory)
    families.clear()
    gc.collect()
    assert all(of_family() is None for of_family in memory)
