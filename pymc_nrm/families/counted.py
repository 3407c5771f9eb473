"""Rows that stand for several equal observations of one item, whose statistics are multiplied."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families import base, components, conjugate, fast, features
from pymc_nrm.families.shared.moments import with_room
from pymc_nrm.kernels.generic import kernel


class CountedRows(NamedTuple):
    """Data of a kernel in which a row stands for several equal observations."""

    # Data of the rows.
    rows: Any
    # Number of observations of each row, at least 1; float64 of shape (n,).
    counts: Any

    def features(self, rng):
        return features.features(self.rows, rng)

    def take_items(self, items):
        return CountedRows(base.take_items(self.rows, items), self.counts[items])


def counted_rows(rows, counts):
    """Data of rows that stand for these numbers of observations."""
    counts = np.array(counts, dtype="float64")
    return CountedRows(with_room(rows, counts.max()), counts)


class Counted(NamedTuple):
    """A family whose rows stand for several equal observations, in kernels.

    A cache is the cache of the family, then the statistics and their log marginal.
    """

    family: Any

    def prepare_alike(self, X, data):
        # A further row is one observation.
        return CountedRows(base.prepare_alike(self.family, X, data.rows), np.ones(X.shape[0]))

    def check_resolution(self, data, title):
        base.check_resolution(self.family, data.rows, title)

    def restore_parameters(self, data, parameters):
        return conjugate.restore_parameters(self.family, data.rows, parameters)

    def statistics_size(self):
        return base.statistics_size(self.family)

    def cache_size(self):
        return base.cache_size(self.family) + base.statistics_size(self.family) + 1

    def parameters_size(self):
        return conjugate.parameters_size(self.family)

    def add_item(self, statistics, data, item, sign):
        count = data.counts[item]
        if count == 1.0:
            base.add_item(self.family, statistics, data.rows, item, sign)
        else:
            once = np.zeros(statistics.shape[0])
            base.add_item(self.family, once, data.rows, item, 1.0)
            for k in range(once.shape[0]):
                statistics[k] += sign * count * once[k]

    def refresh_cache(self, statistics, cache):
        size = base.cache_size(self.family)
        base.refresh_cache(self.family, statistics, cache[:size])
        _write_statistics(self, statistics, cache[size:])

    def update_cache(self, statistics, cache, data, item, sign):
        size = base.cache_size(self.family)
        if data.counts[item] == 1.0:
            fast.update_cache(self.family, statistics, cache[:size], data.rows, item, sign)
        else:
            base.add_item(self, statistics, data, item, sign)
            base.refresh_cache(self.family, statistics, cache[:size])
        _write_statistics(self, statistics, cache[size:])

    def log_predictive(self, cache, data, item):
        size, last = base.cache_size(self.family), cache.shape[0] - 1
        if data.counts[item] == 1.0:
            return base.log_predictive(self.family, cache[:size], data.rows, item)
        statistics = cache[size:last].copy()
        base.add_item(self, statistics, data, item, 1.0)
        return conjugate.log_marginal(self.family, statistics) - cache[last]

    def log_predictive_without(self, statistics, cache, data, item):
        if data.counts[item] == 1.0:
            size = base.cache_size(self.family)
            return fast.log_predictive_without(self.family, statistics, cache[:size], data.rows, item)
        others = statistics.copy()
        base.add_item(self, others, data, item, -1.0)
        return cache[cache.shape[0] - 1] - conjugate.log_marginal(self.family, others)

    def student_predictive(self, cache, data, item, feature, law):
        fast.student_predictive(self.family, cache[: base.cache_size(self.family)], data.rows, item, feature, law)

    def log_marginal(self, statistics):
        return conjugate.log_marginal(self.family, statistics)

    def log_marginals_with_gradient(self, statistics, gradient):
        return fast.log_marginals_with_gradient(self.family, statistics, gradient)

    def draw_parameters(self, statistics, rng, parameters):
        conjugate.draw_parameters(self.family, statistics, rng, parameters)

    def component_panel(self, n_columns):
        return components.component_panel(self.family, n_columns)

    def write_component(self, parameters, panel, column):
        components.write_component(self.family, parameters, panel, column)

    def add_component_densities(self, panel, data, item, width, values):
        count = data.counts[item]
        if count == 1.0:
            components.add_component_densities(self.family, panel, data.rows, item, width, values)
        else:
            once = np.zeros(width)
            components.add_component_densities(self.family, panel, data.rows, item, width, once)
            for k in range(width):
                values[k] += count * once[k]


@kernel
def _write_statistics(family, statistics, end):
    """Write the end of a cache: the statistics and their log marginal."""
    size = statistics.shape[0]
    for k in range(size):
        end[k] = statistics[k]
    end[size] = conjugate.log_marginal(family, statistics)
