"""Rows without any value: estimates and descriptions leave them out."""

import logging

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.models.empty_items import items_with_values
from pymc_nrm.posterior.label_dependence import mark_variables


def draws_of(*rows):
    return xr.Dataset({"z": (("chain", "draw", "item"), np.array([rows]))})


def answers_with_empty_rows():
    """Answers of two groups of people, and of three who were not asked, whose draws are anywhere."""
    answers = pd.DataFrame(np.repeat([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 8, axis=0), columns=["fish", "meat", "salt"])
    answers.iloc[[2, 9, 10]] = np.nan
    answers.iloc[3, 1] = np.nan
    rows = np.tile(np.repeat([0, 1], 8), (8, 1))
    rows[:, [2, 9, 10]] = np.random.default_rng(1).integers(2, size=(8, 3))
    rows[0, 10] = 2
    return answers, answers.notna().any(axis=1).to_numpy(), draws_of(*rows)


@pytest.mark.parametrize("fixed", [False, True])
def test_rows_without_values_are_left_out(fixed, caplog):
    answers, known, posterior = answers_with_empty_rows()
    with pm.Model(coords={"item": answers.index, "x_feature": list(answers)}) as model:
        prior = {"log_weights": np.log([0.5, 0.3, 0.2])} if fixed else {"measure": nrm.DirichletProcess(1.0)}
        z = nrm.Partition("z", dims="item", **prior)
        nrm.Mixture("x", z, nrm.BernoulliBeta(1.0, 1.0), observed=answers, dims=("item", "x_feature"))
    posterior = posterior.assign_coords(item=answers.index)
    with caplog.at_level(logging.INFO, logger="pymc.nrm_results"):
        described = nrm.describe(posterior, model)
    assert "3 items have no values and are left out of the estimate" in caplog.text
    assert described.title.endswith("; 3 rows have no values and are left out of the estimate")
    assert described.title.startswith("13 rows in 2 clusters")
    table = described.table
    assert table["cluster", "size"].tolist() == [7, 6] and table["cluster", "certainty"].tolist() == [1.0, 1.0]
    assert table["cluster", "together_low"].tolist() == [7, 6] and not table["cluster", "others_high"].any()
    assert table["meat", "missing"].sum() == 1 and ("fish", "missing") not in table
    assert described.estimate.item.values.tolist() == answers.index[known].tolist()
    # The same, given the estimate with or without coordinates, or other columns of all rows.
    for estimate in (described.estimate, described.estimate.labels.values):
        again = nrm.describe(posterior, model, estimate, data=answers)
        pd.testing.assert_frame_equal(again.table["cluster"], table["cluster"])
        assert again.title.startswith("13 rows in 2 clusters") and again.table["meat", "missing"].sum() == 1
    # Estimates of all rows have them.
    every = nrm.point_estimate(posterior, random_seed=1)
    assert nrm.describe(posterior, model, every).table["cluster", "size"].sum() == 16

    # Probabilities of clusters for the rows left out: most rows of the cluster, nearly.
    empty = nrm.cluster_probabilities(posterior, model, answers[~known])
    assert empty.labels.values.tolist() == [0, 0, 0] and empty.cluster.values.tolist() == [0, 1]
    given = nrm.cluster_probabilities(posterior, model, answers[~known], described.estimate.labels.values)
    np.testing.assert_array_equal(empty.probability, given.probability)

    # Results of nrm.sample know these rows without the model.
    idata = xr.DataTree.from_dict({"posterior": posterior})
    mark_variables(idata, model)
    found = nrm.point_estimate(idata, random_seed=0)
    assert found.item.values.tolist() == answers.index[known].tolist() and found.n_clusters == 2
    assert nrm.stats.similarity(idata, var_name="z").shape == (16, 16)


def test_fused_components_without_empty_rows():
    answers, known, posterior = answers_with_empty_rows()
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=16)
        nrm.Mixture("x", z, nrm.BernoulliBeta(1.0, 1.0), observed=answers)
    with pm.Model() as smaller:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=13)
        nrm.Mixture("x", z, nrm.BernoulliBeta(1.0, 1.0), observed=answers[known])
    fused = nrm.fused_estimate(posterior, model, random_seed=1)
    alone = nrm.fused_estimate(posterior.isel(item=known), smaller, random_seed=1)
    assert fused.sizes["item"] == 13 and set(fused.data_vars) == set(alone.data_vars)
    np.testing.assert_array_equal(fused.labels, alone.labels)
    np.testing.assert_allclose(fused.component_closeness, alone.component_closeness, atol=0.1)
    assert fused.draw_fusion.shape == alone.draw_fusion.shape
    assert nrm.fused_estimate(posterior, model, keep_empty_items=True, random_seed=1).sizes["item"] == 16


X = np.array([[0.0, 1.0], [np.nan, 1.0], [np.nan, np.nan], [1.0, 1.0]])
ALL_BUT_ONE = [True, True, False, True]


@pytest.mark.parametrize(
    ("arguments", "rows", "expected"),
    [
        ({"measure": nrm.DirichletProcess(1.0), "n": 4}, None, ALL_BUT_ONE),
        ({"log_weights": np.log([0.5, 0.5]), "n": 4}, None, ALL_BUT_ONE),
        # Weights of its own determine the component of an item.
        ({"log_weights": np.log(np.full((4, 2), 0.5))}, None, None),
        ({"measure": nrm.DirichletProcess(1.0), "together": [0, 1, 1, 2]}, None, None),
        ({"measure": nrm.DirichletProcess(1.0), "together": [0, 1, 2, 3]}, None, ALL_BUT_ONE),
        ({"measure": nrm.DirichletProcess(1.0), "known": [0, -1, 1, -1]}, None, None),
        ({"measure": nrm.DirichletProcess(1.0), "known": [0, 1, -1, -1]}, None, ALL_BUT_ONE),
        ({"measure": nrm.DirichletProcess(1.0), "n": 3}, [0, 0, 1, 2], [True, False, True]),
        ({"measure": nrm.DirichletProcess(1.0), "n": 3}, [0, 0, 0, 2], [True, False, True]),
    ],
)
@pytest.mark.parametrize("family", [nrm.BernoulliBeta(1.0, 1.0), nrm.NormalWishart(np.zeros(2), 1.0, np.eye(2), 4.0)])
def test_which_items_have_values(arguments, rows, expected, family):
    if rows is not None and isinstance(family, nrm.NormalWishart):
        pytest.skip("this family has no missing values with several rows for each item")
    with pm.Model() as model:
        z = nrm.Partition("z", **arguments)
        nrm.Mixture("x", z, family, observed=X, rows=rows)
    known = items_with_values(model, model["z"])
    assert known is None if expected is None else known.tolist() == expected


def test_values_of_all_mixtures_count():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
        nrm.Mixture("x", z, nrm.BernoulliBeta(1.0, 1.0), observed=X)
        nrm.Mixture("count", z, nrm.PoissonGamma(1.0, 1.0), observed=[np.nan, np.nan, 3.0, 1.0])
    assert items_with_values(model, model["z"]) is None


def test_pictures_leave_out_the_same_rows():
    answers, known, posterior = answers_with_empty_rows()
    answers["age"] = np.where(known, np.arange(16.0), np.nan)
    model = nrm.mixture_model(answers.drop(columns="salt"), jitter_ties=False)
    posterior = posterior.rename(item="row")
    described = nrm.describe(posterior, model)
    options = {"model": model, "backend": "none"}
    for X in (answers[["age", "fish"]], None):
        pc = nrm.plots.plot_clusters(posterior, X, estimate=described, **options)
        assert pc.viz["legend"]["entries"].item()["labels"][0].endswith("7 items")
    pc = nrm.plots.plot_clusters(posterior, answers["age"], uncertainty=np.zeros(16), **options)
    assert pc.viz["legend"]["entries"].item()["labels"][1].endswith("6 items")
    pc = nrm.plots.plot_category_shares(posterior, answers[["fish", "meat"]], **options)
    assert pc.viz["legend"]["entries"].item()["labels"][0].endswith("7 items")
    marked = xr.DataTree.from_dict({"posterior": posterior})
    mark_variables(marked, model)
    pc = nrm.plots.plot_similarity(marked, backend="none")
    assert pc.viz["image"]["z"].item()["image"].shape == (13, 13)
    pc = nrm.plots.plot_distance(marked, backend="none")
    assert float(pc.viz["mean"]["z"].item()["x"]) == 0.0
