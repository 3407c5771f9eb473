"""Labels of all rows in chunks, with their probabilities."""

import os
from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_count, new_folder, random_generator
from pymc_nrm.common.progress import progress
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.kernels.lanes import whole_lanes
from pymc_nrm.kernels.special import exponentiate
from pymc_nrm.measures.jumps import draw_jumps
from pymc_nrm.models.parts import joint_data, joint_family
from pymc_nrm.models.rvs import checked_model, find_partition
from pymc_nrm.posterior.any_draws import draws_class
from pymc_nrm.posterior.draws import ChunkedDraws, estimate_labels, shares

# Rows of a chunk of results on disk.
_ROWS_OF_CHUNK = 2**20


def label_rows(
    idata: xr.DataTree,
    model: Model,
    *,
    estimate: Any = None,
    n_draws: int = 50,
    path: str | os.PathLike | None = None,
    var_name: str | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Give every row in chunks its most probable cluster of a point estimate, by one pass over the rows.

    Parameters
    ----------
    %(idata)s
    %(model)s
    estimate : array_like of int, DataArray, or Dataset with the variable ``labels``, shape (n_followed,), optional
        Labels of the followed rows; by default from :func:`~pymc_nrm.stats.point_estimate` with seed 0.
    n_draws : int
        Number of posterior draws over which probabilities are means, evenly spaced; all draws if there are fewer.
    path : path, optional
        A new folder to which the result is written as a Zarr group while it is computed; it is then opened and not
        held in memory.
    %(partition)s
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    Dataset
        Dimension ``row``: ``labels``, a label of the estimate, or -1 for a cluster in which no row is followed, and
        ``probability`` of this cluster, between 0 and 1.

    Raises
    ------
    ValueError
        If the partition is not of rows in chunks, the draws are of other rows, the estimate does not have one label for
        each followed row, or ``path`` exists.

    Notes
    -----
    For each draw, jumps J of the clusters and their parameters are drawn given their sizes and statistics.  A row is
    then in cluster k with probability proportional to ``J_k f(x | theta_k)``, and counts towards the clusters of the
    estimate by the shares of the followed rows of k.  This is its distribution given that it is in a cluster of the
    draw, so that nothing is counted twice.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> rows = nrm.Chunks(np.array([0.0, 0.1, 0.2, 9.0, 9.1, 9.2]))
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), chunks=rows)
    ...     x = nrm.Mixture("x", z, nrm.NormalGamma(5.0, 0.01, 2.0, 0.02), observed=rows)
    ...     idata = nrm.sample(20, tune=10, chains=1, random_seed=1, quiet=True)
    >>> nrm.label_rows(idata, model, random_seed=1).labels.values.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    check_count("n_draws", n_draws, 1)
    path = None if path is None else new_folder("path", path)
    model = checked_model(model)
    partition = find_partition(model, var_name, nested=True)
    if draws_class(partition) is not ChunkedDraws:
        raise ValueError(
            f"var_name must name a partition of rows in chunks, and {partition.name!r} is not one; point_estimate "
            "labels its items"
        )
    draws, rng = ChunkedDraws(idata, model, partition), random_generator(random_seed)
    chosen = np.unique(np.linspace(0, len(draws) - 1, n_draws).round().astype(int))
    labels, names = estimate_labels(draws.default_estimate() if estimate is None else estimate, draws.n_old_items)
    atoms = [_atoms(draw, labels, len(names), rng) for draw in draws.at(chosen)]
    rows = draws.kind.rows.chunks
    preparations = [model[name].owner.op.measured.preparation for name in draws.mixtures]
    message, first = (preparations, np.append(names, -1), atoms), 0
    arrays = _arrays(path, rows.n)
    with progress("Labelling rows", rows.engine.n_blocks, progressbar) as advance:
        for block in rows.each(_label_block, message):
            last = first + len(block[0])
            for array, values in zip(arrays.values(), block, strict=True):
                array[first:last] = values
            first = last
            advance()
    if path is not None:
        return xr.open_zarr(path, consolidated=False, chunks=None)
    return xr.Dataset({name: ("row", values) for name, values in arrays.items()})


def _arrays(path, n):
    """Arrays for labels and probabilities of n rows, in memory or in a new Zarr group."""
    types = {"labels": "int32", "probability": "float32"}
    if path is None:
        return {name: np.empty(n, dtype) for name, dtype in types.items()}
    import zarr

    group, options = zarr.create_group(store=path), {"chunks": (min(n, _ROWS_OF_CHUNK),), "dimension_names": ("row",)}
    return {name: group.create_array(name, shape=(n,), dtype=dtype, **options) for name, dtype in types.items()}


def _label_block(block, message):
    """Labels and probabilities of the rows of a block."""
    preparations, names, atoms = message
    values = block.read()
    data, table = joint_data([prepare(values) for prepare in preparations]), np.zeros((len(values), len(names)))
    for family, parameters, log_jumps, share in atoms:
        add_probabilities(family, data, parameters, log_jumps, share, table)
    best = table.argmax(axis=1)
    return names[best].astype(np.int32), table[np.arange(len(best)), best] / len(atoms)


def _atoms(draw, labels, n_labels, rng):
    """Family, parameters and log jumps of the clusters of a draw, and the shares of the estimate in them."""
    counts, statistics = draw.value
    family, statistics = joint_family(draw.families), np.concatenate(statistics, axis=1)
    parameters = np.empty((len(counts), parameters_size(family)))
    for k in range(len(counts)):
        draw_parameters(family, statistics[k], rng, parameters[k])
    log_jumps = draw_jumps(draw.prior, counts, rng, 0.5, 0).clusters
    return family, parameters, log_jumps, shares(draw.labels, len(counts), labels, n_labels)


@shared_kernel(components=True, inner_loop=True, threaded=True)
def add_probabilities(family, data, parameters, log_jumps, shares, table):
    """Add the probabilities of the clusters of an estimate for each row (n, n_labels + 1)."""
    n_clusters = log_jumps.shape[0]
    width = whole_lanes(n_clusters)
    panel, values = component_panel(family, width), np.empty(width)
    for k in range(n_clusters):
        write_component(family, parameters[k], panel, k)
    for i in range(table.shape[0]):
        for k in range(n_clusters):
            values[k] = log_jumps[k]
        add_component_densities(family, panel, data, i, width, values)
        _, total = exponentiate(values, n_clusters)
        for k in range(n_clusters):
            for j in range(table.shape[1]):
                table[i, j] += values[k] / total * shares[k, j]
