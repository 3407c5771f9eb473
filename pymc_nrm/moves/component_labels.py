"""Densities of items under drawn parameters of weighted components, given which all labels are drawn at once."""

import math

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.components import fill_component_densities
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.generic import check_signals


@shared_kernel(components=True)
def component_densities(rng, labels, n_components, family, data):
    """Draw the parameters of all components given labels, and return the log densities of items under each, (n, K).

    Parameters have their full conditional distribution; those of a component without items have their prior.
    """
    n = labels.shape[0]
    statistics = np.zeros((n_components, statistics_size(family)))
    for i in range(n):
        if i % 64 == 0:
            check_signals()
        add_item(family, statistics[labels[i]], data, i, 1.0)
    parameters, table = np.empty((n_components, parameters_size(family))), np.empty((n, n_components))
    for k in range(n_components):
        draw_parameters(family, statistics[k], rng, parameters[k])
    fill_component_densities(family, data, parameters, table)
    for i in range(n):
        for k in range(n_components):
            if table[i, k] != table[i, k]:
                table[i, k] = -math.inf
    return table
