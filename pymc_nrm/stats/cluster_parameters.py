"""Parameters of the clusters of a point estimate, where labels index them."""

from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_name
from pymc_nrm.common.result_names import added_names, result_dataset
from pymc_nrm.stats.contingency import counts_by_row
from pymc_nrm.stats.draws import (
    estimated_items,
    item_dimension,
    partition_draws,
    slot_variables,
    variable_names,
)
from pymc_nrm.stats.point_estimate import chosen_estimate, compared_draws
from pymc_nrm.stats.result import Result, posterior_by_chain


def cluster_parameters(
    idata: xr.DataTree | xr.Dataset, estimate: Any = None, var_names: Any = None, *, var_name: str | None = None
) -> xr.Dataset:
    """Draws of the parameters of the clusters of a point estimate, where labels index parameters as in ``slope[z]``.

    Slots are only names: slot 3 of one draw is not slot 3 of another.  The parameters that an item has in its slot do
    not depend on names, nor do their means over the items of a cluster of the estimate, which this function returns.

    Parameters
    ----------
    %(result)s
    estimate : array_like of int, DataArray, or Dataset with the variable ``labels``, shape (n,), optional
        Labels of the items; by default the labels of :func:`~pymc_nrm.point_estimate` with seed 0.
    var_names : str or list of str, optional
        Variables with an entry for each slot along their first dimension; by default those that
        :func:`~pymc_nrm.sample` has marked as parameters of the slots of the partition.
    var_name : str, optional
        Name of the partition; by default the one of these variables, or the only one.

    Returns
    -------
    Dataset
        The variables by their names, dims (chain, draw, cluster) and their other dimensions except the slots.
        The coordinate ``cluster`` holds the labels of the estimate, large clusters first, and the coordinate
        ``size``, dims (cluster), the numbers of items.

    Raises
    ------
    TypeError
        If names are not strings, or variables do not hold numbers.
    ValueError
        If there is no such partition or variable, a variable lacks entries for slots, or the estimate is not one label
        for each item.

    Notes
    -----
    The value of a cluster C of the estimate in a draw is ``sum_(i in C) slope[z_i] / |C|``.  Where a draw has all items
    of C in one slot, this is the parameter of that slot, whether or not other items are there too.  Where a draw splits
    C over several slots, it is a mean over these, which no item need have: doubt about the partition then widens the
    spread of the draws, beside doubt about the parameters.  If the mean should be taken on another scale, make the
    transformed parameter a ``pm.Deterministic`` of the model and give its name.

    :func:`~pymc_nrm.sample_cluster_parameters`, in contrast, draws the parameters of the clusters of every draw of a
    conjugate :class:`~pymc_nrm.Mixture`, which integrates them out; it relates them to no estimate.

    Examples
    --------
    >>> sample = ("chain", "draw")
    >>> posterior = xr.Dataset({
    ...     "z": ((*sample, "item"), [[[2, 2, 0], [0, 0, 1]]], {"partition": "z"}),
    ...     "slope": ((*sample, "slot"), [[[5.0, 0.3, 1.0], [1.2, 5.2, 9.9]]], {"slots_of": "z"}),
    ... })
    >>> parameters = cluster_parameters(posterior, [7, 7, 8])
    >>> parameters.slope.values.tolist(), parameters["size"].values.tolist()
    ([[[1.0, 5.0], [1.2, 5.2]]], [2, 1])
    """
    result = Result(idata)
    posterior = posterior_by_chain(result.posterior)
    names, partition = _names(result, posterior, var_names, var_name)
    draws = partition_draws(posterior, partition)
    clusters, labels = chosen_estimate(estimate, compared_draws(draws, estimate), random_seed=0)
    sizes = np.bincount(clusters)
    order = np.argsort(-sizes, kind="stable")
    slots = posterior[partition].transpose("chain", "draw", item_dimension(draws)).values
    slots = slots[:, :, estimated_items(draws, estimate)]
    slots = slots.reshape(-1, slots.shape[2])
    n_slots = int(slots.max()) + 1
    # Shares of the items of each cluster in each slot, shape (S, n_slots).
    shares = [counts_by_row(slots[:, clusters == k], n_slots) / sizes[k] for k in order]
    arrays = {name: posterior[name].transpose("chain", "draw", ...) for name in names}
    kept = {dim: posterior[dim] for array in arrays.values() for dim in array.dims[:2] + array.dims[3:]}
    dim, size = added_names({*names, *kept}, "cluster", "size")
    variables = {
        name: (("chain", "draw", dim, *array.dims[3:]), _means(array, shares, n_slots))
        for name, array in arrays.items()
    }
    coords = {name: coord for name, coord in kept.items() if name in posterior.coords}
    coords |= {dim: labels[order], size: (dim, sizes[order])}
    return result_dataset(variables, coords, {"partition": partition})


def _names(result, posterior, var_names, var_name):
    """Names of the variables, and of their partition."""
    marked = slot_variables(posterior)
    if var_names is not None:
        names = variable_names(var_names, posterior)
    if var_name is None:
        partitions = {marked[name] for name in (marked if var_names is None else names) if name in marked}
        partitions = sorted(partitions) or result.partitions
        if len(partitions) != 1:
            raise ValueError(f"var_name must be the name of one partition, of {partitions}; got None")
        [var_name] = partitions
    else:
        check_name("var_name", var_name, "one partition")
    if var_names is None:
        names = [name for name, partition in marked.items() if partition == var_name]
        if not names:
            raise ValueError(
                "var_names must be given, since no variable of the posterior is marked as holding parameters of slots "
                f"of {var_name!r}, as nrm.sample does; variables are {list(posterior.data_vars)}"
            )
    return list(dict.fromkeys(names)), var_name


def _means(array, shares, n_slots):
    if array.dtype.kind not in "biuf":
        raise TypeError(f"var_names must be of numbers; {array.name!r} holds {array.dtype}")
    if array.ndim < 3 or array.shape[2] < n_slots:
        raise ValueError(
            f"var_names must have an entry for each slot along their first dimension; {array.name!r} has dimensions "
            f"{dict(array.sizes)}, and there are labels up to {n_slots - 1}"
        )
    values = array.values.reshape(-1, *array.shape[2:])
    means = []
    for share in shares:
        # Entries of slots without items of the cluster may be infinite.
        weights = np.expand_dims(share, tuple(range(2, values.ndim)))
        means.append((weights * np.where(weights > 0, values[:, :n_slots], 0.0)).sum(axis=1))
    return np.stack(means, axis=1).reshape(*array.shape[:2], len(shares), *array.shape[3:])
