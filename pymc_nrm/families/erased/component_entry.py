"""The entries of a family for components: their panels and densities, and draws of their parameters."""

from pymc_nrm.families import base, components, conjugate
from pymc_nrm.families.erased.entry import COMPONENT_ENTRY, DRAW_ENTRY, N_PARAMETERS
from pymc_nrm.families.shared import two_components
from pymc_nrm.kernels.addresses import (
    as_double,
    doubles,
    entry_address,
    load,
    load_result,
    place_all,
    random_entry_address,
    room_for,
    table,
    whole_numbers,
)
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES

(
    PANEL_SIZE,
    PLACE_PANEL,
    WRITE_COMPONENT,
    ADD_COMPONENT_DENSITIES,
    ADD_DENSITIES_OF_ITEMS,
    LOG_PARAMETER_DENSITY,
    JOIN_PARAMETERS,
) = range(7)
DRAW_PARAMETERS, SPLIT_PARAMETERS = range(2)


@kernel(inner_loop=True)
def component_entry(method, place, p, q, r, s, t, i, j, k, m, x):
    """Call a method of the family at a place that draws nothing; see ``entry.py``."""
    family, data = load(place)
    if method == ADD_DENSITIES_OF_ITEMS:
        panel = load_result(components.component_panel, family, LANES, p)
        items, values = whole_numbers(q, LANES), table(r, k, LANES)
        components.add_densities_of_items(family, panel, data, items, i, values)
    elif method == ADD_COMPONENT_DENSITIES:
        panel = load_result(components.component_panel, family, LANES, p)
        components.add_component_densities(family, panel, data, i, j, doubles(q, j))
    elif method == WRITE_COMPONENT:
        panel = load_result(components.component_panel, family, LANES, q)
        components.write_component(family, doubles(p, k), panel, i)
    elif method == PANEL_SIZE:
        return float(room_for(components.component_panel(family, i)))
    elif method == PLACE_PANEL:
        place_all(components.component_panel(family, i), p)
    elif method == LOG_PARAMETER_DENSITY:
        statistics = doubles(p, base.statistics_size(family))
        return as_double(conjugate.log_parameter_density(family, statistics, doubles(q, k)))
    elif method == JOIN_PARAMETERS:
        first, second = doubles(p, k), doubles(q, k)
        # The other share stands behind the address s.
        return as_double(two_components.join_parameters(family, x, doubles(s, 1)[0], first, second, doubles(r, k)))
    return 0.0


@kernel(inner_loop=True)
def draw_entry(method, place, rng, p, q, r, i, k, x, y):
    """Call a method of the family at a place that draws parameters."""
    family, _ = load(place)
    if method == DRAW_PARAMETERS:
        conjugate.draw_parameters(family, doubles(p, base.statistics_size(family)), rng, doubles(q, k))
    elif method == SPLIT_PARAMETERS:
        two_components.split_parameters(family, doubles(p, k), x, y, rng, doubles(q, k), doubles(r, k))
    return 0.0


@kernel
def describe_draws(family, data, row):
    """Fill in what draws of parameters need, in the row of ``entry.describe``."""
    row[DRAW_ENTRY] = random_entry_address(draw_entry, (family, data))
    row[N_PARAMETERS] = conjugate.parameters_size(family)


@kernel
def describe_components(family, data, row):
    """Fill in what panels and densities of components need, in the row of ``entry.describe``."""
    row[COMPONENT_ENTRY] = entry_address(component_entry, (family, data))
