"""Regressions in clusters: forms of covariates, far data, learned priors, and the conjugate linear model."""

from functools import partial

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import check_resolution, localise, prepare_data
from pymc_nrm.models.parts import PartitionParts
from pymc_nrm.models.values import Values
from pymc_nrm.testing.family_kernels import leave_one_out, marginal, walk
from tests.helpers import mixture_of, refused
from tests.tools.attack.reference import LOG_MARGINALS

exact = LOG_MARGINALS["NormalRegression"]
LABELS = np.array([0, 0, 1, 1, 0, 2, 2, 1, 0, 1, 2, 0])
RNG = np.random.default_rng(1)
COVARIATES = np.column_stack([np.ones(12), RNG.normal(size=(12, 2))])
RESPONSE = COVARIATES @ [1.0, 2.0, -1.0] + RNG.normal(size=12)
RESPONSE[4] = np.nan
FAMILY = nrm.NormalRegression(COVARIATES, [0.5, 0.0, 1.0], np.diag([0.3, 0.5, 0.8]) + 0.1, 2.5, 0.9)


def prepared(family, y):
    full = broadcast_hyperparameters(family, len(y), 1)
    data = prepare_data(full, y[:, None])
    return full, localise(full, data), data


@pytest.mark.parametrize("distance", [1.0, 1e5, 1e9])
@pytest.mark.parametrize("origin", [0.0, 1e9])
def test_far_responses_agree_with_rational_arithmetic(distance, origin):
    """Two groups of lines that are far from each other, and from the origin."""
    n = 14
    rng, side = np.random.default_rng(1), np.arange(n) % 2
    W = np.column_stack([np.ones(n), np.linspace(-1.0, 1.0, n)])
    y = origin + rng.normal(size=n) + side * distance
    full, local, data = prepared(nrm.NormalRegression(W, [origin, 0.0], 0.2 * np.eye(2), 2.0, 1.0), y)
    for items in (np.flatnonzero(side == 0), np.flatnonzero(side == 1), np.arange(n)):
        order = np.concatenate([np.setdiff1d(np.arange(n), items), items])
        value = exact(full._replace(covariates=W[items]), y[items, None])
        *_, statistics = walk(local, data, order, n - len(items))
        assert marginal(local, statistics) == pytest.approx(value, abs=1e-5)
        formula, removal = leave_one_out(local, data, items)
        formula = np.where(np.isnan(formula), removal, formula)
        others = [np.setdiff1d(items, [item]) for item in items]
        without = [exact(full._replace(covariates=W[rest]), y[rest, None]) for rest in others]
        np.testing.assert_allclose(formula, value - np.array(without), atol=1e-5)
    check_resolution(local, data, "data of 'y'")


def test_what_doubles_do_not_hold_is_refused():
    y = np.where(np.arange(12) == 7, 1e13, RESPONSE)
    for family, message in (
        (FAMILY, r"data of 'y': the response of item 7 .* NaN; or choose larger beta"),
        (FAMILY._replace(mu=[1e12, 0.0, 0.0]), "mu of NormalRegression"),
        (FAMILY._replace(alpha=1e9), "alpha of NormalRegression"),
    ):
        _, local, data = prepared(family, y if family is FAMILY else RESPONSE)
        with pytest.raises(ValueError, match=message):
            check_resolution(local, data, "data of 'y'")


def model_of(covariates):
    """A model whose covariates are made from a Mixture and from pm.Data by a function."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=12)
        w = nrm.Mixture("w", z, nrm.NormalGamma(0.0, 0.3, 2.0, 1.0), observed=COVARIATES[:, 1])
        x = pm.Data("x", COVARIATES[:, 2])
        W = covariates(w, x)
        nrm.Mixture("y", z, FAMILY._replace(covariates=W), observed=RESPONSE)
    return model


@pytest.mark.slow
def test_covariates_are_arrays_data_or_mixtures():
    at = {"z": LABELS}
    known = model_of(lambda w, x: COVARIATES).compile_logp(mode="FAST_COMPILE")(at)
    graph = model_of(lambda w, x: pt.stack([pt.ones_like(w), w, x], axis=1))
    assert graph.compile_logp(mode="FAST_COMPILE")(at) == pytest.approx(known, rel=1e-10)
    drawn = []
    for model in (graph, model_of(lambda w, x: COVARIATES)):
        with model:
            step = nrm.steps.MarginalGibbs([model["z"]], rng=1)
        drawn.append(step.step(at)[0]["z"])
    np.testing.assert_array_equal(*drawn)
    with graph:
        pm.set_data({"x": np.full(12, np.nan)})
        with pytest.raises(ValueError, match=r"covariates of NormalRegression .* nan at .*\(0, 2\)"):
            nrm.steps.MarginalGibbs([graph["z"]], rng=1)


def test_covariates_may_be_sampled():
    """Data of kernels follow covariates with an error of measurement."""
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=12)
        error = pm.Normal("error", shape=12)
        W = pt.stack([np.ones(12), COVARIATES[:, 1] + error, COVARIATES[:, 2]], axis=1)
        y = nrm.Mixture("y", z, FAMILY._replace(covariates=W), observed=RESPONSE)
    parts = PartitionParts(z, [y], partial(Values.at_draws, model))
    for shift in (0.0, 1.0, 0.0):
        _, _, [data] = parts.prepared({"error": np.full(12, shift)})
        np.testing.assert_allclose(data.values[:, 1], COVARIATES[:, 1] + shift)


def test_forward_draws_read_covariates():
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=12, observed=np.zeros(12, dtype=int))
        w = nrm.Mixture("w", z, nrm.NormalGamma(0.0, 0.3, 2.0, 1.0), shape=(12,))
        W = pt.stack([pt.ones_like(w), w], axis=1)
        y = nrm.Mixture("y", z, nrm.NormalRegression(W, [1.0, 5.0], 1e8 * np.eye(2), 2.0, 1e-8), shape=(12,))
        drawn, response = pm.draw([w, y], random_seed=1)
    np.testing.assert_allclose(response, 1.0 + 5.0 * drawn, atol=0.1)


test_bad_input_is_refused = refused(
    lambda covariates, y: mixture_of(FAMILY._replace(covariates=covariates), y),
    (COVARIATES[:5], RESPONSE, "covariates of NormalRegression"),
    (np.where(np.isnan(RESPONSE)[:, None], np.nan, COVARIATES), RESPONSE, "covariates of NormalRegression"),
    (COVARIATES, RESPONSE[:, None], "must be a vector"),
    (COVARIATES[:, :2], RESPONSE, "p = 2 as in covariates"),
)


def learned_density(y, w, seed=1):
    model = mixture_of(lambda: nrm.NormalRegression.learned("y", y, w), y)
    point, rng = dict(model.initial_point()), np.random.default_rng(seed)
    for name in point:
        point[name] = LABELS if name == "z" else rng.normal(0.5, 0.5, size=np.shape(point[name]))
    return model.compile_logp(mode="FAST_COMPILE")(point)


@pytest.mark.slow
def test_other_units_and_linear_maps_leave_learned_priors_alone():
    w = COVARIATES[:, 1:]
    before = learned_density(RESPONSE, w)
    after = learned_density(1000.0 * RESPONSE - 3e4, w @ [[2.0, 1.0], [0.5, -1e3]] + [1e4, -3.0])
    assert after + 11 * np.log(1000.0) == pytest.approx(before, rel=1e-7)


def test_learned_lines_are_centred_at_what_all_data_share():
    w = COVARIATES[:, 1:]
    with pm.Model():
        mu = [nrm.NormalRegression.learned(f"y{k}", y, w).mu for k, y in enumerate((RESPONSE, RESPONSE - w @ [2, -1]))]
    present = ~np.isnan(RESPONSE)
    n, line = present.sum(), np.linalg.lstsq(COVARIATES[present], RESPONSE[present], rcond=None)[0]
    fit = COVARIATES[present] @ line
    F = ((fit - fit.mean()) ** 2).sum() / ((RESPONSE[present] - fit) ** 2).sum() * (n - 3) / 2
    np.testing.assert_allclose(mu[0], [np.nanmean(RESPONSE), *(1 - 1 / F) * line[1:]], rtol=1e-10)
    np.testing.assert_array_equal(mu[1][1:], 0.0)


def test_learned_priors_read_mixtures_and_refuse_constants():
    gap = np.where(np.arange(12) == 3, np.nan, COVARIATES[:, 1])
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=12)
        w = nrm.Mixture("w", z, nrm.NormalGamma(0.0, 0.3, 2.0, 1.0), observed=COVARIATES[:, 1:])
        family = nrm.NormalRegression.learned("y", RESPONSE, w)
        nrm.Mixture("y", z, family, observed=RESPONSE)
        for bad, message in (
            (np.ones(12), r"covariates must have columns that vary; columns \[0\] .*intercept"),
            (gap, "covariates must be finite; got nan in row 3, column 0"),
            (np.random.default_rng(1).normal(size=(12, 12)), "covariates must have more items .*Leave some out"),
            (COVARIATES[:, 1:2] * [1.0, 2.0], "covariates must .*linear combinations of others; got such columns"),
            (w[:5], "shape"),
            (w * pm.Normal("a"), "sampled variables"),
        ):
            with pytest.raises(ValueError, match=message):
                nrm.NormalRegression.learned("v", RESPONSE, bad)


@pytest.mark.parametrize("hyperparameters", [(2.5, 0.9), (2.0, 1.0), (0.7, 0.9)])
def test_hyperparameters_that_are_numbers(hyperparameters):
    """PyTensor holds 2.5 in single precision: items of one row have the density of rows."""
    rng = np.random.default_rng(1)
    W, Y, densities = rng.normal(size=(6, 2)), rng.normal(size=6), []
    for options in ({}, {"rows": np.arange(6)}):
        with pm.Model() as model:
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
            family = nrm.NormalRegression(W, [0.3, 0.4], np.diag([0.3, 0.5]) + 0.1, *hyperparameters)
            nrm.Mixture("x", z, family, observed=Y, **options)
        densities.append(model.compile_logp()({"z": np.array([0, 0, 1, 1, 0, 2])}))
    assert densities[0] == pytest.approx(densities[1], rel=1e-12)
