"""Parameters of the ties between the clusters of an estimate."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import interval_probability, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.common.result_names import result_dataset
from pymc_nrm.families.needs import PARAMETERS, check_needs
from pymc_nrm.networks.posterior.block_draws import draws_of_blocks
from pymc_nrm.networks.posterior.estimates import read_estimates
from pymc_nrm.stats.contingency import contingency_table


def block_parameters(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    ci_prob: float | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Parameters of the ties between the clusters of an estimate, with intervals.

    Parameters
    ----------
    %(idata)s
    %(model)s
    %(block_estimate)s
    %(block_model)s
    ci_prob : float, optional
        Probability of the intervals, with equal tails; by default ``arviz_base.rcParams["stats.ci_prob"]``.
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    Dataset
        The posterior mean of each parameter of the family by its name, for example ``probability``, dims (cluster,
        cluster_to), and the ends of its interval, ``probability_low`` and ``probability_high``.  Ties lead from
        ``cluster`` to ``cluster_to``, whose coordinates are the labels of the estimate; in a table these are clusters
        of rows and of columns.  ``size`` and ``size_to`` are numbers of items, and ``n_pairs`` is the number of pairs,
        observed or not.  A single node without ties to itself has no pair within its cluster, and parameters NaN.

    Raises
    ------
    ValueError
        If there is no such block model, the estimate has a different number of items, ``ci_prob`` is not between 0 and
        1, or the draws or the model lack a variable.

    Notes
    -----
    In each draw, the parameters of all blocks of the draw are drawn given its labels and the data.  The parameter
    between two clusters of the estimate is the mean over all pairs of their items, each with the parameter of its block
    in the draw.  Intervals therefore have the uncertainty about parameters and about labels.

    With degree correction, ``rate`` is the rate between two nodes of average degree in their clusters.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> A = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     ties = nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1]] * 500])})
    >>> blocks = nrm.networks.block_parameters(posterior, model, [0, 0, 1, 1], random_seed=1)
    >>> blocks["probability"].round(1).values.tolist()
    [[0.7, 0.2], [0.2, 0.7]]
    """
    ci_prob = interval_probability(ci_prob)
    draws = draws_of_blocks(idata, model, var_name)
    estimates = read_estimates(draws, idata, estimate)
    values = parameters_of_estimate(draws, estimates, random_generator(random_seed), progressbar)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    dims, variables = ("cluster", "cluster_to"), {}
    for name, array in values.items():
        axes = (*dims, "level")[: array.ndim - 1]
        low, high = np.quantile(array, tails, axis=0)
        for ending, value in (("", array.mean(axis=0)), ("_low", low), ("_high", high)):
            variables[name + ending] = (axes, value)
    sizes = [np.bincount(clusters.labels) for clusters in estimates]
    variables |= {"size": ("cluster", sizes[0]), "size_to": ("cluster_to", sizes[1])}
    variables["n_pairs"] = (dims, n_pairs_of_clusters(draws.blocks, sizes))
    coords = {dim: clusters.names for dim, clusters in zip(dims, estimates, strict=True)}
    return result_dataset(variables, coords, {"variable": draws.name})


def parameters_of_estimate(draws, estimates, rng, progressbar):
    """Means over pairs of the items of two clusters of the estimates, in each draw: arrays (S, R, C, ...) by name."""
    check_needs(draws.family_class, PARAMETERS, "block_parameters")
    labels, parameters = [clusters.labels for clusters in estimates], {}
    for draw in tracked(draws, "Drawing parameters of blocks", progressbar):
        tables = [
            contingency_table(of_draw, of_estimate) for of_draw, of_estimate in zip(draw.labels, labels, strict=True)
        ]
        for name, values in draws.draw_parameters(draw, rng).items():
            parameters.setdefault(name, []).append(mean_over_pairs(values, tables, draws.blocks))
    return {name: np.array(arrays) for name, arrays in parameters.items()}


def mean_over_pairs(values, tables, blocks):
    """Mean of the values of blocks over pairs of items of two clusters of the estimates.

    Shapes: ``values`` (K, L, ...) of blocks of a draw; ``tables`` (K, R) and (L, C), numbers of items of clusters of
    the draw in clusters of the estimate; returns (R, C, ...).
    """
    totals = np.einsum("kr,kl...,lc->rc...", tables[0], values, tables[1])
    if not blocks.is_table:
        # Items beside themselves: no pairs, or half of one where all others are counted in both orders.
        diagonal, sign = np.arange(tables[0].shape[1]), 1.0 if blocks.loops else -1.0
        within = np.einsum("kr,k...->r...", tables[0], values[np.arange(len(values)), np.arange(len(values))])
        if not (blocks.loops and blocks.directed):
            totals[diagonal, diagonal] += sign * within
    sizes = [table.sum(axis=0) for table in tables]
    counts = n_pairs_of_clusters(blocks, sizes).astype("float64")
    if not blocks.is_table and not blocks.directed:
        totals[diagonal, diagonal] /= 2.0
    counts[counts == 0] = np.nan
    return totals / counts.reshape(*counts.shape, *(1,) * (totals.ndim - 2))


def n_pairs_of_clusters(blocks, sizes):
    """Numbers of pairs between clusters of the estimates, of which each counts once. Shapes: returns (R, C)."""
    counts = np.outer(*sizes)
    if not blocks.is_table:
        diagonal, loops = np.arange(len(counts)), sizes[0] * blocks.loops
        counts[diagonal, diagonal] = sizes[0] * (sizes[0] - 1) // (1 if blocks.directed else 2) + loops
    return counts
