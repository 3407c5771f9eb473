"""Predictive distributions of families, from rows of statistics and of the cache of clusters, as files hold them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import cache_size, statistics_size
from pymc_nrm.families.definitions.bernoulli_beta import BernoulliBeta
from pymc_nrm.families.definitions.categorical_dirichlet import CategoricalDirichlet
from pymc_nrm.families.definitions.multinomial_dirichlet import MultinomialDirichlet
from pymc_nrm.families.definitions.normal_gamma import NormalGamma
from pymc_nrm.families.definitions.normal_regression import NormalRegression
from pymc_nrm.families.definitions.normal_wishart import NormalWishart
from pymc_nrm.families.definitions.poisson_gamma import PoissonGamma
from pymc_nrm.families.definitions.principal_normal_wishart import PrincipalNormalWishart, leading
from pymc_nrm.families.derived.hurdle_log_normal import HurdleLogNormal
from pymc_nrm.families.derived.hurdle_poisson import HurdlePoisson
from pymc_nrm.families.derived.log_normal_gamma import LogNormalGamma
from pymc_nrm.families.derived.log_normal_wishart import LogNormalWishart
from pymc_nrm.families.derived.mapped import underlying
from pymc_nrm.families.derived.spherical_principal_normal_wishart import SphericalPrincipalNormalWishart


class Predictive(NamedTuple):
    """How the predictive distribution of a family is written."""

    # Name of the distribution in the file.
    distribution: str
    # Arrays with a row for each cluster, of a family, rows of statistics and rows of the cache.
    of_clusters: Callable[[Any, np.ndarray, np.ndarray], dict[str, np.ndarray]]
    # Arrays and further entries of the description that all clusters of all draws share, of a family and its data.
    shared: Callable[[Any, Any], tuple[dict[str, np.ndarray], dict[str, Any]]] = lambda family, data: ({}, {})


def _student(family, statistics, caches):
    """A row of the cache has, for each feature: mean, scale, power and constant, see ``fast_paths/normal_gamma.py``."""
    location, scale, power, _ = np.moveaxis(caches.reshape(len(caches), -1, 4), 2, 0)
    df = 2.0 * power - 1.0
    return {"df": df, "location": location, "scale": 1.0 / np.sqrt(df * scale)}


def _multivariate_student(family, statistics, caches):
    """A row of the cache has half of the degrees of freedom plus d, the ratio, the mean and W."""
    d = family.mu.shape[0]
    end = 3 + d + d * (d + 1) // 2
    half, ratio, location, whitening = caches[:, 1], caches[:, 2], caches[:, 3 : 3 + d], caches[:, 3 + d : end]
    df = 2.0 * half - d
    return {"df": df, "location": location, "whitening": whitening * np.sqrt(ratio * df)[:, None]}


def _regression(family, statistics, caches):
    """A row of the cache has alpha_n and the triangle W of p + 1 rows, see ``fast_paths/normal_regression.py``."""
    p = family.mu.shape[0]
    of_covariates, end = 2 + p * (p + 1) // 2, 2 + (p + 1) * (p + 2) // 2
    df, last = 2.0 * caches[:, 1], caches[:, end - 1]
    return {
        "df": df,
        "coefficient": -caches[:, of_covariates : end - 1] / last[:, None],
        "leverage": caches[:, 2:of_covariates],
        "scale": 1.0 / (last * np.sqrt(df)),
    }


def _principal(family, statistics, caches):
    noise = np.repeat(family.noise[None], len(caches), axis=0)
    return _multivariate_student(leading(family), statistics, caches) | {"noise": noise}


def _binary(family, statistics, caches):
    d = family.alpha.shape[0]
    return {"ones": family.alpha + statistics[:, :d], "zeros": family.beta + statistics[:, d : 2 * d]}


def _categorical(family, statistics, caches):
    counts = statistics[:, : family.alpha.size].reshape(-1, *family.alpha.shape)
    return {"weights": family.alpha + counts}


def _count(family, statistics, caches):
    d = family.alpha.shape[0]
    return {"shape": family.alpha + statistics[:, :d], "rate": family.beta + statistics[:, d : 2 * d]}


def _multinomial(family, statistics, caches):
    return {"weights": family.alpha + statistics[:, : family.alpha.shape[0]]}


def _hurdle(of_positive):
    def of_clusters(family, statistics, caches):
        parts = underlying(family)
        size, split = statistics_size(parts.first), cache_size(parts.first)
        is_positive = _binary(parts.first, statistics[:, :size], caches[:, :split])
        return is_positive | of_positive(parts.second, statistics[:, size:], caches[:, split:])

    return of_clusters


def _behind(of_clusters):
    return lambda family, statistics, caches: of_clusters(underlying(family), statistics, caches)


def _centred(family, data):
    return {"center": data.center}, {}


def _logarithms(family, data):
    return {"center": data.center}, {"log": [bool(entry) for entry in family.log_columns == 1.0]}


def _levels(family, data):
    return {"n_levels": np.asarray(family.n_levels, dtype=np.int64)}, {}


def _directions(family, data):
    return {"center": family.center, "scale": family.scale, "directions": family.directions}, {}


# By the class itself: a subclass may have another distribution.
PREDICTIVE = {
    NormalGamma: Predictive("student", _student, _centred),
    LogNormalGamma: Predictive("student", _behind(_student), _logarithms),
    NormalWishart: Predictive("multivariate student", _multivariate_student, _centred),
    LogNormalWishart: Predictive("multivariate student", _behind(_multivariate_student), _logarithms),
    PrincipalNormalWishart: Predictive("principal multivariate student", _principal, _directions),
    SphericalPrincipalNormalWishart: Predictive("principal multivariate student", _principal, _directions),
    BernoulliBeta: Predictive("binary", _binary),
    CategoricalDirichlet: Predictive("categorical", _categorical, _levels),
    PoissonGamma: Predictive("count", _count),
    MultinomialDirichlet: Predictive("multinomial", _multinomial),
    NormalRegression: Predictive("regression", _regression, _centred),
    HurdleLogNormal: Predictive("zero or positive", _hurdle(_student)),
    HurdlePoisson: Predictive("zero or positive count", _hurdle(_count)),
}
