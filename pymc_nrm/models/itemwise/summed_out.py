"""Log densities with the labels of weighted components summed out: what NUTS and other samplers of gradients see."""

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.replace import graph_replace, vectorize_graph
from pytensor.graph.traversal import ancestors, toposort
from pytensor.tensor.subtensor import AdvancedSubtensor

from pymc_nrm.models.itemwise.flow import check_one_partition, split_terms
from pymc_nrm.models.itemwise.item_table import graphs_of_rows, kept_axes, read_parts
from pymc_nrm.models.model_graphs import at_values, log_probabilities
from pymc_nrm.models.rvs import mixtures_of
from pymc_nrm.partitions.weighted_components import log_shares


class SummedOut:
    """The log density of a model as a graph of value variables, with the labels of one partition summed out.

    Given weights W and everything else, items are independent.  With l[i, k] the log density of the rows of item i if
    its label is k, the sum over all labels is ``sum_i log sum_k exp(log_shares(W)[i, k] + l[i, k])``.
    """

    def __init__(self, model, partition, point):
        self.model, self.partition, self._value = model, partition, model.rvs_to_values[partition]
        self.n_components = partition.owner.op.kind.max_clusters
        self._terms, others = split_terms(model, partition)
        self.names = {term.name for term in (*self._terms, *others)}
        (parts, flow), n = self._read(point), len(point[self._value.name])
        self._layout = [_layout(part, n) for part in parts]
        self.index_data = sorted(flow.index_data, key=lambda data: data.name or "")
        # Data may change, and with them the item of each row.
        self._items = [pytensor.shared(part.items.ravel(), f"items of {part.name}") for part in parts]
        [log_weights] = at_values(model, partition.owner.op.prior_inputs(partition.owner))
        self.shares = log_shares(log_weights)
        # Log densities of the data of mixtures, given parameters that a step draws.
        self.of_mixtures = None
        if mixtures_of(model, partition):
            self.of_mixtures = pytensor.shared(np.zeros((1, 1)), "densities of mixtures", shape=(None, None))
        self.table, self.without_item = self._table(graphs_of_rows(parts, flow))
        self._without_labels = [term.graph for term in others] + self._of_shapes(parts)

    def refresh(self, point):
        """Read the item of each row again, since ``pm.set_data`` may have changed the data."""
        (parts, _), n = self._read(point), len(point[self._value.name])
        if [_layout(part, n) for part in parts] != self._layout:
            names = sorted({part.name for part in parts})
            raise ValueError(f"rows of {names} must belong to items as when the step was made: make the step anew")
        for shared, part in zip(self._items, parts, strict=True):
            shared.set_value(part.items.ravel())

    def log_density(self):
        """The summed-out log density of the data and labels of the partition, a scalar."""
        of_items = pt.logsumexp(self.table, axis=1).sum() + self.without_item
        return sum((graph.sum() for graph in self._without_labels), of_items)

    def _of_shapes(self, parts):
        """Terms that depend on the shape of the labels alone, without them."""
        kept = {part.graph for part in parts}
        graphs = [term.graph for term in self._terms if term.graph not in kept]
        no_labels = pt.zeros(self.shares.shape[0], dtype=self._value.dtype)
        return graph_replace(graphs, {self._value: no_labels}, strict=False) if graphs else []

    def _read(self, point):
        parts, flow, _ = read_parts(self.model, self.partition, self._terms, point, self.n_components)
        return parts, flow

    def _table(self, graphs):
        """Log joint density of the label and the rows of each item, (n, K), and the sum of rows without an item."""
        n, K = self.shares.shape[0], self.n_components
        slots = pt.broadcast_to(pt.arange(K)[:, None], (K, n)).astype(self._value.dtype)
        table, without_item = self.shares.T, pt.constant(0.0)
        if self.of_mixtures is not None:
            table = table + self.of_mixtures.T
        for graph, items, (_, in_order) in zip(graphs, self._items, self._layout, strict=True):
            rows = vectorize_graph(graph, {self._value: slots, **_indexed_by(self._value, graph, K, n)})
            if self._value in set(ancestors([rows])):
                raise NotImplementedError(f"labels of {self.partition.name!r} cannot be summed out of {graph}")
            # What is not a number is impossible, as for steps that draw labels.
            rows = pt.switch(pt.isnan(rows), -np.inf, rows)
            if in_order:
                table = table + rows
                continue
            of_item = items >= 0
            table = table[:, pt.where(of_item, items, 0)].inc(pt.where(of_item, rows, 0.0))
            without_item = without_item + pt.where(of_item, 0.0, rows[0]).sum()
        return table.T, without_item


def _layout(part, n):
    """The axes of the rows of a part, and whether each of the n items has one row, in order."""
    return kept_axes(part), np.array_equal(part.items.ravel(), np.arange(n))


def _indexed_by(labels, graph, n_slots, n):
    """What ``parameter[labels]`` becomes in all slots, for each parameter of a graph, (K, n, ...): copies of its
    entries, which elementwise functions need not make.
    """
    replacements = {}
    for node in toposort([graph]):
        if isinstance(node.op, AdvancedSubtensor) and node.inputs[1:] == [labels] and node.op.idx_list == (0,):
            parameter = node.inputs[0]
            if labels not in set(ancestors([parameter])):
                entries = pt.expand_dims(parameter[:n_slots], 1)
                replacements[node.outputs[0]] = pt.broadcast_to(entries, (n_slots, n, *tuple(parameter.shape)[1:]))
    return replacements


def summed_out_total(model, parts):
    """The log density of a model, a scalar, with the labels of partitions summed out.

    ``parts`` are the :class:`SummedOut` of these partitions.  Data of mixtures over them count given the parameters of
    components, see ``SummedOut.of_mixtures``.
    """
    check_one_partition(part.names for part in parts)
    used = set().union(*(part.names for part in parts))
    left_out = {rv for part in parts for rv in (part.partition, *mixtures_of(model, part.partition))}
    terms = (*model.free_RVs, *model.observed_RVs, *model.potentials)
    others = [term for term in terms if term not in left_out and term.name not in used]
    graphs = [graph.sum() for graph in log_probabilities(model, others)] if others else []
    for rv in model.free_RVs:
        transform = model.rvs_to_transforms[rv]
        if rv.name in used and transform is not None:
            # The terms that depend on labels come without Jacobians, which do not depend on labels.
            jacobian = transform.log_jac_det(model.rvs_to_values[rv], *rv.owner.inputs)
            graphs += [graph.sum() for graph in at_values(model, [jacobian])]
    return sum([*graphs, *(part.log_density() for part in parts)], pt.constant(0.0))
