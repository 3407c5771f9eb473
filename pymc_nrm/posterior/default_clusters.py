"""The clusters that descriptions and pictures show by default, and draws with which an estimate is compared."""

from typing import Any, NamedTuple

import xarray as xr

from pymc_nrm.models.rvs import checked_model, find_partition
from pymc_nrm.posterior.fused_estimate import fused_estimate, why_not_fused
from pymc_nrm.stats.draws import partition_draws, posterior_of
from pymc_nrm.stats.losses import read_estimate
from pymc_nrm.stats.point_estimate import draws_of_estimate, point_estimate


class ShownClusters(NamedTuple):
    """Clusters of an estimate, with what says how certain they are."""

    # The estimate as given, or the default one.
    estimate: Any
    # Labels of the items in order of appearance (n,), and what the estimate calls these clusters.
    labels: Any
    names: Any
    # Draws with which the estimate is compared; those of a fused estimate are fused as well.
    draws: xr.DataArray
    # Number of components that were fused, or None.
    n_components: int | None
    # Why the default is not fused, or None.
    why_not_fused: str | None


def clusters_to_show(idata, model, rv, estimate=None, components=False):
    """Return :class:`ShownClusters` of a partition: of an estimate, or else fused components where they may be fused.

    With ``components``, or where components are not fused, the default is the point estimate.  Seeds are fixed.
    """
    draws = partition_draws(posterior_of(idata), rv.name)
    reason = None
    if estimate is None:
        reason = None if components else why_not_fused(model, rv) or _why_not_compared(idata, model)
        if components or reason is not None:
            estimate = point_estimate(draws, random_seed=0)
        else:
            estimate = fused_estimate(idata, model, var_name=rv.name, random_seed=0)
    labels, names = read_estimate(estimate, draws)
    fused = isinstance(estimate, xr.Dataset) and "component_size" in estimate
    n_components = estimate.sizes["component"] if fused else None
    return ShownClusters(estimate, labels, names, draws_of_estimate(draws, estimate), n_components, reason)


def _why_not_compared(idata, model):
    """Why components cannot be compared by their parameters, in a few words, or None."""
    absent = [rv.name for rv in model.free_RVs if rv.name not in posterior_of(idata)]
    return f"the draws have no {absent[0]!r}" if absent else None


def default_clusters(idata, model, var_name=None):
    """:func:`clusters_to_show` by default, of the partition of a name."""
    model = checked_model(model)
    return clusters_to_show(idata, model, find_partition(model, var_name, chunked=True))
