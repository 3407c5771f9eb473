"""Mixture models for the parts that measure PyMC around the kernels, latency and memory."""

import numpy as np
import pymc as pm

import pymc_nrm as nrm


def dirichlet_process(X, family, measure=None, **options):
    """Model of a partition under DP(1), or another measure, with data X of one family whose numbers are known."""
    with pm.Model() as model:
        z = nrm.Partition("z", measure or nrm.DirichletProcess(1.0), n=X.shape[0], **options)
        nrm.Mixture("x", z, family, observed=X)
    return model


def mixture(family, X, *, hyperpriors=False):
    """Model of a partition under the NGG measure, with data X of one family."""
    d = X.shape[1]
    with pm.Model() as model:
        if hyperpriors:
            measure = nrm.NormalizedGeneralizedGamma(pm.Gamma("alpha", 2, 1), pm.Beta("sigma", 1, 4))
            scale = pm.LogNormal("scale", 0, 0.5)
        else:
            measure, scale = nrm.NormalizedGeneralizedGamma(1.0, 0.1), 1.0
        families = {
            "NormalWishart": lambda: nrm.NormalWishart(mu=np.zeros(d), kappa=0.1, Psi=5 * scale * np.eye(d), nu=d + 6),
            "BernoulliBeta": lambda: nrm.BernoulliBeta(scale, scale),
            "MultinomialDirichlet": lambda: nrm.MultinomialDirichlet(0.1 * scale),
        }
        z = nrm.Partition("z", measure, n=X.shape[0])
        nrm.Mixture("x", z, families[family](), observed=X)
    return model


def sample(model, sampler, draws, **kwargs):
    """Run ``pm.sample`` for one chain in this process, with the named step for the partition."""
    options = {"chains": 1, "cores": 1, "progressbar": False, "quiet": True, "random_seed": 1}
    with model:
        # Leave the default step to PyMC, as users do.
        step = [] if sampler == "TreeGuided" else [getattr(nrm, sampler)([model["z"]])]
        return pm.sample(draws, step=step or None, compute_convergence_checks=False, **(options | kwargs))
