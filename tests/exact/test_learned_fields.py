"""Operations of learned hyperparameters: a model in which they stand for anything else is left to NUTS, and PyMC and
PyTensor work with them as with any graph.
"""

from functools import partial

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

import pymc_nrm as nrm
from pymc_nrm.families.learned.fields import LearnedField
from pymc_nrm.models.rvs import family_of
from tests.exact.test_learned_conditionals import (
    COUNTS,
    FAMILIES,
    WISHART,
    X,
    model_of,
    second_mixture,
    taken,
    variables_of,
)


class CopiedCounts(nrm.PoissonGamma):
    """A subclass with the function of its parent."""

    learned_fields = staticmethod(nrm.PoissonGamma.learned_fields)


def wishart_with_share_of_shape_1():
    names = ("x_kappa", "x_excess", "x_squared_pivot", "x_below_pivot")
    family, model = WISHART(), pm.modelcontext(None)
    share = pm.LogNormal("s", -1.0, 1.0, shape=1)
    fields = nrm.NormalWishart.learned_fields(share, *(model[name] for name in names), scale=np.eye(3))
    return family._replace(**fields)


def wishart_of_data():
    family, model = WISHART(), pm.modelcontext(None)
    variables = [model[f"x_{name}"] for name in ("share", "kappa", "excess", "squared_pivot", "below_pivot")]
    scale = pt.specify_shape(pm.Data("scale", np.eye(3)), (3, 3))
    return family._replace(**nrm.NormalWishart.learned_fields(*variables, scale=scale))


def one_variable_twice():
    share, both = pm.LogNormal("x_share", shape=3), pm.LogNormal("both")
    return nrm.NormalGamma(X.mean(axis=0), **nrm.NormalGamma.learned_fields(share, both, both, variances=np.ones(3)))


def with_concentration(family_class, **constants):
    return family_class.learned_fields(pm.LogNormal("x_concentration", shape=3), **constants)


def exchanged():
    """Both shapes are products of the same form."""
    alpha, beta = nrm.BernoulliBeta.learned("x", np.minimum(COUNTS, 1))
    return nrm.BernoulliBeta(beta, alpha)


def variances(model):
    return pt.specify_shape(pm.Data("variances", [1.0, 2.0, 3.0]), (3,))


def mimicked(model, family):
    """Another function of the same arguments, from an operation that has the same names."""
    op, inner = family.alpha.owner.op, family.alpha.owner.op.fgraph.unfreeze()
    other = LearnedField(list(inner.inputs), 1.0 + inner.outputs[0], field=op.field, arguments=op.arguments)
    return other(*family.alpha.owner.inputs)


LEFT = {
    "a share of shape 1": lambda: model_of(wishart_with_share_of_shape_1),
    "one variable twice": lambda: model_of(one_variable_twice),
    "mu of a learned scale": lambda: model_of(mu=lambda model, family: family.beta),
    "mu of another learned scale": lambda: model_of(mu=lambda model, family: family.beta.owner.clone().outputs[0]),
    "two shapes exchanged": lambda: model_of(exchanged, np.minimum(COUNTS, 1)),
    "another operation of the same name": lambda: model_of(alpha=mimicked),
    "variances that are data": lambda: model_of(
        beta=lambda model, family: nrm.NormalGamma.learned_fields(*variables_of(model), variances=variances(model))[
            "beta"
        ]
    ),
    "means that are data": lambda: model_of(
        lambda: nrm.PoissonGamma(**with_concentration(nrm.PoissonGamma, means=pm.Data("means", [1.0, 2.0, 3.0]))),
        COUNTS,
    ),
    "a scale that is data": lambda: model_of(wishart_of_data),
    "a potential of a hyperparameter": lambda: model_of(
        change=lambda model: pm.Potential("p", -family_of(model["x"]).beta.sum())
    ),
    "a hyperparameter of two mixtures": lambda: model_of(
        change=partial(second_mixture, lambda model: family_of(model["x"]).beta)
    ),
    "a share that is set": lambda: pm.do(model_of(), {"x_share": np.ones(3)}),
    "a share that is observed": lambda: pm.observe(model_of(), {"x_share": np.ones(3)}),
    "a family with the function of another": lambda: model_of(
        lambda: CopiedCounts(**with_concentration(CopiedCounts, means=np.ones(3))), COUNTS
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_learned_fields_does_not_make_now_is_left_to_nuts(name):
    assert taken(LEFT[name]()) == []


def levels_of(frequencies, n_levels):
    """Hyperparameters of categories as a Mixture takes them."""
    concentration = pm.LogNormal.dist(shape=2)
    fields = nrm.CategoricalDirichlet.learned_fields(concentration, frequencies=np.array(frequencies))
    return nrm.CategoricalDirichlet(fields["alpha"], np.array(n_levels)).canonical().alpha


def test_absent_levels_are_masked_unless_their_frequency_is_0():
    frequencies = [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]
    assert isinstance(levels_of(frequencies, [2, 3]).owner.op, LearnedField)
    masked = levels_of(frequencies, [2, 2])
    assert not isinstance(masked.owner.op, LearnedField)
    assert (pm.draw(masked, random_seed=1)[:, 2] == 0.0).all()


def test_absent_levels_of_another_operation_are_masked():
    """It reads frequencies of 0 as well, but is not 0 there."""
    concentration, frequencies = pm.LogNormal.dist(shape=2), pt.constant([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    fields = nrm.CategoricalDirichlet.learned_fields(concentration, frequencies=frequencies)
    op, inner = fields["alpha"].owner.op, fields["alpha"].owner.op.fgraph.unfreeze()
    other = LearnedField(list(inner.inputs), 1.0 + inner.outputs[0], field=op.field, arguments=op.arguments)
    alpha = nrm.CategoricalDirichlet(other(concentration, frequencies), np.array([2, 2])).canonical().alpha
    assert (pm.draw(alpha, random_seed=1)[:, 2] == 0.0).all()


@pytest.mark.quick("normal-gamma", "normal-Wishart")
@pytest.mark.parametrize("kind", FAMILIES)
def test_gradients_pass_through_learned_hyperparameters(kind):
    learned, values = FAMILIES[kind]
    model = model_of(partial(learned, "x", values), values)
    point, variables = model.initial_point(), model.continuous_value_vars
    function = model.logp_dlogp_function(variables, initial_point=point, mode="FAST_COMPILE", ravel_inputs=True)
    start = np.concatenate([np.ravel(point[one.name]) for one in variables])
    start += np.random.default_rng(1).normal(0.0, 0.3, len(start))
    _, gradient = function(start)
    steps = 1e-5 * np.eye(len(start))
    differences = [(function(start + step)[0] - function(start - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6)


def test_pymc_and_pytensor_show_learned_hyperparameters(capsys):
    model = model_of(WISHART)
    assert "f(x_share, x_excess, x_squared_pivot, x_below_pivot)" in model.str_repr()
    assert "Learned[Psi]" in pytensor.dprint(model["x"], file="str")
    assert "x_kappa -> x" in pm.model_to_graphviz(model).source
    model.debug()
    assert "No problems found" in capsys.readouterr().out
