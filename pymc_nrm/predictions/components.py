"""Parameters of clusters given posterior draws of the partition."""

from contextlib import contextmanager
from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model
from pymc.util import get_random_generator

from pymc_nrm.common.checks import check_flag, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.families.conjugate import draw_parameters, parameters_size, restore_parameters
from pymc_nrm.families.needs import PARAMETERS, check_needs
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.interrupts import check_signals
from pymc_nrm.model.rvs import checked_model
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.labels import label_counts
from pymc_nrm.predictions.any_draws import draws_of
from pymc_nrm.predictions.layout import MixtureLayout, draws_dataset, padded, partition_coords


@contextmanager
def covariances_held(what):
    """Turn the error of a covariance that has no Cholesky factor in doubles into one that says ``what`` is
    impossible.
    """
    try:
        yield
    except np.linalg.LinAlgError:
        raise ValueError(
            f"{what}: doubles do not hold the covariance of a cluster, far longer in one direction than in others. "
            "Choose mu nearer to the data, or a wider Psi"
        ) from None


@kernel
def draw_component_rows(rng, labels, family, data, n_new):
    """Draw the parameters of every cluster given its items, and those of ``n_new`` clusters without items."""
    state = build_state(labels, family, data)
    n_clusters = state.size[0]
    empty = state.active[n_clusters]
    rows = np.empty((n_clusters + n_new, parameters_size(family)))
    for k in range(n_clusters + n_new):
        check_signals()
        slot = k if k < n_clusters else empty
        draw_parameters(family, state.statistics[slot], rng, rows[k])
    return rows


def sample_components(
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
    idata : DataTree or Dataset
        Posterior draws.
    model : pymc.Model
        The model that was sampled.
    var_name : str, optional
        Name of the Mixture; by default the only one of the model.
    to_items : bool
        Whether to return the parameters of each item's cluster as well.
    random_seed : int or numpy.random.Generator, optional
    progressbar : bool
        Whether to show a bar if it takes longer than two seconds.

    Returns
    -------
    Dataset
        The parameters of the family by their names, for example ``mean`` and ``covariance``, in the units of the data,
        dims (chain, draw, cluster, ...), with NaN beyond the number of clusters of a draw.  ``size``, dims (chain,
        draw, cluster), has the numbers of items, or 0.  With ``to_items``, ``item_mean`` and so on have dims (chain,
        draw, item, ...).

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
    >>> from pymc_nrm.predictions import sample_components
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> components = sample_components(posterior, model, random_seed=1)
    >>> components.rate.notnull().values.tolist()
    [[[True, False], [True, True]]]
    >>> components.item_rate.dims
    ('chain', 'draw', 'item')
    """
    check_flag("to_items", to_items)
    model = checked_model(model)
    layout = MixtureLayout(model, var_name, nested=True)
    check_needs(layout.family_class, PARAMETERS, "sample_components")
    draws = draws_of(idata, model, layout.partition)
    position = draws.mixtures.index(layout.name)
    rng = get_random_generator(random_generator(random_seed))
    rows, counts, by_item, names = [], [], None, None
    with tracked(draws, "Drawing parameters of clusters", progressbar) as progressing:
        for s, draw in enumerate(progressing):
            family, data = draw.families[position], draw.data[position]
            drawn = restore_parameters(family, data, draw_component_rows(rng, draw.labels, family, data, 0))
            rows.append(drawn)
            counts.append(label_counts(draw.labels))
            if s == 0:
                names = layout.parameters(family)
                by_item = np.empty((len(draws), draws.n_items, drawn.shape[1])) if to_items else None
            if to_items:
                by_item[s] = drawn[draw.labels]
    variables = {"size": (("cluster",), padded(counts, 0))}
    table = padded(rows, np.nan)
    for name, (columns, shape, dims) in names.items():
        variables[name] = (("cluster", *dims), table[..., columns].reshape(*table.shape[:2], *shape))
        if to_items:
            values = by_item[..., columns].reshape(*by_item.shape[:2], *shape)
            variables[f"item_{name}"] = ((draws.item_dim, *dims), values)
    coords = partition_coords(draws) | layout.coords({dim for _, _, dims in names.values() for dim in dims})
    return draws_dataset(draws.posterior, variables, coords, {"variable": layout.name})
