"""How models are read: what depends on a partition, and values at points and at draws."""

import numpy as np
import pymc as pm
import pytest
from helpers import measure_of
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.models.rvs import dims_of, family_of, mixtures_of, n_items, other_uses, partition_of
from pymc_nrm.models.values import Values

COUNTS = sparse.csr_array([[1, 0, 2], [0, 0, 1], [3, 0, 0]])


@pytest.fixture
def model():
    """Two partitions; labels of the first are used by mixtures, a deterministic, a variable and a potential."""
    with pm.Model(coords={"item": list("abc")}) as model:
        alpha = pm.Gamma("alpha", 2, 1)
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="item")
        w = nrm.Partition("w", nrm.NormalizedGeneralizedGamma(1.0, 0.5), n=3)
        shift = pm.Data("shift", 2.0)
        nrm.Mixture("words", z, nrm.MultinomialDirichlet(0.5), observed=COUNTS)
        nrm.Mixture("counts", w, nrm.PoissonGamma(alpha + shift, 0.5), observed=pm.Data("values", [1, 0, 4]))
        effect = nrm.Mixture("effect", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), dims="item")
        pm.Normal("y", effect, 1.0, observed=np.zeros(3))
        pm.Normal("t", pm.Deterministic("mean", (z * 1.0).mean()), 1.0)
        pm.Potential("even", -1.0 * (z[0] - z[1]) ** 2)
        nrm.Mixture("own", z, nrm.PoissonGamma(z.max() + 1.0, 0.5), observed=[1, 0, 4])
    return model


def names(variables):
    return [variable.name for variable in variables]


def test_what_depends_on_a_partition(model):
    assert names(mixtures_of(model, model["z"])) == ["effect", "words", "own"]
    assert names(mixtures_of(model, model["w"])) == ["counts"]
    assert names(other_uses(model, model["z"])) == ["t", "own", "even"]
    assert other_uses(model, model["w"]) == []


def test_what_variables_are_made_of(model):
    assert partition_of(model["counts"]) is model["w"]
    assert (n_items(model["z"]), n_items(model["w"])) == (3, 3)
    assert type(measure_of(model["w"])) is nrm.NormalizedGeneralizedGamma
    assert type(family_of(model["words"])) is nrm.MultinomialDirichlet
    assert dims_of(model, model["effect"]) == ["item"]
    assert dims_of(model, model["words"]) == ["words_dim_0", "words_dim_1"]


def test_values_at_points_and_at_draws(model):
    variables = [model["words"], model["effect"], family_of(model["counts"]).alpha, model["counts"]]
    at_points, at_draws = Values.at_points(model, variables), Values.at_draws(model, variables)
    assert (names(at_points.inputs), names(at_draws.inputs)) == (["alpha_log__", "effect"], ["alpha", "effect"])
    effect = np.arange(3.0)
    point = {"alpha_log__": np.log(np.array(0.5)), "effect": effect}
    draw = {"alpha": np.array(0.5), "effect": effect}
    for evaluate, given in ((at_points, point), (at_draws, draw)):
        assert evaluate.varies == [False, True, True, False]
        words, values, alpha, counts = evaluate(given)
        assert sparse.issparse(words)
        assert (words != COUNTS).nnz == 0
        assert values is effect
        assert alpha == pytest.approx([2.5])
        assert counts.tolist() == [1, 0, 4]


def test_data_are_read_again_by_refresh(model):
    variables = [model["counts"], family_of(model["counts"]).alpha]
    for evaluate, given in (
        (Values.at_points(model, variables), {"alpha_log__": np.array(0.0)}),
        (Values.at_draws(model, variables), {"alpha": np.array(1.0)}),
    ):
        with model:
            pm.set_data({"values": [5, 6, 7], "shift": 9.0})
        counts, alpha = evaluate(given)
        # What is compiled reads data at every call, what is evaluated once does not.
        assert (counts.tolist(), alpha.tolist()) == ([1, 0, 4], [10.0])
        evaluate.refresh()
        assert evaluate(given)[0].tolist() == [5, 6, 7]
        with model:
            pm.set_data({"values": [1, 0, 4], "shift": 2.0})
