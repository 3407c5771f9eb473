"""Clusters of new nodes of a network, or of new rows or columns of a table, given their ties."""

from typing import Any

import numpy as np
import scipy
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import naming, numeric_array
from pymc_nrm.common.progress import tracked
from pymc_nrm.common.result_names import added_names, result_dataset
from pymc_nrm.families.base import prepare_alike
from pymc_nrm.models.rvs import checked_model, find_partition
from pymc_nrm.networks.models.block_data import block_models
from pymc_nrm.networks.partitions.pair_data import with_places
from pymc_nrm.networks.posterior.block_draws import BlockDraws
from pymc_nrm.networks.posterior.block_tables import sum_ties, weigh_blocks
from pymc_nrm.networks.posterior.estimates import clusters_of
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.draws import shares
from pymc_nrm.posterior.tables import log_sum_rows


def new_node_probabilities(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    ties: Any,
    estimate: Any = None,
    *,
    ties_to: Any = None,
    attributes: Any = None,
    var_name: str | None = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Probabilities that new nodes belong to the clusters of an estimate, given their ties to the old nodes.

    Parameters
    ----------
    %(idata)s
    %(model)s
    ties : array_like or sparse matrix, shape (m, n), or dict of them by block model
        Ties of each new node to the n old ones, in directed networks from it; NaN where a pair was not observed.  New
        rows of a table have a value for each column, new columns one for each row.  If several block models share the
        partition, give a dict with their names as keys; ties of models that it omits count as unknown.
    estimate : array_like of int, shape (n,), DataArray, or Dataset with the variable ``labels``, optional
        Labels of the old nodes; by default from :func:`~pymc_nrm.point_estimate` with seed 0.
    ties_to : array_like or sparse matrix, shape (m, n), or dict of them by block model, optional
        In directed networks, ties from the old nodes to each new one; by default unknown.
    attributes : as ``X_new`` of :func:`~pymc_nrm.cluster_probabilities`, optional
        Attributes of the new nodes, data of mixtures over the partition; by default unknown.
    var_name : str, optional
        Name of the partition; by default the only one of the model.
    %(progressbar)s

    Returns
    -------
    Dataset
        As from :func:`~pymc_nrm.cluster_probabilities`: ``probability``, dims (new node, cluster),
        ``new_cluster_probability`` and ``labels``.

    Raises
    ------
    NotImplementedError
        For a block model with degree correction.
    TypeError
        If ties are not numbers.
    ValueError
        If there is no such partition or block model, ties have another shape or values outside the support of their
        family, ``ties_to`` is given for an undirected network or a table, the estimate has a different number of items,
        or the draws or the model lack a variable.

    Notes
    -----
    Each new node is predicted by itself.  In a draw, it joins cluster k with probability proportional to the prior
    probability of joining k times the density of its ties to all old nodes given the blocks of k, with parameters
    integrated out.  With ``together`` it is a group of its own; with ``known`` and ``only_known`` it has no known label
    and may be in a new cluster.  How this becomes a probability of the clusters of the estimate is said at
    :func:`~pymc_nrm.cluster_probabilities`.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> A = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     ties = nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1]]])})
    >>> found = nrm.networks.new_node_probabilities(posterior, model, [[1, 1, 0, 0]], [0, 0, 1, 1])
    >>> found["probability"].round(2).values.tolist(), found["new_cluster_probability"].round(2).values.tolist()
    ([[0.85, 0.02]], [0.13])
    """
    model = checked_model(model)
    partition = find_partition(model, var_name)
    variables = {rv.name: rv for rv in block_models(model, partition)}
    if not variables:
        raise ValueError(f"no BlockModel depends on partition {partition.name!r}")
    out, into = _by_name("ties", ties, variables), _by_name("ties_to", ties_to, variables)
    layers = [
        _NewTies(BlockDraws(idata, model, rv), partition, out.get(name), into.get(name))
        for name, rv in variables.items()
        if name in out or name in into
    ]
    lengths = {layer.n_new for layer in layers}
    if len(lengths) != 1:
        raise ValueError(f"ties must have a row for each new node; got {sorted(lengths)} rows")
    [n_new] = lengths
    draws = draws_of(idata, model, partition.name)
    labels, names = clusters_of(idata, model, partition, estimate)
    if (names < 0).any():
        raise ValueError(f"estimate must have labels of at least 0, since -1 means a new cluster; got {names.min()}")
    dim, total = f"new_{draws.item_dim}", 0.0
    weighed = _Weighed(draws, attributes, n_new)
    for (draw, table), *blocks in zip(tracked(weighed, "Predicting clusters", progressbar), *layers, strict=True):
        for layer, block in zip(layers, blocks, strict=True):
            layer.weigh(block, table)
        joined = np.exp(table - log_sum_rows(table)[:, None])
        total = total + joined @ shares(draw.labels, table.shape[1], labels, len(names))
    total = total / len(draws)
    [cluster] = added_names({dim}, "cluster")
    return result_dataset(
        {
            "probability": ((dim, cluster), total[:, :-1]),
            "new_cluster_probability": ((dim,), total[:, -1]),
            "labels": ((dim,), np.append(names, -1)[np.argmax(total, axis=1)]),
        },
        coords={cluster: names},
    )


class _Weighed:
    """Draws of a partition with the log weights of its clusters, before ties are seen, (n_new, n_clusters + 1)."""

    def __init__(self, draws, attributes, n_new):
        self._draws, self._attributes, self._n_new = draws, attributes, n_new

    def __len__(self):
        return len(self._draws)

    def __iter__(self):
        if self._attributes is None:
            for draw in self._draws:
                table = self._draws.log_join(draw, self._n_new)
                yield draw, np.repeat(table, self._n_new // len(table), axis=0)
            return
        for draw, table in self._draws.new_items(self._attributes).tables("", False):
            if len(table) != self._n_new:
                raise ValueError(f"attributes must have a row for each of {self._n_new} new nodes; got {len(table)}")
            yield draw, table


class _NewTies:
    """An iterable of the draws of a block model, and ties of new nodes in it."""

    def __init__(self, draws, partition, out, into):
        if draws.blocks.degree_corrected is not None:
            raise NotImplementedError(f"new nodes of {draws.name!r} are not predicted with degree correction")
        self._draws = draws
        # Whether new items are columns of a table.
        self._is_column = draws.is_table and draws.blocks.partitions[1] is partition
        if into is not None and not draws.directed:
            raise ValueError(f"ties_to must be None, since {draws.name!r} is not a directed network")
        n = draws.blocks.shape[0 if self._is_column else 1]
        titles = [f"{argument} of {draws.name!r}" for argument in ("ties", "ties_to")]
        matrices = [
            None if ties is None else _matrix(title, ties, n) for title, ties in zip(titles, (out, into), strict=True)
        ]
        lengths = {len(ties) for ties in matrices if ties is not None}
        if len(lengths) != 1:
            raise ValueError(f"ties and ties_to must have as many rows; got {sorted(lengths)}")
        [self.n_new] = lengths
        self._ties = {
            title: np.full((self.n_new, n), np.nan) if ties is None else ties
            for title, ties in zip(titles, matrices, strict=True)
        }
        self._points = None

    def __len__(self):
        return len(self._draws)

    def __iter__(self):
        return iter(self._draws)

    def weigh(self, draw, table):
        """Add the log density of the ties to the weights of clusters (n_new, n_clusters + 1)."""
        if self._points is None:
            self._points = [self._prepare(draw.family, *item) for item in self._ties.items()]
        statistics = draw.statistics
        others = draw.labels[0 if self._is_column else 1]
        if self._is_column:
            statistics = np.ascontiguousarray(statistics.transpose(1, 0, 2))
        out, into = (self._sums(draw, others, *points) for points in self._points)
        into = into if self._draws.directed else into[:0]
        weigh_blocks(statistics, out, into, draw.family, self._draws.data, table)

    def _prepare(self, family, title, ties):
        """Places of known ties, and their data as kernels read them."""
        places = np.nonzero(~np.isnan(ties))
        if not len(places[0]):
            return places, None
        with naming(title), with_places(lambda k: f"in row {places[0][k]}, column {places[1][k]}"):
            return places, prepare_alike(family, ties[places][:, None], self._draws.data)

    def _sums(self, draw, labels, places, points):
        """Sums of the statistics of ties by new node and cluster of the others, (n_new, L, p)."""
        n_clusters, size = int(labels.max()) + 1, draw.statistics.shape[2]
        if points is None:
            return np.zeros((self.n_new, n_clusters, size))
        rows = places[0] * n_clusters + labels[places[1]]
        sums = sum_ties(rows, self.n_new * n_clusters, draw.family, self._draws.data, points)
        return sums.reshape(self.n_new, n_clusters, size)


def _by_name(argument, ties, variables):
    """Ties by the names of the block models."""
    if ties is None:
        return {}
    if not isinstance(ties, dict):
        if len(variables) > 1:
            raise ValueError(f"{argument} must be a dict with ties of one or more of {list(variables)}")
        return {next(iter(variables)): ties}
    unknown = [name for name in ties if name not in variables]
    if unknown:
        raise ValueError(f"{argument} must have names of block models, of {list(variables)}; got {unknown[0]!r}")
    return dict(ties)


def _matrix(title, ties, n):
    values = ties.toarray() if scipy.sparse.issparse(ties) else numeric_array(title, ties)
    values = np.asarray(values, dtype="float64")
    if values.ndim != 2 or values.shape[1] != n or len(values) == 0:
        raise ValueError(f"{title} must have shape (m, {n}), a row for each new item; got {values.shape}")
    return values
