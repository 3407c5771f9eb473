"""Several data sets on the same items, independent given the partition."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import (
    add_item,
    cache_size,
    localise,
    log_predictive,
    prepare_data,
    refresh_cache,
    statistics_size,
)
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import (
    draw_parameters,
    log_marginal,
    parameter_shapes,
    parameters_size,
    restore_parameters,
)
from pymc_nrm.families.fast import (
    add_log_predictives,
    log_predictive_without,
    panel_shape,
    update_cache,
    update_panel,
    write_panel,
)


class Product(NamedTuple):
    """Two families as one, for samplers of a partition with several mixtures.

    A row of statistics, cache or parameters is that of the first family followed by that of the second.  Nested
    products hold more than two families.  The symbolic log-likelihood and draws of data use each family by itself.

    Parameters
    ----------
    first, second : Family
    """

    first: Any
    second: Any


class ProductData(NamedTuple):
    """Data of a kernel: the data of the first and of the second family."""

    first: Any
    second: Any


class ProductPanel(NamedTuple):
    """Components of the first and of the second family."""

    first: Any
    second: Any


def product(families):
    """Combine a list of families into one.

    Parameters
    ----------
    families : sequence of Family
        At least one.

    Returns
    -------
    Family
        The family itself if there is only one, otherwise ``Product(families[0], Product(families[1], ...))``.

    Examples
    --------
    >>> product(["a", "b", "c"])
    Product(first='a', second=Product(first='b', second='c'))
    """
    return _fold(Product, list(families))


def product_data(data):
    """Combine a list of prepared data just as :func:`product` combines their families.

    Parameters
    ----------
    data : sequence of NamedTuple

    Returns
    -------
    NamedTuple

    Examples
    --------
    >>> product_data(["a", "b"])
    ProductData(first='a', second='b')
    """
    return _fold(ProductData, list(data))


def _fold(pair, values):
    if not values:
        raise ValueError("a product needs at least one family")
    folded = values[-1]
    for value in values[-2::-1]:
        folded = pair(value, folded)
    return folded


@prepare_data.register(Product)
def _(family, X):
    return ProductData(prepare_data(family.first, X[0]), prepare_data(family.second, X[1]))


@localise.register(Product)
def _(family, data):
    return Product(localise(family.first, data.first), localise(family.second, data.second))


@restore_parameters.register(Product)
def _(family, data, parameters):
    size = parameters_size(family.first)
    first = restore_parameters(family.first, data.first, parameters[..., :size])
    second = restore_parameters(family.second, data.second, parameters[..., size:])
    return np.concatenate([first, second], axis=-1)


@parameter_shapes.register(Product)
def _(family):
    first, second = parameter_shapes(family.first), parameter_shapes(family.second)
    return {f"first.{name}": shape for name, shape in first.items()} | {
        f"second.{name}": shape for name, shape in second.items()
    }


@statistics_size.register(Product)
def _(family):
    return statistics_size(family.first) + statistics_size(family.second)


@cache_size.register(Product)
def _(family):
    return cache_size(family.first) + cache_size(family.second)


@parameters_size.register(Product)
def _(family):
    return parameters_size(family.first) + parameters_size(family.second)


@add_item.register(Product)
def _(family, statistics, data, item, sign):
    size = statistics_size(family.first)
    add_item(family.first, statistics[:size], data.first, item, sign)
    add_item(family.second, statistics[size:], data.second, item, sign)


@log_marginal.register(Product)
def _(family, statistics):
    size = statistics_size(family.first)
    return log_marginal(family.first, statistics[:size]) + log_marginal(family.second, statistics[size:])


@refresh_cache.register(Product)
def _(family, statistics, cache):
    size, split = statistics_size(family.first), cache_size(family.first)
    refresh_cache(family.first, statistics[:size], cache[:split])
    refresh_cache(family.second, statistics[size:], cache[split:])


@update_cache.register(Product)
def _(family, statistics, cache, data, item, sign):
    size, split = statistics_size(family.first), cache_size(family.first)
    update_cache(family.first, statistics[:size], cache[:split], data.first, item, sign)
    update_cache(family.second, statistics[size:], cache[split:], data.second, item, sign)


@log_predictive.register(Product)
def _(family, cache, data, item):
    split = cache_size(family.first)
    first = log_predictive(family.first, cache[:split], data.first, item)
    return first + log_predictive(family.second, cache[split:], data.second, item)


@log_predictive_without.register(Product)
def _(family, statistics, cache, data, item):
    size, split = statistics_size(family.first), cache_size(family.first)
    first = log_predictive_without(family.first, statistics[:size], cache[:split], data.first, item)
    return first + log_predictive_without(family.second, statistics[size:], cache[split:], data.second, item)


# The panel of the second family stands below that of the first, and its lanes are further sets.


@panel_shape.register(Product)
def _(family):
    first, second = panel_shape(family.first), panel_shape(family.second)
    if first[0] == 0 or second[0] == 0:
        return 0, 0, 0
    return first[0] + second[0], first[1] + second[1], max(first[2], second[2])


@write_panel.register(Product)
def _(family, cache, rows, lanes, column):
    split, shape = cache_size(family.first), panel_shape(family.first)
    write_panel(family.first, cache[:split], rows, lanes, column)
    write_panel(family.second, cache[split:], rows[shape[0] :], lanes[shape[1] :], column)


@update_panel.register(Product)
def _(family, cache, rows, lanes, column, data, item):
    split, shape = cache_size(family.first), panel_shape(family.first)
    update_panel(family.first, cache[:split], rows, lanes, column, data.first, item)
    update_panel(family.second, cache[split:], rows[shape[0] :], lanes[shape[1] :], column, data.second, item)


@add_log_predictives.register(Product)
def _(family, rows, lanes, data, item, width, values):
    shape = panel_shape(family.first)
    add_log_predictives(family.first, rows, lanes, data.first, item, width, values)
    add_log_predictives(family.second, rows[shape[0] :], lanes[shape[1] :], data.second, item, width, values)


@draw_parameters.register(Product)
def _(family, statistics, rng, parameters):
    size, split = statistics_size(family.first), parameters_size(family.first)
    draw_parameters(family.first, statistics[:size], rng, parameters[:split])
    draw_parameters(family.second, statistics[size:], rng, parameters[split:])


@component_panel.register(Product)
def _(family, n_columns):
    return ProductPanel(component_panel(family.first, n_columns), component_panel(family.second, n_columns))


@write_component.register(Product)
def _(family, parameters, panel, column):
    split = parameters_size(family.first)
    write_component(family.first, parameters[:split], panel.first, column)
    write_component(family.second, parameters[split:], panel.second, column)


@add_component_densities.register(Product)
def _(family, panel, data, item, width, values):
    add_component_densities(family.first, panel.first, data.first, item, width, values)
    add_component_densities(family.second, panel.second, data.second, item, width, values)
