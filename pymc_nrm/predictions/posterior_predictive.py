"""Replications of the data from the clusters found, and data of new items."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model
from pymc.util import get_random_generator

from pymc_nrm.common.checks import check_count, check_name, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.families.conjugate import draw_item, restore_parameters
from pymc_nrm.families.needs import ITEMS, check_needs
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.model.rvs import checked_model, has_known_paths, is_mixture
from pymc_nrm.predictions.any_draws import draws_of
from pymc_nrm.predictions.components import covariances_held, draw_component_rows
from pymc_nrm.predictions.layout import MixtureLayout, draws_dataset, partition_coords
from pymc_nrm.predictions.nested_draws import NestedDraws
from pymc_nrm.tree_families.draws import draw_given_data


@kernel
def draw_items(rng, family, labels, parameters, values):
    """Draw data of items given their labels and the parameters of clusters, and write them into ``values``."""
    for item in range(labels.shape[0]):
        if item % 64 == 0:
            check_signals()
        draw_item(family, parameters[labels[item]], rng, item, values[item])


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
    idata : DataTree or Dataset
        Posterior draws.
    model : pymc.Model
        The model that was sampled.
    new_items : int
        Number of new items of every partition involved.
    new_paths : array_like of int or str, shape (new_items,) or (new_items, depth), optional
        Groups of the new items, known or new ones, for a nested partition with known paths, which needs them; one row
        stands for all new items.
    var_names : str or sequence of str, optional
        Names of mixtures.  By default all observed mixtures, or all mixtures if none is observed.
    random_seed : int or numpy.random.Generator, optional
    progressbar : bool
        Whether to show a bar if it takes longer than two seconds.

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
    >>> from pymc_nrm.predictions import sample_posterior_predictive
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> drawn = sample_posterior_predictive(posterior, model, new_items=2, random_seed=1)
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
    for layout in layouts:
        if not layout.has_tree_family:
            check_needs(layout.family_class, ITEMS, "sample_posterior_predictive")
    rng = get_random_generator(random_generator(random_seed))
    replicated, predicted, coords, new_coords = {}, {}, {}, {}
    partitions = list(dict.fromkeys(layout.partition for layout in layouts))
    grouped = [partition for partition in partitions if has_known_paths(model[partition])]
    for partition in partitions:
        # Groups of new items are for all partitions with known paths; draws refuse them if there are none.
        draws = draws_of(idata, model, partition, new_paths if partition in grouped or not grouped else None)
        group = [layout for layout in layouts if layout.partition == partition]
        new_dim = f"new_{draws.item_dim}"
        labels, results = _draw(draws, group, new_items, rng, progressbar)
        predicted[partition] = ((new_dim,), labels)
        if isinstance(draws, NestedDraws):
            column_dim = f"{partition}_column"
            predicted[partition], new_coords[column_dim] = ((new_dim, column_dim), labels), draws.columns
        for layout, values in zip(group, results, strict=True):
            dims = layout.data_dims(layout.item_dim)
            values = values[..., 0] if layout.univariate else values
            replicated[layout.name] = (dims, values[:, : draws.n_items])
            predicted[layout.name] = (layout.data_dims(new_dim), values[:, draws.n_items :])
            new_coords |= layout.coords(dims[1:])
            coords |= partition_coords(draws) | layout.coords(dims)
    tree = {"posterior_predictive": draws_dataset(draws.posterior, replicated, coords)}
    if new_items:
        tree["predictions"] = draws_dataset(draws.posterior, predicted, new_coords)
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
    new_labels, results = [], [None] * len(layouts)
    positions = [draws.mixtures.index(layout.name) for layout in layouts]
    with tracked(draws, "Drawing data", progressbar) as progressing:
        for s, draw in enumerate(progressing):
            labels = draw.labels_with_new(new_items, rng)
            new_labels.append(labels[draws.n_items :])
            for i, (layout, k) in enumerate(zip(layouts, positions, strict=True)):
                family, data = draw.families[k], draw.data[k]
                if layout.has_tree_family:
                    values = draw_given_data(family, labels, data, rng)
                else:
                    clusters = labels if labels.ndim == 1 else np.ascontiguousarray(labels[:, -1])
                    values = _draw_of_clusters(rng, layout, family, data, draw.labels, clusters)
                if s == 0:
                    results[i] = np.empty((len(draws), *values.shape), dtype=layout.dtype)
                results[i][s] = values
    return np.array(new_labels), results


def _draw_of_clusters(rng, layout, family, data, old_labels, labels):
    """Data of items given their clusters; the clusters of old items have parameters drawn given the data."""
    n_new = int(labels.max()) - int(old_labels.max())
    parameters = restore_parameters(family, data, draw_component_rows(rng, old_labels, family, data, n_new))
    values = np.empty((len(labels), layout.n_features(family)))
    with covariances_held(f"data of {layout.name!r} cannot be drawn"):
        draw_items(rng, _with_new_items(family, len(labels) - len(old_labels)), labels, parameters, values)
    return values


def _with_new_items(family, new_items):
    """The family of old and new items, if it has hyperparameters with one value per item."""
    if not new_items:
        return family
    changed = {}
    for name, spec in family.hyperparameters.items():
        if "n" in spec.core:
            values = np.moveaxis(getattr(family, name), spec.core.index("n"), 0)
            if (values != values[:1]).any():
                raise ValueError(
                    f"{name} of {type(family).__name__} differs between items: new items have no value of it; use "
                    "new_items=0"
                )
            longer = np.concatenate([values, np.repeat(values[:1], new_items, axis=0)])
            changed[name] = np.ascontiguousarray(np.moveaxis(longer, 0, spec.core.index("n")))
    return family._replace(**changed)
