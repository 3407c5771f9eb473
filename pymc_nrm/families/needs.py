"""What moves and functions need of a family, and the message if a family lacks it."""

from pymc_nrm.families import base, components, conjugate
from pymc_nrm.families.shared import two_components
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.kernels.kernel_cache import dispatchers

# What every family has, by a definition or by a default.
PREDICTIVE = (
    base.prepare_data,
    base.statistics_size,
    base.add_item,
    base.cache_size,
    base.refresh_cache,
    base.log_predictive,
    base.log_likelihood,
)

# What draws of component parameters need, and what draws of data need.
PARAMETERS = (conjugate.parameters_size, conjugate.draw_parameters)
ITEMS = (*PARAMETERS, conjugate.draw_item)

# What weighs an item under many components at once.
COMPONENT_PANEL = (components.component_panel, components.write_component, components.add_component_densities)

# What splits and merges need if labels are summed out.
MOMENT_SPLIT = (conjugate.log_parameter_density, two_components.split_parameters, two_components.join_parameters)


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
        raise NotImplementedError(
            f"{family_class.__name__} has no {' and no '.join(names)}, which {user} needs{last}"
            + not_inherited(family_class, names)
        )


def not_inherited(cls, names):
    """A sentence for functions of these names that a base of a class has, but not the class; no text without any."""
    functions = [
        function for function in dispatchers if function.__name__ in names and function.implementation_of(cls) is None
    ]
    if not any(function.implementation_of(base) for function in functions for base in cls.__mro__[1:-1]):
        return ""
    return f". {cls.__name__} does not inherit them, since it redefines functions that they must agree with"
