"""The checks of families of trees pass for those of the package, and name the function that is wrong."""

import numpy as np
import pytest
from pytensor.gradient import zero_grad

import pymc_nrm as nrm
from pymc_nrm.nested.families import base as trees
from pymc_nrm.nested.testing import check_tree_family
from pymc_nrm.testing import CheckError
from tests.families.wrong_families import right, spoilt
from tests.helpers import refused

TREE_DATA = np.random.default_rng(1).normal(size=(12, 2)) + 50.0
TREES = {
    "full": nrm.nested.NormalDiffusion([50.0, 49.0], [3.0, 2.0, 0.7], [[4.0, 1.0], [1.0, 3.0]], 6.0),
    "independent": nrm.nested.IndependentNormalDiffusion(50.0, [3.0, 2.0, 0.7], [3.0, 4.0], [2.0, 3.0]),
}


def spoil_inverse(whitening, *_):
    whitening[1] *= 1.2
    return whitening


def of_constant_alpha(value, family, paths, X):
    constant = family._replace(alpha=zero_grad(family.alpha))
    return right(trees.symbolic_log_likelihood, nrm.nested.IndependentNormalDiffusion)(constant, paths, X)


def of_larger_scatter(value, family, scatter, n, rng):
    return right(trees.draw_whitening, nrm.nested.IndependentNormalDiffusion)(family, 1.2 * scatter + 1.0, n, rng)


WRONG_TREES = [
    (trees.symbolic_log_likelihood, lambda value, *_: value + 1e-3, "symbolic_log_likelihood, add_square or"),
    (trees.symbolic_log_likelihood, of_constant_alpha, "symbolic_log_likelihood of Wrong .* derivative by alpha"),
    (trees.scatter_log_likelihood, lambda value, f, s, g, n: value + 0.1 * n, "symbolic_log_likelihood, add_square or"),
    (trees.draw_whitening, spoil_inverse, "draw_whitening of Wrong is wrong: the product of the matrix"),
    (trees.draw_whitening, of_larger_scatter, "draw_whitening or scatter_log_likelihood of Wrong is wrong"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("generic", "change", "message"), WRONG_TREES, ids=[row[2] for row in WRONG_TREES])
def test_a_wrong_function_of_a_tree_family_is_named(generic, change, message):
    with pytest.raises(CheckError, match=message):
        check_tree_family(spoilt(TREES["independent"], {generic: change}), TREE_DATA, compiled=False)


@pytest.mark.slow
def test_wrong_squares_of_a_tree_family_are_noticed():
    def add_more(family, scatter, row, weight):
        trees.add_square(
            nrm.nested.IndependentNormalDiffusion(family.mu, family.tau, family.alpha, family.beta),
            scatter,
            row,
            1.01 * weight,
        )

    family = spoilt(TREES["independent"], {})
    # The graph of the likelihood calls it compiled.
    type(family).add_square = add_more
    with pytest.raises(CheckError, match="add_square or scatter_log_likelihood of Wrong is wrong: the log"):
        check_tree_family(family, TREE_DATA, compiled=False)


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", TREES)
def test_tree_families_of_the_package_pass(kind, compiled):
    check_tree_family(TREES[kind], TREE_DATA, compiled=compiled)


test_bad_arguments = refused(
    lambda family, X, options: check_tree_family(family, X, **options),
    (TREES["full"], TREE_DATA[:3], {}, ValueError, "X must have at least 4 items; got 3"),
    (TREES["full"], TREE_DATA, {"depth": 0}, ValueError, "depth must be a whole number of at"),
    ((1.0, 2.0), TREE_DATA, {}, NotImplementedError, "tuple has no"),
)
