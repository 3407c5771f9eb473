"""Faults of nested partitions that a comparison with the model finds."""

import numpy as np

import pymc_nrm as nrm
from pymc_nrm.nested.partitions.nested import WeightedNested
from pymc_nrm.nested.steps import nested_gibbs

X = np.array([0.0, 1.0, 7.0, 9.0])


def nested(**tree):
    weights = nrm.nested.HierarchicalDirichletProcess(gamma=[0.3, 2.0], gamma_0=5.0)
    tree = tree or {"measure": nrm.DirichletProcess(1.0), "depth": 2, "n": 4}
    h = nrm.nested.NestedPartition("h", weights=weights, **tree)
    nrm.Mixture("x", h, nrm.PoissonGamma(1.0, 0.2), observed=X)
    return [nrm.nested.NestedGibbs([h])]


class HalfDiffusion(nrm.nested.IndependentNormalDiffusion):
    """The model has half the log likelihood that kernels have."""

    __slots__ = ()

    def symbolic_log_likelihood(self, paths, X):
        return 0.5 * nrm.nested.IndependentNormalDiffusion.symbolic_log_likelihood(self, paths, X)


def diffusion(family=None):
    t = nrm.nested.NestedPartition("t", nrm.DirichletProcess(1.0), depth=2, n=4)
    family = family or nrm.nested.IndependentNormalDiffusion(4.0, [1.0, 2.0, 1.0], 2.0, 1.0)
    nrm.Mixture("x", t, family, observed=X[:, None])
    return [nrm.nested.NestedGibbs([t])]


def without_start(patch):
    """Sums over all data are not compared."""
    patch.setattr(nested_gibbs, "check_against_graph", lambda *arguments: None)


def gammas_in_reverse(patch):
    kernel_prior = WeightedNested.kernel_prior

    def reverse(self, priors):
        levels, gammas = kernel_prior(self, priors)
        return levels, np.ascontiguousarray(gammas[::-1])

    patch.setattr(WeightedNested, "kernel_prior", reverse)


# What puts the fault back, a model, and the step that would sample another distribution.
COMPARED = {
    "nested": (gammas_in_reverse, nested, "NestedGibbs"),
    "diffusion": (without_start, lambda: diffusion(HalfDiffusion(4.0, [1.0, 2.0, 1.0], 2.0, 1.0)), "NestedGibbs"),
}
# Steps do not refuse this model without the fault.
SOUND = {"nested": None}
SOUND_KINDS = {
    "known paths": lambda: nested(paths=[[0, 0], [0, 0], [0, 1], [1, 2]]),
    "diffusion": diffusion,
    "full diffusion": lambda: diffusion(nrm.nested.NormalDiffusion([4.0], [1.0, 2.0, 1.0], np.eye(1), 3.0)),
}
