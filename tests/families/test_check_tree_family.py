"""The check of tree families passes for those of the package, and names the function that is wrong."""

import numpy as np
import pytest
from pytensor.gradient import zero_grad

from pymc_nrm.families.diffusion import IndependentNormalDiffusion, NormalDiffusion, base
from pymc_nrm.testing import CheckError, check_tree_family

X = np.random.default_rng(1).normal(size=(12, 2)) + 50.0
FAMILIES = {
    "full": NormalDiffusion([50.0, 49.0], [3.0, 2.0, 0.7], [[4.0, 1.0], [1.0, 3.0]], 6.0),
    "independent": IndependentNormalDiffusion(50.0, [3.0, 2.0, 0.7], [3.0, 4.0], [2.0, 3.0]),
}


def right(generic):
    return generic.dispatch(IndependentNormalDiffusion)


def symbolic_log_likelihood(family, paths, X):
    return right(base.symbolic_log_likelihood)(family, paths, X) + 1e-3


def symbolic_without_gradient(family, paths, X):
    return right(base.symbolic_log_likelihood)(family._replace(alpha=zero_grad(family.alpha)), paths, X)


def add_square(family, scatter, row, weight):
    right(base.add_square)(family, scatter, row, 1.01 * weight)


def scatter_log_likelihood(family, scatter, log_determinant, n):
    return right(base.scatter_log_likelihood)(family, scatter, log_determinant, n) + 0.1 * n


def draw_whitening(family, scatter, n, rng):
    whitening = right(base.draw_whitening)(family, scatter, n, rng)
    whitening[1] *= 1.2
    return whitening


def draw_whitening_of_other_scale(family, scatter, n, rng):
    return right(base.draw_whitening)(family, 1.2 * scatter + 1.0, n, rng)


WRONG = [
    (
        base.symbolic_log_likelihood,
        symbolic_log_likelihood,
        "symbolic_log_likelihood or scatter_log_likelihood of Wrong",
    ),
    (
        base.symbolic_log_likelihood,
        symbolic_without_gradient,
        "symbolic_log_likelihood of Wrong .* derivative by alpha",
    ),
    (base.add_square, add_square, "symbolic_log_likelihood or scatter_log_likelihood of Wrong is wrong"),
    (base.scatter_log_likelihood, scatter_log_likelihood, "symbolic_log_likelihood or scatter_log_likelihood of Wrong"),
    (base.draw_whitening, draw_whitening, "draw_whitening of Wrong is wrong: the product of the matrix"),
    (base.draw_whitening, draw_whitening_of_other_scale, "draw_whitening or scatter_log_likelihood of Wrong is wrong"),
]


@pytest.mark.parametrize("kind", FAMILIES)
def test_families_of_the_package_pass(kind):
    check_tree_family(FAMILIES[kind], X, compiled=False)


@pytest.mark.parametrize(("generic", "implementation", "message"), WRONG, ids=[case[1].__name__ for case in WRONG])
def test_a_wrong_function_is_named(generic, implementation, message):
    class Wrong(IndependentNormalDiffusion):
        pass

    generic.register(Wrong)(implementation)
    with pytest.raises(CheckError, match=message):
        check_tree_family(Wrong(*FAMILIES["independent"]), X, compiled=False)


def test_bad_arguments():
    with pytest.raises(ValueError, match="X must have at least 4 items; got 3"):
        check_tree_family(FAMILIES["full"], X[:3])
    with pytest.raises(ValueError, match="depth must be a whole number of at least 1; got 0"):
        check_tree_family(FAMILIES["full"], X, depth=0)
    with pytest.raises(NotImplementedError, match="tuple has no"):
        check_tree_family((1.0, 2.0), X)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES)
def test_compiled(kind):
    check_tree_family(FAMILIES[kind], X)
