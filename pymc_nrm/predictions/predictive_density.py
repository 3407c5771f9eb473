"""Predictive density of one more item."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.progress import tracked
from pymc_nrm.model.rvs import checked_model
from pymc_nrm.predictions.any_draws import draws_of
from pymc_nrm.predictions.grouped_draws import GroupedDraws
from pymc_nrm.predictions.items import as_rows, prepare_new_items
from pymc_nrm.predictions.layout import MixtureLayout, draws_dataset, point_coords
from pymc_nrm.predictions.nested_draws import NestedDraws
from pymc_nrm.predictions.tables import log_sum_rows


def predictive_density(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    grid: Any,
    *,
    new_paths: Any = None,
    var_name: str | None = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Predictive density of the data of one more item at the points of a grid, for every posterior draw.

    Parameters
    ----------
    idata : DataTree or Dataset
        Posterior draws.
    model : pymc.Model
        The model that was sampled.
    grid : array_like, sparse matrix, DataArray or Dataset, shape (m, d), or (m,) for one feature
        Points in the units of the data; whole numbers for families of counts.  A Dataset has one variable per feature.
        If the family allows missing values, NaN in a point leaves that feature out, and the density is marginal.
    new_paths : array_like of int or str, shape (1,) or (1, depth), optional
        Group of the item, a known or a new one, for a nested partition with known paths, which needs it.
    var_name : str, optional
        Name of the Mixture; by default the only one of the model.
    progressbar : bool
        Whether to show a bar if it takes longer than two seconds.

    Returns
    -------
    Dataset
        ``density``, dims (chain, draw, point), is per unit of the data and not in logs, or a probability for discrete
        families.  ``new_cluster_weight``, dims (chain, draw), is the probability that the item opens a new cluster,
        before its data are seen.  A nested partition has ``new_node_weight`` instead, dims (chain, draw, level): the
        probability that the node of the item at this level is new; with known paths it has ``new_cluster_weight``,
        which is that of a new component.  For one feature, the grid is the coordinate of
        ``point``; otherwise points have the coordinates ``x_0``, ``x_1``, ... (except for sparse grids).

    Raises
    ------
    ValueError
        If a group is missing or has no meaning, the grid and the mixture have different numbers of features, the grid
        has values outside the support of the family, or the draws or the model lack a variable.

    Notes
    -----
    For each draw this is ``sum_k P(join k) p(x | items of cluster k) + P(new) p(x | base measure)``, with the
    parameters of clusters and u integrated out.  The mean over draws is the posterior predictive density.  The spread
    over draws is that of conditional means of the random density given the partition and the hyperparameters, which is
    less than the posterior spread of the random density itself.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> from pymc_nrm.predictions import predictive_density
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> predicted = predictive_density(posterior, model, np.arange(1000))
    >>> predicted.density.sum("point").values.round(6).tolist()
    [[1.0, 1.0]]
    >>> predicted.new_cluster_weight.values.tolist()
    [[0.25, 0.25]]
    """
    model = checked_model(model)
    layout = MixtureLayout(model, var_name, nested=True)
    draws = draws_of(idata, model, layout.partition, new_paths)
    grouped = isinstance(draws, GroupedDraws)
    if grouped and len(draws.new_paths) != 1:
        raise ValueError(
            f"new_paths must have one row, the group of the item; got {len(draws.new_paths)} rows and {new_paths!r}"
        )
    k = draws.mixtures.index(layout.name)
    rows = points = values = None
    new_weights = []
    with tracked(draws, "Evaluating densities", progressbar) as progressing:
        for s, draw in enumerate(progressing):
            family, data = draw.families[k], draw.data[k]
            if rows is None:
                rows = as_rows(grid, layout.n_features(family), "grid", layout.feature_names())
                values = np.empty((len(draws), rows.shape[0]))
            if s == 0 or not layout.observed:
                points = prepare_new_items(family, data, rows, "grid")
            values[s] = np.exp(log_sum_rows(draw.log_weights([family], [data], [points], rows.shape[0])))
            new_weights.append(draw.new_weight())
    variables, coords = {"density": (("point",), values)}, point_coords(rows)
    if isinstance(draws, NestedDraws) and not grouped:
        variables["new_node_weight"] = (("level",), np.array(new_weights))
        coords["level"] = np.arange(1, len(new_weights[0]) + 1)
    else:
        variables["new_cluster_weight"] = ((), np.array(new_weights))
    continuous = layout.family_class.continuous
    attrs = {"variable": layout.name, "kind": "density" if continuous else "probability"}
    return draws_dataset(draws.posterior, variables, coords, attrs)
