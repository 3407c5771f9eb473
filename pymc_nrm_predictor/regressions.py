"""Linear regressions on features of other mixtures, with coefficients and variances integrated out."""

import math

import numpy as np

from pymc_nrm_predictor.gamma import log_rising_factorial
from pymc_nrm_predictor.students import lower_triangles


def covariates_of(data, terms):
    """Covariates (m, p) from the data (m, d) of mixtures by name.

    A term has the mixture, the number of the feature and, for an indicator, the level.
    """
    columns = []
    for term in terms:
        column = data[term["mixture"]][:, term["feature"]]
        columns.append((column == term["level"]).astype("float64") if "level" in term else column)
    return np.stack(columns, axis=1)


class Regressions:
    """Student t distributions of a response given covariates w, (m, p), one for each component.

    They have ``df`` degrees of freedom, the location ``w' coefficient`` and the squared scale ``scale^2 (1 + |L w|^2)``
    with the lower triangular L.  Shapes: ``df`` and ``scale`` (n_components,), ``coefficient`` (n_components, p),
    ``leverage`` (n_components, p (p + 1) / 2), the rows of L.
    """

    def __init__(self, df, coefficient, leverage, scale):
        self.df, self._coefficient, self._scale = df, coefficient, scale
        self._triangles = lower_triangles(leverage, coefficient.shape[1])
        self._constant = log_rising_factorial(0.5 * df, 0.5) - 0.5 * np.log(df * math.pi)

    def students(self, w):
        """Degrees of freedom, locations and scales, each (m, n_components)."""
        growth = 1.0 + ((self._triangles @ w.T) ** 2).sum(axis=1).T
        return np.broadcast_to(self.df, growth.shape), w @ self._coefficient.T, self._scale * np.sqrt(growth)

    def log_density(self, w, y):
        """Log densities of responses (m,), 0 where they are NaN, shape (m, n_components)."""
        df, location, scale = self.students(w)
        u = (y[:, None] - location) / scale
        table = self._constant - np.log(scale) - 0.5 * (df + 1.0) * np.log1p(u * u / df)
        return np.where(np.isnan(y)[:, None], 0.0, table)
