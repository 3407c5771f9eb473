"""Logarithm of the posterior predictive density of new items."""

import math
from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.model.rvs import checked_model
from pymc_nrm.predictions.any_draws import draws_of
from pymc_nrm.predictions.new_items import NewItems
from pymc_nrm.predictions.tables import log_sum_rows


def log_predictive_density(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    X_new: Any,
    *,
    new_paths: Any = None,
    var_name: str | None = None,
    progressbar: bool = True,
) -> xr.DataArray:
    """Log posterior predictive density of new items, in all mixtures of a partition together.

    Parameters
    ----------
    idata : DataTree or Dataset
        Posterior draws.
    model : pymc.Model
        The model that was sampled.
    X_new : array_like, sparse matrix, DataArray or Dataset, shape (m, d) or (m,), or dict of them by mixture
        Data of the new items, each predicted by itself.  If several mixtures share the partition, give a dict by their
        names; data of mixtures that it omits count as unknown.
    new_paths : array_like of int or str, shape (m,) or (m, depth), optional
        Groups of the new items, known or new ones, for a nested partition with known paths, which needs them; one row
        stands for all new items.
    var_name : str, optional
        Name of the partition or nested partition; by default the only one of the model.
    progressbar : bool
        Whether to show a bar if it takes longer than two seconds.

    Returns
    -------
    DataArray
        In nats, dims (new item).  Densities are per unit of the data; discrete features count with probabilities.  The
        dimension is that of a DataArray or Dataset, otherwise ``new_<dim of the partition's items>``.

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
    underflows, unlike :func:`~pymc_nrm.predictions.predictive_density` in many dimensions.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> from pymc_nrm.predictions import log_predictive_density
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> log_predictive_density(posterior, model, [0, 10]).round(2).values.tolist()
    [-1.45, -4.6]
    """
    model = checked_model(model)
    draws = draws_of(idata, model, var_name, new_paths)
    items = NewItems(draws, X_new)
    total = -np.inf
    for _, table in items.tables("Evaluating densities", progressbar):
        total = np.logaddexp(total, log_sum_rows(table))
    return xr.DataArray(
        total - math.log(len(draws)), dims=items.dim, coords=items.coords, name="log_predictive_density"
    )
