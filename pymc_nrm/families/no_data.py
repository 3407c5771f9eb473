"""The family of a partition without data, with which samplers draw from the prior."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import add_item, cache_size, log_predictive, refresh_cache, statistics_size
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_parameters, log_marginal, parameters_size
from pymc_nrm.families.fast import log_predictive_without


class NoData(NamedTuple):
    """Family whose likelihood is one; the field has no meaning."""

    unused: Any


class NoRows(NamedTuple):
    """Data of :class:`NoData`; the field has no meaning."""

    unused: Any


@statistics_size.register(NoData)
def _(family):
    return 0


@cache_size.register(NoData)
def _(family):
    return 0


@add_item.register(NoData)
def _(family, statistics, data, item, sign):
    pass


@refresh_cache.register(NoData)
def _(family, statistics, cache):
    pass


@log_marginal.register(NoData)
def _(family, statistics):
    return 0.0


@log_predictive.register(NoData)
def _(family, cache, data, item):
    return 0.0


@log_predictive_without.register(NoData)
def _(family, statistics, cache, data, item):
    return 0.0


@parameters_size.register(NoData)
def _(family):
    return 0


@draw_parameters.register(NoData)
def _(family, statistics, rng, parameters):
    pass


@component_panel.register(NoData)
def _(family, n_columns):
    return np.empty((0, n_columns))


@write_component.register(NoData)
def _(family, parameters, panel, column):
    pass


@add_component_densities.register(NoData)
def _(family, panel, data, item, width, values):
    pass
