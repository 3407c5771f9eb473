"""Next times of a switching autoregression: regressions on values before, which are drawn one after another."""

import numpy as np

from pymc_nrm.common.pymc_internals import find_observations
from pymc_nrm.families.conjugate import restore_parameters
from pymc_nrm.models.origin import origin_of
from pymc_nrm.models.values import constant_value
from pymc_nrm.posterior.layout import NewCovariates
from pymc_nrm.posterior.tables import draw_cluster_rows


class LaggedValues:
    """A ``NormalRegression`` on values before each time, data of the model whose name its origin has."""

    def __init__(self, draws, name):
        self._draws, self._name, self._source = draws, name, origin_of(draws.model[name]).lags
        self._covariates, self._map = NewCovariates(draws.model, name), None

    def draw(self, draw, labels, last, rng):
        """Draw values of the next times after an item given their states, and means and standard deviations of each.

        Shapes: labels (n_paths, h); returns (n_paths, h) each.
        """
        family, data = self._draws.mixture(draw, self._name)
        n_new = max(int(labels.max(initial=-1)) - int(draw.labels.max()), 0)
        parameters = restore_parameters(family, data, draw_cluster_rows(rng, draw.labels, family, data, n_new, 1))
        offset, slopes = self._design(family)
        before = np.tile(self._before(last), (len(labels), 1))
        values, means, spreads = np.empty((3, *labels.shape))
        for step in range(labels.shape[1]):
            state_parameters = parameters[labels[:, step]]
            means[:, step] = ((offset + before @ slopes) * state_parameters[:, :-1]).sum(axis=1)
            spreads[:, step] = np.sqrt(state_parameters[:, -1])
            values[:, step] = means[:, step] + spreads[:, step] * rng.standard_normal(len(labels))
            before = np.column_stack([values[:, step], before[:, :-1]])
        return values, means, spreads

    def _before(self, last):
        """The values before the time that follows an item, the latest first."""
        if last < 0:
            raise ValueError(
                f"sequence must be one of the sequences of {self._draws.partition!r}: a further one has no values on "
                f"which {self._name!r} could depend"
            )
        values = np.ravel(find_observations(self._draws.model)[self._name])
        earlier = constant_value(self._draws.model[self._source])
        return np.append(values[last], earlier[last, :-1])

    def _design(self, family):
        """Covariates as an affine map of the values before: offset (q,) and slopes (p, q)."""
        if self._map is None:
            n_lags = constant_value(self._draws.model[self._source]).shape[1]
            basis = np.concatenate([np.zeros((1, n_lags)), np.eye(n_lags)])
            rows = self._covariates.at(family, {self._source: basis}).covariates
            self._map = rows[0], rows[1:] - rows[0]
        return self._map


def lagged_values(draws, name):
    """:class:`LaggedValues` of a mixture, or None if its covariates are not earlier values."""
    return None if origin_of(draws.model[name]).lags is None else LaggedValues(draws, name)


def normal_densities(points, means, spreads):
    """Densities at points (m,), averaged over paths. Shapes: means and spreads (n_paths, h); returns (h, m)."""
    distances = (points - means[..., None]) / spreads[..., None]
    return (np.exp(-0.5 * distances**2) / (np.sqrt(2.0 * np.pi) * spreads[..., None])).mean(axis=0)
