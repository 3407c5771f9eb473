"""Replications of the data from the clusters found, and data of new items."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model
from pymc.util import get_random_generator

from pymc_nrm.common.checks import check_count, check_name, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.families.needs import check_needs
from pymc_nrm.models.rvs import checked_model, is_mixture
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.layout import MixtureLayout, draws_dataset, partition_coords


def sample_posterior_predictive(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    *,
    new_items: int = 0,
    new_paths: Any = None,
    var_names: Any = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.DataTree:
    """Draw replications of the data from the clusters of every posterior draw, and data of new items.

    Parameters of clusters are drawn given the partition and the data.  The clusters of
    ``pm.sample_posterior_predictive``, in contrast, get new parameters from the base measure.

    Parameters
    ----------
    %(idata)s
    %(model)s
    new_items : int
        Number of new items of every partition involved.
    %(new_paths)s
    var_names : str or sequence of str, optional
        Names of mixtures.  By default all observed mixtures, or all mixtures if none is observed.
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    DataTree
        The group ``posterior_predictive`` has the replications, dims (chain, draw) and those of the mixture.  The group
        ``predictions``, which exists only with new items, has their data, and their labels under the name of the
        partition, with the dimension ``new_<dim of the partition's items>``, for a nested partition also with that of
        its columns.  The group ``observed_data`` is that of
        ``idata``, if it has one.

    Raises
    ------
    ValueError
        If the draws or the model lack a variable, groups of new items are missing or have no meaning, ``new_items`` is
        not a whole number of at least 0, or there are new items but a hyperparameter has one value for each old item.

    Notes
    -----
    Labels of new items are drawn one after another from the predictive law of the partition with u integrated out
    (ratios of partition probabilities).  Labels below the number of clusters of the draw are its clusters.  The next
    ones are clusters that new items open and may share; their parameters come from the base measure.  Mixtures over the
    same partition share these labels.  The same holds for nodes, tables and components of a nested partition, and means
    of new nodes diffuse from those of their parents.

    Missing entries of the data are drawn as well, and are imputations given the partition and the parameters.
    ``MultinomialDirichlet`` replicates the row sums of the data; for new items, all row sums must be equal.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> drawn = nrm.sample_posterior_predictive(posterior, model, new_items=2, random_seed=1)
    >>> dict(drawn["posterior_predictive"].sizes)
    {'chain': 1, 'draw': 2, 'x_dim_0': 3}
    >>> dict(drawn["predictions"].sizes)
    {'chain': 1, 'draw': 2, 'new_item': 2}
    """
    model = checked_model(model)
    check_count("new_items", new_items, 0)
    if new_paths is not None and new_items == 0:
        raise ValueError(f"new_paths must be None unless there are new_items; got {new_paths!r}")
    layouts = _layouts(model, var_names)
    partitions = [draws_of(idata, model, name) for name in dict.fromkeys(layout.partition for layout in layouts)]
    if new_paths is not None:
        # They are for all partitions with known paths; others refuse them.
        for draws in [draws for draws in partitions if draws.takes_new_paths] or partitions:
            draws.take_new_paths(new_paths)
    rng = get_random_generator(random_generator(random_seed))
    replicated, predicted, coords, new_coords = {}, {}, {}, {}
    for draws in partitions:
        group = [layout for layout in layouts if layout.partition == draws.partition]
        for layout in group:
            check_needs(layout.family_class, draws.needs_of_data, "sample_posterior_predictive")
        new_dim = f"new_{draws.item_dim}"
        labels, results = _draw(draws, group, new_items, rng, progressbar)
        columns = {f"{draws.partition}_{dim}": names for dim, names in draws.kind.coords().items()}
        predicted[draws.partition] = ((new_dim, *columns), labels)
        new_coords |= columns
        for layout in group:
            dims, values = layout.data_dims(layout.item_dim), results[layout.name]
            values = values[..., 0] if layout.univariate else values
            n_rows = values.shape[1] - new_items
            replicated[layout.name] = (dims, values[:, :n_rows])
            predicted[layout.name] = (layout.data_dims(new_dim), values[:, n_rows:])
            new_coords |= layout.coords(dims[1:])
            coords |= partition_coords(draws) | layout.coords(dims)
    posterior = partitions[0].posterior
    tree = {"posterior_predictive": draws_dataset(posterior, replicated, coords)}
    if new_items:
        tree["predictions"] = draws_dataset(posterior, predicted, new_coords)
    if isinstance(idata, xr.DataTree) and "observed_data" in idata.children:
        tree["observed_data"] = idata["observed_data"].to_dataset()
    return xr.DataTree.from_dict(tree)


def _layouts(model, var_names):
    if not isinstance(var_names, str | list | tuple | None):
        raise TypeError(f"var_names must be a string or a list of strings; got {var_names!r}")
    if var_names is None:
        names = [rv.name for rv in model.basic_RVs if is_mixture(rv)]
        layouts = [MixtureLayout(model, name, nested=True) for name in names]
        if not layouts:
            raise ValueError(
                f"model must have a Mixture; got one with the variables {sorted(model.named_vars)}. For likelihoods "
                "with labels as an index use pm.sample_posterior_predictive, for new items sample_new_labels first"
            )
        return [layout for layout in layouts if layout.observed] or layouts
    names = [var_names] if isinstance(var_names, str) else list(var_names)
    if not names:
        raise ValueError("var_names must name at least one Mixture; got none")
    for name in names:
        check_name("var_names", name, "a Mixture, or a list of names")
    return [MixtureLayout(model, name, nested=True) for name in dict.fromkeys(names)]


def _draw(draws, layouts, new_items, rng, progressbar):
    """Labels of new items and, for each mixture, the data of old items followed by those of new ones."""
    new_labels, results = [], {}
    with tracked(draws, "Drawing data", progressbar) as progressing:
        for draw in progressing:
            value = draws.labels_with_new(draw, new_items, rng)
            new_labels.append(value[draws.n_items :])
            for layout in layouts:
                values = draws.draw_data(draw, layout, value, rng)
                if draw.index == 0:
                    results[layout.name] = np.empty((len(draws), *values.shape), dtype=layout.dtype)
                results[layout.name][draw.index] = values
    return np.array(new_labels), results
