"""Rows of growth mixtures in tables of other tests."""

import numpy as np
import pandas as pd

import pymc_nrm as nrm
from tests.tools.transformed_cases import N, Transformed, X

FAMILY, NAN = nrm.growth.NormalTrajectory, np.nan
CALIBRATED_VISITS = np.column_stack([np.ones(3), [0.0, 1.0, 3.0]])
VISITS = np.stack([np.ones((12, 4)), np.linspace(7.0, 9.0, 48).reshape(12, 4) ** 2], axis=-1)
# By name: a family with data whose partitions are enumerated, one with a function that simulates data, and bad data.
FAMILIES = {
    "NormalTrajectory, missing": (
        (
            FAMILY([[1.0, 0], [1, 1], [1, 3]], 1.4, [0.5, 0.0], np.eye(2) * 0.3, 1.5, 0.8),
            np.array([[0.2, 1.1, 3.0], [-2.0, 3.9, NAN], [NAN, 0.5, NAN], [NAN, NAN, NAN], [0.3, 1.4, 2.2]]),
        ),
        (
            FAMILY(VISITS, 0.7, [1.0, 2.0], np.diag([0.3, 0.5]) + 0.1, 2.5, 0.9),
            lambda rng: VISITS @ [3.0, 2.1] + rng.normal(size=(12, 1)) + rng.normal(size=(12, 4)),
        ),
        [([[0.5, 1.0]], r"\(1, 2, p\)")],
    )
}
# Families that hold no other.
PLAIN = {FAMILY: None}
# Of calibration: a family given its random hyperparameter, number of features, and whether the data are counts.
CALIBRATED_FAMILIES = {
    "NormalTrajectory": (lambda s: FAMILY(CALIBRATED_VISITS, s, [0.0, 1.0], 0.3 * np.eye(2), 2.5, s), 3, False)
}


def _not_fused(t):
    return FAMILY(np.stack([t**0, t], axis=2), 1.0, 0.0, np.eye(2), 2.0, 1.0)


# Families without densities of clusters that could be compared, of times.
NOT_FUSED = {"NormalTrajectory": _not_fused}

_rng = np.random.default_rng(3)
_visits = np.stack([np.ones((12, 3)), np.linspace(-1.0, 2.0, 36).reshape(12, 3)], axis=-1)
_values = _visits @ [1.0, 2.0] + _rng.normal(size=(12, 3))
_values[:4, 1] = np.nan
# A family, data, and the number of fields at the front that are constants.
MARGINALS = {"NormalTrajectory": (FAMILY(_visits, 0.7, [0.5, 1.0], np.diag([0.3, 0.5]) + 0.1, 2.5, 0.9), _values, 1)}
# Fields of families of real rows, with the source of those that are not drawn.
ATTACKED = {
    "growth.NormalTrajectory": {
        "covariates": "np.linspace(-1, 1, {n} * {d}).reshape({n}, {d}, 1) ** np.arange({d})",
        **dict.fromkeys(["ratio", "mu", "Lambda", "alpha", "beta"]),
    }
}


def _growth(rng, distance):
    n, times = 60, np.arange(5.0)
    slopes = np.where(np.arange(n) < n // 2, 0.2 * distance, 0.0)[:, None]
    y = 1.0 + (0.5 + slopes) * times + 0.5 * rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, 5))
    df = pd.DataFrame({"id": np.repeat(np.arange(n), 5), "week": np.tile(times, n), "weight": y.ravel()})
    return nrm.growth.growth_mixture(df, subject="id", time="week", target="weight")


RECIPES = {"growth": _growth}
TABLE = pd.DataFrame({"id": np.repeat(range(8), 4), "t": np.tile(np.arange(4.0), 8), "y": _rng.normal(size=32)})


def _copied():
    return nrm.growth.growth_mixture(TABLE, subject="id", time="t", target="y")


def _check_copy(model):
    found, expected = (nrm.table_data(made, TABLE.tail(4)) for made in (model, _copied()))
    assert set(found) == set(expected)
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])


COPIED = {"growth": (_copied, _check_copy)}


def _transformed():
    table = pd.DataFrame({"id": np.repeat(range(N), 3), "t": np.tile([0.0, 1.0, 2.0], N)})
    table["y"] = np.repeat(X, 3) * table["t"] + np.tile([0.1, 0.0, 0.2], N)
    return nrm.growth.growth_mixture(table, subject="id", time="t", target="y", jitter_ties=False)


TRANSFORMED = {
    "growth": Transformed(_transformed, "Partition[DirichletProcess]", "Mixture[NormalTrajectory]", reordered=True)
}
