"""Pictures of trajectories."""

import numpy as np
import pandas as pd

import pymc_nrm as nrm
from tests.plots.plot_cases import TRUE, N, make_draws

DATES = pd.to_datetime(["2001-05-03", "2008-01-01", "2008-07-01", "2020-02-02"])


def make_trajectories(time=range(4)):
    """Draws and model of a growth mixture."""
    rng, time = np.random.default_rng(1), list(time)
    subject, visit = np.repeat(np.arange(N), 4), np.tile(np.arange(4), N)
    y = TRUE[subject] * (visit - 1.0) + rng.normal(size=4 * N)
    df = pd.DataFrame({"subject": subject, "when": [time[t] for t in visit], "length": y})
    model = nrm.growth.growth_mixture(df.drop(index=5), subject="subject", time="when", target="length", degree=1)
    values = {"alpha": 1.0, "trajectory_ratio": 0.5, "trajectory_share": 0.3, "trajectory_kappa": 0.1}
    values |= {"trajectory_g": 10.0, "trajectory_excess": 5.0}
    z = make_draws(n_draws=10).drop_vars("item").rename(item="subject")
    return z.to_dataset().assign({name: (z.dims[:2], np.full((2, 10), value)) for name, value in values.items()}), model


PICTURES = {
    "trajectories": (make_trajectories, {"estimate": TRUE}),
    "trajectories_1": (lambda: make_trajectories(DATES), {"estimate": np.arange(N) % 10}),
}
