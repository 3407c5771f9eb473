"""Probabilities of the clusters that new items join."""

from typing import Any

import xarray as xr
from pymc.model import Model

from pymc_nrm.models.rvs import checked_model, find_partition
from pymc_nrm.posterior.any_draws import draws_class


def cluster_probabilities(
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
    %(idata)s
    %(model)s
    X_new : array_like, sparse matrix, DataArray or Dataset, shape (m, d) or (m,), or dict of them by mixture
        Data of the new items, each predicted by itself.  If several mixtures share the partition, give a dict by their
        names, and by those of the ``pm.Data`` on which covariates depend; data of mixtures that it omits count as
        unknown.  None for a likelihood with labels as an index, as in
        ``slope[z]``: the data are then those that ``pm.set_data`` has put into the model, see
        :func:`~pymc_nrm.sample_new_labels`.
    estimate : array_like of int, DataArray, or Dataset with the variable ``labels``, shape (n,), optional
        Labels of the old items; by default those of :func:`~pymc_nrm.stats.point_estimate` with seed 0, or those of the
        partition itself if it is observed.  For a nested partition an :class:`~pymc_nrm.stats.ItemTree` with the levels
        of the draws, or paths, shape (n, depth); by default the tree of
        :func:`~pymc_nrm.stats.nested_point_estimate` with seed 0.  If its paths are known, labels of components; by
        default the point estimate of these.
    %(new_paths)s
    %(partition)s
    %(progressbar)s

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
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> predicted = nrm.cluster_probabilities(posterior, model, [0, 10], estimate=[0, 0, 1])
    >>> predicted.probability.round(2).values.tolist()
    [[0.5, 0.06], [0.21, 0.56]]
    >>> predicted.labels.values.tolist()
    [0, 1]
    """
    model = checked_model(model)
    partition = find_partition(model, var_name, nested=True)
    draws = draws_class(partition).for_new_items(idata, model, partition, X_new)
    draws.take_new_paths(new_paths)
    return draws.predict(X_new, estimate, progressbar)
