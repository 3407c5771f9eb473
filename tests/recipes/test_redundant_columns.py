"""Columns that follow from others are named, with what determines them."""

import warnings

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm
from pymc_nrm.recipes.columns import redundant_columns, warn_of_redundant_columns

RNG = np.random.default_rng(1)
HEIGHT, INDEX, RADIUS, NOISE = 170 + 8 * RNG.normal(size=60), 23 + 2 * RNG.normal(size=60), 5 + RNG.random(60), 1e-3
BODY = pd.DataFrame({
    "height": HEIGHT,
    "weight": INDEX * (HEIGHT / 100) ** 2,
    "index": INDEX,
    "radius": 1e6 * RADIUS,
    "perimeter": 1e-6 * (2 * np.pi * RADIUS + NOISE * RNG.normal(size=60)),
    "area": np.pi * RADIUS**2,
    "pulse": 60 + 5 * RNG.normal(size=60),
})  # fmt: skip


def message_of(X):
    values = np.asarray(X, dtype=float)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_redundant_columns(X, values)
    assert len(caught) <= 1
    return str(caught[0].message) if caught else None


def r_squared(values, column, others):
    y, Z = values[:, column], np.column_stack([np.ones(len(values)), values[:, others]])
    rest = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    return 1 - rest.var() / y.var()


def test_each_column_follows_from_the_others_of_its_set():
    values = BODY.to_numpy()
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    found = redundant_columns(values)
    assert {frozenset([column, *others]) for column, others in found.items()} >= {frozenset([0, 1, 2])}
    assert len(found) == 3
    for column, others in found.items():
        assert r_squared(scaled, column, others) > 0.99
    left = [k for k in range(7) if k not in found]
    assert all(r_squared(scaled, k, [j for j in left if j != k]) < 0.99 for k in left)
    assert len({0, 1, 2} & set(left)) == 2 and len({3, 4, 5} & set(left)) == 1


def test_the_message_names_sets_and_what_to_do():
    message = message_of(BODY)
    for words in ("R^2 above 0.99", "Leave out", "n_components"):
        assert words in message
    assert "'pulse'" not in message and "'weight' from 'height', 'index'" in message
    gaps = BODY.mask(np.random.default_rng(2).random(BODY.shape) < 0.05)
    assert "'weight' from 'height', 'index'" in message_of(gaps)
    assert "4 from" in message_of(BODY.to_numpy()) or "3 from" in message_of(BODY.to_numpy())


@pytest.mark.parametrize(
    "X",
    [
        RNG.normal(size=(5, 5)),  # any column follows from four others of five rows
        RNG.normal(size=(6, 5)),
        RNG.normal(size=(8, 5)),
        RNG.normal(size=(30, 1)),
        np.full((4, 2), np.nan),
        np.column_stack([np.ones(20), RNG.normal(size=20)]),
        BODY[["height", "index", "radius", "pulse"]],
        BODY[["height", "index"]].assign(sum=BODY["height"] + BODY["index"]),  # exact, of which others tell
    ],
)
def test_no_message_without_redundancy(X):
    assert message_of(X) is None


@pytest.mark.parametrize("recipe", [nrm.gaussian_mixture, nrm.mixture_model])
def test_recipes_warn_where_they_are_called(recipe):
    with pytest.warns(UserWarning, match="'weight' from 'height', 'index'") as caught:
        recipe(BODY)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recipe(BODY.drop(columns=["weight", "perimeter", "area"]))
