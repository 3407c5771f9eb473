"""Families behind addresses with what conditional samplers need: parameters of components and missing entries."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.erased.component_entry import (
    ADD_COMPONENT_DENSITIES,
    ADD_DENSITIES_OF_ITEMS,
    DRAW_PARAMETERS,
    JOIN_PARAMETERS,
    LOG_PARAMETER_DENSITY,
    PANEL_SIZE,
    PLACE_PANEL,
    SPLIT_PARAMETERS,
    WRITE_COMPONENT,
    describe_components,
    describe_draws,
)
from pymc_nrm.families.erased.entry import (
    COMPONENT_ENTRY,
    DRAW_ENTRY,
    GAP_ENTRY,
    N_CACHE,
    N_PARAMETERS,
    N_STATISTICS,
    VALUES,
)
from pymc_nrm.families.erased.erased import DOUBLE, Erased
from pymc_nrm.families.erased.gap_entry import describe_gaps
from pymc_nrm.kernels.addresses import address_of, call_at, call_with_rng_at


class ErasedPanel(NamedTuple):
    """Panels of families, one after the other: the memory (n_words,), and the word at which each begins."""

    memory: Any
    starts: Any


class ErasedWithDraws(Erased):
    """Families whose parameters are drawn; a row of parameters joins the rows of the families."""

    describers = (describe_draws,)

    def parameters_size(self):
        return self.parts[:, N_PARAMETERS].sum()

    def draw_parameters(self, statistics, rng, parameters):
        p, q, parts = address_of(statistics), address_of(parameters), self.parts
        for part in range(parts.shape[0]):
            n_parameters = parts[part, N_PARAMETERS]
            call_with_rng_at(
                parts[part, DRAW_ENTRY], DRAW_PARAMETERS, parts[part, VALUES], rng, p, q, 0, 0, n_parameters, 0.0, 0.0
            )
            p += DOUBLE * parts[part, N_STATISTICS]
            q += DOUBLE * n_parameters

    def split_parameters(self, parameters, p, q, rng, first, second):
        a, b, c, parts = address_of(parameters), address_of(first), address_of(second), self.parts
        for part in range(parts.shape[0]):
            n_parameters = parts[part, N_PARAMETERS]
            call_with_rng_at(
                parts[part, DRAW_ENTRY], SPLIT_PARAMETERS, parts[part, VALUES], rng, a, b, c, 0, n_parameters, p, q
            )
            a += DOUBLE * n_parameters
            b += DOUBLE * n_parameters
            c += DOUBLE * n_parameters


class ErasedWithComponents(ErasedWithDraws):
    """Families whose items are weighed given the parameters of components."""

    describers = (describe_draws, describe_components)

    def join_parameters(self, p, q, first, second, parameters):
        share = np.full(1, q)
        a, b, c, s = address_of(first), address_of(second), address_of(parameters), address_of(share)
        parts, total = self.parts, 0.0
        for part in range(parts.shape[0]):
            n_parameters = parts[part, N_PARAMETERS]
            total += call_at(
                *(parts[part, COMPONENT_ENTRY], JOIN_PARAMETERS, parts[part, VALUES]),
                *(a, b, c, s, 0, 0, 0, n_parameters, 0, p),
            )
            a += DOUBLE * n_parameters
            b += DOUBLE * n_parameters
            c += DOUBLE * n_parameters
        # The share lives until here.
        return total + 0.0 * share[0]

    def log_parameter_density(self, statistics, parameters):
        p, q, parts, total = address_of(statistics), address_of(parameters), self.parts, 0.0
        for part in range(parts.shape[0]):
            n_parameters = parts[part, N_PARAMETERS]
            total += call_at(
                *(parts[part, COMPONENT_ENTRY], LOG_PARAMETER_DENSITY, parts[part, VALUES]),
                *(p, q, 0, 0, 0, 0, 0, n_parameters, 0, 0.0),
            )
            p += DOUBLE * parts[part, N_STATISTICS]
            q += DOUBLE * n_parameters
        return total

    def component_panel(self, n_columns):
        parts = self.parts
        starts = np.zeros(parts.shape[0] + 1, dtype=np.int64)
        for part in range(parts.shape[0]):
            starts[part + 1] = starts[part] + int(
                call_at(
                    *(parts[part, COMPONENT_ENTRY], PANEL_SIZE, parts[part, VALUES]),
                    *(0, 0, 0, 0, 0, n_columns, 0, 0, 0, 0.0),
                )
            )
        memory = np.empty(starts[-1])
        for part in range(parts.shape[0]):
            p = address_of(memory) + DOUBLE * starts[part]
            call_at(
                *(parts[part, COMPONENT_ENTRY], PLACE_PANEL, parts[part, VALUES]),
                *(p, 0, 0, 0, 0, n_columns, 0, 0, 0, 0.0),
            )
        return ErasedPanel(memory, starts)

    def write_component(self, parameters, panel, column):
        p, parts = address_of(parameters), self.parts
        for part in range(parts.shape[0]):
            q, n_parameters = address_of(panel.memory) + DOUBLE * panel.starts[part], parts[part, N_PARAMETERS]
            call_at(
                *(parts[part, COMPONENT_ENTRY], WRITE_COMPONENT, parts[part, VALUES]),
                *(p, q, 0, 0, 0, column, 0, n_parameters, 0, 0.0),
            )
            p += DOUBLE * n_parameters

    def add_component_densities(self, panel, data, item, width, values):
        parts = data.parts
        for part in range(parts.shape[0]):
            p = address_of(panel.memory) + DOUBLE * panel.starts[part]
            call_at(
                *(parts[part, COMPONENT_ENTRY], ADD_COMPONENT_DENSITIES, parts[part, VALUES]),
                *(p, address_of(values), 0, 0, 0, item, width, 0, 0, 0.0),
            )

    def add_densities_of_items(self, panel, data, items, n_components, values):
        parts = data.parts
        for part in range(parts.shape[0]):
            p = address_of(panel.memory) + DOUBLE * panel.starts[part]
            call_at(
                *(parts[part, COMPONENT_ENTRY], ADD_DENSITIES_OF_ITEMS, parts[part, VALUES]),
                *(p, address_of(items), address_of(values), 0, 0, n_components, 0, values.shape[0], 0, 0.0),
            )


class ErasedWithGaps(Erased):
    """Families whose missing entries are drawn."""

    describers = (describe_gaps,)

    def draw_missing(self, cache, data, item, rng):
        p, parts = address_of(cache), data.parts
        for part in range(parts.shape[0]):
            call_with_rng_at(parts[part, GAP_ENTRY], 0, parts[part, VALUES], rng, p, 0, 0, item, 0, 0.0, 0.0)
            p += DOUBLE * parts[part, N_CACHE]
