"""Leave-one-out densities of items with parameters of slots, against enumeration of labels and parameters."""

from itertools import product

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats
from scipy.special import gammaln, logsumexp

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.model.values import Values
from pymc_nrm.predictions import compute_log_likelihood
from pymc_nrm.predictions.any_draws import draws_of

MEASURES = {"DP": nrm.DirichletProcess(0.8), "NGG": nrm.NormalizedGeneralizedGamma(0.6, 0.35)}
LEVELS, PRIOR = np.array([-1.5, 0.3, 2.0]), np.array([0.5, 0.3, 0.2])
X = np.array([-1.0, 0.4, 1.8])


def log_prior(measure, slots, n_slots):
    """Log of EPPF(sizes) (K - k)! / K!."""
    counts = np.bincount(slots)
    k = (counts > 0).sum()
    return log_eppf(measure, counts[counts > 0]) + gammaln(n_slots - k + 1) - gammaln(n_slots + 1)


def draws(**arrays):
    """A result with one chain of these draws."""
    variables = {
        name: (
            ("chain", "draw", *(f"{name}_dim_{axis}" for axis in range(np.ndim(values) - 1))),
            np.asarray(values)[None],
        )
        for name, values in arrays.items()
    }
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables)})


@pytest.mark.parametrize("measure", ["NGG", pytest.param("DP", marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_slots", [2, 4])
def test_values_and_importance_weights_are_exact(measure, n_slots):
    """Each slot has one of three levels, so that all states of the chain can be listed."""
    with pm.Model() as model:
        z = nrm.Partition("z", MEASURES[measure], n=3, max_clusters=n_slots)
        level = pm.Categorical("level", PRIOR, shape=n_slots)
        pm.Normal("x", pm.math.stack(list(LEVELS))[level[z]], 0.8, observed=X)
    states = [
        (np.array(slots), np.array(levels))
        for slots in product(range(n_slots), repeat=3)
        for levels in product(range(3), repeat=n_slots)
    ]
    slots, levels = (np.array(part) for part in zip(*states, strict=True))
    rows = stats.norm.logpdf(X, LEVELS[np.take_along_axis(levels, slots, axis=1)], 0.8)
    prior = np.array([log_prior(MEASURES[measure], z, n_slots) for z in slots]) + np.log(PRIOR)[levels].sum(axis=1)
    prior -= logsumexp(prior)
    joint = prior + rows.sum(axis=1)
    idata = compute_log_likelihood(draws(z=slots, level=levels), model)
    values = idata["log_likelihood"]["x"].values[0]
    for i in range(3):
        others = prior + np.delete(rows, i, axis=1).sum(axis=1)
        rest = [(tuple(np.delete(z, i)), tuple(w)) for z, w in zip(slots, levels, strict=True)]
        for s in range(0, len(states), 7):
            same = [r for r in range(len(states)) if rest[r] == rest[s]]
            assert values[s, i] == pytest.approx(logsumexp(joint[same]) - logsumexp(others[same]), abs=1e-10)
        # The mean of the reciprocals over the posterior is the reciprocal of p(x_i | x_-i).
        mean = logsumexp(joint - values[:, i]) - logsumexp(joint)
        assert -mean == pytest.approx(logsumexp(joint) - logsumexp(others), abs=1e-10)


def test_all_data_of_an_item_with_transformed_parameters_and_a_mixture(rng):
    """Repeated rows, two likelihoods, missing values, a latent hierarchy, and a mixture over the same partition."""
    item, n_slots = np.array([0, 0, 1, 2, 2, 2, 3]), 5
    y, counts, missing = rng.normal(size=7), np.array([3, 0, 9, 2]), np.ma.masked_invalid([0.1, np.nan, -2.0, 0.4])
    family, measure = nrm.PoissonGamma(1.0, 0.5), MEASURES["NGG"]
    with pm.Model() as model:
        z = nrm.Partition("z", measure, n=4, max_clusters=n_slots)
        tau = pm.HalfNormal("tau")
        slope = pm.Normal("slope", 0, tau, shape=n_slots)
        scale = pm.LogNormal("scale", 0, 1, shape=n_slots)
        pm.StudentT("y", nu=4, mu=slope[z][item], sigma=scale[z][item], observed=y)
        with pytest.warns(pm.exceptions.ImputationWarning):
            pm.Normal("t", slope[z], 0.7, observed=missing)
        nrm.Mixture("counts", z, family, observed=counts)
    n_draws = 40
    found = {
        "z": np.vstack([[0, 0, 0, 0], [4, 2, 3, 0], rng.integers(n_slots, size=(n_draws - 2, 4))]),
        "tau": rng.gamma(2.0, size=n_draws),
        "slope": rng.normal(size=(n_draws, n_slots)),
        "scale": rng.gamma(2.0, size=(n_draws, n_slots)),
        "t_unobserved": rng.normal(size=(n_draws, 1)),
    }
    values = compute_log_likelihood(draws(**found), model)["log_likelihood"]["z"].values[0]
    for s in range(n_draws):
        for i in range(4):
            log_joint, log_rest = [], []
            for slot in range(n_slots):
                slots = found["z"][s].copy()
                slots[i] = slot
                prior = log_prior(measure, slots, n_slots)
                mine, mean, spread = item == i, found["slope"][s, slot], found["scale"][s, slot]
                own = stats.t.logpdf(y[mine], 4, mean, spread).sum()
                own += 0.0 if i == 1 else stats.norm.logpdf(missing[i], mean, 0.7)
                mates = [j for j in range(4) if j != i and slots[j] == slot]
                shape, rate = 1.0 + counts[mates].sum(), 0.5 + len(mates)
                own += stats.nbinom.logpmf(counts[i], shape, rate / (rate + 1))
                log_joint.append(prior + own)
                log_rest.append(prior)
            assert values[s, i] == pytest.approx(logsumexp(log_joint) - logsumexp(log_rest), abs=1e-7)


@pytest.mark.slow
def test_arviz_agrees_with_the_same_model_with_parameters_integrated_out(rng):
    """Normal data with normal means: draws of slots given exact draws of the partition, and the conjugate law."""
    n, n_slots, n_draws, x = 5, 5, 4000, np.array([-2.0, -1.6, 0.2, 1.9, 2.2])
    measure = nrm.DirichletProcess(1.0)
    with pm.Model(coords={"item": list("abcde")}) as model:
        z = nrm.Partition("z", measure, dims="item", max_clusters=n_slots)
        mean = pm.Normal("mean", 0, 2, shape=n_slots)
        pm.Normal("x", mean[z], 0.6, observed=x, dims="item")
    slots = np.array(list(product(range(n_slots), repeat=n)))
    log_joint = np.array([log_prior(measure, z, n_slots) + log_marginal(x, z) for z in slots])
    posterior = np.exp(log_joint - logsumexp(log_joint))
    slots = slots[rng.choice(len(slots), n_draws, p=posterior)]
    counts = (slots[:, :, None] == np.arange(n_slots)).sum(axis=1)
    sums = ((slots[:, :, None] == np.arange(n_slots)) * x[:, None]).sum(axis=1)
    precision = 1 / 4 + counts / 0.36
    means = sums / 0.36 / precision + rng.normal(size=sums.shape) / np.sqrt(precision)
    idata = draws(z=slots, mean=means)
    idata = compute_log_likelihood(idata, model)
    loo = az.loo(idata, pointwise=True)
    ratios = np.exp(-idata["log_likelihood"]["x"].values[0])
    error = ratios.std(axis=0) / ratios.mean(axis=0) / np.sqrt(n_draws)
    for i in range(n):
        fewer = np.array(list(product(range(n_slots), repeat=n - 1)))
        rest = logsumexp([log_prior(measure, z, n_slots) + log_marginal(np.delete(x, i), z) for z in fewer])
        assert abs(loo.elpd_i.values[i] - (logsumexp(log_joint) - rest)) < 4.5 * error[i]
    assert error.max() < 0.05 and loo.pareto_k.max() < 0.7


def log_marginal(x, slots):
    """Log density of normal data with normal means integrated out."""
    total = 0.0
    for slot in np.unique(slots):
        own = x[slots == slot]
        total += stats.multivariate_normal.logpdf(own, np.zeros(len(own)), 0.36 * np.eye(len(own)) + 4.0)
    return total


def test_points_are_the_draws_in_other_coordinates():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3, max_clusters=2)
        upper = pm.HalfNormal("upper")
        level = pm.Uniform("level", 0, upper, shape=2)
        weights = pm.Dirichlet("weights", np.ones(3))
        pm.Normal("x", level[z] * weights[0], 1, observed=X)
    prior = pm.sample_prior_predictive(5, model=model, random_seed=1)["prior"].to_dataset()
    back = Values.at_points(model, [z, upper, level, weights])
    points = draws_of(prior, model, "z")
    for s, draw in enumerate(points):
        expected = [prior[name].values[0, s] for name in ("z", "upper", "level", "weights")]
        for found, value in zip(back(points.point(draw)), expected, strict=True):
            np.testing.assert_allclose(found, value)


def test_errors():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3, max_clusters=2)
        mean = pm.Normal("mean", 0, 1, shape=2)
        latent = pm.Normal("latent", mean[z], 1)
        pm.Normal("x", latent, 1, observed=X)
    result = draws(z=[[0, 0, 1]], mean=[[0.0, 1.0]], latent=np.zeros((1, 3)))
    with pytest.raises(ValueError, match="'latent' is latent and depends on the labels of 'z': .* that of 'x'"):
        compute_log_likelihood(result, model)
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3, max_clusters=2)
        mean = pm.Normal("mean", 0, 1, shape=2)
        pm.Potential("likelihood", pm.logp(pm.Normal.dist(mean[z], 1), X))
    with pytest.raises(ValueError, match="Potential 'likelihood' depends on the labels of 'z'"):
        compute_log_likelihood(result, model)
    with pm.Model() as model:
        nrm.Partition("z", nrm.DirichletProcess(1.0), n=3, max_clusters=2)
    with pytest.raises(ValueError, match="no data depend on partition 'z'"):
        compute_log_likelihood(result, model)
