"""Data are prepared once for the same values, family and fixed hyperparameters, and anew for all others."""

import gc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import pymc as pm
import pytensor
import pytest
import scipy
from pytensor.compile.mode import Mode

import pymc_nrm as nrm
from pymc_nrm.common.checks import known_value
from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.families.base import Dense, conjugate_family
from pymc_nrm.models import marginal_likelihood, mixture, parts, prepared
from pymc_nrm.models.learned_priors import learned_priors
from pymc_nrm.models.rvs import mixtures_of
from pymc_nrm.models.values import Values
from tests.helpers import mixture_of

X = np.random.default_rng(1).normal([0.0, 5.0], size=(6, 2))
WISHART = nrm.NormalWishart([0.0, 1.0], 0.3, [[1.5, 0.4], [0.4, 1.0]], 5.0)
CHEAP = {"mode": Mode(linker="py", optimizer="minimum_compile")}


def parts_of(model, **options):
    """Parts of the only partition of a model, as steps have them."""
    evaluate = partial(Values.at_points, model, compile_kwargs=CHEAP)
    return parts.PartitionParts(model["z"], mixtures_of(model, model["z"]), evaluate, **options)


def data_of(model, **values):
    """Data of the first mixture at the initial point, but for some values, as kernels read them."""
    return parts_of(model).prepared(model.initial_point() | values)[2][0]


@pytest.fixture
def calls(monkeypatch):
    """The classes of the families whose data are prepared, one for each time."""

    class Counting:
        dispatch, made = staticmethod(prepared.prepare_data.dispatch), []

        def __call__(self, family, values, real=prepared.prepare_data):
            self.made.append(type(family))
            return real(family, values)

    counting = Counting()
    for module in (prepared, parts, mixture, marginal_likelihood):
        monkeypatch.setattr(module, "prepare_data", counting)
    return counting.made


def test_data_of_a_learned_mixture_are_prepared_once(calls):
    values = X + 1.0
    model = mixture_of(lambda: nrm.NormalWishart.learned("x", values), values)
    model.logp()
    [prior] = learned_priors(model)
    readers = [parts_of(model), parts_of(model, families=[prior.family], has_measure=False)]
    for _ in range(2):
        found = [reader.prepared(model.initial_point())[2][0] for reader in readers]
        assert found[0].values is found[1].values
        for reader in readers:
            reader.refresh()
    assert calls == [nrm.NormalWishart]
    # What copies share is prepared once; what a process gets as text, anew.
    assert data_of(model.copy()).values is found[0].values
    again = data_of(cloudpickle.loads(cloudpickle.dumps(model)))
    np.testing.assert_array_equal(again.values, found[0].values)


def test_counts_and_sparse_counts(calls):
    counts = np.array([[1, 4], [3, 2], [15, 4], [12, 0], [2, 9], [0, 8]])
    for family, observed in (
        (nrm.PoissonGamma(1.0, 1.0), counts),
        (nrm.MultinomialDirichlet(1.0), scipy.sparse.csr_array(counts.astype("float64"))),
    ):
        calls.clear()
        with pm.Model() as model:
            nrm.Mixture("x", nrm.Partition("z", nrm.DirichletProcess(1.0), n=6), family, observed=observed)
        assert data_of(model) is data_of(model)
        assert len(calls) == 1


def test_arrays_that_change_after_the_model_is_made():
    """What a user changes later is not the model's, and what a user changes in its constant is read anew."""
    values, mu, covariates = X.copy(), np.array([0.0, 1.0]), X[:, :1].copy()
    model = mixture_of(WISHART._replace(mu=mu), values)
    regression = mixture_of(nrm.NormalRegression(covariates, [0.0], [[1.0]], 2.0, 1.0), X[:, 1].copy())
    expected = data_of(model), data_of(regression)
    expected = [one._replace(values=one.values.copy()) for one in expected]
    values += 7.0
    mu += 7.0
    covariates *= -3.0
    for one, found in zip(expected, (data_of(model), data_of(regression)), strict=True):
        np.testing.assert_array_equal(found.values, one.values)
        np.testing.assert_array_equal(found.center, one.center)
    constant = model.rvs_to_values[model["x"]]
    constant.data[0] = [50.0, 60.0]
    changed = data_of(model)
    np.testing.assert_allclose((changed.values + changed.center)[0], [50.0, 60.0])
    # And a model of the former values has these.
    found = data_of(mixture_of(WISHART, X))
    np.testing.assert_array_equal(found.values, expected[0].values)


def test_data_and_covariates_that_are_set(calls):
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
        family = nrm.NormalRegression(pm.Data("w", X[:, :1]), [0.0], [[1.0]], 2.0, 1.0)
        nrm.Mixture("x", z, family, observed=X[:, 1].copy())
    reader = parts_of(model)
    for shift in (0.0, 4.0, 0.0):
        with model:
            pm.set_data({"w": X[:, :1] + shift})
        reader.refresh()
        np.testing.assert_array_equal(reader.prepared({})[2][0].values[:, 0], X[:, 0] + shift)
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
        nrm.Mixture("x", z, WISHART, observed=(data := pytensor.shared(X)))
    for shift in (0.0, 4.0, 0.0):
        data.set_value(X + shift)
        found = data_of(model)
        np.testing.assert_allclose(found.values + found.center, X + shift)
    assert not any(data is held for held in prepared._OF_CONSTANTS)


def test_hyperparameters_that_a_preparation_reads():
    levels = np.array([[0, 1], [3, 0], [1, 2]])
    mixture_of(nrm.CategoricalDirichlet(1.0, 4), levels)
    with pytest.raises(ValueError, match="levels below n_levels"):
        mixture_of(nrm.CategoricalDirichlet(1.0, 3), levels)
    y = X[:, 1]
    found = [
        data_of(mixture_of(nrm.NormalRegression(w, [0.0], [[1.0]], 2.0, 1.0), y)).values[:, 0] for w in (X[:, 0], -y)
    ]
    np.testing.assert_array_equal(found, [X[:, 0], -y])
    # Covariates that are sampled are those of the point.
    with pm.Model() as model:
        w = pm.Normal("w", shape=(6, 1))
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
        nrm.Mixture("x", z, nrm.NormalRegression(w, [0.0], [[1.0]], 2.0, 1.0), observed=y)
    for shift in (1.0, 2.0):
        np.testing.assert_array_equal(data_of(model, w=X[:, :1] + shift).values[:, 0], X[:, 0] + shift)


@conjugate_family(
    hyperparameters={"alpha": Hyperparameter(("L",), "positive"), "shift": Hyperparameter((), "real")},
    continuous=True,
    missing_allowed=False,
)
class Shifted(NamedTuple):
    """Data whose preparation reads the length of one hyperparameter and the value of another."""

    alpha: Any
    shift: Any

    def prepare_data(self, values):
        shift = known_value(self.shift)
        if shift is None:
            return None
        length = self.alpha.type.shape[0] if hasattr(self.alpha, "type") else len(self.alpha)
        return Dense(values * length + shift)

    def log_likelihood(self, values, labels):
        return values.sum()


class AsTheyAre(Shifted):
    """Data whose preparation returns the array that it is given."""

    def prepare_data(self, values):
        return Dense(values)


def test_families_of_users():
    for length, shift in ((2, 0.0), (3, 0.0), (2, 5.0), (2, 0.0)):
        model = mixture_of(lambda n=length, to=shift: Shifted(pm.LogNormal("alpha", 0.0, 1.0, shape=n), to), X[:, 0])
        for one in (model, mixture_of(Shifted(np.ones(length), shift), X[:, 0])):
            np.testing.assert_array_equal(data_of(one).values, X[:, :1] * length + shift)


def test_hyperparameters_that_are_observed():
    """They are random variables, but their values are constant."""
    for shift in (0.0, 5.0):
        model = mixture_of(lambda to=shift: Shifted(np.ones(2), pm.Normal("shift", observed=to)), X[:, 0])
        np.testing.assert_array_equal(data_of(model).values, X[:, :1] * 2 + shift)


def test_no_array_is_that_of_a_constant():
    model = mixture_of(AsTheyAre(np.ones(2), 0.0), X[:, 0])
    # As in the process of a chain, where the data of the constant are the first to be prepared.
    prepared._OF_CONSTANTS.clear()
    assert not np.shares_memory(data_of(model).values, model.rvs_to_values[model["x"]].data)
    model.rvs_to_values[model["x"]].data[:] = 1.0
    np.testing.assert_array_equal(data_of(model).values, 1.0)
    np.testing.assert_array_equal(data_of(mixture_of(AsTheyAre(np.ones(2), 0.0), X[:, 0])).values, X[:, :1])


def test_threads():
    models = [mixture_of(WISHART, X + shift) for shift in range(4)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(data_of, models * 8))
    for data, shift in zip(found, [*range(4)] * 8, strict=True):
        np.testing.assert_allclose(data.values + data.center, X + shift)


def test_prepared_data_go_with_their_model():
    gc.collect()
    before = len(prepared._PREPARED)
    model = mixture_of(WISHART, X + 100.0)
    assert len(prepared._PREPARED) == before + 1
    del model
    gc.collect()
    assert len(prepared._PREPARED) == before


@pytest.mark.quick("TreeGuided")
@pytest.mark.parametrize("step", [nrm.steps.TreeGuided, nrm.steps.SliceSampler], ids=lambda step: step.__name__)
def test_steps_do_not_write_to_prepared_data(step):
    with mixture_of(nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), X) as model:
        data = data_of(model)
        before = [np.array(one) for one in data]
        sampler, point = step([model["z"]], rng=1), model.initial_point()
        for _ in range(3):
            point, _ = sampler.step(point)
    assert data_of(model).values is data.values
    for one, expected in zip(data, before, strict=True):
        np.testing.assert_array_equal(one, expected)
