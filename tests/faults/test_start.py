"""Starts of chains: that of the user is kept, and the default is left to the step, or comes from Ward linkage."""

import numpy as np
import pymc as pm
import pytest
from scipy.stats import multivariate_normal

import pymc_nrm as nrm
from pymc_nrm.measures.base import weights
from pymc_nrm.models.default_start import is_default_start
from pymc_nrm.moves import sampled_start
from pymc_nrm.moves.ward_start import better_start, gaussian_score, should_try_ward_start
from tests.helpers import canonical_labels, mixture_of
from tests.tools.wings import rows_of_wings

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
        step = nrm.steps.TreeGuided([model["z"]], **OPTIONS)
    assert starts(pm.sample, model, [{"z": ONE}, None], cores, step=step) == [1, 4]


OF_WINGS = rows_of_wings("STARTED")
# Few moves per draw, where a step has such an option.
FEW_MOVES = {
    nrm.steps.TreeGuided: OPTIONS,
    nrm.steps.MarginalGibbs: {"n_items": 1},
    nrm.steps.SplitMerge: {"n_moves": 1, "n_items": 1},
    nrm.steps.SliceSampler: {},
} | OF_WINGS


# All steps start in the same lines; kernels of some compile for this family only here.
ROWS = [
    pytest.param(step, marks=pytest.mark.slow if step in (nrm.steps.SliceSampler, *OF_WINGS) else ())
    for step in FEW_MOVES
]


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
        step = nrm.steps.TreeGuided([model["z"]])
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

    def family():
        return nrm.NormalGamma(pm.Normal("mu", 75.0, 10.0), 1e-3, 2.0, 1.0)

    with mixture_of(family, X, nrm.DirichletProcess(3.0)) as model:
        step = nrm.steps.TreeGuided([model["z"]])
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


def test_two_partitions_with_equal_starts_are_told_apart():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N, initval=ONE)
        w = nrm.Partition("w", nrm.DirichletProcess(1.0), n=N)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=np.ones(N))
        nrm.Mixture("y", w, nrm.PoissonGamma(1.0, 1.0), observed=np.ones(N))
    point = model.initial_point()
    assert not is_default_start(point["z"])
    assert is_default_start(point["w"])


def two_groups(n, d=20):
    """Two Gaussians four standard deviations apart, which no feature shows."""
    truth = np.arange(n) % 2
    return np.random.default_rng(1).normal(size=(n, d)) + 4.0 / np.sqrt(d) * truth[:, None], truth


def share_of_right(labels, truth):
    return abs((labels == truth).mean() - 0.5) + 0.5


def test_score_is_the_largest_likelihood_less_the_cost_of_parameters(rng):
    points, labels = rng.normal(size=(40, 2)) + np.arange(40)[:, None] // 25, np.arange(40) // 25
    points[labels == 1] *= [1.0, 0.1]
    parts = [points[labels == k] for k in range(2)]
    pooled = sum(len(part) * np.cov(part.T, bias=True) for part in parts) / 40

    def score(covariances, n_parameters):
        total = -0.5 * np.log(40) * n_parameters
        for part, covariance in zip(parts, covariances, strict=True):
            total += multivariate_normal(part.mean(axis=0), covariance).logpdf(part).sum()
            total += len(part) * np.log(len(part) / 40)
        return total

    # Weights count as one number for each cluster; the scores lack the constant of Gaussian densities.
    alike, apart = score([pooled] * 2, 2 * 3 + 3), score([np.cov(part.T, bias=True) for part in parts], 2 * 3 + 6)
    constant = -0.5 * 40 * 2 * (1 + np.log(2 * np.pi))
    assert apart > alike + 5
    np.testing.assert_allclose(gaussian_score(points, labels) + constant, apart)
    # With three items, the second cluster has no covariance of its own.
    few = np.where(np.arange(40) < 37, 0, 1)
    parts = [points[few == k] for k in range(2)]
    pooled = sum(len(part) * np.cov(part.T, bias=True) for part in parts) / 40
    np.testing.assert_allclose(gaussian_score(points, few) + constant, score([pooled] * 2, 9))
    assert gaussian_score(points[:, [0, 0]], labels) == -np.inf


def test_the_best_labels_are_taken():
    points, truth = two_groups(500)
    for seed in range(3):
        found = better_start(np.random.default_rng(seed), points, np.zeros(500, dtype=np.int64))
        assert found.max() == 1 and share_of_right(found, truth) > 0.9
    assert better_start(np.random.default_rng(0), points, truth) is truth
    flat = np.hstack([points, points[:, :1]])
    assert len(better_start(np.random.default_rng(0), flat, truth)) == 500
    assert should_try_ward_start(40, 8) and not should_try_ward_start(39, 8) and not should_try_ward_start(1000, 7)


@pytest.mark.slow
def test_a_chain_keeps_two_clusters_that_the_guide_tree_joins():
    X, truth = two_groups(600)
    options = {"chains": 2, "cores": 1, "random_seed": 4, "quiet": True}
    idata = nrm.sample(20, tune=80, model=nrm.gaussian_mixture(X), **options)
    for labels in idata["posterior"]["z"].values[:, -1]:
        assert share_of_right(labels, truth) > 0.92
        assert (np.bincount(labels) > 30).sum() == 2
