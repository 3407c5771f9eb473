"""How ``pm.sample`` finds the steps of partitions, and what they report."""

import numpy as np
import pymc as pm
import pytest
from pymc.step_methods import STEP_METHODS

import pymc_nrm as nrm

QUIET = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}


def make_model(alpha=1.0, n_partitions=1):
    with pm.Model() as model:
        for i in range(n_partitions):
            z = nrm.Partition(f"z{i}", nrm.DirichletProcess(alpha), n=6)
            nrm.Mixture(f"x{i}", z, nrm.PoissonGamma(1.0, 0.2), observed=[0, 20, 0, 21, 1, 20])
    return model


def sample(model, draws=30, **kwargs):
    with model:
        if "step" not in kwargs:
            kwargs["step"] = [nrm.MarginalGibbs([z]) for z in model.free_RVs if z.name.startswith("z")]
        return pm.sample(draws, tune=10, chains=1, cores=1, random_seed=1, **(QUIET | kwargs))


STEPS = [nrm.TreeGuided, nrm.SplitMerge, nrm.MarginalGibbs, nrm.SliceSampler]


@pytest.mark.quick("MarginalGibbs", "SplitMerge")
@pytest.mark.parametrize("step", STEPS)
def test_statistics(step):
    model = make_model()
    with model:
        draws = sample(model, step=step([model["z0"]]))
    stats = draws.sample_stats
    for name, (dtype, shape) in step.stats_dtypes_shapes.items():
        assert stats[name].dtype == dtype
        assert stats[name].shape == (1, 30)
        assert shape == []
    np.testing.assert_array_equal(stats["n_clusters"], draws.posterior["z0_n_clusters"])
    assert (stats["u"] > 0).all()
    assert np.isfinite(stats["log_joint"]).all()
    shares = [np.bincount(labels) / 6 for labels in draws.posterior["z0"].values[0]]
    entropy = [-(p * np.log(p)).sum() for p in shares]
    np.testing.assert_allclose(stats["entropy"].values[0], entropy, atol=1e-12)


@pytest.mark.parametrize("n_moves", [7, 0])
def test_move_counts_add_up(n_moves):
    model = make_model()
    with model:
        step = nrm.SplitMerge([model["z0"]], n_moves=n_moves, n_items=2, proposal="restricted_gibbs")
        stats = sample(model, step=step).sample_stats
    proposed = stats["n_splits_proposed"] + stats["n_merges_proposed"]
    accepted = stats["n_splits_accepted"] + stats["n_merges_accepted"]
    assert (proposed == n_moves).all()
    assert (accepted <= proposed).all() and (accepted.sum() > 0) == (n_moves > 0)
    np.testing.assert_allclose(stats["acceptance_rate"], accepted / n_moves if n_moves else accepted + np.nan)
    assert stats["n_moved"].max() <= (6 if n_moves else 2)


def test_subset_of_items_bounds_the_moves():
    model = make_model()
    with model:
        stats = sample(model, draws=200, step=nrm.MarginalGibbs([model["z0"]], n_items=1)).sample_stats
    assert set(np.unique(stats["n_moved"])) == {0, 1}


def test_several_partitions_each_get_a_step():
    model = make_model(n_partitions=2)
    with model:
        step = nrm.SplitMerge([model["z0"], model["z1"]])
    assert [method.vars[0].name for method in step.methods] == ["z0", "z1"]
    draws = sample(model, step=step)
    assert draws.posterior["z0"].shape == draws.posterior["z1"].shape == (1, 30, 6)


@pytest.mark.parametrize("step", STEPS)
def test_progress_bar_shows_the_number_of_clusters(step):
    assert STEP_METHODS.count(step) == 1
    columns, stats = step._progressbar_config(3)
    assert stats == {"n_clusters": [0, 0, 0]}
    assert [column.get_table_column().header for column in columns] == ["Clusters"]
    [update] = step._make_progressbar_update_functions()
    assert update({"n_clusters": 4, "u": 1.0}) == {"n_clusters": 4}


def test_progress_bar_is_drawn(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    sample(make_model(), progressbar=True, quiet=False)
    assert "Clusters" in "".join(capfd.readouterr())
