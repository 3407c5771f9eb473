"""Steps beyond their laws: options, starts, statistics, progress bars, and steps of others."""

import functools
import warnings

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pymc.step_methods.arraystep import BlockedStep
from pytensor.link.numba.dispatch.basic import numba_funcify_and_cache_key

import pymc_nrm as nrm
from pymc_nrm.models import own_step
from tests.helpers import is_canonical, mixture_of, refused
from tests.tools.wings import rows_of_wings


def make_model(X, measure=None, **prior):
    return mixture_of(nrm.NormalGamma(mu=0.0, kappa=0.1, alpha=2.0, beta=1.0), X, measure, **prior)


def groups(n_groups=4, size=10, spread=0.3):
    rng = np.random.default_rng(4)
    return np.repeat(np.arange(n_groups) * 10.0, size) + rng.normal(0, spread, n_groups * size)


def make_step(model, **options):
    with model:
        return nrm.steps.TreeGuided([model["z"]], rng=1, **options)


def run(step, point, n_draws):
    draws = []
    for _ in range(n_draws):
        point, [stats] = step.step(point)
        draws.append(point["z"])
    return np.array(draws), point, stats


def test_is_the_default_and_takes_options():
    options = {"chains": 1, "cores": 1, "random_seed": 1, "progressbar": False, "compute_convergence_checks": False}
    chosen = {"moves": {"informed_split_merge": 3, "tree_split_merge": 4}, "n_cycles": 2}
    with make_model(groups()):
        idata = pm.sample(20, tune=10, tree_guided=chosen, **options)
    stats = idata.sample_stats
    assert (stats["n_splits_proposed"] + stats["n_merges_proposed"] == 14).all()
    assert all(is_canonical(labels) for labels in idata.posterior["z"].values[0])


test_wrong_options_are_named = refused(
    lambda options: make_step(make_model(groups()), **options),
    ({"moves": {"split": 1}}, "unknown name 'split'; allowed are"),
    ({"moves": {"tree_split_merge": -1}}, "tree_split_merge in moves .* -1"),
    ({"moves": {"subtree_gibbs": float("nan")}}, "subtree_gibbs in moves .* nan"),
    ({"moves": {"marginal_gibbs": 1.5}}, "marginal_gibbs in moves .* 1.5"),
    ({"moves": {"marginal_gibbs": 41}}, "marginal_gibbs in moves .* 41"),
    ({"moves": {"subtree_gibbs": 0, "marginal_gibbs": 0}}, "cannot be reached"),
    ({"n_trees": 0}, "n_trees .* 0"),
    ({"n_trees": None}, "n_trees .* None"),
    ({"n_cycles": 0}, "n_cycles .* 0"),
    ({"n_cycles": 1.5}, "n_cycles .* 1.5"),
    ({"moves": {"tree_split_merge": None}}, "tree_split_merge in moves .* None"),
)


def test_trees_are_frozen_and_informed_moves_end_after_tuning():
    step = make_step(make_model(groups()), n_cycles=1)
    step.setup_chain(np.random.default_rng(0), 20, 50)
    point, seen, n_proposed = {"z": np.zeros(40, dtype=np.int64)}, [], []
    for draw in range(40):
        if draw == 20:
            step.stop_tuning()
        _, point, stats = run(step, point, 1)
        seen.append(step.guides[0])
        n_proposed.append(int(stats["n_splits_proposed"] + stats["n_merges_proposed"]))
    assert len({id(guide) for guide in seen[:20]}) == 4
    assert len({id(guide) for guide in seen[10:]}) == 1
    assert n_proposed == [5] * 20 + [2] * 20


QUIET = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}


def model_of_counts(alpha=1.0, n_partitions=1):
    with pm.Model() as model:
        for i in range(n_partitions):
            z = nrm.Partition(f"z{i}", nrm.DirichletProcess(alpha), n=6)
            nrm.Mixture(f"x{i}", z, nrm.PoissonGamma(1.0, 0.2), observed=[0, 20, 0, 21, 1, 20])
    return model


def sample_counts(model, draws=30, **kwargs):
    with model:
        if "step" not in kwargs:
            kwargs["step"] = [nrm.steps.MarginalGibbs([z]) for z in model.free_RVs if z.name.startswith("z")]
        return pm.sample(draws, tune=10, chains=1, cores=1, random_seed=1, **(QUIET | kwargs))


@pytest.mark.parametrize("n_moves", [7, 0])
def test_move_counts_add_up(n_moves):
    model = model_of_counts()
    with model:
        step = nrm.steps.SplitMerge([model["z0"]], n_moves=n_moves, n_items=2, proposal="restricted_gibbs")
        stats = sample_counts(model, step=step).sample_stats
    proposed = stats["n_splits_proposed"] + stats["n_merges_proposed"]
    accepted = stats["n_splits_accepted"] + stats["n_merges_accepted"]
    assert (proposed == n_moves).all()
    assert (accepted <= proposed).all() and (accepted.sum() > 0) == (n_moves > 0)
    np.testing.assert_allclose(stats["acceptance_rate"], accepted / n_moves if n_moves else accepted + np.nan)
    assert stats["n_moved"].max() <= (6 if n_moves else 2)


def test_several_partitions_each_get_a_step():
    model = model_of_counts(n_partitions=2)
    with model:
        step = nrm.steps.SplitMerge([model["z0"], model["z1"]])
    assert [method.vars[0].name for method in step.methods] == ["z0", "z1"]
    posterior = sample_counts(model, step=step).posterior
    assert posterior["z0"].shape == posterior["z1"].shape == (1, 30, 6)


@pytest.mark.slow
def test_variables_whose_draws_are_not_finite_are_named():
    X = np.array([[0.1, 0.4], [1.1, np.nan], [np.nan, 0.6], [2.3, 2.9]])
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(pm.Gamma("alpha", 2, 1)), n=4)
        nrm.Mixture("x", z, nrm.NormalWishart([1.0, 1.5], pm.LogNormal("kappa"), np.eye(2), 4.5), observed=X)
        steps = {"alpha_log__": nrm.steps.LearnedGibbs(), "x_missing": nrm.steps.MissingGibbs()}
    point = model.initial_point()
    for name, step in steps.items():
        with pytest.raises(pm.exceptions.SamplingError, match=f"{name} cannot be drawn"):
            step.step(point | {"alpha_log__": np.array(np.nan), "kappa_log__": np.array(np.nan)})
        drawn, _ = step.step(point)
        assert np.isfinite(drawn[name]).all()


def test_progress_bar_is_drawn(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    sample_counts(model_of_counts(), progressbar=True, quiet=False)
    assert "Clusters" in "".join(capfd.readouterr())


# Partitions of every kind, by what makes them of a name, a measure and a number of items.
VARIABLES = {
    "flat": nrm.Partition,
    "slots": functools.partial(nrm.Partition, max_clusters=3),
} | rows_of_wings("VARIABLES")


def model_of(kind):
    with pm.Model() as model:
        VARIABLES[kind]("z", nrm.DirichletProcess(1.0), n=4)
        pm.Normal("x")
    return model


@pytest.mark.parametrize(
    ("step", "mode"),
    [(pm.Metropolis, "NUMBA"), *((step, "FAST_COMPILE") for step in (pm.Metropolis, pm.DEMetropolis, pm.Slice))],
)
@pytest.mark.parametrize("kind", VARIABLES)
def test_generic_steps_are_refused(kind, step, mode):
    with model_of(kind) as model:
        for variables in ([model["z"]], [model["x"], model["z"]]):
            with pytest.raises(ValueError, match=r"step must not sample 'z': PyMC's steps such as Metropolis"):
                step(variables, blocked=True, compile_kwargs={"mode": mode})


def test_generic_steps_of_other_variables_are_not():
    with model_of("flat") as model:
        for step in (pm.Metropolis, pm.NUTS, pm.Slice):
            step([model["x"]], compile_kwargs={"mode": "FAST_COMPILE"})


class Still(BlockedStep):
    """A step of a user, which leaves its variable as it is."""

    stats_dtypes_shapes = {"n_steps": (int, [])}

    def __init__(self, vars, model=None, **kwargs):
        self.vars = [pm.modelcontext(model).rvs_to_values.get(variable, variable) for variable in vars]

    def step(self, point):
        return point, [{"n_steps": 0}]

    def setup_chain(self, rng, tune, draws):
        pass


@pytest.mark.quick("without_labels")
@pytest.mark.parametrize("function", [nrm.summary, nrm.stats.add_diagnostics, nrm.stats.without_labels])
def test_other_steps_are_found_out_in_results(function):
    with model_of("flat") as model:
        nrm.Mixture("y", model["z"], nrm.PoissonGamma(1.0, 0.1), observed=[0, 9, 0, 9])
        options = {"tune": 5, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False, "quiet": True}
        options["compute_convergence_checks"] = False
        foreign = pm.sample(20, step=[Still([model["z"]])], **options)
        own = pm.sample(20, step=[nrm.steps.MarginalGibbs([model["z"]])], **options)
        prior = pm.sample_prior_predictive(20, random_seed=1)
    with pytest.warns(UserWarning, match="no step of this package has sampled 'z'"):
        function(foreign)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "no step of this package")
        function(own)
        function(xr.DataTree.from_dict({"posterior": prior["prior"].to_dataset()}))


def test_sequential_monte_carlo_is_refused():
    with model_of("flat"), pytest.raises(ValueError, match="cannot update a partition"):
        pm.sample_smc(10, chains=1, cores=1, progressbar=False)


def test_machine_code_of_labels_follows_the_sources(monkeypatch):
    """PyTensor keeps it on disk, where it names a module that another version may not have."""
    op, keys = own_step.OfOwnStep("z"), []
    node = op(pt.lvector("z")).owner
    for sources in ("one", "another"):
        monkeypatch.setattr(own_step, "code_fingerprint", lambda modules, sources=sources: sources)
        keys.append(numba_funcify_and_cache_key(op, node)[1])
    assert keys[0] != keys[1]
