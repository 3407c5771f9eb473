"""Methods of a family whose data are a map of the data of another family, the *underlying* one.

With x = f(y), where y has the underlying family, kernels hold y.  Clusters have the rows of the underlying family, and
the density of x is the density of y divided by the volume ``|df / dy|``.
"""

import types
from collections.abc import Callable

from pymc_nrm.families import base, components, conjugate, fast
from pymc_nrm.families.shared import two_components
from pymc_nrm.kernels.generic import generic, kernel
from pymc_nrm.kernels.lanes import LANES


@generic
def underlying(family):
    """Return the family of the data on the scale of kernels."""
    raise NotImplementedError


@generic
def underlying_data(data):
    """Return data of kernels in the form that the underlying family reads; the same by default."""
    return data


@generic
def log_volume(family, data, item):
    """Return the logarithm of the volume of the map at an item, whose data are on the scale of kernels."""
    return 0.0


@generic
def log_volumes(family, statistics):
    """Return the sum of :func:`log_volume` over the items of a cluster."""
    return 0.0


def part_of(family, rows, part):
    """Return a part, 0 or 1, of an underlying product, and its columns of rows of statistics."""
    families = underlying(family)
    size = base.statistics_size(families.first)
    columns = rows[:, :size] if part == 0 else rows[:, size:]
    return families[part], columns.copy()


def inherit_methods[T](mixin: type) -> Callable[[type[T]], type[T]]:
    """Decorator that gives a ``NamedTuple``, which takes no base classes, the methods of a class that it lacks."""

    def add(family_class):
        for cls in mixin.__mro__:
            for name, method in vars(cls).items():
                if isinstance(method, types.FunctionType) and name not in vars(family_class):
                    setattr(family_class, name, method)
        return family_class

    return add


class MappedFamily:
    """The methods of a family that has :func:`underlying`, and :func:`log_volume` if its map changes volumes."""

    def check_resolution(self, data, title):
        base.check_resolution(underlying(self), underlying_data(data), title)

    def statistics_size(self):
        return base.statistics_size(underlying(self))

    def add_item(self, statistics, data, item, sign):
        base.add_item(underlying(self), statistics, underlying_data(data), item, sign)

    def cache_size(self):
        return base.cache_size(underlying(self))

    def refresh_cache(self, statistics, cache):
        base.refresh_cache(underlying(self), statistics, cache)

    def update_cache(self, statistics, cache, data, item, sign):
        fast.update_cache(underlying(self), statistics, cache, underlying_data(data), item, sign)

    def log_predictive(self, cache, data, item):
        value = base.log_predictive(underlying(self), cache, underlying_data(data), item)
        return value - log_volume(self, data, item)

    def log_predictive_without(self, statistics, cache, data, item):
        value = fast.log_predictive_without(underlying(self), statistics, cache, underlying_data(data), item)
        return value - log_volume(self, data, item)

    def panel_shape(self):
        return fast.panel_shape(underlying(self))

    def write_panel(self, cache, rows, lanes, column):
        fast.write_panel(underlying(self), cache, rows, lanes, column)

    def update_panel(self, cache, rows, lanes, column, data, item):
        fast.update_panel(underlying(self), cache, rows, lanes, column, underlying_data(data), item)

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        fast.add_log_predictives(underlying(self), rows, lanes, underlying_data(data), item, width, values)
        subtract_log_volume(self, data, item, width, values)

    def log_marginal(self, statistics):
        return conjugate.log_marginal(underlying(self), statistics) - log_volumes(self, statistics)

    def parameters_size(self):
        return conjugate.parameters_size(underlying(self))

    def draw_parameters(self, statistics, rng, parameters):
        conjugate.draw_parameters(underlying(self), statistics, rng, parameters)

    def log_parameter_density(self, statistics, parameters):
        return conjugate.log_parameter_density(underlying(self), statistics, parameters)

    def split_parameters(self, parameters, p, q, rng, first, second):
        two_components.split_parameters(underlying(self), parameters, p, q, rng, first, second)

    def join_parameters(self, p, q, first, second, parameters):
        return two_components.join_parameters(underlying(self), p, q, first, second, parameters)

    def component_panel(self, n_columns):
        return components.component_panel(underlying(self), n_columns)

    def write_component(self, parameters, panel, column):
        components.write_component(underlying(self), parameters, panel, column)

    def add_component_densities(self, panel, data, item, width, values):
        components.add_component_densities(underlying(self), panel, underlying_data(data), item, width, values)
        subtract_log_volume(self, data, item, width, values)


@kernel
def subtract_log_volume(family, data, item, width, values):
    """Subtract :func:`log_volume` from the values of all columns of a panel."""
    shared = log_volume(family, data, item)
    for k in range(width // LANES * LANES):
        values[k] -= shared
