"""The posterior draws of a block model: labels, family and statistics of its blocks."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.common.checks import check_name
from pymc_nrm.common.result_names import added_names
from pymc_nrm.families.base import localise
from pymc_nrm.families.conjugate import named_parameters, restore_parameters
from pymc_nrm.models.rvs import checked_model, dims_of, kind_of
from pymc_nrm.models.values import Values, kernel_family
from pymc_nrm.networks.models.block_data import block_data, block_models
from pymc_nrm.networks.posterior.block_tables import draw_blocks
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.posterior.draws import check_same_model
from pymc_nrm.stats.draws import stacked
from pymc_nrm.stats.result import posterior_of


class BlockDraw(NamedTuple):
    """One posterior draw of a block model."""

    # Its position among the draws of all chains.
    index: int
    # Clusters of rows and of columns in order of appearance; of a network the same ones twice.
    labels: tuple
    # Localised, with floats for fields.
    family: Any
    # Sums of statistics of each block, (K, L, p); symmetric for undirected ties.
    statistics: Any
    # Concentration of the shares of nodes in the ties of their block, or None.
    degree_corrected: float | None

    @property
    def n_columns(self):
        """Number of clusters of columns."""
        return self.statistics.shape[1]

    def cells(self, i, j):
        """The block of pairs, in the order of the table. Shapes: ``i`` and ``j`` (m,)."""
        return self.labels[0][i] * self.n_columns + self.labels[1][j]

    def flat_statistics(self):
        """Statistics of the blocks in the order of the table, (K L, p)."""
        return self.statistics.reshape(-1, self.statistics.shape[2])


class BlockDraws:
    """An iterable of the posterior draws of a block model, chain after chain."""

    def __init__(self, idata, model, rv):
        self.model, self.rv, self.posterior = model, rv, posterior_of(idata, by_chain=True)
        self.blocks = block_data(model, rv)
        self.name, self.is_table, self.directed = rv.name, self.blocks.is_table, self.blocks.directed
        for partition in self.blocks.partitions:
            check_same_model(idata, model, partition.name)
        self.family_class = type(self.blocks.family)
        corrected = [] if self.blocks.degree_corrected is None else [self.blocks.degree_corrected]
        self._values = Values.at_draws(model, [*self.blocks.partitions, *corrected, *self.blocks.family])
        self._draws = {variable.name: stacked(self.posterior, variable.name) for variable in self._values.inputs}
        self._dtypes = {variable.name: variable.dtype for variable in self._values.inputs}
        self._is_corrected = bool(corrected)
        # Data of the distinct values, as kernels read them.
        self.data = None

    def __len__(self):
        return self.posterior.sizes["chain"] * self.posterior.sizes["draw"]

    def __iter__(self):
        n = len(self.blocks.partitions)
        for s in range(len(self)):
            given = {name: np.asarray(self._draws[name][s], dtype=dtype) for name, dtype in self._dtypes.items()}
            values = self._values(given)
            labels = list(map(_clusters, self.blocks.partitions, values[:n]))
            family = kernel_family(self.family_class, values[n + self._is_corrected :])
            if self.data is None:
                self.data = self.blocks.prepared(family)
            family = localise(family, self.data)
            statistics = self.blocks.sums(family, self.data, *labels)
            concentration = float(values[n]) if self._is_corrected else None
            yield BlockDraw(s, (labels[0], labels[-1]), family, statistics, concentration)

    @cached_property
    def degrees(self):
        """Numbers of ties of nodes: in undirected networks all; in directed ones from nodes and to them, a list."""
        i, j, x = self.blocks.pairs()
        n = self.blocks.shape[0]
        ends = [np.bincount(i, x, n), np.bincount(j, x, n)]
        return ends if self.directed else [ends[0] + ends[1]]

    @property
    def dims(self):
        """Dimensions of the items of rows and of columns."""
        return [dims_of(self.model, self.blocks.partitions[place])[0] for place in (0, -1)]

    def item_names(self):
        """Coordinates of rows and of columns, or their positions."""
        coords = [self.model.coords.get(dim) for dim in self.dims]
        return [
            np.arange(n) if values is None else np.asarray(values)
            for values, n in zip(coords, self.blocks.shape, strict=True)
        ]

    def pair_coords(self, first, second):
        """Name of the dimension of pairs, and the items of the pairs as its coordinates. Shapes: items (m,)."""
        pair, *ends = added_names({*self.dims}, "pair", "first", "second")
        names = zip(ends, self.item_names(), (first, second), strict=True)
        return pair, {end: (pair, items[places]) for end, items, places in names}

    def draw_parameters(self, draw, rng):
        """Draw the parameters of all blocks: arrays (K, L, ...) by name, symmetric for undirected ties."""
        rows = draw_blocks(rng, draw.flat_statistics(), draw.family, self.data)
        rows = restore_parameters(draw.family, self.data, rows)
        parameters = {}
        for name, values in named_parameters(draw.family, rows).items():
            # A pair has one feature.
            values = values[:, 0].reshape(*draw.statistics.shape[:2], *values.shape[2:])
            if not self.directed and not self.is_table:
                below = np.tril_indices(len(values), -1)
                values[below] = values.swapaxes(0, 1)[below]
            parameters[name] = values
        return parameters


def draws_of_blocks(idata, model, var_name=None):
    """:class:`BlockDraws` of the block model of a name, by default the only one."""
    model = checked_model(model)
    return BlockDraws(idata, model, find_block_model(model, var_name))


def find_block_model(model, var_name=None):
    """Find the block model of a name, by default the only one."""
    of_model = {rv.name: rv for rv in block_models(model)}
    if not of_model:
        raise ValueError(f"model must have a BlockModel; got one with the variables {sorted(model.named_vars)}")
    if var_name is not None:
        check_name("var_name", var_name, "a BlockModel")
    elif len(of_model) == 1:
        [var_name] = of_model
    else:
        raise ValueError(f"var_name must be given, one of {sorted(of_model)}: the model has several block models")
    if var_name not in of_model:
        raise ValueError(f"var_name must name a BlockModel of the model, one of {sorted(of_model)}; got {var_name!r}")
    return of_model[var_name]


def _clusters(partition, value):
    """Clusters of the items in a value of a partition, in order of appearance."""
    kind = kind_of(partition)
    return canonical_labels(kind.cluster_labels(kind.of_items(kind.read({partition.name: value}))))
