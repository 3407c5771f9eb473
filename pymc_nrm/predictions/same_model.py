"""Whether draws are those of a model: items in the same order, with the same data."""

import numpy as np
import xarray as xr

from pymc_nrm.common.pymc_internals import find_observations

__all__ = ["check_same_model"]

# Data that went through a file or another type may differ in the last digits.
_TOLERANCE = 1e-6


def check_same_model(idata, model, partition):
    """Raise an error that names the first item, or value of the data, in which draws and model differ.

    Draws without the group ``observed_data`` are checked by the coordinate of the items alone; draws of other numbers
    of items are the business of the caller.
    """
    posterior = idata["posterior"] if isinstance(idata, xr.DataTree) and "posterior" in idata.children else idata
    remedy = "Give the model with which the draws were made: the same rows, in the same order and the same units"
    for dim in (model.named_vars_to_dims.get(partition.name) or ())[:1]:
        # xarray makes up coordinates where there are none.
        here = model.coords.get(dim) if dim in posterior.coords else None
        if here is None or len(here) != posterior.sizes[dim]:
            continue
        for item, (one, other) in enumerate(zip(here, posterior.coords[dim].values.tolist(), strict=True)):
            if str(one) != str(other):
                raise ValueError(
                    f"idata must hold draws of this model: item {item} of {partition.name!r} is {other!r} in the draws "
                    f"and {one!r} in the model (coordinate {dim!r}). {remedy}"
                )
    if not isinstance(idata, xr.DataTree) or "observed_data" not in idata.children:
        return
    stored, observed = idata["observed_data"].data_vars, find_observations(model)
    for name in [name for name in observed if name in stored]:
        here, there = np.asarray(observed[name]), stored[name].values
        if here.shape != there.shape or here.dtype.kind not in "fiub" or there.dtype.kind not in "fiub":
            continue
        differs = ~np.isclose(here, there, rtol=_TOLERANCE, atol=0.0, equal_nan=True)
        if differs.any():
            place = tuple(int(axis) for axis in np.unravel_index(differs.argmax(), differs.shape))
            raise ValueError(
                f"idata must hold draws of this model: the observed {name}{list(place)} is {there[place]:.6g} in the "
                f"draws and {here[place]:.6g} in the model. {remedy}"
            )
