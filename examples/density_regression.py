"""Density regression: bills of penguins, whose depth depends on their length in several ways.

How deep is a bill of a given length?  Over all penguins, longer bills are less deep; within each species, they are
deeper.  The recipe `regression_model` clusters the rows: in each cluster the depth has a linear regression on the
length, and the length a law of its own, so that the lines and their weights change along the axis.  The species is not
used.

On the left are curves of quantiles of the depth given the length, with bands that say how well each is known.  On the
right is the density of the depth at three lengths: at 45 and 50 mm two kinds of penguins have bills of the same length,
and the density two modes.

Run with ``python examples/density_regression.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

import pymc_nrm as nrm

TARGET, COVARIATE = "bill_depth_mm", "bill_length_mm"
LENGTHS, COLORS = (39.0, 45.0, 50.0), ("#332288", "#cc6677", "#117733")
DEPTHS = np.linspace(12, 23, 221)


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "density_regression.png")
    bills = nrm.datasets.penguins()[[COVARIATE, TARGET]].dropna()
    model = nrm.regression_model(bills, target=TARGET)
    idata = nrm.sample(1000, chains=2, model=model, random_seed=1)
    print(nrm.summary(idata).to_string())

    thinned = idata.sel(draw=slice(None, None, 5))
    new = nrm.table_data(model, pd.DataFrame({COVARIATE: np.linspace(32, 60, 70)}))
    curves = nrm.conditional_quantiles(thinned, model, new)
    given = nrm.table_data(model, pd.DataFrame({COVARIATE: LENGTHS}))
    density = nrm.predictive_density(thinned, model, DEPTHS, given=given)["density"]
    for k, length in enumerate(LENGTHS):
        mean = density.isel(new_item=k).mean(("chain", "draw")).values
        modes = DEPTHS[1:-1][(mean[1:-1] > mean[:-2]) & (mean[1:-1] > mean[2:]) & (mean[1:-1] > 0.02)]
        print(f"modes of the depth at a length of {length:g} mm: {', '.join(f'{mode:.1f}' for mode in modes)} mm")

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    pc = azp.PlotCollection(
        xr.Dataset(), xr.DataTree(xr.Dataset({"figure": figure, "plot": left})), backend="matplotlib"
    )
    legend = {"loc": "upper right", "bbox_to_anchor": (1, 1), "bbox_transform": left.transAxes, "ncols": 1}
    labels = {"xlabel": {"text": "length (mm)"}, "ylabel": {"text": "depth (mm)"}, "legend": legend | {"fontsize": 9}}
    nrm.plots.plot_conditional_density(curves, data=bills, plot_collection=pc, visuals=labels)
    left.set(title="Quantiles of the depth of bills", ylim=(11, 26))
    for k, (length, color) in enumerate(zip(LENGTHS, COLORS, strict=True)):
        one = density.isel(new_item=k).stack(sample=("chain", "draw"))
        low, high = one.quantile([0.05, 0.95], "sample").values
        right.fill_between(DEPTHS, low, high, color=color, alpha=0.2, linewidth=0)
        right.plot(DEPTHS, one.mean("sample"), color=color, label=f"length {length:g} mm")
    right.set(title="Density of the depth, with 90 % bands", xlabel="depth (mm)", ylim=(0, None))
    right.legend(frameon=False)
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
