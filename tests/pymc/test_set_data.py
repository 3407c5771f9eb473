"""``pm.set_data`` with another number of items."""

import warnings

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from numpy.testing import assert_allclose

import pymc_nrm as nrm
from tests.helpers import refused

COUNTS = np.array([0, 1, 8, 9])
LONGER = np.array([0, 1, 8, 9, 1, 10])
SHORTER = np.array([7, 0])
FAMILY = nrm.PoissonGamma(1.0, 0.5)
MEASURE = nrm.NormalizedInverseGaussian(1.0)


def by_shape(counts, n=lambda X: X.shape[0], **arguments):
    with pm.Model() as model:
        X = pm.Data("X", counts)
        z = nrm.Partition("z", MEASURE, n=n(X), **arguments)
        nrm.Mixture("x", z, FAMILY, observed=X)
    return model


def fixed(counts):
    return by_shape(counts, n=lambda X: len(counts))


def by_dims_of_data(counts, coords=None):
    with pm.Model(coords=coords) as model:
        X = pm.Data("X", counts, dims="item")
        z = nrm.Partition("z", MEASURE, dims="item")
        nrm.Mixture("x", z, FAMILY, observed=X, dims="item")
    return model


def by_coords(counts):
    return by_dims_of_data(counts, coords={"item": range(len(counts))})


FOLLOWING = pytest.mark.parametrize("make", [by_shape, by_dims_of_data, by_coords])


def set_counts(model, counts):
    coords = {"item": range(len(counts))} if model.coords.get("item") is not None else None
    with model:
        pm.set_data({"X": np.asarray(counts)}, coords=coords)


def resized(make, counts):
    model = make(COUNTS)
    set_counts(model, counts)
    return model


def sample(model, step=None, **options):
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step = nrm.steps.MarginalGibbs([model["z"]]) if step is None else step
        options = {"draws": 20, "tune": 5, "chains": 1, "quiet": True, "progressbar": False} | options
        return pm.sample(step=step, random_seed=3, **options)


@FOLLOWING
@pytest.mark.parametrize("counts", [LONGER, SHORTER], ids=["longer", "shorter"])
def test_log_probability_is_that_of_a_model_of_the_new_size(make, counts):
    labels = np.arange(len(counts)) % 2
    point = {"z": labels}
    assert_allclose(resized(make, counts).compile_logp()(point), fixed(counts).compile_logp()(point))


@FOLLOWING
def test_forward_draws_have_the_new_size(make):
    with resized(make, LONGER):
        assert pm.sample_prior_predictive(3, random_seed=1).prior["z"].shape == (1, 3, 6)


@pytest.mark.every(3)
@pytest.mark.parametrize("step_is_old", [False, True])
@FOLLOWING
@pytest.mark.parametrize("counts", [LONGER, SHORTER], ids=["longer", "shorter"])
def test_a_chain_after_the_change_draws_what_a_model_of_the_new_size_draws(make, counts, step_is_old):
    model = make(COUNTS)
    with model:
        step = nrm.steps.MarginalGibbs([model["z"]]) if step_is_old else None
    set_counts(model, counts)
    draws = sample(model, step).posterior["z"]
    assert draws.shape == (1, 20, len(counts))
    assert (draws.values == sample(fixed(counts)).posterior["z"].values).all()


def test_options_of_a_step_are_checked_against_the_new_size():
    model = by_shape(COUNTS)
    with model:
        step = nrm.steps.MarginalGibbs([model["z"]], n_items=3)
    set_counts(model, SHORTER)
    with pytest.raises(ValueError, match="n_items must be a whole number between 1 and 2; got 3"):
        sample(model, step)


def test_predictions_take_draws_of_the_new_size():
    model = resized(by_shape, LONGER)
    idata = sample(model)
    replicated = nrm.sample_posterior_predictive(idata, model, random_seed=1).posterior_predictive["x"]
    assert replicated.shape == (1, 20, 6)
    assert np.isfinite(nrm.predictive_density(idata, model, np.arange(3))).all()


def test_predictions_refuse_draws_of_the_old_size():
    model = by_shape(COUNTS)
    idata = sample(model)
    set_counts(model, LONGER)
    with pytest.raises(ValueError, match=r"draws of 'z' must be .* 6 items of the model; .*Set"):
        nrm.predictive_density(idata, model, np.arange(3))


def test_effects_follow_the_outcome():
    with pm.Model() as model:
        y = pm.Data("y", np.zeros(3))
        z = nrm.Partition("z", MEASURE, n=y.shape[0])
        effect = nrm.Mixture("effect", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0))
        pm.Normal("outcome", effect, 1.0, observed=y)
        pm.set_data({"y": np.zeros(5)})
        assert model.initial_point()["effect"].shape == (5,)
        assert pm.draw(effect, random_seed=1).shape == (5,)


@pytest.mark.parametrize(
    ("n", "before", "after", "message"),
    [
        (
            lambda X: 4,
            COUNTS,
            LONGER,
            r"data of Mixture 'x' must .* 4 items .*got 6 rows\. The number of items is fixed.*n=X\.shape\[0\]",
        ),
        (lambda X: pm.Data("other", np.zeros(4)).shape[0], COUNTS, LONGER, r"6 .* The number of items follows 'other'"),
        (lambda X: 4, np.zeros((4, 2)), np.zeros((4, 3)), "data of Mixture 'x' must have 2 columns, .* got 3"),
    ],
)
def test_a_step_names_mixture_partition_and_remedy(n, before, after, message):
    model = by_shape(before, n)
    set_counts(model, after)
    with model, pytest.raises(ValueError, match=message):
        nrm.steps.MarginalGibbs([model["z"]])


@pytest.mark.parametrize("counts", [LONGER, SHORTER], ids=["longer", "shorter"])
def test_the_log_probability_names_data_and_partition(counts):
    model = resized(fixed, counts)
    with pytest.raises(ValueError, match=r"data 'X' must have one row .*4 items of partition 'z'"):
        model.compile_logp()({"z": np.zeros(4, dtype=np.int64)})


@pytest.mark.parametrize(
    ("family", "counts"),
    [(FAMILY, COUNTS), (nrm.BernoulliBeta(), COUNTS % 2), (nrm.CategoricalDirichlet(1.0, 10), COUNTS)],
    ids=["counts", "0 or 1", "levels"],
)
def test_fractions_are_refused_and_gaps_are_gaps(family, counts):
    with pm.Model() as model:
        X = pm.Data("X", counts.astype("float64"))
        z = nrm.Partition("z", MEASURE, n=4)
        nrm.Mixture("x", z, family, observed=X)
    set_counts(model, [0.7, *counts[1:]])
    with model, pytest.raises(ValueError, match=r"whole numbers; got 0\.7 in row 0, column 0"):
        nrm.steps.MarginalGibbs([model["z"]])
    with_gap = np.array([np.nan, *counts[1:]])
    set_counts(model, with_gap)
    with pm.Model() as reference:
        nrm.Mixture("x", nrm.Partition("z", MEASURE, n=4), family, observed=with_gap)
    point = {"z": np.array([0, 0, 1, 0])}
    assert_allclose(model.compile_logp()(point), reference.compile_logp()(point))
    with model:
        nrm.steps.MarginalGibbs([model["z"]])


def test_a_start_of_another_length_is_an_error_unless_initvals_replace_it():
    model = by_shape(COUNTS, initval=[0, 0, 1, 1])
    set_counts(model, SHORTER)
    with (
        model,
        pytest.raises(
            ValueError,
            match=r"initval of partition 'z' .* 2 items; got 4.*=\{'z'",
        ),
    ):
        nrm.steps.MarginalGibbs([model["z"]])
    with model:
        step = nrm.steps.MarginalGibbs([model["z"]], initial_point={"z": np.array([0, 1])})
    assert sample(model, step, initvals={"z": [0, 1]}).posterior["z"].shape == (1, 20, 2)


test_numbers_of_items_that_are_refused = refused(
    lambda number: nrm.Partition("z", MEASURE, n=number(pm.Data("X", COUNTS))),
    (lambda X: X.shape[0] * 1.0, "scalar tensor of integers"),
    (lambda X: X, "scalar tensor of integers"),
    (lambda X: X.shape[0] - 4, "between 1 and 1000000000; got 0"),
    (lambda X: pm.Poisson("k", 4), "not depend on random variables; got k"),
    (lambda X: pt.lscalar("free"), r"depend on pm\.Data or constants only; got free"),
    match="n of Partition 'z' must.*{}",
    within=pm.Model,
)


def test_numbers_of_items_that_are_fixed_or_data():
    with pm.Model() as model:
        for number in (pt.constant(4), pm.Normal("a", shape=4).shape[0]):
            assert nrm.Partition.dist(MEASURE, n=number).type.shape == (4,)
        z = nrm.Partition("z", MEASURE, n=pm.Data("n", np.array(4)))
        pm.set_data({"n": np.array(6)})
        assert pm.draw(z, random_seed=1).shape == model.initial_point()["z"].shape == (6,)
