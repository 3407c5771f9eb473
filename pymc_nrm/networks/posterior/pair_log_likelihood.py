"""Log density of each pair given all others, for comparisons of models."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model
from scipy import stats

from pymc_nrm.common.checks import random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.networks.posterior.block_draws import draws_of_blocks
from pymc_nrm.networks.posterior.block_tables import fill_without
from pymc_nrm.networks.posterior.degree_shares import draw_pair_rates
from pymc_nrm.posterior.layout import draws_dataset
from pymc_nrm.posterior.log_likelihood_group import check_extension, with_log_likelihood


def pair_log_likelihood(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    *,
    var_name: str | None = None,
    extend_inferencedata: bool = True,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.DataTree | xr.Dataset:
    """Log density of each observed pair given all other pairs, in each draw, for ``arviz.loo`` and ``arviz.compare``.

    Parameters
    ----------
    idata : DataTree or Dataset
        Posterior draws; a DataTree to be extended.
    %(model)s
    %(block_model)s
    extend_inferencedata : bool
        Whether to add the group ``log_likelihood`` to ``idata`` and return it; otherwise the group is returned.
    random_seed : int or numpy.random.Generator, optional
        For draws with degree correction; all other values are not random.
    %(progressbar)s

    Returns
    -------
    DataTree or Dataset
        ``log_likelihood`` has the values under the name of the block model, dims (chain, draw, pair), with the items
        of a pair in the coordinates ``first`` and ``second``; each undirected pair is there once.

    Raises
    ------
    TypeError
        If ``idata`` is to be extended and is not a DataTree.
    ValueError
        If there is no such block model, or the draws or the model lack a variable.

    Notes
    -----
    Write z for the partition, and -ij for all pairs but (i, j).  The values are ``p(A[ij] | z, A[-ij], h)``, with the
    parameters of blocks integrated out: the statistics of the pair are taken out of its block.  Since

        ``p(z, h | A) = p(z, h | A[-ij]) p(A[ij] | z, A[-ij], h) / p(A[ij] | A[-ij])``,

    draws given all pairs become draws given all others by the importance weights ``1 / p(A[ij] | z, A[-ij], h)``, which
    Pareto-smoothed importance sampling uses (Vehtari, Gelman & Gabry 2017).  It is exact as the number of draws grows.

    With degree correction, pairs of a block are not exchangeable.  The values are then Poisson densities given the ties
    of nodes and the rates of blocks, drawn in each draw of the partition, which are a part of z in the identity.

    The result has 8 bytes for each draw and pair: thin the draws of networks of more than some hundred nodes.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     A = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    ...     ties = nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> found = nrm.networks.pair_log_likelihood(posterior, model, extend_inferencedata=False)
    >>> np.exp(found["ties"]).round(2).values.tolist()
    [[[0.25, 0.5, 0.5], [0.5, 0.67, 0.67]]]
    """
    check_extension(idata, extend_inferencedata)
    draws = draws_of_blocks(idata, model, var_name)
    first, second, items = observed_pairs(draws)
    rng, values = random_generator(random_seed), np.empty((len(draws), len(first)))
    for draw in tracked(draws, "Evaluating log-likelihoods", progressbar):
        if draw.degree_corrected is not None:
            rates = draw_pair_rates(draws, draw, first, second, rng)
            values[draw.index] = stats.poisson.logpmf(draws.blocks.values[items], rates)
            continue
        cells, statistics = draw.cells(first, second), draw.flat_statistics()
        fill_without(cells, items, statistics, draw.family, draws.data, values[draw.index])
    pair, coords = draws.pair_coords(first, second)
    dataset = draws_dataset(draws.posterior, {draws.name: ((pair,), values)}, coords)
    return with_log_likelihood(idata, dataset, draws.name) if extend_inferencedata else dataset


def observed_pairs(draws):
    """Observed pairs, each once, and the position of its value among the distinct ones: (m,) each."""
    i, j, x = draws.blocks.pairs()
    values = draws.blocks.values
    order = np.argsort(values, kind="stable")
    return i, j, order[np.searchsorted(values[order], x)]
