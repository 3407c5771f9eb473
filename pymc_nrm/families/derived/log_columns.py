"""Families of real columns and of the logarithms of positive ones: data, densities in the units of the columns."""

import numpy as np
import pytensor.tensor as pt
import scipy

from pymc_nrm.common.checks import known_value
from pymc_nrm.families import base, conjugate, fast
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import Centred
from pymc_nrm.families.derived.mapped import MappedFamily, log_volumes, underlying
from pymc_nrm.families.shared.moments import centred, summation_grid
from pymc_nrm.families.shared.scale import LOG_LARGEST, LOG_SMALLEST, positive_exp
from pymc_nrm.kernels.generic import generic, kernel


@generic
def sum_of_values(family, statistics, j):
    """Sum of a feature over the items of a cluster, on the scale of kernels."""
    raise NotImplementedError


class LogColumns(MappedFamily):
    """Methods of families with the field ``log_columns``: 1 for columns whose logarithm is modelled."""

    def prepare_data(self, X):
        log_columns = known_value(self.log_columns)
        if log_columns is None:
            raise ValueError(f"log_columns of {type(self).__name__} must be constants")
        values = on_log_scale(type(self), X, log_columns)
        # Logarithms are not centred, so that they are at hand for the density.
        center = np.where(log_columns == 1.0, 0.0, centred(values).center)
        values = values - center
        return Centred(values, center, summation_grid(values))

    def prepare_alike(self, X, data):
        return data._replace(values=on_log_scale(type(self), X, known_value(self.log_columns)) - data.center)

    def to_scale(self, columns, values, module=np):
        is_log = known_value(self.log_columns)[columns] == 1.0
        return module.where(is_log, module.log(module.where(is_log, values, 1.0)), values)

    def from_scale(self, columns, values):
        is_log = known_value(self.log_columns)[columns] == 1.0
        logs = np.clip(np.where(is_log, values, 0.0), LOG_SMALLEST, LOG_LARGEST)
        return np.where(is_log, np.exp(logs), values)

    def log_volume(self, data, item):
        # The derivative of exp(y) is x = exp(y); missing values are left out.
        total = 0.0
        for j in range(self.log_columns.shape[0]):
            if self.log_columns[j] == 1.0 and not np.isnan(data.values[item, j]):
                total += data.values[item, j]
        return total

    def log_volumes(self, statistics):
        total = 0.0
        for j in range(self.log_columns.shape[0]):
            if self.log_columns[j] == 1.0:
                total += sum_of_values(self, statistics, j)
        return total

    def student_predictive(self, cache, data, item, feature, law):
        fast.student_predictive(underlying(self), cache, data, item, feature, law)

    def log_likelihood(self, X, labels):
        is_log = pt.eq(self.log_columns, 1.0) & pt.invert(pt.isnan(X))
        is_inside = pt.gt(X, 0.0) & pt.lt(X, np.inf)
        logs = pt.log(pt.switch(is_log & is_inside, X, 1.0))
        total = base.log_likelihood(underlying(self), pt.switch(is_log, logs, X), labels) - logs.sum()
        return pt.switch((is_inside | pt.invert(is_log)).all(), total, -np.inf)

    def log_likelihood_on_scale(self, X, labels):
        logs = pt.switch(pt.eq(self.log_columns, 1.0) & pt.invert(pt.isnan(X)), X, 0.0)
        return base.log_likelihood(underlying(self), X, labels) - logs.sum()

    def log_marginals_with_gradient(self, statistics, gradient):
        # Which columns are positive does not vary: its derivatives stay 0.
        d = self.log_columns.shape[0]
        total = fast.log_marginals_with_gradient(underlying(self), statistics, gradient[d:])
        for k in range(statistics.shape[0]):
            total -= log_volumes(self, statistics[k])
        return total

    def draw_item(self, parameters, rng, item, values):
        conjugate.draw_item(underlying(self), parameters, rng, item, values)
        raise_logarithms(self, values)


def on_log_scale(family_class, X, log_columns):
    """Checked data (n, d), with logarithms in the columns that are positive."""
    values, is_log = check_matrix(family_class, X), np.asarray(log_columns) == 1.0
    if is_log.shape != values.shape[1:]:
        raise ValueError(
            f"log_columns of {family_class.__name__} must have one entry for each of the {values.shape[1]} features; "
            f"got {len(is_log)}"
        )
    bad = is_log & (values <= 0.0)
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"data of {family_class.__name__} must be above 0 in columns whose logarithm is modelled; got "
            f"{values[row, column]} in row {row}, column {column}"
        )
    return np.where(is_log, np.log(np.where(is_log, values, 1.0)), values)


@kernel
def raise_logarithms(family, values):
    """Turn logarithms into the features of an item, in place."""
    for j in range(values.shape[0]):
        if family.log_columns[j] == 1.0:
            values[j] = positive_exp(values[j])


def mean_of_component(family, location, variance):
    """Means (n, d) of items given means and variances of their features on the scale of kernels."""
    is_log = np.asarray(family.log_columns) == 1.0
    return np.where(is_log, np.exp(np.where(is_log, location + variance / 2, 0.0)), location)


def cdf_of_component(family, location, variance, feature, x):
    """Distribution functions of a feature at x (m,) given its means and variances (n,) on the scale of kernels."""
    x = np.asarray(x, dtype="float64")
    if np.asarray(family.log_columns)[feature] == 1.0:
        with np.errstate(divide="ignore"):
            x = np.log(np.maximum(x, 0.0))
    return scipy.special.ndtr((x - location[:, None]) / np.sqrt(variance)[:, None])
