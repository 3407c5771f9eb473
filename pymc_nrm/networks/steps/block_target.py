"""What a model's log-probability has of one partition with block models, in the form that kernels read."""

from functools import partial

import numpy as np

from pymc_nrm.common.checks import check_values
from pymc_nrm.families.base import localise
from pymc_nrm.families.erased.erased import Erased
from pymc_nrm.families.erased.shared_kernel import erase
from pymc_nrm.models.parts import joint_data, joint_family
from pymc_nrm.models.rvs import depends_on, kind_of
from pymc_nrm.models.values import Values, kernel_family
from pymc_nrm.networks.families.degree_shares import Degrees, DegreeShares
from pymc_nrm.networks.families.networked import Networked, NetworkedData
from pymc_nrm.networks.families.table_rows import RowSums, TableRows
from pymc_nrm.networks.models.block_data import block_data, block_models
from pymc_nrm.networks.models.block_sums import degrees_of, layer_of
from pymc_nrm.networks.partitions.neighbours import neighbours
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.steps.target import Target


class BlockTarget(Target):
    """The terms that depend on a partition: of its measure, its mixtures and its block models."""

    def __init__(self, model, partition, point, compile_kwargs=None):
        evaluate = partial(Values.at_points, model, compile_kwargs=compile_kwargs)
        all_data = [block_data(model, rv) for rv in block_models(model, partition)]
        self.networks = [_Network(data, evaluate) for data in all_data if not data.is_table]
        self._tables = [_Table(data, partition, evaluate) for data in all_data if data.is_table]
        # Undirected networks first, as in `Pairs`.
        self.networks.sort(key=lambda network: network.data.directed)
        self._pairs = None
        super().__init__(model, partition, point, compile_kwargs)

    @staticmethod
    def uses_of_step(model, partition):
        allowed = []
        for rv in block_models(model, partition):
            op, node = rv.owner.op, rv.owner
            concentration = op.concentration(node)
            parameters = [*op.family(node), *([] if concentration is None else [concentration])]
            if not depends_on(parameters, partition, model):
                allowed.append(rv)
        return allowed

    def at(self, point):
        if not self._checked:
            self._check(point)
        measure, families, data = self._parts.prepared(point)
        families, data = [*families], [*data]
        groups = getattr(self._kind, "groups", None)
        at_point = [network.family_at(point) for network in self.networks]
        for network, (_, _, concentration) in zip(self.networks, at_point, strict=True):
            if concentration is not None:
                degrees = network.degrees
                families.append(DegreeShares(concentration, degrees.shape[1]))
                data.append(Degrees(degrees))
        for table in self._tables:
            family, rows = table.at(point)
            families.append(family)
            data.append(rows)
        family, rows = joint_family(families), joint_data(data)
        if self.networks:
            if self._pairs is None:
                n = self.networks[0].data.shape[0]
                self._pairs = neighbours([network.layer for network in self.networks], n, groups)
            of_both = [[], []]
            for network, (prior, prepared, _) in zip(self.networks, at_point, strict=True):
                of_both[int(network.data.directed)].append((prior, prepared))
            split = [tuple(map(tuple, zip(*pairs, strict=True))) or ((), ()) for pairs in of_both]
            family = Networked(family, split[0][0], split[1][0])
            rows = NetworkedData(rows, split[0][1], split[1][1], self._pairs)
        return measure, *self._kind.kernel_parts(family, rows)

    def refresh(self):
        super().refresh()
        self._pairs = None
        for part in (*self.networks, *self._tables):
            part.refresh()


class LabelsAtPoints:
    """Clusters of items in order of appearance, from the variable of their partition; after ``pm.do`` it is data."""

    def __init__(self, partition, evaluate):
        self._kind, self._values = kind_of(partition), evaluate([partition])
        self.refresh = self._values.refresh

    def at(self, point):
        [value] = self._values(point)
        if self._kind is not None:
            value = self._kind.of_items(self._kind.read({self._kind.name: value}))
        return canonical_labels(value)


class Part:
    """A block model at points: its family, localised, and its prepared values."""

    def __init__(self, data, evaluate):
        self.data, self._family_class = data, type(data.family)
        corrected = [] if data.degree_corrected is None else [data.degree_corrected]
        self._values = evaluate([*data.family, *corrected])
        self._prepared = self._layer = None

    def refresh(self):
        """Read constants again, since ``pm.set_data`` may have changed them."""
        self._values.refresh()
        self._prepared = self._layer = None

    def family_at(self, point):
        """Localised family, prepared values, and the concentration of the degree correction or None."""
        values = self._values(point)
        n_fields = len(self._family_class._fields)
        family = kernel_family(self._family_class, values[:n_fields])
        if self._prepared is None:
            check_values(family, len(self.data.values), 1, f" where the sampling of {self.data.name!r} starts")
            self._prepared = self.data.prepared(family)
            self._layer = layer_of(family, self._prepared, self.data.observed, self.data.degree_corrected is not None)
        concentration = float(values[-1]) if len(values) > n_fields else None
        return localise(family, self._prepared), self._prepared, concentration

    @property
    def layer(self):
        """Rows of statistics of its values, after the first call of :meth:`family_at`."""
        return self._layer


class _Network(Part):
    """A network of the nodes that a partition divides."""

    def family_at(self, point):
        if self._prepared is None and self.data.degree_corrected is not None:
            # Degrees of the nodes, (n, 1) or (n, 2).
            self.degrees = degrees_of(self.data.observed)
        return super().family_at(point)


class _Table(Part):
    """A table, whose rows or columns a partition divides, given the clusters of the others."""

    def __init__(self, data, partition, evaluate):
        super().__init__(data, evaluate)
        rows, columns = data.partitions
        self._is_rows = partition is rows
        self._labels = LabelsAtPoints(columns if partition is rows else rows, evaluate)

    def refresh(self):
        super().refresh()
        self._labels.refresh()

    def at(self, point):
        """Family and data of items with a row of sums for each cluster of the others."""
        family, prepared, _ = self.family_at(point)
        sums = _sums_of_items(self.layer, self._labels.at(point), self._is_rows)
        entries, _ = erase(family, prepared, Erased)
        n_items, n_blocks, size = sums.shape
        return TableRows(entries, n_blocks), RowSums(sums.reshape(n_items, n_blocks * size))


def _sums_of_items(layer, others, is_rows):
    """Sums of statistics of the entries of each item with each cluster of the others, (n_items, n_clusters, size)."""
    codes = layer.pairs.codes.tocoo()
    items, partners = (codes.row, codes.col) if is_rows else (codes.col, codes.row)
    n_items = layer.pairs.shape[0 if is_rows else 1]
    n_clusters, size = int(others.max()) + 1, layer.rows.shape[1]
    default = layer.rows[layer.pairs.default]
    rows = (layer.rows - default)[codes.data - 1]
    cells = items * n_clusters + others[partners]
    sums = [np.bincount(cells, rows[:, p], n_items * n_clusters) for p in range(size)]
    sums = np.column_stack(sums).reshape(n_items, n_clusters, size)
    return sums + np.bincount(others)[:, None] * default
