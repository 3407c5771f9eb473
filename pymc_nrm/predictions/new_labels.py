"""Labels of new items: the clusters that they join."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.common.progress import tracked
from pymc_nrm.model.rvs import checked_model, dims_of, find_partition, has_known_paths, is_nested_partition, n_slots
from pymc_nrm.partitions.labels import canonical_labels, label_counts
from pymc_nrm.predictions.any_draws import check_new_paths, draws_of
from pymc_nrm.predictions.nested_labels import predict_nested_labels
from pymc_nrm.predictions.new_items import NewItems
from pymc_nrm.predictions.new_slots import NewSlots
from pymc_nrm.predictions.slot_draws import SlotDraws, data_of_items
from pymc_nrm.predictions.tables import log_sum_rows
from pymc_nrm.stats.point_estimate import point_estimate


def predict_labels(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    X_new: Any = None,
    estimate: Any = None,
    *,
    new_paths: Any = None,
    var_name: str | None = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Probabilities that new items belong to the clusters of a point estimate, given their data.

    Parameters
    ----------
    idata : DataTree or Dataset
        Posterior draws.
    model : pymc.Model
        The model that was sampled.
    X_new : array_like, sparse matrix, DataArray or Dataset, shape (m, d) or (m,), or dict of them by mixture
        Data of the new items, each predicted by itself.  If several mixtures share the partition, give a dict by their
        names; data of mixtures that it omits count as unknown.  None for a likelihood with labels as an index, as in
        ``slope[z]``: the data are then those that ``pm.set_data`` has put into the model, see
        :func:`~pymc_nrm.sample_new_labels`.
    estimate : array_like of int, DataArray, or Dataset with the variable ``labels``, shape (n,), optional
        Labels of the old items; by default those of :func:`~pymc_nrm.stats.point_estimate` with seed 0, or those of the
        partition itself if it is observed.  For a nested partition an :class:`~pymc_nrm.stats.ItemTree` with the levels
        of the draws, or paths, shape (n, depth); by default the tree of
        :func:`~pymc_nrm.stats.nested_point_estimate` with seed 0.  If its paths are known, labels of components; by
        default the point estimate of these.
    new_paths : array_like of int or str, shape (m,) or (m, depth), optional
        Groups of the new items, known or new ones, for a nested partition with known paths, which needs them; one row
        stands for all new items.
    var_name : str, optional
        Name of the partition or nested partition; by default the only one of the model.
    progressbar : bool
        Whether to show a bar if it takes longer than two seconds.

    Returns
    -------
    Dataset
        ``probability``, dims (new item, cluster), with the labels of the estimate in the coordinate ``cluster``, and
        ``new_cluster_probability``, dims (new item); together they add up to one for each item.  ``labels`` is the most
        probable cluster of each item, -1 for a new one.  The dimension of new items is that of a DataArray or Dataset,
        otherwise ``new_<dim of the partition's items>``.

        For a nested partition all three have the dimension ``level`` as well, after that of new items, and the labels
        of a level are those of :meth:`ItemTree.labels <pymc_nrm.stats.ItemTree.labels>`; labels beyond the last of a
        level have probability zero.  ``labels`` is a path, from the root down the most probable child, or -1 for a new
        node and all below it.

    Raises
    ------
    TypeError
        If data are not numbers.
    ValueError
        If groups of new items are missing or have no meaning, the estimate and the partition have different numbers of
        items, new data have the wrong shape or values outside the support of their family, or the draws or the model
        lack a variable.

    Notes
    -----
    In a draw, the new item joins cluster k with probability r_k proportional to ``P(join k) p(x | items of k)``, with u
    and the parameters integrated out.  The clusters of the draw are not those of the estimate.  An item that joins k
    counts towards cluster c of the estimate in proportion to the members that k has in c,

        ``P(c) = mean over draws of sum_k r_k |k and c| / |k|``.

    This is the probability that a random cluster mate of the new item is in cluster c.  If the draws agree with the
    estimate, it is the mean of r.  A draw that merges two clusters of the estimate splits r_k between them by their
    sizes, however close the item is to one of them, so probabilities far from zero and one may stem from doubt about
    the old items.  Draws that split a cluster of the estimate add up.

    In a draw of a nested partition, the new item goes to a leaf, or to new nodes below node k.  In the estimate, it
    takes the nodes of a random item of k down to the level of k, and new ones below it.  Probabilities of the children
    of a node and that of a new child thus add up to the probability of the node.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> from pymc_nrm.predictions import predict_labels
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> predicted = predict_labels(posterior, model, [0, 10], estimate=[0, 0, 1])
    >>> predicted.probability.round(2).values.tolist()
    [[0.5, 0.06], [0.21, 0.56]]
    >>> predicted.labels.values.tolist()
    [0, 1]
    """
    model = checked_model(model)
    partition = find_partition(model, var_name, nested=True)
    check_new_paths(partition, new_paths)
    grouped = has_known_paths(partition)
    if is_nested_partition(partition) and not grouped and X_new is not None:
        return predict_nested_labels(draws_of(idata, model, partition.name, new_paths), X_new, estimate, progressbar)
    names = data_of_items(model, partition) if n_slots(partition) is not None else []
    if names or X_new is None:
        if X_new is not None:
            raise ValueError(
                f"X_new must be None, since {names[0]!r} depends on the labels of {partition.name!r} as an index: give "
                "the data of new items to the model by pm.set_data"
            )
        if not names:
            raise ValueError(
                f"X_new must be given for the partition {partition.name!r}, whose data are of mixtures only"
            )
        return _predict_slots(SlotDraws(idata, model, partition.name), names, estimate, progressbar)
    draws = draws_of(idata, model, partition.name, new_paths)
    if estimate is None and partition in model.free_RVs:
        labels = draws.posterior[partition.name]
        estimate = point_estimate(labels.isel({draws.column_dim: -1}) if grouped else labels, random_seed=0)
    elif estimate is None:
        estimate = next(iter(draws)).labels
    labels, names = _estimate_labels(estimate, draws.n_items)
    items = NewItems(draws, X_new)
    total = 0.0
    for draw, table in items.tables("Predicting labels", progressbar):
        counts = label_counts(draw.labels)
        joined = np.exp(table - log_sum_rows(table)[:, None])
        cells = np.bincount(draw.labels * len(names) + labels, minlength=len(counts) * len(names))
        shares = cells.reshape(len(counts), len(names)) / counts[:, None]
        total += np.column_stack([joined[:, :-1] @ shares, joined[:, -1]])
    return _dataset(total / len(draws), names, items.dim, items.coords)


def _predict_slots(draws, data, estimate, progressbar):
    """Labels of new items whose parameters are those of slots."""
    if estimate is None:
        estimate = point_estimate(draws.posterior[draws.partition.name], random_seed=0)
    labels, names = _estimate_labels(estimate, draws.n_old_items)
    total = 0.0
    with tracked(NewSlots(draws, data), "Predicting labels", progressbar) as progressing:
        for draw, table in progressing:
            cells = np.bincount(draw.slots * len(names) + labels, minlength=draws.n_slots * len(names))
            cells = cells.reshape(draws.n_slots, len(names))
            counts = cells.sum(axis=1)
            joined, shares = np.exp(table), cells / np.maximum(counts, 1)[:, None]
            total += np.column_stack([joined @ shares, joined[:, counts == 0].sum(axis=1)])
    dim = dims_of(draws.model, draws.partition)[0]
    values = draws.model.coords.get(dim)
    coords = {} if values is None else {f"new_{dim}": np.asarray(values)}
    return _dataset(total / len(draws), names, f"new_{dim}", coords)


def _dataset(total, names, dim, coords):
    best = np.argmax(total, axis=1)
    return xr.Dataset(
        {
            "probability": ((dim, "cluster"), total[:, :-1]),
            "new_cluster_probability": ((dim,), total[:, -1]),
            "labels": ((dim,), np.append(names, -1)[best]),
        },
        coords={**coords, "cluster": names},
    )


def _estimate_labels(estimate, n_items):
    """Labels 0, 1, ... of the items in the estimate, and the names of its clusters in this order."""
    if isinstance(estimate, xr.Dataset):
        if "labels" not in estimate:
            raise ValueError(f"estimate must have the variable labels; it has {sorted(map(str, estimate.data_vars))}")
        estimate = estimate["labels"]
    values = numeric_array("estimate", estimate)
    if values.shape != (n_items,):
        raise ValueError(f"estimate must hold one label for each of the {n_items} items; got shape {values.shape}")
    labels = canonical_labels(values, "estimate")
    names, first = np.unique(values, return_index=True)
    names = names[np.argsort(first)].astype("int64")
    if (names < 0).any():
        raise ValueError(f"estimate must have labels of at least 0, since -1 means a new cluster; got {names.min()}")
    return labels, names
