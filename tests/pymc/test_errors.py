"""Mistakes of users: each a clear error before sampling."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from helpers import learned_dirichlet_process, mixture_of, refused
from scipy import sparse

import pymc_nrm as nrm

X = np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6]])
measure = nrm.DirichletProcess(1.0)
normal = nrm.NormalGamma(mu=0.0, kappa=1.0, alpha=1.0, beta=1.0)
WORDS = sparse.csr_array([[0, 1], [2, 1], [0, -3]])
N_ITEMS = "n_items must be a whole number between 1 and 3"


def mixture(z, family, observed):
    return nrm.Mixture("x", z, family, observed=observed)


def sample(**kwargs):
    return pm.sample(5, tune=5, chains=1, cores=1, progressbar=False, quiet=True, **kwargs)


test_wrong_arguments = refused(
    lambda call: call(nrm.Partition("z", measure, n=3)),
    (lambda z: mixture(z, normal, X[:2]), ValueError, r"one row for each of the 3 items.*\(2, 2\)"),
    (lambda z: mixture(z, normal, X[None]), ValueError, r"shape \(n, d\).*\(1, 3, 2\)"),
    (lambda z: mixture(z, normal, sparse.csr_array(X)), ValueError, "NormalGamma.*dense"),
    (lambda z: mixture(z, nrm.CategoricalDirichlet(1.0, 2), [0, 1, 2]), ValueError, "CategoricalDirichlet.*2"),
    (lambda z: mixture(z, nrm.MultinomialDirichlet(1.0), WORDS), ValueError, "MultinomialDirichlet.*-3"),
    (lambda z: nrm.Mixture("x", z, nrm.CategoricalDirichlet(1.0), shape=(3, 2)), ValueError, "n_levels"),
    (lambda z: nrm.Partition("w", 1.0, n=3), TypeError, "measure must be a measure"),
    (lambda z: mixture(z, pm.Normal.dist(), X), TypeError, "family must be a family"),
    (lambda z: mixture(np.zeros(3, dtype=int), normal, X), TypeError, "partition must be a Partition"),
    *[
        (lambda z, step=step, n_items=n_items: step([z], n_items=n_items), ValueError, N_ITEMS)
        for step in (nrm.MarginalGibbs, nrm.SplitMerge)
        for n_items in (0, 4, 1.5, True)
    ],
    (lambda z: nrm.SplitMerge([z], n_moves=-1), ValueError, "n_moves must be a whole number of at least 0; got -1"),
    (lambda z: nrm.SplitMerge([z], n_scans=0.5), ValueError, "n_scans must be a whole number"),
    (lambda z: nrm.SplitMerge([z], proposal="random"), ValueError, "proposal must be .*'sequential'.*'random'"),
    (lambda z: nrm.SplitMerge([z], n_movs=3), TypeError, "n_movs"),
    (lambda z: sample(tree_guided={"n_movs": 3}), TypeError, "n_movs"),
    *(
        (lambda z, step=step: step([pm.Poisson("y", 2.0)]), TypeError, "'y' is not a Partition")
        for step in (nrm.MarginalGibbs, nrm.SplitMerge, nrm.TreeGuided)
    ),
    within=pm.Model,
)


test_partition = refused(
    lambda arguments: nrm.Partition("z", measure, **arguments),
    ({}, "number of items"),
    ({"dims": "absent"}, "number of items"),
    ({"n": 4, "dims": "obs"}, "n=4.*3"),
    ({"dims": ("obs", "feature")}, "one name"),
    ({"n": 3, "initval": [0, 1]}, "for each of 3 items"),
    ({"n": 3, "observed": [0, 1, 0, 1]}, "for each of 3 items"),
    ({"n": 3, "shape": 3}, "does not take shape"),
    within=lambda: pm.Model(coords={"obs": range(3), "feature": range(2)}),
)


test_uses_of_labels_other_than_by_a_mixture = refused(
    lambda use: (use(nrm.Partition("z", measure, n=3)), sample()),
    (lambda z: pm.Normal("y", pm.Normal("mu", shape=3)[z], 1.0, observed=[0.0, 1.0, 2.0]), "y"),
    (lambda z: pm.Potential("bonus", pt.eq(z[0], z[1]).astype("float64")), "bonus"),
    (lambda z: pm.Normal("effect", z.max(), 1.0), "effect"),
    (lambda z: nrm.Mixture("x", z, normal._replace(beta=1.0 + z.max()), observed=X), "x"),
    (lambda z: pm.Poisson("y", pm.Deterministic("k", z.max() + 1.0), observed=2), "y"),
    match="'{}' depends on the labels of partition 'z'",
    within=pm.Model,
)


def test_external_samplers():
    model = mixture_of(normal, X, learned_dirichlet_process)
    with model, pytest.raises(ValueError, match="nutpie.*not assigned to another step"):
        sample(nuts_sampler="nutpie")


@pytest.mark.parametrize(
    ("initvals", "message"),
    [
        ({"alpha": -1.0}, "alpha of DirichletProcess .* above 0; got nan"),
        ({"rate": -2.0}, "alpha of PoissonGamma must be finite and above 0 where the sampling of 'x' starts; got"),
    ],
)
def test_start_outside_a_support(initvals, message):
    model = mixture_of(lambda: nrm.PoissonGamma(pm.HalfNormal("rate"), 1.0), [0, 1, 8], learned_dirichlet_process)
    with pytest.raises(ValueError, match=message), np.errstate(invalid="ignore"):
        nrm.sample(2, tune=0, chains=1, cores=1, model=model, initvals=initvals, quiet=True)
