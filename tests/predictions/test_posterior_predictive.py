"""What posterior draws say about partitions; replicated data and new items against their laws."""

from typing import NamedTuple

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.families.product import Product
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.models.parts import joint_data, joint_family
from pymc_nrm.models.rvs import find_partition
from pymc_nrm.partitions.next_item import draw_new_labels, log_prediction_rule
from pymc_nrm.posterior.any_draws import draws_of as posterior_draws
from pymc_nrm.steps.target import Target
from pymc_nrm.testing import all_partitions
from tests.helpers import assert_law, label_counts, mixture_of
from tests.predictions.prediction_cases import CASES, MEASURES, Case, draws_of, extensions, make_model, rows


class Foreign(NamedTuple):
    """A measure that defines only the partition probability."""

    alpha: float
    sigma: float


@log_eppf.register(Foreign)
def log_eppf_of_foreign(measure, counts):
    return log_eppf(nrm.NormalizedGeneralizedGamma(*measure), counts)


@pytest.mark.parametrize("counts", [[1], [3, 1, 1], [40, 2, 7, 2, 1]])
def test_prediction_rule_of_a_measure_that_defines_nothing_else(counts):
    """Fields of one class must not be taken for those of another with the same numbers."""
    for measure in (nrm.NormalizedGeneralizedGamma(0.6, 0.35), Foreign(0.6, 0.35), nrm.PitmanYorProcess(0.6, 0.35)):
        longer = [np.add([*counts, 0], step) for step in np.eye(len(counts) + 1, dtype=int)]
        expected = [log_eppf(measure, c[c > 0]) - log_eppf(measure, np.array(counts)) for c in longer]
        np.testing.assert_allclose(log_prediction_rule(measure, np.array(counts)), expected, atol=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_labels_of_new_items(measure):
    measure, labels, rng = MEASURES[measure], np.array([0, 1, 0]), np.random.default_rng(2)
    longer = all_partitions(6)
    log_p = np.array([log_eppf(measure, label_counts(row)) for row in longer[extensions(longer, labels)]])
    probabilities = np.exp(log_p - log_eppf(measure, label_counts(labels)))
    assert probabilities.sum() == pytest.approx(1.0)
    draws = np.array([draw_new_labels(measure, label_counts(labels), 3, rng) for _ in range(8000)])
    drawn = np.concatenate([np.broadcast_to(labels, (8000, 3)), draws], axis=1).reshape(2, 4000, 6)
    assert_law(drawn, longer[extensions(longer, labels)], probabilities)


def test_replications_have_the_law_of_their_cluster():
    """Two items of one cluster share a rate: negative binomial margins with a positive covariance."""
    case, labels = CASES["PoissonGamma"], [0, 1, 0, 0]
    idata = draws_of([labels] * 6000)
    drawn = nrm.sample_posterior_predictive(idata, make_model(MEASURES["DP"], case), random_seed=1)
    x = drawn["posterior_predictive"]["x"]
    assert x.dims == ("chain", "draw", "item", "feature")
    assert x.dtype == np.int64
    assert x["item"].values.tolist() == list("abcd")
    assert "predictions" not in drawn.children
    shape = np.asarray(case.family.alpha) + case.X[[0, 2, 3]].sum(axis=0)
    rate = case.family.beta + 3
    values = x.values[0, :, :, 0].astype(float)
    for observed, expected in [
        (values[:, 0], shape[0] / rate),
        (values[:, 0] * values[:, 2], shape[0] * (shape[0] + 1) / rate**2),
        (values[:, 0] ** 2, shape[0] * (shape[0] + 1) / rate**2 + shape[0] / rate),
        (values[:, 1], (case.family.alpha[0] + 3) / (case.family.beta + 1)),
    ]:
        assert abs(observed.mean() - expected) < 4.5 * observed.std() / np.sqrt(len(observed))


@pytest.mark.parametrize("name", rows(["PoissonGamma", "NormalWishart"]))
def test_data_of_new_items_follow_the_predictive_density(name):
    case = CASES[name]
    model, idata = make_model(MEASURES["NGG"], case), draws_of([[0, 1, 0, 0]] * 6000)
    drawn = nrm.sample_posterior_predictive(idata, model, new_items=2, random_seed=3)["predictions"]
    assert drawn["x"].dims == ("chain", "draw", "new_item", "feature")
    if name == "PoissonGamma":
        grid = np.stack(np.meshgrid(np.arange(60), np.arange(60)), axis=-1).reshape(-1, 2)
        weight = 1.0
    else:
        t = np.linspace(-6, 6, 121)
        grid = np.stack(np.meshgrid(np.sinh(t), np.sinh(t)), axis=-1).reshape(-1, 2)
        weight = np.sqrt(1 + grid**2).prod(axis=1) * (t[1] - t[0]) ** 2
    one = idata.isel(draw=slice(1))
    p = nrm.predictive_density(one, model, grid).density.values[0, 0] * weight
    assert p.sum() == pytest.approx(1.0, abs=1e-4)
    for new in (0, 1):
        x = drawn["x"].values[0, :, new]
        for function in (lambda y: y[:, 0] > 1.5, lambda y: y[:, 0] + y[:, 1] > 3.2, lambda y: np.exp(-(y[:, 1] ** 2))):
            values = function(x).astype(float)
            difference = values.mean() - p @ function(grid)
            # The trapezoid rule is coarse where the function jumps.
            tolerance = 0.01 if name == "NormalWishart" else 0.0
            assert abs(difference) < 4.5 * values.std() / np.sqrt(len(values)) + tolerance


def test_new_items_of_two_mixtures_share_labels():
    with pm.Model(coords={"item": list("abcd")}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(0.01), dims="item")
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.1), observed=[0, 1000, 1, 1003])
        nrm.Mixture("y", z, nrm.PoissonGamma(1.0, 0.1), observed=[1000, 0, 1003, 1])
        w = nrm.Partition("w", nrm.DirichletProcess(1.0), n=2)
        nrm.Mixture("v", w, nrm.PoissonGamma(1.0, 0.1), observed=[0, 1])
    posterior = draws_of([[0, 1, 0, 1]] * 100)["posterior"].to_dataset()
    posterior["w"] = ("chain", "draw", "w_dim_0"), np.zeros((1, 100, 2), dtype=int)
    drawn = nrm.sample_posterior_predictive(posterior, model, new_items=3, random_seed=1)
    new = drawn["predictions"]
    assert set(new.data_vars) == {"z", "w", "x", "y", "v"}
    assert new["v"].dims == new["w"].dims == ("chain", "draw", "new_w_dim_0")
    assert new["z"].dtype == np.int64
    old = (new["z"] < 2).values
    assert old.mean() > 0.9
    assert ((new["x"] > 500) == (new["z"] == 1)).values[old].all()
    assert ((new["y"] > 500) == (new["z"] == 0)).values[old].all()
    assert drawn["posterior_predictive"]["x"].values[0, :, 3].min() > 500
    only = nrm.sample_posterior_predictive(posterior, model, new_items=1, var_names="v", random_seed=1)
    assert set(only["predictions"].data_vars) == {"w", "v"}


def test_observed_data_are_kept_for_comparison():
    model, idata = make_model(MEASURES["DP"], CASES["PoissonGamma"]), draws_of([[0, 0, 0, 1]])
    idata["observed_data"] = xr.DataTree(xr.Dataset({"x": (("item", "feature"), CASES["PoissonGamma"].X)}))
    drawn = nrm.sample_posterior_predictive(idata, model, random_seed=1)
    xr.testing.assert_equal(drawn["observed_data"].to_dataset(), idata["observed_data"].to_dataset())


@pytest.mark.slow
def test_row_sums_of_documents():
    words = sparse.csr_array([[2, 0, 1], [1, 2, 0], [0, 4, 0]])
    model = make_model(MEASURES["DP"], Case(nrm.MultinomialDirichlet(0.5), words, None))
    drawn = nrm.sample_posterior_predictive(draws_of([[0, 0, 1]] * 20), model, random_seed=1)
    assert (drawn["posterior_predictive"]["x"].sum("feature") == [3, 3, 4]).all()
    with pytest.raises(ValueError, match="total of MultinomialDirichlet differs between items"):
        nrm.sample_posterior_predictive(draws_of([[0, 0, 1]]), model, new_items=1)
    model = make_model(MEASURES["DP"], Case(nrm.MultinomialDirichlet(0.5), words[:2], None))
    drawn = nrm.sample_posterior_predictive(draws_of([[0, 0]] * 20), model, new_items=2, random_seed=1)
    assert (drawn["predictions"]["x"].sum("feature") == 3).all()


def test_bad_arguments():
    model, idata = make_model(MEASURES["DP"], CASES["PoissonGamma"]), draws_of([[0, 0, 0, 1]])
    for options, message in [
        *(({"new_items": number}, "new_items must be a whole number of at least 0") for number in (-1, 1.5, True, "2")),
        ({"var_names": ["x", "q"]}, "name a Mixture of the model.* got 'q'"),
        ({"var_names": []}, "at least one Mixture"),
    ]:
        with pytest.raises(ValueError, match=message):
            nrm.sample_posterior_predictive(idata, model, **options)
    with pm.Model() as model:
        nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    with pytest.raises(ValueError, match="model must have a Mixture"):
        nrm.sample_posterior_predictive(idata, model)


LABELS = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 2]])
RNG = np.random.default_rng(1)


@pytest.fixture(scope="module")
def model():
    """Two mixtures over one partition, one of them latent; a second partition with sparse and with exchanged data."""
    with pm.Model(coords={"item": list("abc"), "feature": ["u", "v"]}) as model:
        alpha = pm.Gamma("alpha", 2, 1)
        z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, pm.Beta("sigma", 1, 2)), dims="item")
        scale = pm.LogNormal("scale", 0, 1, dims="feature")
        beta = pm.Deterministic("beta", scale**2 + alpha)
        nrm.Mixture("x", z, nrm.NormalGamma(50.0, 0.1, 2.0, beta), observed=50 + RNG.normal(size=(3, 2)))
        effect = nrm.Mixture("effect", z, nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), dims="item")
        pm.Normal("y", effect, 1.0, observed=np.zeros(3))
        w = nrm.Partition("w", nrm.DirichletProcess(1.0), n=4)
        counts = sparse.csr_array([[1, 0, 2], [0, 0, 1], [3, 0, 0], [1, 1, 1]])
        nrm.Mixture("words", w, nrm.MultinomialDirichlet(0.5), observed=counts)
        nrm.Mixture("counts", w, nrm.PoissonGamma(alpha, 0.5), observed=pm.Data("counts_data", [1, 0, 4, 2]))
    return model


@pytest.fixture(scope="module")
def posterior():
    sizes = {"sigma": (), "alpha": (), "scale": (2,), "effect": (3,)}
    arrays = {name: RNG.uniform(0.1, 0.9, size=(1, 3, *size)) for name, size in sizes.items()}
    arrays["z"] = LABELS[None]
    arrays["w"] = np.array([[[0, 0, 0, 1], [0, 1, 2, 3], [0, 0, 0, 0]]])
    dims = {"z": "item", "scale": "feature", "effect": "item", "w": "w_dim_0"}
    return xr.Dataset({n: (("chain", "draw", *([dims[n]] if n in dims else [])), a) for n, a in arrays.items()})


def same(a, b):
    if hasattr(a, "_fields"):
        return type(a) is type(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return np.allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("name", ["z", "w"])
def test_draws_are_what_samplers_see(model, posterior, name):
    draws = posterior_draws(posterior, model, name)
    target = Target(model, model[name], model.initial_point())
    assert len(draws) == 3
    for s, draw in enumerate(draws):
        values = posterior.isel(chain=0, draw=s)
        point = {
            "alpha_log__": np.array(np.log(values.alpha)),
            "sigma_logodds__": np.array(np.log(values.sigma / (1 - values.sigma))),
            "scale_log__": np.log(values["scale"].values),
            **{other: values[other].values for other in ("z", "w", "effect")},
        }
        measure, family, data = target.at(point)
        assert draw.labels.tolist() == posterior[name].values[0, s].tolist()
        assert same(draw.prior, measure)
        assert type(joint_family(draw.families)) is Product
        assert same(joint_family(draw.families), family)
        assert same(joint_data(draw.data), data)


def test_data_are_those_of_the_model_now(model, posterior):
    try:
        with model:
            pm.set_data({"counts_data": np.array([7, 7, 7, 7])})
        first = next(iter(posterior_draws(posterior, model, "w")))
        assert first.data[1].values.ravel().tolist() == [7.0] * 4
        with model:
            pm.set_data({"counts_data": np.array([7, 7])})
        with pytest.raises(ValueError, match="'counts' has 2 rows of data, partition 'w' has 4 items"):
            next(iter(posterior_draws(posterior, model, "w")))
    finally:
        with model:
            pm.set_data({"counts_data": np.array([1, 0, 4, 2])})


def test_known_partition():
    with pm.Model(coords={"item": list("abc")}) as model:
        mu = pm.Normal("mu")
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="item", observed=[4, 4, 1])
        nrm.Mixture("x", z, nrm.NormalGamma(mu, 1.0, 2.0, 1.0), observed=[0.0, 0.1, 3.0])
    posterior = xr.Dataset({"mu": (("chain", "draw"), [[0.0, 1.0]])})
    draws = list(posterior_draws(posterior, model))
    assert [draw.labels.tolist() for draw in draws] == [[0, 0, 1]] * 2
    assert draws[1].families[0].mu - draws[0].families[0].mu == pytest.approx(1.0)
    assert nrm.sample_cluster_parameters(posterior, model, random_seed=1).item_mean.dims == ("chain", "draw", "item")


def test_latent_mixtures_have_components_and_new_items(model, posterior):
    components = nrm.sample_cluster_parameters(posterior, model, var_name="effect", random_seed=1)
    assert components.item_mean.dims == ("chain", "draw", "item")
    idata = xr.DataTree.from_dict({"posterior": posterior})
    drawn = nrm.sample_posterior_predictive(idata, model, new_items=2, var_names=["effect", "x"], random_seed=1)
    assert drawn["predictions"]["effect"].dims == ("chain", "draw", "new_item")
    assert drawn["predictions"]["x"].dims == ("chain", "draw", "new_item", "x_dim_1")
    assert set(drawn["posterior_predictive"].data_vars) == {"effect", "x"}
    assert nrm.predictive_density(idata, model, [0.0], var_name="effect").density.shape == (1, 3, 1)


def test_latent_data_are_those_of_each_draw():
    """Every draw of a latent mixture is as good as an observed one with the same values."""
    rng = np.random.default_rng(3)
    values, labels = 100 * np.arange(2)[:, None] + rng.normal(size=(2, 3)), LABELS[:2]
    family = nrm.NormalGamma(50.0, 0.1, 2.0, 1.0)
    with pm.Model() as latent:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        pm.Normal("y", nrm.Mixture("x", z, family, shape=(3,)), 1.0, observed=np.zeros(3))
    posterior = draws_of(labels)["posterior"].to_dataset()
    posterior["x"] = ("chain", "draw", "x_dim_0"), values[None]
    grid = [0.0, 70.0, 101.0]
    densities = nrm.predictive_density(posterior, latent, grid).density
    for s in (0, 1):
        observed = mixture_of(family, values[s])
        one = posterior.isel(draw=[s])
        np.testing.assert_allclose(
            densities[:, s], nrm.predictive_density(one, observed, grid).density[:, 0], rtol=1e-9
        )
        assert nrm.cluster_probabilities(one, latent, grid, [0, 1, 1]).equals(
            nrm.cluster_probabilities(one, observed, grid, [0, 1, 1])
        )
    both = nrm.cluster_probabilities(posterior, latent, grid, [0, 1, 1]).probability
    each = [nrm.cluster_probabilities(posterior.isel(draw=[s]), latent, grid, [0, 1, 1]).probability for s in (0, 1)]
    np.testing.assert_allclose(both, (each[0] + each[1]) / 2)
    means = nrm.sample_cluster_parameters(posterior, latent, random_seed=1).item_mean
    assert (abs(means.mean("item")[0] - [0, 100]) < 20).all()


def test_wrong_arguments(model, posterior):
    few = posterior.z.isel(item=[0, 1]).drop_vars("item", errors="ignore").rename(item="i")
    for data, name, message in (
        (posterior, None, r"var_name must be given, one of \['w', 'z'\]: the model has several"),
        (posterior, "q", "var_name must name a Partition .* got 'q'"),
        (posterior.isel(draw=0), "z", "dimensions chain and draw"),
        (posterior.assign(z=few), "z", r"draws of .z. must be .* of shape \(3,\) for the 3 items of .*Set the data"),
        (posterior.assign(z=posterior.z + 0.5), "z", "whole numbers"),
        *((posterior.drop_vars(name), "z", f"no draws of '{name}'") for name in ("alpha", "effect", "z")),
    ):
        with pytest.raises(ValueError, match=message):
            posterior_draws(data, model, name)
    with pytest.raises(ValueError, match="several of kind Mixture"):
        nrm.sample_cluster_parameters(posterior, model)
    with pm.Model() as empty, pytest.raises(ValueError, match="model must have a Partition"):
        find_partition(empty)


FUNCTIONS = (
    nrm.sample_cluster_parameters,
    nrm.sample_posterior_predictive,
    nrm.random_measure.sample_random_measure,
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_generator_advances_from_call_to_call(function):
    model = mixture_of(nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), [0.1, 0.2, 5.0])
    posterior = xr.Dataset({"z": (("chain", "draw", "item"), LABELS[None])})
    rng = np.random.default_rng(1)
    first, second, of_seed = (
        str(function(posterior, model, random_seed=seed, progressbar=False)) for seed in (rng, rng, 1)
    )
    assert first == of_seed
    assert first != second
