"""Whether covariances of clusters are full or diagonal by default."""

import logging

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm
from pymc_nrm.recipes.quick_mixtures import components_with_diagonal_covariances


def correlated(rng, n, d):
    return rng.normal(size=(n, 2 * d)) @ rng.normal(size=(2 * d, d))


def halves(rng, n, d):
    X = rng.normal(size=(n, d))
    X[: n // 2] += 4.0 / np.sqrt(d)
    return X


def choices(write, n, d, n_tables=20):
    return [components_with_diagonal_covariances(write(np.random.default_rng(k), n, d)) for k in range(n_tables)]


@pytest.mark.parametrize(("n", "d"), [(20, 3), (40, 3), (40, 10), (100, 10), (186, 30)])
def test_one_correlated_group_keeps_full_covariances(n, d):
    assert sum(map(bool, choices(correlated, n, d))) <= 1


def test_two_groups_in_many_columns_are_seen_without_covariances():
    assert choices(halves, 100, 8).count(2) >= 18


def test_covariances_stay_full_where_rows_are_many_or_groups_are_correlated():
    assert choices(halves, 400, 8, 1) == [0]
    rng = np.random.default_rng(1)
    X = correlated(rng, 60, 6)
    X[:30] += 8.0 * X.std(axis=0)
    # A diagonal mixture needs several components for each correlated group.
    X = np.vstack([X, X]) + 1e-3 * rng.normal(size=(120, 6))
    assert components_with_diagonal_covariances(X) == 0


def test_rows_with_gaps_and_other_units_change_little():
    X = halves(np.random.default_rng(0), 100, 8)
    shifted = 1e6 + 1e3 * X
    gaps = np.vstack([X, np.full((30, 8), np.nan)])
    assert components_with_diagonal_covariances(shifted) == components_with_diagonal_covariances(gaps) == 2


@pytest.mark.parametrize("X", [np.zeros((0, 3)), np.ones((50, 3)), np.zeros((3, 8)), np.arange(20.0)[:, None]])
def test_tables_without_a_choice(X):
    assert components_with_diagonal_covariances(X) == 0


def test_the_choice_is_told_and_can_be_changed(caplog):
    df = pd.DataFrame(halves(np.random.default_rng(0), 100, 8)).add_prefix("x")
    with caplog.at_level(logging.INFO, logger="pymc.nrm_recipes"):
        model = nrm.gaussian_mixture(df)
    assert "NormalGamma" in model.str_repr()
    text = " ".join(caplog.text.split())
    assert "100 rows are few for covariances of 8 columns" in text and "covariance='full' allows" in text
    assert "NormalWishart" in nrm.gaussian_mixture(df, covariance="full").str_repr()
