"""What PyMC prints of a model."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.models import marked_labels


@pytest.fixture(scope="module")
def model():
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2.5, 0.1)
        scale = pm.HalfNormal("scale")
        z = nrm.Partition("z", nrm.NormalizedGeneralizedGamma(alpha, 0.25), n=3)
        nrm.Mixture("x", z, nrm.NormalGamma(mu=20.8, kappa=0.1, alpha=2, beta=scale), observed=[1.0, 2.0, 3.0])
        nrm.Mixture("y", z, nrm.NormalWishart([0.0, 0.0], scale, np.eye(2), 4.0), observed=np.zeros((3, 2)))
    return model


@pytest.mark.parametrize(
    "line",
    [
        "z ~ Partition[NormalizedGeneralizedGamma](3, alpha, 0.25)",
        "x ~ Mixture[NormalGamma](z, 20.8, 0.1, 2, scale)",
        "y ~ Mixture[NormalWishart](z, <constant>, scale, <constant>, 4)",
    ],
)
def test_plain_text_shows_measure_and_family(model, line):
    assert line in [printed.strip() for printed in model.str_repr().splitlines()]
    assert model[line[0]].str_repr() == line


@pytest.mark.parametrize(
    "term",
    [
        r"\operatorname{Partition}[\operatorname{NormalizedGeneralizedGamma}](3,~\text{alpha},~0.25)",
        r"\operatorname{Mixture}[\operatorname{NormalGamma}](\text{z},~20.8,~0.1,~2,~\text{scale})",
    ],
)
def test_latex_shows_measure_and_family(model, term):
    assert term in model.str_repr(formatting="latex")


def test_the_graph_shows_measure_and_family(model):
    pytest.importorskip("graphviz")
    source = model.to_graphviz().source
    assert "Partition[NormalizedGeneralizedGamma]" in source
    assert "Mixture[NormalGamma]" in source


def test_names_of_a_family_of_a_user():
    class Waiting:
        pass

    name, (plain, latex) = marked_labels.printed_names("mixture", Waiting)
    assert (name, plain) == ("mixture[Waiting]", "Mixture[Waiting]")
    assert latex == r"\operatorname{Mixture}[\operatorname{Waiting}]"
