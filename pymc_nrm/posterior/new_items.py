"""Where new items go: probabilities of clusters given their data, and labels where labels index parameters."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model
from pytensor.compile.sharedvalue import SharedVariable

from pymc_nrm.common.checks import check_count, check_name, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.models.rvs import checked_model, dims_of, find_partition, kind_of
from pymc_nrm.partitions.flat import Ordered
from pymc_nrm.posterior.any_draws import draws_class
from pymc_nrm.posterior.layout import draws_dataset


def cluster_probabilities(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    X_new: Any = None,
    estimate: Any = None,
    *,
    new_paths: Any = None,
    sequence: Any = None,
    var_name: str | None = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Probabilities that new items belong to the clusters of a point estimate, given their data.

    Parameters
    ----------
    %(idata)s
    %(model)s
    X_new : array_like, sparse matrix, DataArray or Dataset, shape (m, d) or (m,), or dict of them by mixture
        Data of the new items, each predicted by itself.  If several mixtures share the partition, give a dict with
        their names, and the names of the ``pm.Data`` on which covariates depend, as keys; data of mixtures that it
        omits count as unknown.  Columns that have the names of the features are found by them, in any order.  None for
        a likelihood with labels as an index, as in ``slope[z]``: the data are then the ones that ``pm.set_data`` has
        put into the model, see :func:`~pymc_nrm.sample_new_labels`.
    estimate : array_like of int, DataArray, or Dataset with the variable ``labels``, shape (n,), optional
        Labels of the old items; by default from :func:`~pymc_nrm.stats.point_estimate` with seed 0, or the partition
        itself if it is observed.  For a nested partition an :class:`~pymc_nrm.nested.ItemTree` with the levels
        of the draws, or paths, shape (n, depth); by default the tree of
        :func:`~pymc_nrm.nested.nested_point_estimate` with seed 0.  If its paths are known, labels of components; by
        default the point estimate of these.
    %(new_paths)s
    %(sequence)s
    %(partition)s
    %(progressbar)s

    Returns
    -------
    Dataset
        ``probability``, dims (new item, cluster), with the labels of the estimate in the coordinate ``cluster``, and
        ``new_cluster_probability``, dims (new item); together they add up to one for each item.  ``labels`` is the most
        probable cluster of each item, -1 for a new one.  The dimension of new items has the name that a DataArray or
        Dataset gives it, otherwise ``new_<dim of the partition's items>``.

        For a nested partition all three have the dimension ``level`` as well, after the new items.  The labels of a
        level are numbered as in :meth:`ItemTree.labels <pymc_nrm.nested.ItemTree.labels>`; labels beyond the last of a
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
    and the parameters integrated out.  The clusters of the draw differ from the clusters of the estimate.  An item that
    joins k counts towards cluster c of the estimate in proportion to the members that k has in c,

        ``P(c) = mean over draws of sum_k r_k |k and c| / |k|``.

    This is the probability that a random cluster mate of the new item is in cluster c.  If the draws agree with the
    estimate, it is the mean of r.  A draw that merges two clusters of the estimate splits r_k between them by their
    sizes, however close the item is to one of them, so probabilities far from zero and one may stem from doubt about
    the old items.  Draws that split a cluster of the estimate add up.

    In a draw of a nested partition, the new item goes to a leaf, or to new nodes below node k.  In the estimate, it
    takes the nodes of a random item of k down to the level of k, and new ones below it.  Probabilities of the children
    of a node, including a new child, thus add up to the probability of the node.

    Of hidden states, every new item is the next time of the sequence.

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
    draws.take_sequence(sequence)
    return draws.predict(X_new, estimate, progressbar)


def sample_new_labels(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    *,
    new_items: int | None = None,
    var_name: str | None = None,
    known: Any = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.DataTree:
    """Draw the labels of new items: of a number of them before any data are seen, or of those that are in the model.

    ``new_items`` is for partitions without slots, sampled or observed: which clusters further items join, and how many
    new ones they open, such as new species.  If labels index parameters, ``pm.set_data`` puts the data of the new items
    into the model, and ``pm.sample_posterior_predictive`` takes the result and predicts the data of the new items.

    Parameters
    ----------
    %(idata)s
    model : pymc.Model
        The model that was sampled; without ``new_items``, the data of the new items have replaced the old data.
    new_items : int, optional
        Number of new items, none of whose data are seen, for a partition without slots.
    %(partition)s
    known : list of str, optional
        Names of the observed variables whose values for the new items are known; by default all that depend on the
        labels.  With an empty list, labels are drawn before any data are seen, and observed values are not read.
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    DataTree
        With ``new_items``, the group ``predictions`` has their labels under the name of the partition, dims (chain,
        draw, ``new_<dim of the partition's items>``), and the number of clusters that they open,
        ``<name>_n_new_clusters``, dims (chain, draw).  Labels below the number of clusters of the draw are its
        clusters; new ones follow in order of appearance.

        Without ``new_items``, the group ``posterior`` has the draws of the free variables of ``idata``, with labels of
        the new items instead of the old ones, and without variables that have a dimension of the items: PyMC draws
        these from their prior.  The group ``constant_data`` has the present data of the model, so that PyMC knows that
        the labels belong to them.

    Raises
    ------
    TypeError
        If ``known`` is not a list of strings.
    ValueError
        If ``new_items`` is not a positive whole number, missing for a partition without ``max_clusters``, or given for
        one whose labels index parameters or that is nested; if ``known`` names data of ``new_items``; or, without
        ``new_items``, if a ``Mixture`` depends on the partition, a name does not belong to data with
        labels as an index, data depend on a variable that has one value for each old item, or if hidden states have
        ``sequences`` or data of new times are known.

    Notes
    -----
    With ``new_items``, labels are drawn in turn, each from the ratio of partition probabilities with and without it, u
    integrated out.  Jointly they have the exact distribution given the partition and the hyperparameters of the draw.
    With the Pitman-Yor process, an item opens a cluster with probability ``(theta + sigma k) / (theta + n)`` given k
    clusters of n items, and m items open ``(k + theta / sigma) ((theta + n + sigma)_m / (theta + n)_m - 1)`` in the
    mean (Favaro, Lijoi, Mena & Prünster 2009, "Bayesian non-parametric inference for species variety with a
    two-parameter Poisson-Dirichlet process prior"), with ``(a)_m = a (a + 1) ... (a + m - 1)``.

    If labels index parameters, a new item of a draw joins the slot s of n_s old items with the probability
    ``P(join s)`` of the prediction rule, u integrated out, and each of the K - k empty slots with
    ``P(new) / (K - k)``; a draw that uses all slots has no room for new ones.  If data y of an item are known, all its
    rows, the probabilities are proportional to these times ``p(y | theta_s)``.  Empty slots have parameters from their
    prior in every draw.

    Without data, labels are drawn jointly: new items may share a new cluster.  Given data, each item is drawn by itself
    given the old ones.  Draws of the other variables stay those given the old data: what new items say about parameters
    or about each other is not used.

    New items of hidden states with ``max_states`` are the next times: with ``known=[]``, paths of states are drawn
    forward from the last state, with transition rows integrated out.

    To predict further rows of items of which some rows are known, set the known rows, draw labels, then set the rows to
    be predicted and call ``pm.sample_posterior_predictive``.

    Examples
    --------
    How many new species are among 100 more trees, given the species of five:

    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as trees:
    ...     measure = nrm.PitmanYorProcess(0.3, pm.Gamma("concentration", 2, 1))
    ...     z = nrm.Partition("z", measure, observed=["oak", "oak", "elm", "oak", "ash"])
    >>> posterior = xr.Dataset({"concentration": (("chain", "draw"), [[0.5, 1.0, 2.0]])})
    >>> drawn = nrm.sample_new_labels(posterior, trees, new_items=100, random_seed=1, progressbar=False)
    >>> drawn["predictions"]["z_n_new_clusters"].values.tolist()
    [[7, 9, 12]]

    With labels that index parameters, of new items in the model:

    >>> with pm.Model(coords={"subject": ["a", "b", "c"]}) as model:
    ...     x = pm.Data("x", [1.0, 2.0, 1.0])
    ...     y = pm.Data("y_data", [1.1, 1.9, -5.0])
    ...     subject = pm.Data("row_subject", [0, 1, 2])
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="subject", max_clusters=4)
    ...     slope = pm.Normal("slope", 0, 5, shape=4)
    ...     likelihood = pm.Normal("y", slope[z][subject] * x, 0.1, observed=y)
    >>> sample = ("chain", "draw")
    >>> posterior = xr.Dataset({
    ...     "z": ((*sample, "subject"), [[[2, 2, 0]] * 3]),
    ...     "slope": ((*sample, "slot"), [[[-5.0, 9.0, 1.0, -9.0]] * 3]),
    ... })
    >>> model.set_dim("subject", 2, coord_values=["d", "e"])
    >>> new = {"x": [1.0, 3.0, 2.0], "y_data": [-5.1, -14.9, 2.0], "row_subject": [0, 0, 1]}
    >>> pm.set_data(new, model=model)
    >>> result = nrm.sample_new_labels(posterior, model, random_seed=1)
    >>> result["posterior"]["z"].values.tolist()
    [[[0, 2], [0, 2], [0, 2]]]
    >>> pm.set_data({"x": [10.0], "row_subject": [1], "y_data": [0.0]}, model=model)
    >>> predicted = pm.sample_posterior_predictive(result, model=model, predictions=True, progressbar=False)
    >>> predicted["predictions"]["y"].round(0).values.tolist()
    [[[10.0], [10.0], [10.0]]]
    """
    model = checked_model(model)
    partition = find_partition(model, var_name, nested=True)
    if new_items is not None:
        return _new_labels(idata, model, partition, new_items, known, random_generator(random_seed), progressbar)
    draws = draws_class(partition).with_new_data(idata, model, partition)
    names = _known(known, draws.indexed)
    rng = random_generator(random_seed)
    labels = np.empty((len(draws), draws.n_items), dtype=np.int64)
    if names:
        for draw, table in draws.new_slots(names).tables("Drawing labels", progressbar):
            cumulative = np.cumsum(np.exp(table), axis=1)
            places = rng.random(len(cumulative)) * cumulative[:, -1]
            labels[draw.index] = (cumulative <= places[:, None]).sum(axis=1)
    else:
        for draw in tracked(draws, "Drawing labels", progressbar):
            labels[draw.index] = draws.draw_new_slots(draw, rng)
    return _result(draws, labels)


def _new_labels(idata, model, partition, new_items, known, rng, progressbar):
    """Draw labels of new items of a partition without slots, and count the clusters that they open."""
    check_count("new_items", new_items, 1)
    if not isinstance(kind_of(partition), Ordered):
        raise ValueError(
            f"new_items must be None for {kind_of(partition).title} {partition.name!r}, whose labels index parameters, "
            "or depend on times or on weights of your own, or are paths; it is for a Partition without slots"
        )
    if known is not None and list(known):
        raise ValueError(f"known must be None or [] with new_items, none of whose data are known; got {known!r}")
    draws = draws_class(partition)(idata, model, partition)
    labels, n_new = np.empty((len(draws), new_items), dtype=np.int64), np.empty(len(draws), dtype=np.int64)
    for draw in tracked(draws, "Drawing labels", progressbar):
        labels[draw.index] = draws.labels_with_new(draw, new_items, rng)[draws.n_items :]
        n_new[draw.index] = max(labels[draw.index].max() - draw.labels.max(), 0)
    names = {partition.name: ((f"new_{draws.item_dim}",), labels), f"{partition.name}_n_new_clusters": ((), n_new)}
    return xr.DataTree.from_dict({"predictions": draws_dataset(draws.posterior, names, {})})


def _known(known, data):
    if known is None:
        return data
    if not isinstance(known, list | tuple):
        raise TypeError(f"known must be a list of names of observed variables, or None for all; got {known!r}")
    for name in known:
        check_name("known", name, "an observed variable, or a list of names")
        if name not in data:
            raise ValueError(f"known must be observed variables that depend on the labels, of {data}; got {name!r}")
    return list(dict.fromkeys(known))


def _result(draws, labels):
    model, partition = draws.model, draws.rv
    dim = dims_of(model, partition)[0]
    posterior = draws.posterior
    shapes = model.eval_rv_shapes()
    kept = {}
    for rv in model.free_RVs:
        if rv is not partition and rv.name in posterior and dim not in dims_of(model, rv):
            array = posterior[rv.name].transpose("chain", "draw", ...)
            if array.shape[2:] == tuple(shapes[rv.name]):
                kept[rv.name] = array
    values = labels.reshape(posterior.sizes["chain"], posterior.sizes["draw"], -1)
    coords = model.coords.get(dim)
    coords = np.arange(values.shape[2]) if coords is None else np.asarray(coords)
    completed = xr.Dataset(kept).drop_vars(dim, errors="ignore").assign_attrs(posterior.attrs)
    completed[partition.name] = (("chain", "draw", dim), values, posterior[partition.name].attrs)
    completed = completed.assign_coords({dim: coords})
    constant = {
        variable.name: (dims_of(model, variable), variable.get_value())
        for variable in model.data_vars
        if isinstance(variable, SharedVariable)
    }
    used = {name: np.asarray(values) for name, values in model.coords.items() if values is not None}
    used = {name: values for name, values in used.items() if any(name in dims for dims, _ in constant.values())}
    return xr.DataTree.from_dict({"posterior": completed, "constant_data": xr.Dataset(constant, used)})
