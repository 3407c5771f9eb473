"""Weights of components in descriptions, where they are the user's own."""

import numpy as np
import pymc as pm
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.posterior.component_shares import component_shares

N, K, S = 8, 3, 50
LABELS = np.array([0, 0, 0, 1, 1, 2, 2, 2])


def model_and_draws(by_item):
    """Weights of each item if asked for, and draws in which components change their names."""
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(K, 3.0), (1, S, N) if by_item else (1, S))
    with pm.Model() as model:
        share = pm.Dirichlet("share", np.ones(K), shape=(N, K) if by_item else K)
        z = nrm.Partition("z", log_weights=pm.math.log(share), n=N)
        nrm.Mixture("x", z, nrm.BernoulliBeta(1.0, 1.0), observed=np.tile([0.0, 1.0], N // 2))
    names = np.array([rng.permutation(K) for _ in range(S)])
    dims = ("chain", "draw", *(["item"] if by_item else []), "component")
    posterior = xr.Dataset({"share": (dims, shares), "z": (("chain", "draw", "item"), names[:, LABELS][None])})
    return model, posterior, shares[0], names


def test_shares_follow_components_that_change_their_names():
    model, posterior, shares, names = model_and_draws(False)
    found = component_shares(model, model["z"], posterior, LABELS)
    np.testing.assert_allclose(found, np.take_along_axis(shares, names, axis=1))


def test_one_chain_and_dimensions_in_another_order():
    model, posterior, _, _ = model_and_draws(False)
    expected = component_shares(model, model["z"], posterior, LABELS)
    for draws in (posterior.isel(chain=0), posterior.transpose("item", "draw", "component", "chain")):
        np.testing.assert_allclose(component_shares(model, model["z"], draws, LABELS), expected)
    assert len(nrm.describe(posterior.isel(chain=0), model, LABELS).table) == 3


def test_weights_of_items_are_averaged():
    model, posterior, shares, names = model_and_draws(True)
    found = component_shares(model, model["z"], posterior, LABELS)
    np.testing.assert_allclose(found, np.take_along_axis(shares.mean(axis=1), names, axis=1))


def test_a_cluster_of_several_components_has_the_mean_of_its_items():
    model, posterior, shares, names = model_and_draws(False)
    found = component_shares(model, model["z"], posterior, np.array([0, 0, 0, 0, 0, 1, 1, 1]))
    own = np.take_along_axis(shares, names, axis=1)
    np.testing.assert_allclose(found, np.column_stack([(3 * own[:, 0] + 2 * own[:, 1]) / 5, own[:, 2]]))


def test_descriptions_show_them():
    model, posterior, shares, names = model_and_draws(False)
    description = nrm.describe(posterior, model, LABELS, ci_prob=0.9)
    own = np.take_along_axis(shares, names, axis=1)
    table = description.table["cluster"].sort_index()
    np.testing.assert_allclose(table["weight"], own.mean(axis=0))
    np.testing.assert_allclose(table[["weight_low", "weight_high"]].T, np.quantile(own, [0.05, 0.95], axis=0))
    text = str(description)
    assert f"{100 * table['weight'][0]:.0f} % ({100 * table['weight_low'][0]:.0f} to" in text
    assert "component weight: the mean over draws; ranges: 90 % intervals" in " ".join(text.split())
    with pm.Model() as other:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N)
        nrm.Mixture("x", z, nrm.BernoulliBeta(1.0, 1.0), observed=np.tile([0.0, 1.0], N // 2))
    without = nrm.describe(posterior, other, LABELS)
    assert "weight" not in without.table["cluster"] and "share:" not in str(without)
