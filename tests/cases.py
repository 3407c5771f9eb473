"""The tables of the tests: families, measures and steps.  What a test needs besides, it adds to a row of them.

To test a new family, measure or configuration of a step, add a row: tests of all rows find it, others choose by name.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm.families.definitions.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.families.derived.spherical_principal_normal_wishart import SphericalPrincipalNormalWishart
from tests.tools.wings import rows_of_wings

# The kinds of moves along a guide tree.
TREE_MOVES = ("informed_split_merge", "tree_split_merge", "subtree_gibbs")

# No moves of TreeGuided but one item of Gibbs updates.
QUIET = dict.fromkeys(TREE_MOVES, 0) | {"marginal_gibbs": 1}

SCANS = {"n_moves": 2, "proposal": "restricted_gibbs", "n_items": 1}
# Steps and their options.
SAMPLERS = {
    "gibbs": (nrm.steps.MarginalGibbs, {}),
    "gibbs of 2 items": (nrm.steps.MarginalGibbs, {"n_items": 2}),
    "sequential": (nrm.steps.SplitMerge, {"n_moves": 2}),
    "sequential, gibbs of 1 item": (nrm.steps.SplitMerge, {"n_moves": 3, "n_items": 1}),
    **{f"{n} scans": (nrm.steps.SplitMerge, SCANS | {"n_scans": n}) for n in (0, 1, 3)},
    "slice": (nrm.steps.SliceSampler, {}),
    "tree": (nrm.steps.TreeGuided, {}),
    "tree, three cycles": (nrm.steps.TreeGuided, {"n_cycles": 3}),
    **{f"tree, {name}": (nrm.steps.TreeGuided, {"moves": QUIET | {name: 4}, "n_cycles": 1}) for name in TREE_MOVES},
}


class Measure(NamedTuple):
    """A measure for enumeration, and others of its class: at the ends of the range, and more of them for slow tests."""

    small: Any
    others: tuple = ()
    slow: tuple = ()


_dp, _nig, _ngg = nrm.DirichletProcess, nrm.NormalizedInverseGaussian, nrm.NormalizedGeneralizedGamma
_py, _mfm = nrm.PitmanYorProcess, nrm.MixtureOfFiniteMixtures
OF_MEASURES = {
    "DP": Measure(_dp(1.0), (_dp(0.02), _dp(500.0)), (_dp(1.0),)),
    "NIG": Measure(_nig(0.6), (_nig(3.0),), (_nig(0.05),)),
    "NGG": Measure(
        _ngg(0.5, 0.3),
        (_ngg(1.5, 1e-9), _ngg(0.3, 0.25), _ngg(0.1, 0.999)),
        (_ngg(1.5, 0.0), _ngg(40.0, 0.5), _ngg(1.0, 0.9)),
    ),
    "PY": Measure(
        _py(0.3, 1.0),
        (_py(0.3, 1.0), _py(0.5, -0.3)),
        (_py(0.0, 1.5), _py(1e-9, 2.0), _py(1e-18, 2.0), _py(0.2, 0.0), _py(0.7, 5.0), _py(0.9, -0.8)),
    ),
    "PY below 0": Measure(_py(0.6, -0.2)),
    "MFM": Measure(
        _mfm(0.7, 3.0),
        (_mfm(0.4, 6.0),),
        (_mfm(1.0, 3.0), _mfm(0.1, 40.0), _mfm(30.0, 0.3), _mfm(2.0, 3000.0)),
    ),
}
MEASURES = {name: row.small for name, row in OF_MEASURES.items()}


class Data(NamedTuple):
    """Family and data as users write them; lists for several families over one partition."""

    family: Any
    X: Any


class Family(NamedTuple):
    """What is known about a family independently of its implementation; it is in the file of its definition."""

    # With data of four or five items, whose partitions are enumerated.
    small: Data | None = None
    # With a function from a random generator to data of twelve items, dense or sparse.
    large: Data | None = None
    # Data that must be refused, each with a pattern that the message must match after the name of the family.
    refused: tuple = ()


def with_missing(X):
    X = np.array(X, dtype="float64")
    X[1, 0] = X[4, 1] = X[5, :] = np.nan
    return X


def gaps_in(simulate):
    """Simulate data with gaps."""
    return lambda rng: with_missing(simulate(rng))


def simulate_normal(rng):
    return rng.normal([100.0, -3.0], [0.5, 4.0], size=(12, 2))


def simulate_log_normal(rng):
    return rng.lognormal([2.0, 0.0], [0.5, 0.1], size=(12, 2)) - [0.0, 1.0]


def simulate_line(rng):
    return np.where(np.arange(12) == 4, np.nan, COVARIATES @ [3.0, 2.1, -1.0] + rng.normal(size=12))[:, None]


def simulate_words(rng):
    return rng.poisson([0.3, 2.0, 0.2, 9.0], size=(12, 4)) + np.eye(12, 4, dtype=int)


def simulate_counts(rng):
    return rng.poisson([0.7, 8.0], size=(12, 2))


def simulate_answers(rng):
    return rng.integers(0, 2, size=(12, 3))


def simulate_levels(rng):
    return rng.integers(0, [4, 2, 3], size=(12, 3))


def simulate_presence(rng):
    return rng.random((12, 2)) > 0.4


_nan = np.nan
COVARIATES = np.column_stack([np.ones(12), np.linspace(7.0, 9.0, 12) ** 2, np.cos(np.arange(12))])
LEVELS = np.array([[0.5, 1.0, 2.0, 0.3], [1.0, 0.2, 0.0, 0.0], [3.0, 0.1, 1.0, 0.0]])
PLANE = np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6], [-1.6, 1.2], [2.2, 2.4]])
WORDS = np.array([[2, 1, 0], [1, 2, 1], [0, 1, 3], [2, 0, 1]])

BAD_REALS = (([[np.inf]], "infinite"), ([0.5, 1.0], "shape"), (sparse.csr_array([[1.0]]), "dense"))
BAD_COUNTS = (([[0, -2]], "-2"), ([[0.5]], "0.5"), ([[np.nan]], "NaN"), ([[np.inf]], "infinite"), ([1, 2], "shape"))
BAD_COUNTS_WITH_GAPS = tuple(row for row in BAD_COUNTS if row[1] != "NaN")
BAD_ANSWERS = (([[0, 2]], " 2"), ([[0, -1]], "-1"), ([[0.5]], "0.5"), ([[np.inf]], "infinite"), ([0, 1], "shape"))
BAD_LEVELS = (
    *(([[4, 0, 0]], "4.* feature 0.* 4 levels"), ([[0, 2, 0]], "2.* feature 1.* 2 levels"), ([[0, -1, 0]], "-1")),
    *(([[0.5, 0, 0]], "0.5"), ([[np.inf, 0, 0]], "infinite"), ([1, 0, 1], "shape")),
)
BAD_WORDS = (
    *BAD_COUNTS,
    *((sparse.csr_array([[0, wrong]]), message) for wrong, message in ((-2, "-2"), (0.5, "0.5"), (np.nan, "NaN"))),
)

FAMILIES = {
    "NormalWishart": Family(
        Data(nrm.NormalWishart(mu=[0.0, 1.0], kappa=0.3, Psi=[[1.5, 0.4], [0.4, 1.0]], nu=4.0), PLANE),
        Data(
            nrm.NormalWishart(mu=np.array([98.0, 0.0]), kappa=0.5, Psi=np.array([[2.0, 0.5], [0.5, 9.0]]), nu=6.0),
            simulate_normal,
        ),
        (([[np.inf, 0.0]], "infinite"), ([0.5, 1.0], "shape"), (sparse.csr_array([[1.0, 2.0]]), "dense")),
    ),
    "NormalWishart, vector": Family(
        Data(nrm.NormalWishart(mu=20.0, kappa=0.2, Psi=np.eye(1), nu=3.0), np.array([19.1, 20.3, 21.8, 20.7, 18.0])),
    ),
    "NormalWishart, three features": Family(
        large=Data(
            nrm.NormalWishart(mu=1.0, kappa=2.0, Psi=np.eye(3) + 0.2, nu=9.0), lambda rng: rng.normal(size=(12, 3))
        ),
        refused=(([[np.inf, 0.0]], "infinite"), ([0.5, 1.0], "shape"), (sparse.csr_array([[1.0, 2.0]]), "dense")),
    ),
    "PrincipalNormalWishart": Family(
        Data(
            PrincipalNormalWishart([0.5, 1.2], [2.0, 0.5], [[0.6, -0.8], [0.8, 0.6]], [0.1], 0.3, [[0.5]], 3.0, [0.4]),
            PLANE,
        ),
    ),
    "SphericalPrincipalNormalWishart": Family(
        Data(
            SphericalPrincipalNormalWishart(
                *([0.5, 1.2, 0.1, 0.0, 0.3], [2.0, 0.5, 1.0, 1.5, 1.0], np.full((5, 1), np.sqrt(0.2))),
                *([0.1], 0.3, [[0.5]], 3.0, [0.4]),
            ),
            np.outer([0.0, 2.0, 1.7, -0.5], np.ones(5)) + np.cos(np.arange(20.0)).reshape(4, 5),
        ),
    ),
    "NormalGamma": Family(
        large=Data(
            nrm.NormalGamma(mu=np.array([98.0, 0.0]), kappa=0.5, alpha=np.array([2.5, 3.0]), beta=2.0),
            simulate_normal,
        ),
        refused=BAD_REALS,
    ),
    "NormalGamma, missing": Family(
        Data(
            nrm.NormalGamma(mu=[5.0, 0.0], kappa=0.3, alpha=1.5, beta=[0.8, 1.2]),
            np.array([[4.2, _nan], [5.6, 0.3], [_nan, -1.5], [6.3, 1.1], [_nan, _nan]]),
        ),
        Data(
            nrm.NormalGamma(mu=np.array([98.0, 0.0]), kappa=0.5, alpha=np.array([2.5, 3.0]), beta=2.0),
            gaps_in(simulate_normal),
        ),
        BAD_REALS,
    ),
    "LogNormalWishart": Family(
        Data(
            nrm.LogNormalWishart([1, 0], [0.0, 1.0], 0.3, [[1.5, 0.4], [0.4, 1.0]], 4.0),
            np.array([[1.0, 0.4], [3.0, 1.9], [2.0, 0.6], [0.2, 1.2], [9.0, 2.4]]),
        ),
        Data(
            nrm.LogNormalWishart([1, 0], [2.0, 0.0], 0.5, np.array([[2.0, 0.5], [0.5, 9.0]]), 6.0), simulate_log_normal
        ),
        (
            ([[np.inf, 0.0]], "infinite"),
            ([[-1.0, 1.0]], "above 0 .* got -1.0 in row 0, column 0"),
            ([[1.0]], "1 features"),
        ),
    ),
    "LogNormalGamma, missing": Family(
        Data(
            nrm.LogNormalGamma([1, 0], [1.5, 0.0], 0.3, 1.5, [0.8, 1.2]),
            np.array([[2.2, _nan], [9.0, 0.3], [_nan, -1.5], [12.0, 1.1], [_nan, _nan]]),
        ),
        Data(
            nrm.LogNormalGamma([1, 0], [2.0, 0.0], kappa=0.5, alpha=np.array([2.5, 3.0]), beta=0.5),
            gaps_in(simulate_log_normal),
        ),
        (
            ([[np.inf, 1.0]], "infinite"),
            ([[0.0, 1.0]], "above 0 .* got 0.0 in row 0, column 0"),
            ([1.0, 2.0], "shape"),
        ),
    ),
    "NormalRegression, missing": Family(
        Data(
            nrm.NormalRegression([[1.0, 0], [1, 1], [1, 2], [1, 4], [1, 5]], 0.0, np.eye(2) * 0.3, 1.5, 0.8),
            np.array([0.2, 1.1, -2.0, 3.9, _nan]),
        ),
        Data(
            nrm.NormalRegression(COVARIATES, [1.0, 2.0, 0.0], np.diag([0.3, 0.5, 0.8]) + 0.1, 2.5, 0.9),
            simulate_line,
        ),
        (*BAD_REALS, ([[0.5, 1.0]] * 12, "vector"), ([[0.5]], "12")),
    ),
    "BernoulliBeta": Family(
        large=Data(nrm.BernoulliBeta(1.5, np.array([0.5, 2.0, 1.0])), simulate_answers), refused=BAD_ANSWERS
    ),
    "BernoulliBeta, missing": Family(
        Data(
            nrm.BernoulliBeta(0.6, [0.5, 0.8, 0.6, 0.7]),
            np.array([[0, 1, 1, 0], [0, 1, _nan, 1], [1, 0, 1, 0], [1, _nan, 0, 0], [0, 1, 0, 0]]),
        ),
        Data(nrm.BernoulliBeta(1.5, np.array([0.5, 2.0, 1.0])), gaps_in(simulate_answers)),
        BAD_ANSWERS,
    ),
    "PoissonGamma": Family(
        Data(nrm.PoissonGamma([1.2, 0.8], 0.4), np.array([[1, 4], [3, 2], [5, 4], [2, 0]])),
        Data(nrm.PoissonGamma(np.array([1.5, 4.0]), 0.8), simulate_counts),
        BAD_COUNTS_WITH_GAPS,
    ),
    "PoissonGamma, missing": Family(
        Data(nrm.PoissonGamma([1.2, 0.8], [0.4, 0.7]), np.array([[1, 4], [3, _nan], [_nan, 6], [2, 0], [_nan, _nan]])),
        Data(nrm.PoissonGamma(np.array([1.5, 4.0]), 0.8), gaps_in(simulate_counts)),
        BAD_COUNTS_WITH_GAPS,
    ),
    "HurdlePoisson, missing": Family(
        Data(
            nrm.HurdlePoisson(0.6, [0.5, 0.8], [1.2, 0.8], 0.4), np.array([[0, 4], [3, _nan], [5, 0], [2, 0], [0, 7]])
        ),
        Data(
            nrm.HurdlePoisson([1.0, 2.0], [0.8, 1.2], np.array([1.5, 4.0]), 0.8),
            gaps_in(lambda rng: simulate_counts(rng) * simulate_presence(rng)),
        ),
        BAD_COUNTS_WITH_GAPS,
    ),
    "HurdleLogNormal, missing": Family(
        Data(
            nrm.HurdleLogNormal(0.6, [0.5, 0.8], [0.0, 1.0], 0.3, 1.5, [0.8, 1.2]),
            np.array([[0.0, 4.2], [3.1, _nan], [0.5, 0.0], [2.3, 0.0], [0.0, 7.0]]),
        ),
        Data(
            nrm.HurdleLogNormal([1.0, 2.0], [0.8, 1.2], [0.3, 2.0], 0.8, 2.5, [0.3, 0.8]),
            gaps_in(lambda rng: rng.lognormal([0.5, 2.0], 0.5, size=(12, 2)) * simulate_presence(rng)),
        ),
        (([[-0.5, 1.0]], "at least 0; got -0.5"), ([[np.inf, 0.0]], "infinite"), ([1.0, 2.0], "shape")),
    ),
    "CategoricalDirichlet": Family(large=Data(nrm.CategoricalDirichlet(0.7), simulate_levels), refused=BAD_LEVELS),
    "CategoricalDirichlet, missing": Family(
        Data(nrm.CategoricalDirichlet(0.5), np.array([[0, 1, 2], [0, _nan, 2], [1, 0, 0], [0, 1, 1], [1, 1, 2]])),
        Data(nrm.CategoricalDirichlet(0.7), gaps_in(simulate_levels)),
        BAD_LEVELS,
    ),
    "CategoricalDirichlet, matrix": Family(
        large=Data(nrm.CategoricalDirichlet(LEVELS, [4, 2, 3]), simulate_levels), refused=BAD_LEVELS
    ),
    "MultinomialDirichlet": Family(
        Data(nrm.MultinomialDirichlet(0.9), WORDS), Data(nrm.MultinomialDirichlet(0.6), simulate_words), BAD_WORDS
    ),
    "MultinomialDirichlet, sparse": Family(
        Data(nrm.MultinomialDirichlet([0.9, 1.1, 0.4]), sparse.csr_array([*WORDS, [0, 0, 0]])),
        Data(
            nrm.MultinomialDirichlet(np.array([0.2, 1.0, 0.5, 2.0])),
            lambda rng: sparse.csr_matrix(simulate_words(rng)),
        ),
        BAD_WORDS,
    ),
    "two families": Family(
        Data(
            [nrm.NormalGamma(mu=0.0, kappa=0.5, alpha=2.0, beta=1.0), nrm.PoissonGamma(1.0, 0.5)],
            [np.array([-0.9, _nan, 0.4, 1.5]), np.array([[1, 3], [0, 2], [4, 3], [3, 1]])],
        ),
    ),
} | {
    name: Family(Data(*small), Data(family, gaps_in(simulate)), (*BAD_REALS, *refused))
    for name, (small, (family, simulate), refused) in rows_of_wings("FAMILIES").items()
}
# Families with data whose partitions are enumerated, and families with simulated data.
SMALL = {name: row.small for name, row in FAMILIES.items() if row.small is not None}
LARGE = {name: row for name, row in FAMILIES.items() if row.large is not None}


# The rows of the fast tests; all others are slow, since kernels compile for each family.
FAST = ("NormalGamma, missing", "NGG", "PY below 0")


def rows(table, fast=FAST):
    """Names of a table as parameters of a test, all slow but some."""
    return [pytest.param(name, marks=[] if name in fast else [pytest.mark.slow]) for name in table]


def family_rows(fast=FAST):
    """Names of ``SMALL``; tests of the kernels of one family run in one process, see tests/conftest.py."""
    parameters = rows(SMALL, fast)
    for row in parameters:
        row.marks.append(pytest.mark.xdist_group(row.values[0].split(",")[0]))
    return parameters
