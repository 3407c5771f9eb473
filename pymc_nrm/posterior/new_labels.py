"""Labels of new items where labels index parameters, from which PyMC predicts all else."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model
from pymc.util import get_random_generator
from pytensor.compile.sharedvalue import SharedVariable

from pymc_nrm.common.checks import check_name, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.models.rvs import checked_model, dims_of, find_partition
from pymc_nrm.posterior.any_draws import draws_class
from pymc_nrm.posterior.slot_draws import NewSlots


def sample_new_labels(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    *,
    var_name: str | None = None,
    known: Any = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.DataTree:
    """Draw the labels of new items, which ``pm.set_data`` has put into a model whose labels index parameters.

    ``pm.sample_posterior_predictive`` takes the result and predicts the data of the new items.

    Parameters
    ----------
    %(idata)s
    model : pymc.Model
        The model that was sampled, with the data of the new items in place of those of the old ones.
    %(partition)s
    known : list of str, optional
        Names of the observed variables whose values for the new items are known; by default all that depend on the
        labels.  With an empty list, labels are drawn before any data are seen, and observed values are not read.
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    DataTree
        The group ``posterior`` has the draws of the free variables of ``idata``, but the labels of the new items in
        place of those of the old ones, and without variables that have a dimension of the items: PyMC draws these from
        their prior.  The group ``constant_data`` has the present data of the model, so that PyMC knows that the labels
        belong to them.

    Raises
    ------
    TypeError
        If ``known`` is not a list of strings.
    ValueError
        If the partition has no ``max_clusters``, a ``Mixture`` depends on it, a name is not that of data with labels as
        an index, or data depend on a variable that has one value for each old item.

    Notes
    -----
    In a draw, a new item joins the slot s of n_s old items with the probability ``P(join s)`` of the prediction rule, u
    integrated out, and each of the K - k empty slots with ``P(new) / (K - k)``; a draw that uses all slots has no
    room for new ones.  If data y of an item are known, all its rows, the probabilities are proportional to these times
    ``p(y | theta_s)``.  Empty slots have parameters from their prior in every draw.

    Without data, labels are drawn jointly: new items may share a new cluster.  Given data, each item is drawn by itself
    given the old ones.  Draws of the other variables stay those given the old data: what new items say about parameters
    or about each other is not used.

    To predict further rows of items of which some rows are known, set the known rows, draw labels, then set the rows to
    be predicted and call ``pm.sample_posterior_predictive``.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
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
    draws = draws_class(partition).with_new_data(idata, model, partition)
    names = _known(known, draws.indexed)
    rng = get_random_generator(random_generator(random_seed))
    labels = np.empty((len(draws), draws.n_items), dtype=np.int64)
    if names:
        for draw, table in NewSlots(draws, names).tables("Drawing labels", progressbar):
            cumulative = np.cumsum(np.exp(table), axis=1)
            places = rng.random(len(cumulative)) * cumulative[:, -1]
            labels[draw.index] = (cumulative <= places[:, None]).sum(axis=1)
    else:
        for draw in tracked(draws, "Drawing labels", progressbar):
            labels[draw.index] = draws.draw_new_slots(draw, rng)
    return _result(draws, labels)


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
    found = xr.Dataset(kept).drop_vars(dim, errors="ignore").assign_attrs(posterior.attrs)
    found[partition.name] = (("chain", "draw", dim), values, posterior[partition.name].attrs)
    found = found.assign_coords({dim: coords})
    constant = {
        variable.name: (dims_of(model, variable), variable.get_value())
        for variable in model.data_vars
        if isinstance(variable, SharedVariable)
    }
    used = {name: np.asarray(values) for name, values in model.coords.items() if values is not None}
    used = {name: values for name, values in used.items() if any(name in dims for dims, _ in constant.values())}
    return xr.DataTree.from_dict({"posterior": found, "constant_data": xr.Dataset(constant, used)})
