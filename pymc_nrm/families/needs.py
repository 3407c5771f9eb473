"""What moves and functions need of a family, and the message if a family lacks it."""

from pymc_nrm.families.base import (
    add_item,
    cache_size,
    log_likelihood,
    log_predictive,
    prepare_data,
    refresh_cache,
    statistics_size,
)
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_item, draw_parameters, log_parameter_density, parameters_size
from pymc_nrm.families.moment_split import join_parameters, split_parameters
from pymc_nrm.kernels.generic import lacking

# What every family must define.
PREDICTIVE = (prepare_data, statistics_size, add_item, cache_size, refresh_cache, log_predictive, log_likelihood)

# What draws of component parameters need, and what draws of data need.
PARAMETERS = (parameters_size, draw_parameters)
ITEMS = (*PARAMETERS, draw_item)

# What weighs an item under many components at once.
COMPONENT_PANEL = (component_panel, write_component, add_component_densities)

# What splits and merges need if labels are summed out.
MOMENT_SPLIT = (log_parameter_density, split_parameters, join_parameters)


def is_family(value):
    """Whether a value is of a class that :func:`~pymc_nrm.families.base.conjugate_family` describes."""
    return isinstance(value, tuple) and hasattr(type(value), "missing_allowed")


def check_needs(family_class, needs, user, others=()):
    """Raise NotImplementedError if a family lacks one of the generic functions that a user, named so, needs.

    The message names ``others``, which can do without them.
    """
    names = lacking(family_class, needs)
    if names:
        last = f"; {' and '.join(others)} {'does' if len(others) == 1 else 'do'} not" if others else ""
        raise NotImplementedError(f"{family_class.__name__} has no {' and no '.join(names)}, which {user} needs{last}")
