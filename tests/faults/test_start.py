"""Starts of chains: a start that the user gives is kept, and the default is left to the step."""

import pickle

import numpy as np
import pymc as pm
import pytest
from helpers import mixture_of

import pymc_nrm as nrm
from pymc_nrm.measures.base import weights
from pymc_nrm.models.marked_labels import is_default_start
from pymc_nrm.moves import sampled_start
from pymc_nrm.partitions.labels import canonical_labels

N = 24
X = np.repeat([0.0, 50.0, 100.0, 150.0], N // 4) + np.random.default_rng(1).normal(size=N)
ONE, TWO = np.zeros(N, dtype=np.int64), np.arange(N) // (N // 2)
# A draw that updates a single item shows where it started.
MOVES = {"informed_split_merge": 0, "tree_split_merge": 0, "subtree_gibbs": 0}
OPTIONS = {"moves": MOVES | {"marginal_gibbs": 1}}


def make_model(**kwargs):
    return mixture_of(nrm.NormalGamma(mu=75.0, kappa=1e-3, alpha=2.0, beta=1.0), X, nrm.DirichletProcess(0.1), **kwargs)


def starts(sample, model, initvals, cores, **kwargs):
    """Whether the chains started from one cluster, two, or the four of the tree."""
    options = {"tune": 0, "chains": 2, "random_seed": 1, "progressbar": False, "quiet": True}
    with model:
        idata = sample(1, cores=cores, initvals=initvals, compute_convergence_checks=False, **options, **kwargs)
    return [int((np.bincount(labels) > 1).sum()) for labels in idata.posterior["z"].values[:, 0]]


@pytest.mark.parametrize("sample", [pm.sample, nrm.sample], ids=["pm", "nrm"])
@pytest.mark.parametrize(
    ("initvals", "expected"),
    [
        (None, [4, 4]),
        ({}, [4, 4]),
        ({"z": ONE}, [1, 1]),
        ({"z": TWO}, [2, 2]),
        ([{"z": ONE}, {}], [1, 4]),
        ([None, {"z": ONE}], [4, 1]),
        ([{"z": ONE}, {"z": TWO}], [1, 2]),
    ],
    ids=str,
)
def test_start_of_the_user_is_kept(sample, initvals, expected):
    assert starts(sample, make_model(), initvals, 1, tree_guided=OPTIONS) == expected


@pytest.mark.parametrize("cores", [1, 2])
def test_starts_are_kept_in_processes_and_by_steps_of_the_user(cores):
    with make_model() as model:
        step = nrm.TreeGuided([model["z"]], **OPTIONS)
    assert starts(pm.sample, model, [{"z": ONE}, None], cores, step=step) == [1, 4]


PUBLISHED = nrm.published.PublishedTreeGuided
# Few moves per draw, where a step has such an option.
FEW_MOVES = {
    nrm.TreeGuided: OPTIONS,
    nrm.MarginalGibbs: {"n_items": 1},
    nrm.SplitMerge: {"n_moves": 1, "n_items": 1},
    nrm.SliceSampler: {},
    PUBLISHED: {"canonical": True, "n_global": 0},
}


# All steps start in the same lines; kernels of the published one compile for this family only here.
ROWS = [pytest.param(step, marks=pytest.mark.slow if step is PUBLISHED else ()) for step in FEW_MOVES]


@pytest.mark.parametrize("step", ROWS, ids=lambda step: step.__name__)
def test_every_step_starts_from_clusters(step):
    """Moves of single items never leave one cluster of groups that lie 1e8 widths apart, and all chains agree."""
    far = X + 2e6 * X.round(-1)
    with mixture_of(nrm.NormalGamma(0.0, 1e-17, 2.0, 1.0), far, nrm.DirichletProcess(0.1)) as model:
        steps = step([model["z"]], **FEW_MOVES[step])
    assert starts(pm.sample, model, None, 1, step=steps) == [4, 4]


@pytest.mark.quick("TreeGuided")
@pytest.mark.parametrize("step", ROWS, ids=lambda step: step.__name__)
def test_every_step_starts_from_chains_on_some_of_many_items(step, monkeypatch):
    monkeypatch.setattr(sampled_start, "START_SIZES", (14, 20))
    with make_model() as model:
        steps = step([model["z"]], **FEW_MOVES[step])
    assert starts(pm.sample, model, None, 1, step=steps) == [4, 4]


def test_start_from_a_sample_is_that_of_its_seed_and_leaves_the_step_alone(monkeypatch):
    monkeypatch.setattr(sampled_start, "START_SIZES", (4, 8))
    family = nrm.NormalGamma(mu=75.0, kappa=1e-3, alpha=2.0, beta=1.0)
    with mixture_of(family, X, nrm.DirichletProcess(3.0)) as model:
        step = nrm.TreeGuided([model["z"]])
    step.setup_chain(np.random.default_rng(1), 10, 10)
    measure, family, data = step.target.at(model.initial_point())
    found = {}
    for seed in (1, 1, 2, 3, 4, 5):
        labels = step.start(np.random.default_rng(seed), weights(measure, N, 1.0), family, data)
        assert np.array_equal(labels, found.setdefault(seed, labels))
        assert np.array_equal(labels, canonical_labels(labels))
    assert len({labels.tobytes() for labels in found.values()}) > 1
    assert (step.guides, step.n_steps, step.n_tune, len(step.waiting)) == ([], 0, 10, 0)


@pytest.mark.parametrize(("many", "seen"), [(8, 0.0), (N, 5.0)], ids=["many", "few"])
def test_start_from_a_sample_is_at_the_first_hyperparameters(monkeypatch, many, seen):
    """Steps before it have moved them given labels of nobody."""
    monkeypatch.setattr(sampled_start, "START_SIZES", (4, many))
    with pm.Model() as model:
        mu = pm.Normal("mu", 75.0, 10.0)
        z = nrm.Partition("z", nrm.DirichletProcess(3.0), n=N)
        nrm.Mixture("x", z, nrm.NormalGamma(mu, 1e-3, 2.0, 1.0), observed=X)
        step = nrm.TreeGuided([z])
    first, families = model.initial_point(), []

    def start(rng, table, family, data):
        families.append(family)
        return np.zeros(N, dtype=np.int64)

    monkeypatch.setattr(step, "start", start)
    step.setup_chain(np.random.default_rng(1), 10, 10)
    point, _ = step.step(first | {"mu": first["mu"] + 5.0})
    _, family, _ = step.target.at(first)
    np.testing.assert_allclose(families[0].mu - family.mu, seen)
    assert point["mu"] == first["mu"] + 5.0


@pytest.mark.slow
def test_start_from_a_sample_keeps_known_labels(monkeypatch):
    """Items of known labels are in every chain; those beyond join no cluster of another label."""
    known = np.full(N, -1)
    known[::3] = np.arange(N)[::3] // 6
    for sizes in ((4, 6), (2, 3)):
        monkeypatch.setattr(sampled_start, "START_SIZES", sizes)
        # Four labels are known; a chain whose start mixed them would stop with an error.
        found = starts(pm.sample, make_model(known=known), None, 1, tree_guided=OPTIONS)
        assert all(4 <= n_clusters <= 6 for n_clusters in found)


def test_initial_value_of_the_variable_is_kept():
    assert starts(pm.sample, make_model(initval=ONE), None, 1, tree_guided=OPTIONS) == [1, 1]
    assert starts(pm.sample, make_model(initval=ONE), {"z": "support_point"}, 1, tree_guided=OPTIONS) == [4, 4]


def test_mark_survives_copies_and_processes():
    point = make_model().initial_point()
    labels = point["z"]
    from_bytes = np.frombuffer(labels.tobytes(), pickle.loads(pickle.dumps(labels.dtype)))
    for copy in (labels.copy(), np.array(labels), from_bytes, pickle.loads(pickle.dumps(labels))):
        assert is_default_start(copy)
        assert copy.dtype == np.int64
    assert not is_default_start(list(labels))


def test_two_partitions_with_equal_starts_are_told_apart():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N, initval=ONE)
        w = nrm.Partition("w", nrm.DirichletProcess(1.0), n=N)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=np.ones(N))
        nrm.Mixture("y", w, nrm.PoissonGamma(1.0, 1.0), observed=np.ones(N))
    point = model.initial_point()
    assert not is_default_start(point["z"])
    assert is_default_start(point["w"])
