"""Items as points in Euclidean space, for linkage methods that do not use the family."""

import warnings

import numpy as np
from scipy import sparse

from pymc_nrm.families.base import Centred, Dense
from pymc_nrm.families.categorical_dirichlet import Levels
from pymc_nrm.families.multinomial_dirichlet import SparseCounts
from pymc_nrm.families.no_data import NoRows
from pymc_nrm.families.poisson_gamma import Counts
from pymc_nrm.families.product import ProductData
from pymc_nrm.generic import generic

# Sparse counts with more columns are projected on this many random directions, which keeps distances to about 10
# percent.
MOST_COLUMNS = 128


@generic
def features(data, rng):
    """Coordinates of the items in which Euclidean distances make sense.

    Real and binary features are scaled to unit variance, and their missing values replaced by the mean.  Counts are
    replaced by their square roots, vectors of counts by the square roots of their proportions (Hellinger distances),
    and categories by one column for each level.  Several data sets are put side by side with equal total variances.

    Parameters
    ----------
    data : NamedTuple of arrays
        From ``prepare_data``.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n, k)
    """
    return _standardise(np.asarray(data.values, dtype="float64"))


def _standardise(values):
    with warnings.catch_warnings():
        # A feature without any values counts as constant.
        warnings.simplefilter("ignore", RuntimeWarning)
        centred = np.nan_to_num(values - np.nanmean(values, axis=0))
    scale = centred.std(axis=0)
    return centred / np.where(scale > 0, scale, 1.0)


@features.register(Dense)
@features.register(Centred)
def _(data, rng):
    return _standardise(data.values)


@features.register(Counts)
def _(data, rng):
    return np.sqrt(data.values)


@features.register(Levels)
def _(data, rng):
    n_levels = data.values.max(axis=0, initial=0) + 1
    columns = [data.values[:, j, None] == np.arange(n_levels[j]) for j in range(data.values.shape[1])]
    return np.concatenate([*columns, np.zeros((len(data.values), 1))], axis=1).astype("float64")


@features.register(SparseCounts)
def _(data, rng):
    n, n_columns = len(data.totals), int(data.indices.max(initial=0)) + 1
    lengths = np.diff(data.indptr)
    roots = np.sqrt(data.values / np.repeat(np.maximum(data.totals, 1.0), lengths))
    rows = sparse.csr_array((roots, data.indices, data.indptr), shape=(n, n_columns))
    if n_columns <= MOST_COLUMNS:
        return rows.toarray()
    return np.asarray(rows @ rng.normal(scale=MOST_COLUMNS**-0.5, size=(n_columns, MOST_COLUMNS)))


@features.register(NoRows)
def _(data, rng):
    raise ValueError("items without data have no features")


@features.register(ProductData)
def _(data, rng):
    parts = [features(data.first, rng), features(data.second, rng)]
    return np.concatenate([part / max(np.sqrt(part.var(axis=0).sum()), 1e-300) for part in parts], axis=1)
