"""A log density that is no number ends a run with an error that names its parts; nobody samples from it unawares."""

import math

import numpy as np
import pymc as pm
import pytest
from helpers import log_density, mixture_of
from pymc.exceptions import SamplingError
from pymc.sampling.parallel import ParallelSamplingError
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import complete
from pymc_nrm.kernels.special import draw_categorical, draw_index
from pymc_nrm.moves.gibbs import draw_column
from pymc_nrm.moves.split_merge import accept, choose_side, empty_tally
from pymc_nrm.steps.target import check_against_graph, graph_log_likelihood
from pymc_nrm.testing import kernel_inputs

X = np.random.default_rng(1).normal(size=12)
normal = nrm.NormalGamma(mu=0.0, kappa=1.0, alpha=2.0, beta=1.0)


def make_model(family=normal, data=X, measure=None, second=None):
    with mixture_of(family, data, measure) as model:
        if second is not None:
            nrm.Mixture("y", model["z"], second, observed=data)
    return model


def sample(model, n_draws=3, chains=1, cores=1, **kwargs):
    with model:
        step = nrm.MarginalGibbs([model["z"]])
        options = {"step": step, "random_seed": 1, "quiet": True, "progressbar": False}
        return nrm.sample(n_draws, tune=0, chains=chains, cores=cores, **options, **kwargs)


# Its alpha + beta overflows.
huge, binary = nrm.BernoulliBeta(1e308, 1e308), (X > 0).astype(int)


def test_start():
    with pytest.raises(SamplingError, match="'z'.*where a chain starts.*'x'.*BernoulliBeta.alpha=.*beta="):
        sample(make_model(huge, binary), initvals={"z": np.zeros(12, dtype=int)})


@pytest.mark.parametrize("family, data", [(normal, 1e120 * X), (normal._replace(beta=1e-300), X)])
def test_data_beyond_the_resolution_of_doubles(family, data):
    with pytest.raises(ValueError, match="data of 'x': item .* times the width .* larger beta"):
        sample(make_model(family, data))


def test_processes_keep_the_message():
    with pytest.raises(ParallelSamplingError, match="Chain . failed with: .*partition 'z'.*Mixture 'x'.*BernoulliBeta"):
        sample(make_model(huge, binary), chains=2, cores=2)


def test_only_the_mixture_at_fault_is_named():
    model = make_model(data=binary, second=huge)
    with pytest.raises(SamplingError) as caught:
        sample(model)
    assert "Mixture 'y'" in str(caught.value) and "Mixture 'x'" not in str(caught.value)


class Jump(pm.step_methods.arraystep.ArrayStep):
    """Sets a hyperparameter to a value that no kernel can do with, at the third draw."""

    name = "jump"
    stats_dtypes_shapes = {}

    def __init__(self, vars, model):
        [value] = [model.rvs_to_values[var] for var in vars]
        super().__init__([value], [])
        self.count = 0

    def astep(self, q0):
        self.count += 1
        q0.data[:] = 800.0 if self.count == 3 else 0.0
        return q0, [{}]


def test_later():
    with pm.Model() as model:
        spread = pm.HalfNormal("spread")
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=12)
        nrm.Mixture("x", z, normal._replace(mu=spread), observed=X)
        steps = [Jump([spread], model), nrm.MarginalGibbs([z])]
        with pytest.raises(SamplingError, match="not finite in draw 3.*mu=inf|not finite in draw 3.*mu=2.*e.3"):
            nrm.sample(5, tune=0, chains=1, cores=1, step=steps, random_seed=1, quiet=True, progressbar=False)


# Weights without a law


@pytest.mark.parametrize("bad", [[-np.inf, -np.inf, -np.inf], [np.nan, 0, 0], [0, np.nan, 0], [np.inf, 0, 0]])
def test_weights_without_a_law(bad):
    rng = np.random.default_rng(1)
    values = np.append(bad, np.full(13, -np.inf))
    for likely in range(3):
        with pytest.raises(ValueError, match="weights"):
            draw_column(rng, values.copy(), 3, likely)
    with pytest.raises(ValueError, match="weights"):
        draw_categorical(rng, values[:3])
    # Proposals without a law stay in range.
    assert draw_index(rng, np.array(bad)) in (0, 1, 2)


@pytest.mark.parametrize("merging", [False, True])
def test_a_split_or_merge_without_a_law_is_rejected(merging):
    rng, tally = np.random.default_rng(1), empty_tally()
    side, log_q = choose_side(rng, np.nan, 1 if merging else -1)
    assert side in (0, 1)
    assert not accept(rng, tally, merging, log_q)
    assert tally.proposed.tolist() == [not merging, merging]
    assert tally.n_ratios[0] == 0


# Kernels against the graph


COUNTS = np.arange(12).reshape(4, 3)
FAMILIES = [(normal, X), *((nrm.MultinomialDirichlet(0.5), data) for data in (COUNTS, sparse.csr_array(COUNTS)))]


@pytest.mark.parametrize(("family", "data"), FAMILIES, ids=lambda value: type(value).__name__)
def test_graph_and_kernels_agree(family, data):
    n = data.shape[0]
    labels = np.arange(n) % 2
    rows = data if sparse.issparse(data) or data.ndim == 2 else data[:, None]
    full = broadcast_hyperparameters(complete(family, rows), *rows.shape)
    full = type(family)(*[np.asarray(value) for value in full])
    local, prepared = kernel_inputs(family, data)
    exact = log_density(local, prepared, labels)
    assert graph_log_likelihood(full, data, labels) == pytest.approx(exact, rel=1e-10)
    check_against_graph("z", [("x", full, data, slice(None))], labels, exact)
    for other in (exact + 0.01, math.nan, -math.inf):
        with pytest.raises(SamplingError, match="by the graph.*by the kernels.*Mixture 'x'"):
            check_against_graph("z", [("x", full, data, slice(None))], labels, other)
