"""Parameters of clusters given posterior draws of the partition."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_flag, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.families.conjugate import restore_parameters
from pymc_nrm.families.needs import PARAMETERS, check_needs
from pymc_nrm.models.rvs import checked_model
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.layout import MixtureLayout, draws_dataset, padded, partition_coords, sizes_of


def sample_cluster_parameters(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    *,
    var_name: str | None = None,
    to_items: bool = True,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Draw the parameters of all clusters of every posterior draw, given the partition and the data.

    Parameters
    ----------
    %(idata)s
    %(model)s
    %(mixture)s
    to_items : bool
        Whether to return the parameters of each item's cluster as well.
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    Dataset
        The parameters of the family by their names, for example ``mean`` and ``covariance``, in the units of the data,
        dims (chain, draw, cluster, ...), with NaN beyond the number of clusters of a draw.  ``size``, dims (chain,
        draw, cluster), has the numbers of items, or 0.  Items of a partition of rows in chunks are the followed rows,
        while clusters and sizes refer to all rows.  Levels of categories have their names in the coordinate ``level``,
        or in ``level_name``, dims (feature, level), if features have different levels.  With ``to_items``,
        ``item_mean`` and so on have dims (chain, draw, item, ...).

    Raises
    ------
    ValueError
        If the draws or the model lack a variable.

    Notes
    -----
    Cluster k of one draw is not cluster k of another: labels follow the order of items, so averages of a cluster over
    draws mean little.  The parameters of an item do not depend on the names of clusters, so ``item_mean.mean(("chain",
    "draw"))`` is its posterior mean.

    The result takes 8 bytes for each draw, parameter and cluster (the largest number of any draw) and, with
    ``to_items``, for each draw, parameter and item.  A full covariance in d dimensions has d^2 parameters.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> parameters = nrm.sample_cluster_parameters(posterior, model, random_seed=1)
    >>> parameters.rate.notnull().values.tolist()
    [[[True, False], [True, True]]]
    >>> parameters.item_rate.dims
    ('chain', 'draw', 'item')
    """
    check_flag("to_items", to_items)
    model = checked_model(model)
    layout = MixtureLayout(model, var_name, nested=True)
    check_needs(layout.family_class, PARAMETERS, "sample_cluster_parameters")
    draws = draws_of(idata, model, layout.partition)
    rng = random_generator(random_seed)
    rows, sizes, by_item = [], [], None
    for draw in tracked(draws, "Drawing parameters of clusters", progressbar):
        family, data = draws.mixture(draw, layout.name)
        drawn = restore_parameters(family, data, draws.cluster_parameters(draw, layout.name, rng))
        rows.append(drawn)
        sizes.append(draws.cluster_sizes(draw))
        if to_items and by_item is None:
            by_item = np.empty((len(draws), draws.n_items, drawn.shape[1]))
        if to_items:
            by_item[draw.index] = drawn[draw.labels]
    parameters = layout.parameters(family)
    [cluster] = layout.added("cluster")
    variables = {"size": ((cluster,), padded(sizes, 0))} | layout.split(parameters, padded(rows, np.nan), cluster)
    if to_items:
        of_items = layout.split(parameters, by_item, draws.item_dim)
        variables |= {f"item_{name}": variable for name, variable in of_items.items()}
    coords = partition_coords(draws) | layout.coords(sizes_of(variables))
    return draws_dataset(draws.posterior, variables, coords, {"variable": layout.name})
