"""Predictive densities of new items: draw by draw at the points of a grid, and the log of their mean."""

import math
from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.result_names import added_names
from pymc_nrm.models.rvs import checked_model
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.conditional_distributions import ConditionalItems, check_given
from pymc_nrm.posterior.layout import NewItems, asked_layout, data_of_mixtures, draws_dataset, point_coords
from pymc_nrm.posterior.tables import log_sum_rows


def predictive_density(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    grid: Any,
    *,
    given: Any = None,
    new_paths: Any = None,
    sequence: Any = None,
    var_name: str | None = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Predictive density of the data of one more item at the points of a grid, for every posterior draw.

    Parameters
    ----------
    %(idata)s
    %(model)s
    grid : array_like, sparse matrix, DataArray or Dataset, shape (m, d), or (m,) for one feature
        Points in the units of the data; whole numbers for families of counts.  A Dataset has one variable per feature.
        If the family allows missing values, NaN in a point leaves that feature out, and the density is marginal.
    %(given)s
    new_paths : array_like of int or str, shape (1,) or (1, depth), optional
        Group of the item, a known or a new one, for a nested partition with known paths, which needs it.
    %(sequence)s
    %(asked_mixture)s
    %(progressbar)s

    Returns
    -------
    Dataset
        ``density``, dims (chain, draw, point), is per unit of the data and not in logs, or a probability for discrete
        families.  ``new_cluster_weight``, dims (chain, draw), is the probability that the item opens a new cluster,
        before its data are seen; where ``log_weights`` depend on covariates, dims (chain, draw, new item).  A nested
        partition has ``new_node_weight`` instead, dims (chain, draw, level): the probability that the node of the item
        at this level is new; with known paths it has ``new_cluster_weight``, for a new component.  For one feature, the
        grid is the coordinate of ``point``; otherwise points have the coordinates ``x_0``, ``x_1``, ... (except for
        sparse grids).

        With ``given``, ``density`` has the dims (chain, draw, new item, point), given columns are coordinates of the
        new items, and ``log_density_of_given``, dims (chain, draw, new item), is the log
        density of the data of mixtures among it.

    Raises
    ------
    ValueError
        If a group is missing or has no meaning, the grid and the mixture have different numbers of features, the grid
        has values outside the support of the family, or the draws or the model lack a variable.

    Notes
    -----
    For each draw this is ``sum_k P(join k) p(x | items of cluster k) + P(new) p(x | base measure)``, with the
    parameters of clusters and u integrated out.  The mean over draws is the posterior predictive density.  The draws
    are conditional means of the random density given the partition and the hyperparameters; they spread less than the
    random density itself does in the posterior.

    Given data w in other mixtures, the density of a draw is the ratio
    ``sum_k P(join k) p(w | k) p(x | w, k) / sum_k P(join k) p(w | k)``: what w says about the cluster, and covariates,
    change the density of x.  Its mean over draws is the posterior mean of the conditional density.  The predictive
    density of an item whose w is new as well also learns from w which draws are right: it is the mean weighted by
    ``exp(log_density_of_given)``, which :func:`~pymc_nrm.log_predictive_density` computes.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> predicted = nrm.predictive_density(posterior, model, np.arange(1000))
    >>> predicted.density.sum("point").values.round(6).tolist()
    [[1.0, 1.0]]
    >>> predicted.new_cluster_weight.values.tolist()
    [[0.25, 0.25]]
    """
    model = checked_model(model)
    layout = asked_layout(model, var_name, given)
    draws = draws_of(idata, model, layout.partition, new_paths, sequence)
    draws.check_one_item()
    name, new_dims = draws.new_weight
    new_weights, densities, of_given = [], [], []
    if given is None:
        items = NewItems(draws, {layout.name: grid}, "grid")
        for draw, table in items.tables("Evaluating densities", progressbar):
            densities.append(np.exp(log_sum_rows(table)))
            new_weights.append(draws.weight_of_new(draw))
        variables, coords = {"density": (("point",), np.array(densities))}, point_coords(items.rows[layout.name])
    else:
        items = ConditionalItems(draws, given, layout.name, grid)
        for draw, log_density, log_given in items.log_densities("Evaluating densities", progressbar):
            densities.append(np.exp(log_density))
            of_given.append(log_given)
            new_weights.append(draws.weight_of_new(draws.for_rows(draw, items.item_rows)))
        users = {items.dim, *items.coords}
        [point], new_dims = added_names(users, "point"), added_names(users, *new_dims)
        variables = {
            "density": ((items.dim, point), np.array(densities)),
            "log_density_of_given": ((items.dim,), np.array(of_given)),
        }
        coords = items.coords | point_coords(items.points, users)
    coords |= {dim: np.arange(1, len(new_weights[0]) + 1) for dim in new_dims}
    # Weights that depend on data of the new items differ between these.
    variables[name] = (tuple(new_dims) or (items.dim,) * np.ndim(new_weights[0]), np.array(new_weights))
    return draws_dataset(draws.posterior, variables, coords, layout.density_attrs())


def log_predictive_density(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    X_new: Any,
    *,
    given: Any = None,
    new_paths: Any = None,
    sequence: Any = None,
    var_name: str | None = None,
    progressbar: bool = True,
) -> xr.DataArray:
    """Log posterior predictive density of new items, in all mixtures of a partition together.

    Parameters
    ----------
    %(idata)s
    %(model)s
    X_new : array_like, sparse matrix, DataArray or Dataset, shape (m, d) or (m,), or dict of them by mixture
        Data of the new items, each predicted by itself.  If several mixtures share the partition, give a dict with
        their names, and the names of the ``pm.Data`` on which covariates depend, as keys; data of mixtures that it
        omits count as unknown.  Columns that have the names of the features are found by them, in any order.
    %(given)s
    %(new_paths)s
    %(sequence)s
    %(partition)s
    %(progressbar)s

    Returns
    -------
    DataArray
        In nats, dims (new item).  Densities are per unit of the data; discrete features count with probabilities.  The
        dimension has the name that a DataArray or Dataset gives it, otherwise ``new_<dim of the partition's items>``.

    Raises
    ------
    TypeError
        If data are not numbers.
    ValueError
        If groups of new items are missing or have no meaning, new data have the wrong shape or values outside the
        support of their family, or the draws or the model lack a variable.

    Notes
    -----
    This is ``log mean over draws of sum_k P(join k) p(x | items of k)``, with k over the clusters of the draw and a new
    one, and with u and the parameters integrated out; k are paths for a nested partition, components if its paths are
    known, and means of nodes are integrated out as well.  The mean is taken of densities, not of logarithms; nothing
    underflows, unlike :func:`~pymc_nrm.predictive_density` in many dimensions.  With ``given`` it is the difference of
    two such values: for all data of an item, and for the given ones alone.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> nrm.log_predictive_density(posterior, model, [0, 10]).round(2).values.tolist()
    [-1.45, -4.6]
    """
    model = checked_model(model)
    draws = draws_of(idata, model, var_name, new_paths, sequence)
    if given is not None:
        asked = [name for name in draws.mixtures if name not in given]
        X_new = X_new if isinstance(X_new, dict) or len(asked) != 1 else {asked[0]: X_new}
        check_given(given, X_new)
        X_new = X_new | given
    items, total = NewItems(draws, X_new), -np.inf
    for _, table in items.tables("Evaluating densities", progressbar):
        total = np.logaddexp(total, log_sum_rows(table))
    total = total - math.log(len(draws))
    given_data = data_of_mixtures(draws, given or {})
    if given_data:
        options = {"new_paths": new_paths, "sequence": sequence, "var_name": draws.partition, "progressbar": False}
        total = total - log_predictive_density(idata, model, given_data, **options).values
    return xr.DataArray(total, dims=items.dim, coords=items.coords, name="log_predictive_density")
