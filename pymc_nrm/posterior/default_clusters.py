"""The clusters that descriptions and pictures show by default, and draws with which an estimate is compared."""

import functools
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from pymc_nrm.common.pymc_internals import find_observations
from pymc_nrm.models.rvs import checked_model, dims_of, find_partition, kind_of
from pymc_nrm.posterior.fused_estimate import fused_estimate, why_not_fused
from pymc_nrm.posterior.marked_items import mark_items
from pymc_nrm.stats.draws import draws_of_items, estimated_items, partition_draws
from pymc_nrm.stats.losses import read_estimate
from pymc_nrm.stats.point_estimate import draws_of_estimate, point_estimate
from pymc_nrm.stats.result import posterior_of, shows_bars


class ShownClusters(NamedTuple):
    """Clusters of an estimate, with what says how certain they are."""

    # The estimate as given, or the default one.
    estimate: Any
    # Labels of the items in order of appearance (n,), and what the estimate calls these clusters.
    labels: Any
    names: Any
    # Draws with which the estimate is compared, fused as well if the estimate is.
    draws: xr.DataArray
    # Draws of all items as they are, and whether the estimate has each of them, bool (n_all,).
    all_draws: xr.DataArray
    kept: Any
    # Number of components that were fused, or None.
    n_components: int | None
    # Why the default is not fused, or None.
    why_not_fused: str | None
    # What the clusters are in a tree, or None.
    of_tree: str | None = None


def clusters_to_show(idata, model, rv, estimate=None, components=False, level=None):
    """Return :class:`ShownClusters` of a partition: of an estimate, or else fused components where they may be fused.

    With ``components``, or where components are not fused, the default is the point estimate.  Seeds are fixed, and
    progress bars are shown if the run showed them.
    """
    return clusters_of_kind(kind_of(rv), idata, model, rv, estimate, components, level)


@functools.singledispatch
def clusters_of_kind(kind, idata, model, rv, estimate, components, level):
    """:func:`clusters_to_show` of a partition of a kind; wings register what they show of theirs."""
    if level is not None:
        raise ValueError(f"level must be None, since {rv.name!r} is not nested; got {level!r}")
    draws, reason = draws_of_partition(idata, model, rv), None
    if estimate is None and rv in model.observed_RVs:
        estimate = draws.isel(chain=0, draw=0)
    elif estimate is None:
        reason = None if components else why_not_fused(model, rv) or _why_not_compared(idata, model)
        if components or reason is not None:
            estimate = point_estimate(draws, random_seed=0, progressbar=shows_bars(idata))
        else:
            estimate = fused_estimate(idata, model, var_name=rv.name, random_seed=0, progressbar=shows_bars(idata))
    labels, names = read_estimate(estimate, draws_of_items(draws, estimate))
    fused = isinstance(estimate, xr.Dataset) and "component_size" in estimate
    n_components = estimate["component_size"].size if fused else None
    used = draws_of_estimate(draws, estimate)
    return ShownClusters(estimate, labels, names, used, draws, estimated_items(draws, estimate), n_components, reason)


def draws_of_partition(idata, model, rv):
    """Draws of a flat partition of a model; observed labels are one draw."""
    if rv in model.observed_RVs:
        dim, labels = dims_of(model, rv)[0], np.asarray(find_observations(model)[rv.name], dtype="int64")
        coords = {} if model.coords.get(dim) is None else {dim: np.asarray(model.coords[dim])}
        draws = xr.DataArray(labels, coords, (dim,), rv.name, kind_of(rv).marks()).expand_dims(chain=[0], draw=[0])
        return partition_draws(draws)
    return partition_draws(mark_items(posterior_of(idata), model, rv), rv.name)


def _why_not_compared(idata, model):
    """Why components cannot be compared by their parameters, in a few words, or None."""
    kept = set(posterior_of(idata))
    if isinstance(idata, xr.DataTree) and "clusters" in idata.children:
        # Mixtures of rows in chunks.
        kept |= set(idata["clusters"].data_vars)
    absent = [rv.name for rv in model.free_RVs if rv.name not in kept]
    return f"the draws have no {absent[0]!r}" if absent else None


def default_clusters(idata, model, var_name=None, estimate=None):
    """:func:`clusters_to_show` by default, of the partition of a name."""
    model = checked_model(model)
    return clusters_to_show(idata, model, find_shown_partition(model, var_name), estimate)


def find_shown_partition(model, var_name):
    """Find the partition of a model whose clusters are shown: the flat one if there are others, or a nested one."""
    model = checked_model(model)
    flat = any(kind_of(rv).depth is None for rv in model.basic_RVs if kind_of(rv) is not None)
    is_nested = (
        isinstance(var_name, str)
        and var_name in model.named_vars
        and getattr(kind_of(model[var_name]), "depth", None) is not None
    )
    if is_nested or not flat:
        return find_partition(model, var_name, nested=True)
    return find_partition(model, var_name, chunked=True)
