"""Hyperparameters of rows in chunks: drawn given the sums of clusters as given the rows, with their joint law."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.models.learned_priors import learned_priors
from pymc_nrm.moves.chunks.chain import rounded_rows
from tests.exact.models import assert_functionals
from tests.exact.test_learned_gibbs import MEASURE, NAMES, X, exact, statistics

LABELS = np.array([0, 1, 0, 2, 0, 1, 1, 1, 2, 0, 0, 1])
FAMILIES = {
    family.__name__: family
    for family in (
        nrm.NormalGamma,
        nrm.NormalWishart,
        nrm.PoissonGamma,
        nrm.BernoulliBeta,
        nrm.CategoricalDirichlet,
        nrm.HurdleLogNormal,
        nrm.HurdlePoisson,
    )
}


def data_of(name):
    """Rows with gaps where the family takes them."""
    values = np.random.default_rng(1).poisson(3.0, size=(12, 2)).astype(float)
    if name in ("BernoulliBeta", "CategoricalDirichlet"):
        values = np.minimum(values, 1.0)
    if name != "NormalWishart":
        values[1, 1] = np.nan
    return values


def learned_model(family, values, observed, **of_partition):
    with pm.Model() as model:
        alpha = pm.Exponential("alpha", 0.7)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), **of_partition)
        nrm.Mixture("x", z, family.learned("x", values), observed=observed)
    return model


@pytest.mark.quick("NormalGamma")
@pytest.mark.parametrize("name", FAMILIES)
def test_the_step_believes_of_sums_what_it_believes_of_items(name):
    values = data_of(name)
    rows = nrm.Chunks(values, block_rows=5)
    of_rows = learned_model(FAMILIES[name], values, rows, chunks=rows)
    of_items = learned_model(FAMILIES[name], values, values, n=12)
    assert [len(one.variables) for one in learned_priors(of_rows)] == [
        len(one.variables) for one in learned_priors(of_items)
    ]
    points = [model.initial_point() for model in (of_rows, of_items)]
    measured = of_rows["x"].owner.op.measured
    rounded = rounded_rows(measured.preparation, measured.preparation(values), 12, measured.quanta)
    points[0] |= {"z": np.zeros_like(points[0]["z"]), "x": np.zeros_like(points[0]["x"])}
    points[0]["z"][:3] = np.bincount(LABELS)
    np.add.at(points[0]["x"], LABELS, rounded)
    points[1]["z"], steps = LABELS, [nrm.steps.LearnedGibbs(model=model, rng=1) for model in (of_rows, of_items)]
    priors = [[*step._priors, *step._processes] for step in steps]
    for one, other in zip(*priors, strict=True):
        assert one.names == other.names
        assert one.log_density(points[0]) == pytest.approx(other.log_density(points[1]), rel=1e-9)


@pytest.mark.slow
def test_partitions_and_hyperparameters_have_their_joint_law():
    partitions, p, expected, error_of_p, error_of_mean = exact(2, 50_000)
    rows = nrm.Chunks(X, block_rows=3)
    with pm.Model():
        z = nrm.Partition("z", MEASURE, chunks=rows)
        nrm.Mixture("x", z, nrm.NormalWishart.learned("x", X), observed=rows)
        options = {"chunked_sampler": {"n_redrawn": 2}, "learned_gibbs": {"n_sweeps": 1}}
        idata = nrm.sample(4000, tune=0, chains=4, quiet=True, random_seed=1, **options)
    labels = idata.posterior["z"].values
    found = np.array([(labels == one).all(axis=-1) for one in partitions]).astype(float)
    assert_functionals(np.moveaxis(found, 0, -1), p, error_of_p)
    assert_functionals(statistics(*[idata.posterior[name].values for name in NAMES]), expected, error_of_mean)
