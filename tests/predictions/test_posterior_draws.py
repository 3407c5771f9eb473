"""What posterior draws say about partitions: hyperparameters, data, labels."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from helpers import mixture_of
from prediction_cases import draws_of
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.families import NormalGamma
from pymc_nrm.families.product import Product
from pymc_nrm.models.parts import joint_data, joint_family
from pymc_nrm.models.rvs import find_partition
from pymc_nrm.posterior.any_draws import draws_of as posterior_draws
from pymc_nrm.steps.target import Target

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
        nrm.Mixture("x", z, NormalGamma(mu, 1.0, 2.0, 1.0), observed=[0.0, 0.1, 3.0])
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
        (posterior, "q", "var_name must be that of a Partition .* got 'q'"),
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


@pytest.mark.parametrize("name", ["sample_cluster_parameters", "sample_posterior_predictive", "sample_random_measure"])
def test_a_generator_advances_from_call_to_call(name):
    model = mixture_of(nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), [0.1, 0.2, 5.0])
    posterior = xr.Dataset({"z": (("chain", "draw", "item"), LABELS[None])})
    rng = np.random.default_rng(1)
    first, second, of_seed = (
        str(getattr(nrm, name)(posterior, model, random_seed=seed, progressbar=False)) for seed in (rng, rng, 1)
    )
    assert first == of_seed
    assert first != second
