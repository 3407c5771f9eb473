"""Items as points in Euclidean space, for linkage methods that do not use the family."""

import warnings

import numpy as np

from pymc_nrm.kernels.generic import generic


@generic
def features(data, rng):
    """Coordinates (n, k) of the items of prepared data in which Euclidean distances make sense.

    Real and binary features are scaled to unit variance, and their missing values replaced by the mean.  Counts are
    replaced by their square roots, vectors of counts by the square roots of their proportions (Hellinger distances),
    and categories by one column for each level.  Several data sets stand side by side with equal total variances, and
    so do all rows of an item.
    """
    values = np.asarray(data.values, dtype="float64")
    values = values.reshape(len(values), -1)
    with warnings.catch_warnings():
        # A feature without any values counts as constant.
        warnings.simplefilter("ignore", RuntimeWarning)
        centred = np.nan_to_num(values - np.nanmean(values, axis=0))
    scale = centred.std(axis=0)
    return centred / np.where(scale > 0, scale, 1.0)
