"""Trajectories: the same densities as dense covariances, as regressions without intercepts, and learned priors."""

import numpy as np
import pymc as pm
import pytest
from scipy import stats
from scipy.linalg import block_diag

import pymc_nrm as nrm
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import localise, prepare_data
from pymc_nrm.families.features import features
from pymc_nrm.testing.family_kernels import marginal, walk
from tests.helpers import mixture_of

RNG = np.random.default_rng(1)
TIME = np.sort(RNG.uniform(0.0, 3.0, (9, 4)), axis=1)
W = np.stack([np.ones((9, 4)), TIME], axis=-1)
Y = TIME + RNG.normal(size=(9, 1)) + 0.5 * RNG.normal(size=(9, 4))
Y[3, 1] = Y[4] = Y[5, 1:] = np.nan
FAMILY = nrm.growth.NormalTrajectory(W, 1.7, [0.3, 0.4], np.diag([0.3, 0.5]) + 0.1, 2.5, 0.9)


def log_marginal(family, X, items):
    full = broadcast_hyperparameters(family, *X.shape)
    data = prepare_data(full, X)
    local = localise(full, data)
    order = np.concatenate([np.setdiff1d(np.arange(len(X)), items), items])
    *_, statistics = walk(local, data, order, len(X) - len(items))
    return marginal(local, statistics)


def log_student(family, X, items):
    """The log marginal as the density of a Student t with the whole covariance of the responses."""
    present = [~np.isnan(X[i]) for i in items]
    y = np.concatenate([X[i][ok] for i, ok in zip(items, present, strict=True)])
    rows = np.concatenate([family.covariates[i][ok] for i, ok in zip(items, present, strict=True)])
    errors = block_diag(*[np.eye(ok.sum()) + family.ratio for ok in present if ok.any()])
    shape = errors + rows @ np.linalg.solve(family.Lambda, rows.T)
    location = rows @ np.asarray(family.mu)
    return stats.multivariate_t(location, family.beta / family.alpha * shape, 2 * family.alpha).logpdf(y)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 40.0])
def test_intercepts_are_integrated_out(ratio):
    family = FAMILY._replace(ratio=ratio)
    for items in ([0], [5], [3, 5, 7], list(range(9))):
        assert log_marginal(family, Y, items) == pytest.approx(log_student(family, Y, items), abs=1e-7)


def test_far_responses_keep_their_digits():
    """Two clusters that are 1e8 widths apart, each by itself."""
    side = np.arange(9) % 2
    far = Y + 1e8 * side[:, None]
    for k in (0, 1):
        items = np.flatnonzero(side == k)
        near = FAMILY._replace(mu=[0.3, 0.4])
        moved = FAMILY._replace(mu=[0.3 + 1e8 * k, 0.4])
        assert log_marginal(moved, far, items) == pytest.approx(log_marginal(near, Y, items), abs=1e-4)


@pytest.mark.slow
def test_without_intercepts_rows_are_those_of_a_regression():
    rows = np.repeat(np.arange(9), 4)
    point = {"z": np.arange(9) % 3 % 2}
    trajectory = mixture_of(FAMILY._replace(ratio=0.0), Y)
    with pm.Model() as regression:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=9)
        family = nrm.NormalRegression(W.reshape(-1, 2), *FAMILY[2:])
        nrm.Mixture("x", z, family, observed=Y.ravel(), rows=rows)
    values = [model.compile_logp(model.observed_RVs)(point) for model in (trajectory, regression)]
    assert values[0] == pytest.approx(values[1], rel=1e-9)


@pytest.mark.slow
def test_learned_is_equivariant():
    """Other units and origins of responses and of time change the density by the volume alone."""
    values = []
    for y, time in ((Y, TIME), (3.0 * Y - 7.0, TIME), (Y, 0.1 * TIME + 4.0)):
        model = mixture_of(lambda y=y, time=time: nrm.growth.NormalTrajectory.learned("x", y, time), y)
        values.append(model.compile_logp(model.observed_RVs)(model.initial_point() | {"z": np.arange(9) % 2}))
    n = (~np.isnan(Y)).sum()
    np.testing.assert_allclose(values, [values[0], values[0] - n * np.log(3.0), values[0]], atol=1e-6)


@pytest.mark.parametrize(
    ("X", "covariates", "message"),
    [
        (Y, TIME[:, :3], r"shape \(n, d, p\) or \(n, d\) with n = 9 and d = 4; got shape \(9, 3, 1\)"),
        (Y, np.where(np.isnan(Y), np.nan, TIME), "covariates must be finite; got nan in row 3, d 1, column 0"),
        (Y, np.ones_like(TIME), "covariates must have columns that vary"),
        (np.full_like(Y, 2.0), TIME, "constant"),
    ],
)
def test_bad_input_of_learned(X, covariates, message):
    with pm.Model(), pytest.raises(ValueError, match=message):
        nrm.growth.NormalTrajectory.learned("x", X, covariates)


def test_covariates_need_the_shape_of_the_data():
    with pytest.raises(ValueError, match=r"covariates of NormalTrajectory must be .* shape \(n, d, p\)"):
        mixture_of(FAMILY, Y[:, :3])


def test_rows_of_an_item_are_coordinates_of_one_point(rng):
    W, y = np.tile(np.column_stack([np.ones(3), np.arange(3.0)]), (6, 1, 1)), rng.normal(size=(6, 3))
    y[2, 1] = np.nan
    data = prepare_data(nrm.growth.NormalTrajectory(W, 1.0, 0.0, np.eye(2), 2.0, 1.0), y)
    points = features(data, rng)
    assert points.shape[0] == 6
    assert points.ndim == 2
    assert np.isfinite(points).all()
