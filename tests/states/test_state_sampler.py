"""StateSampler on points of a PyMC model, its options and starts, and joint tests with hyperparameters."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.families import conjugate
from pymc_nrm.states.steps import state_sampler
from pymc_nrm.testing import all_partitions, geweke, kernel_inputs, largest_z
from tests.cases import SMALL, family_rows
from tests.helpers import assert_law, log_density, mixture_of, refused, seeded
from tests.states.enumerated_states import CASES, Case, posterior, probabilities
from tests.tools.same_results import assert_resumes_the_same

CHAINS = 2


def make_model(case, data):
    """Hidden states z with mixtures x0, x1, ..., each a family, its data and the time of each row, or None."""
    n = data[0][1].shape[0] if data[0][2] is None else max(data[0][2]) + 1
    with pm.Model() as model:
        z = case.variable("z", n)
        for k, (family, X, rows) in enumerate(data):
            nrm.Mixture(f"x{k}", z, family, observed=X, rows=rows)
    return model


def of_family(name):
    """Families of a row of the tables with their data."""
    families, data = SMALL[name]
    families, data = (families, data) if isinstance(families, list) else ([families], [data])
    return [(family, X, None) for family, X in zip(families, data, strict=True)]


def run(model, n_draws, *names, **options):
    """Points of chains from the default start, (CHAINS, n_draws), and statistics."""
    with model:
        step = nrm.states.StateSampler([model["z"]], rng=1, **options)
    chains, statistics = [], []
    for rng in seeded(*names).spawn(CHAINS):
        step.setup_chain(rng, 0, n_draws)
        point, labels = model.initial_point(), []
        for _ in range(n_draws):
            point, [stats] = step.step(point)
            labels.append(point["z"])
            statistics.append(stats)
        chains.append(labels)
    return np.array(chains), statistics


def test_step_has_the_posterior_and_reports_it():
    case, family = "two sequences", "NormalGamma, missing"
    model = make_model(CASES[case], of_family(family))
    labels, statistics = run(model, 2500, case)
    assert_law(labels, *posterior(case, family))
    assert all(set(stats) == set(nrm.states.StateSampler.stats_dtypes_shapes) for stats in statistics)
    np.testing.assert_array_equal([one["n_clusters"] for one in statistics], labels.max(axis=-1).ravel() + 1)
    logp = model.compile_logp(mode="FAST_COMPILE")
    for k in range(0, 2500, 500):
        assert statistics[k]["log_joint"] == pytest.approx(float(logp({"z": labels[0, k]})), rel=1e-10)


@pytest.mark.parametrize("family", [row for row in family_rows(()) if row.values != ("NormalGamma, missing",)])
def test_step_has_the_posterior_of_every_other_family(family):
    labels, _ = run(make_model(CASES["sticky"], of_family(family)), 4000, family)
    assert_law(labels, *posterior("sticky", family))


@pytest.mark.slow
def test_options_of_moves():
    for options in ({"n_blocked": 0}, {"n_blocked": 0, "blocks": False}, {"level": 0.3, "n_single": 1}):
        labels, _ = run(make_model(CASES["discount"], of_family("NormalGamma, missing")), 6000, *options, **options)
        assert_law(labels, *posterior("discount", "NormalGamma, missing"))


LAGGED = np.array([0.3, 1.1, -0.4, 2.0, 2.2, 0.9])
ITEMS = np.array([0, 2, 0, 1, 2, 1, 4])
W = np.column_stack([np.ones(7), [0.0, 0.5, 2.0, 1.0, 1.5, 3.0, 2.5]])
Y = np.array([0.1, -0.9, 2.3, 0.8, -2.0, np.nan, -2.2])
AUTOREGRESSION = nrm.NormalRegression(np.column_stack([np.ones(5), LAGGED[:-1]]), 0.0, 0.4 * np.eye(2), 2.0, 1.0)
SEVERAL = {
    "autoregression": [(AUTOREGRESSION, LAGGED[1:], None)],
    "several rows or none": [
        (nrm.NormalRegression(W, [0.2, 0.5], 0.3 * np.eye(2), 2.5, 0.7), Y, ITEMS),
        (nrm.PoissonGamma(1.2, 0.4), np.array([[1], [3], [9], [2], [4]]), None),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEVERAL)
def test_data_of_several_forms(name):
    data = SEVERAL[name]

    def log_likelihood(labels):
        parts = [(*kernel_inputs(family, X), labels if rows is None else labels[rows]) for family, X, rows in data]
        return sum(log_density(*part) for part in parts)

    partitions = all_partitions(5)
    labels, _ = run(make_model(CASES["three sequences"], data), 5000, name)
    assert_law(labels, partitions, probabilities(CASES["three sequences"].prior(), partitions, log_likelihood))


JUMPS = np.repeat([0.0, 30.0, 0.0, 60.0], 15) + np.random.default_rng(1).normal(size=60)
JUMPING = [(nrm.NormalGamma(30.0, 1e-3, 2.0, 1.0), JUMPS, None)]
TRUTH = np.repeat([0, 1, 0, 2], 15)
PERSISTENT = Case(1.0, 0.0, 1.0, 30.0)


def test_default_start_finds_states_and_an_initial_value_is_kept():
    labels, _ = run(make_model(PERSISTENT, JUMPING), 1, "start")
    np.testing.assert_array_equal(labels, [[TRUTH], [TRUTH]])
    with make_model(PERSISTENT, JUMPING) as model:
        step = nrm.states.StateSampler([model["z"]], n_blocked=0, blocks=False, n_single=1)
    step.setup_chain(np.random.default_rng(1), 0, 1)
    initial = np.arange(60) // 30
    point, _ = step.step({"z": initial})
    assert (point["z"] != initial).sum() <= 1


def test_start_of_many_times_comes_from_a_stretch(monkeypatch):
    monkeypatch.setattr(state_sampler, "_MANY", 50)
    monkeypatch.setattr(state_sampler, "_STRETCH", 20)
    labels, _ = run(make_model(PERSISTENT._replace(first=(0, 33)), JUMPING), 1, "start")
    np.testing.assert_array_equal(labels, [[TRUTH], [TRUTH]])


def test_default_start_finds_states_that_alternate():
    """A large kappa, where chains begin, hides them from chains that start from a single state."""
    X = 20.0 * (np.arange(60) % 2) + np.random.default_rng(2).normal(size=60)
    with pm.Model() as model:
        kappa = pm.Gamma("kappa", 2, 0.02)
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, kappa), n=60)
        nrm.Mixture("x", z, nrm.NormalGamma(10.0, 1e-3, 2.0, 1.0), observed=X)
        step = nrm.states.StateSampler([z])
    step.setup_chain(np.random.default_rng(1), 0, 1)
    point, _ = step.step(model.initial_point())
    np.testing.assert_array_equal(point["z"], np.arange(60) % 2)


@pytest.mark.slow
def test_without_data():
    with pm.Model() as model:
        z = CASES["sticky"].variable("z", 4)
        step = nrm.states.StateSampler([z])
    step.setup_chain(np.random.default_rng(1), 0, 1)
    assert np.isfinite(step.step(model.initial_point())[1][0]["log_joint"])


def test_a_single_time():
    labels, _ = run(make_model(CASES["sticky"], [(nrm.NormalGamma(30.0, 1e-3, 2.0, 1.0), JUMPS[:1], None)]), 3, "one")
    assert (labels == 0).all()


class WithoutParameters(nrm.PoissonGamma):
    """Counts whose rates cannot be drawn."""


conjugate.draw_parameters.register(WithoutParameters)(conjugate.draw_parameters.dispatch(object))
COUNTS = np.array([0, 1, 9, 8, 1, 0])


def counts_model(family=nrm.PoissonGamma):
    return make_model(CASES["sticky"], [(family(1.0, 0.2), COUNTS, None)])


def step_of(model, **options):
    with model:
        return nrm.states.StateSampler([model["z"]], **options)


test_what_is_not_allowed = refused(
    lambda options: step_of(counts_model(), **options),
    ({"n_blocked": -1}, "n_blocked must be a whole number of at least 0; got -1"),
    ({"level": 0.0}, "level must be a number from 0.0001 to 0.5; got 0.0"),
    ({"n_single": 1.5}, "n_single must be a whole number of at least 0; got 1.5"),
    ({"n_blocked": 0, "blocks": False, "n_single": 0}, "n_blocked, blocks and n_single must leave some move"),
    ({"blocks": 1}, TypeError, "blocks must be True or False; got 1"),
)
test_what_cannot_be_sampled = refused(
    lambda make: step_of(make()),
    (
        lambda: mixture_of(nrm.PoissonGamma(1.0, 0.2), COUNTS),
        "vars of StateSampler must be HiddenStates; 'z' is a Partition",
    ),
    (
        lambda: counts_model(WithoutParameters),
        NotImplementedError,
        r"WithoutParameters has no draw_parameters, which StateSampler needs; StateSampler\(n_blocked=0\) does not",
    ),
)


def wide_priors(measure=lambda: nrm.DirichletProcess(1.0), alpha=1.0, kappa=1.0):
    """A model of counts whose priors allow hyperparameters below 0; numbers are means of normal distributions."""
    with pm.Model() as model:
        fields = [pm.Normal(name, mean) if mean < 0.0 else mean for name, mean in {"a": alpha, "k": kappa}.items()]
        z = nrm.states.HiddenStates("z", measure(), nrm.states.Transitions(*fields), n=6)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.2), observed=COUNTS)
    return model


WHERE = "where the sampling of 'z' starts; got -3.0"
test_hyperparameters_out_of_range_where_sampling_starts = refused(
    lambda options: step_of(wide_priors(**options)),
    ({"kappa": -3.0}, f"kappa of Transitions must be finite and at least 0 {WHERE}"),
    ({"alpha": -3.0}, f"alpha of Transitions must be finite and above 0 {WHERE}"),
    (
        {"measure": lambda: nrm.DirichletProcess(pm.Normal("g", -3.0))},
        f"alpha of DirichletProcess must be finite and above 0 {WHERE}",
    ),
    (
        {"measure": lambda: nrm.PitmanYorProcess(pm.Normal("d", 3.0), 1.0)},
        "discount of PitmanYorProcess must be .* where the sampling of 'z' starts; got 3.0",
    ),
)


@pytest.mark.slow
def test_family_without_parameters_is_sampled_by_direct_updates():
    step = step_of(counts_model(WithoutParameters), n_blocked=0)
    step.setup_chain(np.random.default_rng(1), 0, 1)
    assert len(np.unique(step.step(counts_model().initial_point())[0]["z"])) <= 6


def joint_model(measure):
    """Two sequences of counts with random hyperparameters."""
    with pm.Model() as model:
        transitions = nrm.states.Transitions(pm.Gamma("alpha", 3, 2), pm.Gamma("kappa", 2, 1))
        z = nrm.states.HiddenStates("z", measure(), transitions, n=10, sequences=[0] * 6 + [1] * 4)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.5, 0.5), shape=(10, 1))
    return model


MEASURES = {
    "Dirichlet": lambda: nrm.DirichletProcess(pm.Gamma("gamma", 3, 2)),
    "Pitman-Yor": lambda: nrm.PitmanYorProcess(pm.Beta("discount", 2, 4), pm.Gamma("gamma", 3, 2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_joint_distribution_with_hyperparameters_by_nuts(measure):
    scores = geweke(joint_model(MEASURES[measure]), draws=4000, tune=500, chains=4, random_seed=5)
    assert len(scores) > 8
    assert max(map(abs, scores.values())) < largest_z((4, 4000), len(scores)), scores


@pytest.mark.slow
def test_a_stopped_run_resumes_as_if_nothing_had_happened(tmp_path):
    model = make_model(CASES["two sequences"], of_family("NormalGamma, missing"))
    assert_resumes_the_same(tmp_path / "run", model=model, step=[step_of(model)], cores=1, quiet=True)
