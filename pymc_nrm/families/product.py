"""Several data sets on the same items, independent given the partition, or none."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families import base, components, conjugate, fast, features, gaps
from pymc_nrm.families.shared import two_components


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


class Product(NamedTuple):
    """Two families as one, for samplers of a partition with several mixtures.

    A row of statistics, cache or parameters joins the row of the first family and the row of the second.  Nested
    products hold more than two families.  The symbolic log-likelihood and draws of data use each family by itself.
    """

    first: Any
    second: Any

    def prepare_data(self, X):
        return ProductData(base.prepare_data(self.first, X[0]), base.prepare_data(self.second, X[1]))

    def localise(self, data):
        return Product(base.localise(self.first, data.first), base.localise(self.second, data.second))

    def restore_parameters(self, data, parameters):
        size = conjugate.parameters_size(self.first)
        first = conjugate.restore_parameters(self.first, data.first, parameters[..., :size])
        second = conjugate.restore_parameters(self.second, data.second, parameters[..., size:])
        return np.concatenate([first, second], axis=-1)

    def statistics_size(self):
        return base.statistics_size(self.first) + base.statistics_size(self.second)

    def cache_size(self):
        return base.cache_size(self.first) + base.cache_size(self.second)

    def parameters_size(self):
        return conjugate.parameters_size(self.first) + conjugate.parameters_size(self.second)

    def add_item(self, statistics, data, item, sign):
        size = base.statistics_size(self.first)
        base.add_item(self.first, statistics[:size], data.first, item, sign)
        base.add_item(self.second, statistics[size:], data.second, item, sign)

    def log_marginal(self, statistics):
        size = base.statistics_size(self.first)
        first = conjugate.log_marginal(self.first, statistics[:size])
        return first + conjugate.log_marginal(self.second, statistics[size:])

    def refresh_cache(self, statistics, cache):
        size, split = base.statistics_size(self.first), base.cache_size(self.first)
        base.refresh_cache(self.first, statistics[:size], cache[:split])
        base.refresh_cache(self.second, statistics[size:], cache[split:])

    def update_cache(self, statistics, cache, data, item, sign):
        size, split = base.statistics_size(self.first), base.cache_size(self.first)
        fast.update_cache(self.first, statistics[:size], cache[:split], data.first, item, sign)
        fast.update_cache(self.second, statistics[size:], cache[split:], data.second, item, sign)

    def log_predictive(self, cache, data, item):
        split = base.cache_size(self.first)
        first = base.log_predictive(self.first, cache[:split], data.first, item)
        return first + base.log_predictive(self.second, cache[split:], data.second, item)

    def log_predictive_without(self, statistics, cache, data, item):
        size, split = base.statistics_size(self.first), base.cache_size(self.first)
        first = fast.log_predictive_without(self.first, statistics[:size], cache[:split], data.first, item)
        return first + fast.log_predictive_without(self.second, statistics[size:], cache[split:], data.second, item)

    def draw_missing(self, cache, data, item, rng):
        split = base.cache_size(self.first)
        gaps.draw_missing(self.first, cache[:split], data.first, item, rng)
        gaps.draw_missing(self.second, cache[split:], data.second, item, rng)

    # The panel of the second family stands below the panel of the first, and its lanes are further sets.
    def panel_shape(self):
        first, second = fast.panel_shape(self.first), fast.panel_shape(self.second)
        if first[0] == 0 or second[0] == 0:
            return 0, 0, 0
        return first[0] + second[0], first[1] + second[1], max(first[2], second[2])

    def write_panel(self, cache, rows, lanes, column):
        split, shape = base.cache_size(self.first), fast.panel_shape(self.first)
        fast.write_panel(self.first, cache[:split], rows, lanes, column)
        fast.write_panel(self.second, cache[split:], rows[shape[0] :], lanes[shape[1] :], column)

    def update_panel(self, cache, rows, lanes, column, data, item):
        split, shape = base.cache_size(self.first), fast.panel_shape(self.first)
        fast.update_panel(self.first, cache[:split], rows, lanes, column, data.first, item)
        fast.update_panel(self.second, cache[split:], rows[shape[0] :], lanes[shape[1] :], column, data.second, item)

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        shape = fast.panel_shape(self.first)
        fast.add_log_predictives(self.first, rows, lanes, data.first, item, width, values)
        fast.add_log_predictives(self.second, rows[shape[0] :], lanes[shape[1] :], data.second, item, width, values)

    def draw_parameters(self, statistics, rng, parameters):
        size, split = base.statistics_size(self.first), conjugate.parameters_size(self.first)
        conjugate.draw_parameters(self.first, statistics[:size], rng, parameters[:split])
        conjugate.draw_parameters(self.second, statistics[size:], rng, parameters[split:])

    def log_parameter_density(self, statistics, parameters):
        size, split = base.statistics_size(self.first), conjugate.parameters_size(self.first)
        first = conjugate.log_parameter_density(self.first, statistics[:size], parameters[:split])
        return first + conjugate.log_parameter_density(self.second, statistics[size:], parameters[split:])

    def split_parameters(self, parameters, p, q, rng, first, second):
        split = conjugate.parameters_size(self.first)
        two_components.split_parameters(self.first, parameters[:split], p, q, rng, first[:split], second[:split])
        two_components.split_parameters(self.second, parameters[split:], p, q, rng, first[split:], second[split:])

    def join_parameters(self, p, q, first, second, parameters):
        split = conjugate.parameters_size(self.first)
        of_first = two_components.join_parameters(self.first, p, q, first[:split], second[:split], parameters[:split])
        of_second = two_components.join_parameters(self.second, p, q, first[split:], second[split:], parameters[split:])
        return of_first + of_second

    def component_panel(self, n_columns):
        return components.component_panel(self.first, n_columns), components.component_panel(self.second, n_columns)

    def write_component(self, parameters, panel, column):
        split = conjugate.parameters_size(self.first)
        components.write_component(self.first, parameters[:split], panel[0], column)
        components.write_component(self.second, parameters[split:], panel[1], column)

    def add_component_densities(self, panel, data, item, width, values):
        components.add_component_densities(self.first, panel[0], data.first, item, width, values)
        components.add_component_densities(self.second, panel[1], data.second, item, width, values)

    def add_densities_of_items(self, panel, data, items, n_components, values):
        components.add_densities_of_items(self.first, panel[0], data.first, items, n_components, values)
        components.add_densities_of_items(self.second, panel[1], data.second, items, n_components, values)


class ProductData(NamedTuple):
    """Data of a kernel: the data of the first and of the second family."""

    first: Any
    second: Any

    def features(self, rng):
        parts = [features.features(self.first, rng), features.features(self.second, rng)]
        return np.concatenate([part / max(np.sqrt(part.var(axis=0).sum()), 1e-300) for part in parts], axis=1)

    def take_items(self, items):
        return ProductData(base.take_items(self.first, items), base.take_items(self.second, items))


def product(families):
    """Combine a list of families into one. Several become ``Product(families[0], Product(families[1], ...))``."""
    return _fold(Product, list(families))


def unfolded(family):
    """The families of a product, or the family itself, in a list."""
    return [*unfolded(family.first), *unfolded(family.second)] if isinstance(family, Product) else [family]


def unfolded_data(family, data):
    """The data of each family of :func:`unfolded`."""
    if not isinstance(family, Product):
        return [data]
    return [*unfolded_data(family.first, data.first), *unfolded_data(family.second, data.second)]


def product_data(data):
    """Combine a list of prepared data just as :func:`product` combines their families."""
    return _fold(ProductData, list(data))


def _fold(pair, values):
    if not values:
        raise ValueError("a product needs at least one family")
    folded = values[-1]
    for value in values[-2::-1]:
        folded = pair(value, folded)
    return folded
