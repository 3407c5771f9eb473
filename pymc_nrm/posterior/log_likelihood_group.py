"""The group ``log_likelihood`` of a DataTree, to which variables are added one after the other."""

import xarray as xr

from pymc_nrm.common.checks import check_flag


def check_extension(idata, extend_inferencedata):
    """Check draws that are to be extended by a group."""
    check_flag("extend_inferencedata", extend_inferencedata)
    if extend_inferencedata and not (isinstance(idata, xr.DataTree) and "posterior" in idata.children):
        raise TypeError(
            f"idata must be a DataTree with the group posterior to be extended; got {type(idata).__name__}. "
            "extend_inferencedata=False returns a Dataset instead"
        )


def with_log_likelihood(idata, dataset, name):
    """Add the log densities of one variable to the group of a DataTree, which keeps its other variables; return it."""
    if "log_likelihood" in idata.children:
        dataset = _beside(idata["log_likelihood"].to_dataset(), dataset, name)
    idata["log_likelihood"] = xr.DataTree(dataset)
    return idata


def _beside(others, dataset, name):
    """A dataset together with the other variables of a group, which must be of the same items."""
    others = others.drop_vars(name, errors="ignore")
    if not others.data_vars:
        return dataset
    try:
        return xr.merge([others, dataset], join="exact")
    except ValueError:
        raise ValueError(
            f"idata has log_likelihood of {list(others.data_vars)}, but its items differ from the items of {name!r} "
            "that have data; extend_inferencedata=False returns a Dataset of its own"
        ) from None
