"""Labels of weighted components: all at once given parameters, and one by one with parameters integrated out."""

import math

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import whole_lanes


@kernel
def component_densities(rng, labels, n_components, family, data):
    """Draw the parameters of all components given labels, and return the log densities of items under each, (n, K).

    Parameters have their full conditional distribution; those of a component without items have their prior.
    """
    n, width = labels.shape[0], whole_lanes(n_components)
    statistics = np.zeros((n_components, statistics_size(family)))
    for i in range(n):
        if i % 64 == 0:
            check_signals()
        add_item(family, statistics[labels[i]], data, i, 1.0)
    panel, parameters = component_panel(family, width), np.empty(parameters_size(family))
    for k in range(n_components):
        draw_parameters(family, statistics[k], rng, parameters)
        write_component(family, parameters, panel, k)
    table, values = np.empty((n, n_components)), np.empty(width)
    for i in range(n):
        if i % 64 == 0:
            check_signals()
        values[:] = 0.0
        add_component_densities(family, panel, data, i, width, values)
        for k in range(n_components):
            table[i, k] = values[k] if values[k] == values[k] else -math.inf
    return table
