"""Joint distribution tests: redrawing data between steps leaves the prior of everything invariant."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.testing import ForwardDraw, geweke, largest_z
from tests.helpers import mixture_of


def assert_scores(scores, chains, draws):
    limit = largest_z((chains, draws), len(scores))
    assert max(map(abs, scores.values())) < limit, scores


@pytest.mark.slow
def test_a_wrong_step_is_found():
    class Wrong(nrm.steps.MarginalGibbs):
        def moves(self, state, table, family, data):
            table.join[0] += 0.4
            return super().moves(state, table, family, data)

    with pm.Model() as model:
        z = nrm.Partition("z", nrm.NormalizedInverseGaussian(0.8), n=6)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.5, 0.5), shape=(6, 2))
        scores = geweke(model, draws=2000, tune=0, chains=4, step=Wrong([z]), random_seed=1)
    assert abs(scores["z: n_clusters"]) > largest_z((4, 2000), 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["NormalGamma", "NormalWishart", "PoissonGamma", "CategoricalDirichlet"])
def test_full_model(kind):
    n = 8
    with pm.Model() as model:
        alpha, sigma = pm.Gamma("alpha", 2, 1), pm.Beta("sigma", 1, 3)
        z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, sigma), n=n)
        scale = pm.Gamma("scale", 4, 2)
        family = {
            "NormalGamma": nrm.NormalGamma(mu=[0.0, 1.0], kappa=0.5, alpha=3.0, beta=scale),
            "NormalWishart": nrm.NormalWishart(mu=[0.0, 1.0], kappa=0.5, Psi=scale * np.eye(2), nu=5.0),
            "PoissonGamma": nrm.PoissonGamma([1.0, 2.0], scale),
            "CategoricalDirichlet": nrm.CategoricalDirichlet(scale, [2, 3]),
        }[kind]
        nrm.Mixture("x", z, family, shape=(n, 2))
    scores = geweke(model, draws=4000, tune=1000, chains=4, random_seed=2)
    assert len(scores) == 9
    assert_scores(scores, 4, 4000)


def test_the_data_must_be_latent():
    model = mixture_of(nrm.PoissonGamma(1.0, 1.0), [1, 2, 3])
    with pytest.raises(ValueError, match="latent"):
        geweke(model)


def test_nothing_may_depend_on_what_is_drawn_forward():
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
        effect = nrm.Mixture("effect", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), shape=(3,))
        pm.Normal("y", effect, 1.0, observed=[1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match="'effect'"):
            ForwardDraw([effect])


@pytest.mark.slow
@pytest.mark.parametrize(("n_slots", "n_sweeps"), [(6, 1), (15, 3)])
def test_regression_with_labels_as_an_index(n_slots, n_sweeps):
    n, x = 6, np.array([-1.0, 1.0, 0.5, -0.5, 2.0, 0.1])
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 3, 2)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=n, max_clusters=n_slots)
        tau = pm.LogNormal("tau", 0, 0.4)
        slope = pm.Normal("slope", 1, tau, shape=n_slots)
        scale = pm.LogNormal("scale", 0, 0.4, shape=n_slots)
        pm.StudentT("y", nu=5, mu=slope[z] * x, sigma=scale[z], shape=n)
        step = [nrm.steps.SlotNUTS([alpha, tau, slope, scale]), nrm.steps.SlotGibbs([z], n_sweeps=n_sweeps)]
        scores = geweke(model, draws=5000, tune=500, chains=2, step=step, random_seed=3)
    assert set(scores) >= {"alpha", "tau", "tau squared", "z: n_clusters", "z: entropy", "y: size"}
    assert_scores(scores, 2, 5000)
