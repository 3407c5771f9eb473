"""Regimes of the Nile: when its flow changed, and how many regimes a century has.

Yearly flow at Aswan from 1871 to 1970, in 10^8 cubic metres (Durbin & Koopman 2001, "Time series analysis by state
space methods").  In 1898 the flow fell, perhaps with the rain.  The recipe `regime_model` makes each year's flow normal
with the mean and the variance of a hidden state; the number of states is unknown.

Bands behind the flow are the most probable state of each year, paler where it is less certain.  Below are the
probability that a new run begins in a year, the posterior of the number of states, which includes small ones, and
forecasts for one and twenty years ahead.

Run with ``python examples/nile.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

import pymc_nrm as nrm

# fmt: off
FLOW = [
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
    1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
    831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
    781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
    744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
]
# fmt: on
COLORS = ("#332288", "#cc6677")


def panel(axes, **dims):
    """A plot of a figure to draw on."""
    plots = np.empty([1] * len(dims), dtype=object)
    plots[...] = axes
    data = xr.Dataset({"figure": axes.figure, "plot": (tuple(dims), plots) if dims else axes}, dims)
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(data), backend="matplotlib")


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "nile.png")
    years = pd.date_range("1871", periods=len(FLOW), freq="YS")
    flow = pd.Series(FLOW, years, name="flow", dtype="float64")
    model = nrm.states.regime_model(flow)
    idata = nrm.sample(2000, chains=2, model=model, random_seed=1)
    print(nrm.summary(idata).to_string())

    estimate = nrm.point_estimate(idata, random_seed=1)
    print(nrm.describe(idata, model, estimate))
    smoothed = nrm.states.state_probabilities(idata, model, estimate, random_seed=1)
    labels = nrm.stats.stack_draws(nrm.stats.partition_draws(idata))
    begins = (labels[:, 1:] != labels[:, :-1]).mean(axis=0)
    grid = np.linspace(300, 1600, 131)
    ahead = nrm.states.forecast_density(idata.sel(draw=slice(None, None, 10)), model, grid, [1, 20], random_seed=1)

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure = plt.figure(figsize=(12, 7), layout="constrained")
    places = figure.add_gridspec(2, 3)
    top = figure.add_subplot(places[0, :])
    visuals = {"xlabel": {"text": "year"}, "ylabel": {"text": "flow (10⁸ m³)"}}
    nrm.states.plots.plot_state_sequence(
        idata, smoothed, data=flow, plot_collection=panel(top, column=["flow"]), visuals=visuals
    )
    left = figure.add_subplot(places[1, 0])
    left.vlines(years[1:].year, 0, begins, color=COLORS[0])
    left.set(xlabel="year", ylabel="probability that a run begins", ylim=(0, None))
    middle = figure.add_subplot(places[1, 1])
    nrm.plots.plot_n_clusters(idata, plot_collection=panel(middle), visuals={"legend": False})
    middle.set(xlabel="number of states")
    right = figure.add_subplot(places[1, 2])
    right.hist(flow, grid[::5], density=True, color="#d9d9d9", label="all years")
    density = ahead["density"].mean(("chain", "draw")).values
    for values, step, color in zip(density, ahead["step"].values, COLORS, strict=True):
        right.plot(grid, values, color=color, label=f"{step} year{'s' if step > 1 else ''} ahead")
    right.set(xlabel="flow (10⁸ m³)", ylabel="density")
    right.legend(frameon=False)
    figure.savefig(path, dpi=100)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
