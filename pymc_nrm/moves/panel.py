"""Predictive densities of an item under all clusters at once, for Gibbs sweeps."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.fast import panel_shape, write_panel
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES, exp_within


class Panel(NamedTuple):
    """What a sweep reads instead of the caches: one column per cluster, in the order of the active slots.

    The column after the last cluster is that of a cluster without data; the columns after it have prior weight 0::

        column       0   ...   K - 1 |  K  | K + 1 ... width - 1
                      K clusters     | new |      padding
    """

    # rows, lanes: See `panel_shape`.
    rows: Any
    lanes: Any
    # Log weight of joining each cluster, before the item's data are seen; shape (width,).
    prior: Any
    # Memory for the log weights of an item; shape (width,).
    values: Any


@kernel(inner_loop=True)
def new_panel(state, join, family):
    """Make the panel of a state, with room for as many clusters as the state."""
    n_blocks = (state.counts.shape[0] + LANES - 1) // LANES
    n_rows, n_sets, n_lane_rows = panel_shape(family)
    panel = Panel(
        np.empty((n_rows, n_blocks * LANES)),
        np.empty((n_sets, n_blocks, n_lane_rows, LANES)),
        np.full(n_blocks * LANES, -np.inf),
        np.empty(n_blocks * LANES),
    )
    for column in range(n_blocks * LANES):
        slot = state.active[min(column, state.size[0])]
        if n_rows > 0:
            write_panel(family, state.cache[slot], panel.rows, panel.lanes, column)
        if column <= state.size[0]:
            panel.prior[column] = join[state.counts[slot]]
    return panel


@kernel(inner_loop=True)
def draw_column(rng, values, n_columns, likely):
    """Draw a column with probabilities proportional to the exponentials of the values, which are overwritten.

    Weights are relative to that of the likely column, or to the highest if that is far larger.  Rounding would lose
    relative weights below exp(-40) in any case.  A NaN weight makes the total NaN. Shapes: ``values`` (at least
    n_columns, up to a multiple of LANES,).
    """
    width = (n_columns + LANES - 1) // LANES * LANES
    reference = values[likely]
    n_above = 0
    for k in range(width):
        n_above += values[k] > reference + 500.0
    if n_above > 0:
        for k in range(n_columns):
            reference = max(reference, values[k])
    total = 0.0
    for k in range(width):
        x = values[k] - reference
        weight = 0.0 if x <= -40.0 else exp_within(-40.0 if x <= -40.0 else x)
        values[k] = weight
        total += weight
    if not 0.0 < total < np.inf:
        raise ValueError("an item cannot be drawn into a cluster: all weights are 0, or one is not finite")
    threshold = rng.random() * total
    if threshold < values[likely]:
        return likely
    threshold -= values[likely]
    chosen = n_columns - 1
    for k in range(n_columns):
        if k != likely and values[k] > 0.0:
            chosen = k
            if threshold < values[k]:
                break
            threshold -= values[k]
    return chosen
