"""StateGibbs and its kernel against enumerated labels, with hyperparameters on grids."""

import functools
import itertools

import numpy as np
import pymc as pm
import pytest
from scipy import stats
from scipy.special import logsumexp

import pymc_nrm as nrm
from pymc_nrm.run.choose_steps import learned_variables, with_own_nuts
from pymc_nrm.states.moves.slot_paths import update_paths
from pymc_nrm.states.partitions.slots import log_state_slots
from pymc_nrm.testing import geweke, kernel_inputs, largest_z
from tests.helpers import assert_law, assert_means, refused, seeded
from tests.states.enumerated_states import log_density
from tests.states.reference import one_start, prior_of
from tests.tools.same_results import assert_resumes_the_same

pytestmark = pytest.mark.usefixtures("compiled")

K = 3
# Hyperparameters gamma, alpha and kappa, and the first times of sequences after the first.
CASES = {
    "no kappa": (1.2, 0.6, 0.0, ()),
    "sticky": (1.2, 0.9, 1.8, ()),
    "two sequences": (0.8, 1.5, 0.7, (2,)),
    "two sequences, no kappa": (2.5, 0.4, 0.0, (3,)),
}
QUIET = {"cores": 1, "progressbar": False, "quiet": True, "compute_convergence_checks": False}


def labelings(n):
    return np.array(list(itertools.product(range(K), repeat=n)))


def prior(case, n, kappa=None):
    gamma, alpha, own_kappa, others = CASES[case]
    return prior_of(gamma, -gamma / K, alpha, own_kappa if kappa is None else kappa, one_start(n, *others))


def states(case, n, kappa=None):
    gamma, alpha, own_kappa, others = CASES[case]
    sequences = np.cumsum(one_start(n, *others)) if others else None
    transitions = nrm.states.Transitions(alpha, own_kappa if kappa is None else kappa)
    return nrm.states.HiddenStates(
        "z", nrm.DirichletProcess(gamma), transitions, n=n, sequences=sequences, max_states=K
    )


def normalised(log_p):
    return np.exp(log_p - logsumexp(log_p))


LOG_DENSITIES = np.log([[0.9, 0.3, 0.5], [0.2, 0.7, 0.1], [0.4, 0.3, 0.8], [1.0, 0.4, 0.6], [0.5, 0.5, 0.7]])


@pytest.mark.quick("few-no kappa", "few-two sequences")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_draws", [4000, 50_000], ids=["few", "many"])
def test_updates_of_paths_have_the_posterior(case, n_draws):
    n = len(LOG_DENSITIES)
    values, of_states = labelings(n), prior(case, n)
    log_p = [log_state_slots(labels, of_states, K) + LOG_DENSITIES[np.arange(n), labels].sum() for labels in values]
    chains = []
    for k, rng in enumerate(seeded(case).spawn(4)):
        labels, drawn, workspace = np.full(n, k % K), np.empty((n_draws, n), dtype=np.int64), np.empty((n, K))
        for draw in drawn:
            update_paths(rng, labels, of_states, LOG_DENSITIES, workspace)
            draw[:] = labels
        chains.append(drawn)
    assert_law(np.array(chains), values, normalised(np.array(log_p)))


def test_updates_of_paths_of_small_densities():
    """Densities that doubles cannot hold relative to the largest of a time leave a single path."""
    path = np.array([0, 2, 2, 1, 0])
    log_densities = np.where(path[:, None] == np.arange(K), 0.0, -2000.0) - 1e5
    labels, workspace = np.zeros(5, dtype=np.int64), np.empty((5, K))
    update_paths(seeded("small"), labels, prior("sticky", 5), log_densities, workspace)
    np.testing.assert_array_equal(labels, path)


Y = np.array([-1.3, 1.1, 1.6, -0.4])
SD = 0.8
COUNTS = np.array([0, 6, 3, 1])
FAMILY = nrm.PoissonGamma(1.5, 0.5)
TAU, KAPPA = stats.lognorm(0.4, scale=np.exp(0.3)), stats.gamma(2.0, scale=0.8)
PLACES = (np.arange(200) + 0.5) / 200


@functools.cache
def posterior(case, indexed, mixture, is_random):
    """All labels, their probabilities, and the posterior means of tau and kappa, random by midpoints of quantiles."""
    values = labelings(len(Y))
    taus, kappas = (one.ppf(PLACES) for one in (TAU, KAPPA))
    log_p = np.zeros((len(values), len(PLACES), 2))
    for row, labels in zip(log_p, values, strict=True):
        row[:, 1] = [log_state_slots(labels, prior(case, len(Y), kappa if is_random else None), K) for kappa in kappas]
        if mixture:
            row[:, 1] += log_density(*kernel_inputs(FAMILY, COUNTS), labels)
        for state in set(labels) if indexed else ():
            y = Y[labels == state]
            m, rest = len(y), ((y - y.mean()) ** 2).sum()
            row[:, 0] += stats.norm.logpdf(y.mean(), 0, np.sqrt(SD**2 / m + taus**2)) - rest / (2 * SD**2)
            row[:, 0] += -0.5 * np.log(m) - (m - 1) * np.log(SD * np.sqrt(2 * np.pi))
    totals = logsumexp(log_p, axis=1)
    p = normalised(totals.sum(axis=1))
    of_grid = np.exp(log_p - totals[:, None])
    return values, p, p @ (of_grid[:, :, 0] @ taus), p @ (of_grid[:, :, 1] @ kappas)


def make_model(case="sticky", indexed=True, mixture=False, is_random=True):
    with pm.Model() as model:
        kappa = pm.Gamma("kappa", 2.0, 1 / 0.8) if is_random else None
        z = states(case, len(Y), kappa)
        if indexed:
            tau = pm.LogNormal("tau", 0.3, 0.4)
            mean = pm.Normal("mean", 0, tau, shape=K)
            pm.Normal("y", mean[z], SD, observed=Y)
        if mixture:
            nrm.Mixture("count", z, FAMILY, observed=COUNTS)
    return model


def run(model, draws, rng, tune=300, **options):
    """Points of two chains; NUTS comes last in a draw."""
    with model:
        steps = [nrm.states.StateGibbs([model["z"]], **options)]
        steps += [nrm.steps.SlotNUTS(target_accept=0.9)] if len(model.free_RVs) > 1 else []
    points = []
    for own in rng.spawn(2):
        point = model.initial_point()
        for step, generator in zip(steps, own.spawn(len(steps)), strict=True):
            step.setup_chain(generator, tune, draws)
        for i in range(-tune, draws):
            for step in steps:
                if step is not steps[0] and i in (-tune, 0):
                    step.reset_tuning() if i < 0 else step.stop_tuning()
                point, _ = step.step(point)
            if i >= 0:
                points.append(point)
    return {name: np.array([p[name] for p in points]).reshape(2, draws, *np.shape(points[0][name])) for name in point}


def check(case, indexed, mixture, is_random, draws, **options):
    names = (case, indexed, mixture, is_random)
    drawn = run(make_model(*names), draws, seeded(*names, draws), **options)
    values, p, mean_tau, mean_kappa = posterior(*names)
    assert_law(drawn["z"], values, p)
    found, expected = {}, {}
    if is_random:
        found["kappa"], expected["kappa"] = np.exp(drawn["kappa_log__"]), mean_kappa
    if indexed:
        tau = np.exp(drawn["tau_log__"])
        # Parameters of empty slots have their prior at every draw.
        empty = (drawn["z"][..., None] != np.arange(K)).all(axis=-2)
        squares = np.where(empty, (drawn["mean"] / tau[..., None]) ** 2, 0.0).sum(axis=-1) / empty.sum(axis=-1).clip(1)
        found |= {"tau": tau, "empty": squares - empty.any(axis=-1)}
        expected |= {"tau": mean_tau, "empty": 0.0}
    if found:
        assert_means(found, expected)


@pytest.mark.slow
def test_steps_have_the_posterior_in_short():
    check("sticky", True, False, True, 2000)


@pytest.mark.slow
def test_mixtures_alone_have_the_posterior():
    check("two sequences", False, True, False, 2000)


def test_densities_are_those_of_the_parameters_of_the_draw():
    model = make_model(mixture=True)
    with model:
        step = nrm.states.StateGibbs([model["z"]])
    log_joint, point = model.compile_logp([model["z"], model["y"], model["count"]]), model.initial_point()
    step.setup_chain(np.random.default_rng(1), 0, 40)
    sizes = set()
    for _ in range(40):
        point, [reported] = step.step(point)
        assert reported["log_joint"] == pytest.approx(float(log_joint(point)), rel=1e-10)
        assert reported["n_clusters"] == len(np.unique(point["z"]))
        assert reported["all_slots_used"] == (reported["n_clusters"] == K)
        sizes.add(reported["n_clusters"])
    assert sizes == {1, 2, 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "indexed", "mixture", "is_random", "options"),
    [
        ("no kappa", True, False, False, {}),
        ("two sequences", True, False, True, {}),
        ("sticky", True, True, True, {"n_blocked": 1}),
        ("two sequences, no kappa", False, True, True, {}),
    ],
)
def test_steps_have_the_posterior(case, indexed, mixture, is_random, options):
    check(case, indexed, mixture, is_random, 8000, **options)


@pytest.mark.slow
def test_models_with_named_dims_have_the_posterior(monkeypatch):
    pmd = pytest.importorskip("pymc.dims")

    def named_model(case, indexed, mixture, is_random):
        with pm.Model(coords={"state": range(K), "time": range(len(Y))}) as model:
            z = pmd.as_xtensor(states(case, len(Y), pmd.Gamma("kappa", alpha=2.0, beta=1 / 0.8)), dims="time")
            mean = pmd.Normal("mean", 0, pmd.LogNormal("tau", 0.3, 0.4), dims="state")
            pmd.Normal("y", mean.isel(state=z), SD, observed=pmd.Data("data", Y, dims="time"))
            nrm.Mixture("count", z, FAMILY, observed=pmd.Data("counts", COUNTS, dims="time"))
        return model

    monkeypatch.setitem(globals(), "make_model", named_model)
    check("sticky", True, True, True, 8000)


@pytest.mark.slow
@pytest.mark.parametrize("by_slices", [False, True], ids=["NUTS", "slices"])
def test_joint_distribution_with_all_hyperparameters(by_slices):
    with pm.Model() as model:
        measure = nrm.DirichletProcess(pm.Gamma("gamma", 3, 2))
        transitions = nrm.states.Transitions(pm.Gamma("alpha", 3, 2), pm.Gamma("kappa", 2, 1))
        z = nrm.states.HiddenStates("z", measure, transitions, n=10, sequences=[0] * 6 + [1] * 4, max_states=K)
        nrm.Mixture("x", z, FAMILY, shape=(10, 1))
        step = nrm.steps.LearnedGibbs() if by_slices else None
    scores = geweke(model, draws=4000, tune=500, chains=4, random_seed=5, step=step)
    assert len(scores) > 8
    assert max(map(abs, scores.values())) < largest_z((4, 4000), len(scores)), scores


def test_runs_choose_the_steps():
    model = make_model()
    idata = nrm.sample(10, tune=10, chains=1, model=model, random_seed=1, **QUIET)
    assert {"all_slots_used", "n_moved"} <= set(idata["sample_stats"].data_vars)
    learned = learned_variables(model, {}, before_nuts=True)
    assert [value.name for value in learned] == ["kappa_log__"]
    [nuts] = with_own_nuts(model, {})["step"]
    assert [value.name for value in nuts.vars] == ["tau_log__", "mean"]
    with make_model(indexed=False, mixture=True) as alone:
        assert "step" not in with_own_nuts(alone, {})
        [nuts] = with_own_nuts(alone, {"target_accept": 0.9})["step"]
    assert [value.name for value in nuts.vars] == ["kappa_log__"]
    assert nrm.states.StateGibbs.competence(model["z"], False) == 3


@pytest.mark.slow
def test_pymc_chooses_the_step_and_says_what_is_slow(caplog):
    with make_model():
        idata = pm.sample(10, tune=10, chains=1, random_seed=1, cores=1, progressbar=False)
    assert idata["posterior"]["z"].values.max() < K
    assert "PyMC's NUTS samples parameters of empty slots of 'z'" in caplog.text


@pytest.mark.slow
def test_a_stopped_run_resumes_as_if_nothing_had_happened(tmp_path):
    assert_resumes_the_same(tmp_path / "run", model=make_model(mixture=True), cores=1, quiet=True)


def step_of(make, **options):
    with make() as model:
        return nrm.states.StateGibbs([model["z"]], **options)


def without_slots():
    with pm.Model() as model:
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0), n=4)
        nrm.Mixture("count", z, FAMILY, observed=COUNTS)
    return model


def cumulated():
    model = make_model(indexed=False)
    with model:
        step = pm.Normal("step", 0, 1, shape=K)
        pm.Normal("y", step[model["z"]].cumsum(), 1.0, observed=Y)
    return model


def too_short():
    model = make_model(indexed=False)
    with model:
        pm.Normal("y", pm.Normal("level", 0, 1, shape=2)[model["z"]], 1.0, observed=Y)
    return model


test_what_is_not_allowed = refused(
    lambda make, options: step_of(make, **options),
    (make_model, {"n_blocked": 0}, "n_blocked must be a whole number of at least 1; got 0"),
    (
        without_slots,
        {},
        "vars of StateGibbs must be HiddenStates with max_states; 'z' is a HiddenStates of hidden states",
    ),
    (cumulated, {}, "'y' must be a sum of terms that each depend on the label of one item"),
    (too_short, {}, "axis 0 of 'level' must have the length of max_states, 3"),
)


def test_as_many_states_as_items_are_told_apart_by_dims(caplog):
    with pm.Model():
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0), n=4, max_states=4)
        pm.Normal("y", pm.Normal("level", 0, 1, shape=4)[z], 1.0, observed=Y)
        with caplog.at_level("INFO"):
            nrm.states.StateGibbs([z])
    assert "max_states of 'z' is the number of its items. level must have an entry\nfor each state" in caplog.text


@pytest.mark.parametrize(
    "step", [nrm.states.StateSampler, nrm.steps.SlotGibbs, nrm.steps.WeightedGibbs, nrm.steps.MarginalGibbs]
)
def test_steps_for_other_kinds_refuse_slots_of_states(step):
    with make_model() as model, pytest.raises((TypeError, ValueError), match="^vars .*StateGibbs"):
        step([model["z"]])
    assert step.competence(model["z"], False) == 0


def test_labels_without_slots_index_nothing():
    model = without_slots()
    with model:
        pm.Normal("y", pm.Normal("level", 0, 1, shape=3)[model["z"]], 1.0, observed=Y)
        with pytest.raises(ValueError, match="'y' must not depend on .* hidden states 'z'.* give them max_states"):
            nrm.states.StateSampler([model["z"]])
