"""Pictures of hidden states."""

import numpy as np
import xarray as xr

from tests.plots import plot_cases


def make_transitions():
    mean = np.array([[0.9, 0.05, 0.05], [0.3, 0.7, 0.0]])
    tables = {"mean": mean, "low": 0.8 * mean, "high": np.minimum(1.1 * mean, 1.0)}
    dims = ("state", "next_state")
    return xr.Dataset(
        {name: (dims, table) for name, table in tables.items()}, {"state": [0, 1], "next_state": [0, 1, -1]}
    )


PICTURES = {
    "state_sequence": (lambda: (plot_cases.make_draws(),), {"data": plot_cases.make_data(2)}),
    "state_sequence_1": (lambda: (plot_cases.make_sequences(),), {"estimate": plot_cases.TRUE}),
    "transitions": (lambda: (make_transitions(),), {}, ("matplotlib",)),
}
WRONG_PICTURES = {
    "0": (
        "state_sequence",
        (plot_cases.make_draws(),),
        {"data": plot_cases.make_data(2)[:5]},
        "one row for each of the 27 items",
    ),
    "1": (
        "state_sequence",
        (plot_cases.make_draws(),),
        {"data": np.ones((plot_cases.N, 8)), "features": list(range(7))},
        "features must be at most 6 columns; got 7",
    ),
    "2": ("transitions", (plot_cases.make_ball(),), {}, "matrix must be a Dataset from transition_matrix"),
}
