"""The family of a partition without data, with which samplers draw from the prior."""

from typing import Any, NamedTuple

import numpy as np


class NoData(NamedTuple):
    """Family whose likelihood is one; the field has no meaning."""

    unused: Any

    def statistics_size(self):
        return 0

    def cache_size(self):
        return 0

    def add_item(self, statistics, data, item, sign):
        pass

    def refresh_cache(self, statistics, cache):
        pass

    def log_marginal(self, statistics):
        return 0.0

    def log_predictive(self, cache, data, item):
        return 0.0

    def log_predictive_without(self, statistics, cache, data, item):
        return 0.0

    def parameters_size(self):
        return 0

    def draw_parameters(self, statistics, rng, parameters):
        pass

    def component_panel(self, n_columns):
        return np.empty((0, n_columns))

    def write_component(self, parameters, panel, column):
        pass

    def add_component_densities(self, panel, data, item, width, values):
        pass


class NoRows(NamedTuple):
    """Data of :class:`NoData`; the field has no meaning."""

    unused: Any

    def features(self, rng):
        raise ValueError("items without data have no features")

    def take_items(self, items):
        return self
