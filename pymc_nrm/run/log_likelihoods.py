"""The group ``log_likelihood`` of a run whose ``idata_kwargs`` ask for it."""

import logging

import pymc as pm
import xarray as xr

from pymc_nrm.models.rvs import mixtures_of, other_uses, partitions_of
from pymc_nrm.posterior.posterior_predictive import compute_log_likelihood

_log = logging.getLogger(__name__)


def without_log_likelihood(model, kwargs):
    """Arguments of ``pm.sample`` without ``log_likelihood`` of ``idata_kwargs``, and the names of its data."""
    options = dict(kwargs.get("idata_kwargs") or {})
    wanted, observed = options.pop("log_likelihood", False), [rv.name for rv in model.observed_RVs]
    names = observed if wanted is True else [wanted] if isinstance(wanted, str) else list(wanted or [])
    unknown = [name for name in names if name not in observed]
    if unknown:
        raise ValueError(f"log_likelihood of idata_kwargs must name observed data, {observed}; got {unknown[0]!r}")
    return (kwargs | {"idata_kwargs": options} if names else kwargs), names


def add_log_likelihood(idata, model, names, progressbar):
    """Add log-likelihoods of the items of each partition, and PyMC's of data without a partition, in place."""
    rest = list(names)
    for partition in partitions_of(model):
        uses = {rv.name for rv in (*mixtures_of(model, partition), *other_uses(model, partition))}
        if uses.isdisjoint(names):
            continue
        rest = [name for name in rest if name not in uses]
        try:
            compute_log_likelihood(idata, model, var_name=partition.name, progressbar=progressbar)
        except (NotImplementedError, TypeError, ValueError) as error:
            _log.warning(f"log_likelihood of idata_kwargs: none for the items of {partition.name!r}, since {error}")
    if rest:
        own = pm.stats.compute_log_likelihood(
            idata, var_names=rest, extend_inferencedata=False, model=model, progressbar=progressbar
        )
        found = idata["log_likelihood"].to_dataset() if "log_likelihood" in idata.children else xr.Dataset()
        idata["log_likelihood"] = xr.DataTree(found.merge(own))
