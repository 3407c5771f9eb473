"""Student t distributions of the features of an item: independent, or multivariate with any features missing."""

import math

import numpy as np

from pymc_nrm_predictor.gamma import log_rising_factorial

# Factors of the first so many patterns of missing features are kept.
_MOST_PATTERNS = 64


class Students:
    """Independent Student t distributions, one for each component and feature. Shapes: all (n_components, d)."""

    def __init__(self, df, location, scale):
        self.df, self.location, self.scale = df, location, scale
        half = 0.5 * (df + 1.0)
        self._power = half
        self._constant = log_rising_factorial(0.5 * df, 0.5) - 0.5 * np.log(df * math.pi) - np.log(scale)

    def log_density(self, values):
        """Log densities of rows (m, d), NaN left out, in every component, shape (m, n_components)."""
        table = np.zeros((len(values), len(self.df)))
        for j, column in enumerate(values.T):
            known = np.flatnonzero(~np.isnan(column))
            u = (column[known, None] - self.location[:, j]) / self.scale[:, j]
            table[known] += self._constant[:, j] - self._power[:, j] * np.log1p(u * u / self.df[:, j])
        return table

    def one_feature(self, values, feature):
        """Degrees of freedom, location and scale of a feature given the others, each (m, n_components)."""
        shape = len(values), len(self.df)
        return tuple(np.broadcast_to(field[:, feature], shape) for field in (self.df, self.location, self.scale))


class MultivariateStudents:
    """Multivariate Student t distributions, one for each component.

    Shapes: ``df`` (n_components,), ``location`` (n_components, d), ``whitening`` (n_components, d, d), lower triangular
    matrices W with ``W' W`` the inverse of the scale matrix.
    """

    def __init__(self, df, location, whitening):
        self.df, self.location, self.whitening = df, location, whitening
        # Factors by pattern of missing features.
        self._factors, self._constant = {}, self._log_constant(whitening)

    def log_density(self, values):
        """Log densities of rows (m, d), NaN left out, in every component, shape (m, n_components)."""
        table = np.zeros((len(values), len(self.df)))
        for missing, rows in _patterns(values):
            if missing.all():
                continue
            factor, places = self._factor(missing, None)
            k, constant = len(places), self._constant if factor is self.whitening else self._log_constant(factor)
            squares = self._squared_lengths(factor, places, values[rows])
            table[rows] = constant - 0.5 * (self.df + k) * np.log1p(squares / self.df)
        return table

    def one_feature(self, values, feature):
        """Degrees of freedom, location and scale of a feature given the others, each (m, n_components)."""
        shape = len(values), len(self.df)
        df, location, scale = np.empty(shape), np.empty(shape), np.empty(shape)
        values = values.copy()
        values[:, feature] = np.nan
        for missing, rows in _patterns(values):
            # With R of the feature and of what is known, |R (x - m)|^2 = (r (x_j - m_j) + c)^2 + |R_o (x_o - m_o)|^2.
            factor, places = self._factor(missing, feature)
            others = places[1:]
            norm, along = factor[:, 0, 0], factor[:, :1, 1:]
            c = (along @ self._shifts(others, values[rows]))[:, 0].T
            squares = self._squared_lengths(factor[:, 1:, 1:], others, values[rows])
            df[rows] = self.df + len(others)
            location[rows] = self.location[:, feature] - c / norm
            scale[rows] = np.sqrt((self.df + squares) / df[rows]) / np.abs(norm)
        return df, location, scale

    def _log_constant(self, factor):
        """Logarithms of the densities of k features at their location, given factors (n_components, k, k)."""
        k = factor.shape[1]
        constant = log_rising_factorial(0.5 * self.df, 0.5 * k) - 0.5 * k * np.log(self.df * math.pi)
        return constant + np.log(np.abs(np.diagonal(factor, axis1=1, axis2=2))).sum(axis=1)

    def _shifts(self, places, values):
        """Differences of features from their locations, (n_components, k, m)."""
        return values[:, places].T[None] - self.location[:, places, None]

    def _squared_lengths(self, factor, places, values):
        if not len(places):
            return np.zeros((len(values), len(self.df)))
        return ((factor @ self._shifts(places, values)) ** 2).sum(axis=1).T

    def _factor(self, missing, first):
        """Triangular factors of the inverse scale matrices of the features that are not missing, and their places.

        The marginal distribution of some features has the lower right block of R in ``W P = Q R``, if P puts them last.
        The feature ``first`` counts as known and comes first among these.
        """
        known = np.flatnonzero(~missing)
        if first is not None:
            known = np.array([first, *known])
            missing = missing.copy()
            missing[first] = False
        if not missing.any() and first is None:
            return self.whitening, known
        key = missing.tobytes(), first
        factor = self._factors.get(key)
        if factor is None:
            n_missing = np.count_nonzero(missing)
            order = np.concatenate([np.flatnonzero(missing), known])
            R = np.linalg.qr(self.whitening[:, :, order], mode="r")
            factor = np.ascontiguousarray(R[:, n_missing:, n_missing:])
            if len(self._factors) < _MOST_PATTERNS:
                self._factors[key] = factor
        return factor, known


def _patterns(values):
    """Patterns of missing features, bool (d,), each with the numbers of its rows."""
    missing = np.isnan(values)
    if not missing.any():
        yield missing[0] if len(missing) else np.zeros(values.shape[1], dtype=bool), np.arange(len(values))
        return
    patterns, inverse = np.unique(missing, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        yield pattern, np.flatnonzero(inverse.ravel() == k)


def lower_triangles(packed, d):
    """Lower triangular matrices (n, d, d) of their entries by rows, shape (n, d (d + 1) / 2)."""
    matrices = np.zeros((len(packed), d, d))
    matrices[:, *np.tril_indices(d)] = packed
    return matrices
