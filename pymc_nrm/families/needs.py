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
from pymc_nrm.families.conjugate import draw_item, draw_parameters, parameter_shapes, parameters_size
from pymc_nrm.kernels.generic import lacking

# What every family must define.
PREDICTIVE = (prepare_data, statistics_size, add_item, cache_size, refresh_cache, log_predictive, log_likelihood)

# What draws of component parameters need, and what draws of data need.
PARAMETERS = (parameters_size, parameter_shapes, draw_parameters)
ITEMS = (*PARAMETERS, draw_item)

# What weighs an item under many components at once.
COMPONENT_PANEL = (component_panel, write_component, add_component_densities)


def is_family(value):
    """Whether a value is of a class described by :func:`~pymc_nrm.families.base.conjugate_family`.

    Examples
    --------
    >>> from pymc_nrm.families import PoissonGamma
    >>> is_family(PoissonGamma()), is_family(2.0)
    (True, False)
    """
    return isinstance(value, tuple) and hasattr(type(value), "missing_allowed")


def check_needs(family_class, needs, user, others=()):
    """Raise an error if a family lacks a function.

    Parameters
    ----------
    family_class : type
    needs : sequence of generic functions
    user : str
        Name of what needs them.
    others : sequence of str
        Names of what can do without them.

    Raises
    ------
    NotImplementedError

    Examples
    --------
    >>> from pymc_nrm.families import CategoricalDirichlet
    >>> from pymc_nrm.families.components import component_mean
    >>> check_needs(CategoricalDirichlet, [component_mean], "measure_mean")
    Traceback (most recent call last):
        ...
    NotImplementedError: CategoricalDirichlet has no component_mean, which measure_mean needs
    """
    names = lacking(family_class, needs)
    if names:
        last = f"; {' and '.join(others)} {'does' if len(others) == 1 else 'do'} not" if others else ""
        raise NotImplementedError(f"{family_class.__name__} has no {' and no '.join(names)}, which {user} needs{last}")
