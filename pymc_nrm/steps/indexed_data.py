"""Data of a partition whose labels are one of a fixed number: what the labels index, and mixtures given parameters."""

from functools import partial

import numpy as np

from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.kernels.generic import lacking, precompile
from pymc_nrm.models.itemwise.item_table import ItemTable
from pymc_nrm.models.rvs import family_of, mixtures_of
from pymc_nrm.moves.component_labels import component_densities
from pymc_nrm.partitions.clusters import build_state, log_target, log_target_by_items
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.steps.label_moves import equal_weights, indexed_moves
from pymc_nrm.steps.target import Target


class IndexedData:
    """Log densities of the data of all items under each label, for steps that draw all labels at once."""

    def __init__(self, model, partition, point, compile_kwargs=None):
        self.name, self.n_components = partition.name, partition.owner.op.kind.max_clusters
        self.target = Target(model, partition, point, compile_kwargs)
        self.table = ItemTable(model, partition, self.n_components, point, compile_kwargs)
        families = [type(family_of(mixture)) for mixture in mixtures_of(model, partition)]
        self._has_marginals = not any(lacking(family_class, [log_marginal]) for family_class in families)

    def compile(self, rng, labels, family, data):
        """Compile the kernels of a draw."""
        if self.target.has_mixtures:
            precompile(component_densities, rng, labels, self.n_components, family, data)
            self.log_marginal(labels * 0, family, data)

    def refresh(self):
        """Read data again, since ``pm.set_data`` may have changed them."""
        self.target.refresh()
        self.table.refresh()

    def densities_of_mixtures(self, rng, labels, family, data):
        """Log densities of the data of mixtures under each label, given parameters drawn given labels, (n, K)."""
        if not self.target.has_mixtures:
            return np.zeros((len(labels), self.n_components))
        return component_densities(rng, labels, self.n_components, family, data)

    def log_marginal(self, labels, family, data):
        """Log density of the data of mixtures given labels, with parameters integrated out."""
        if not self.target.has_mixtures:
            return 0.0
        return self._log_target(build_state(canonical_labels(labels), family, data), family, data)

    def _log_target(self, state, family, data):
        weights = equal_weights(len(state.labels))
        if self._has_marginals:
            return log_target(state, weights, family, data)
        return log_target_by_items(state, weights, family, data)

    def moves(self, rng, point, partition, family, data, log_ratio):
        """Moves of items between labels, as :func:`indexed_moves` yields them."""
        log_target = partial(self._log_target, family=family, data=data) if self.target.has_mixtures else None
        yield from indexed_moves(rng, point, partition, self.table, family, data, log_ratio, log_target)

    def impossible_items(self, point, labels):
        """Name, log density and item of data that have no finite density at the labels, one item of each variable."""
        impossible = []
        for name, values in self.table.values(point, labels, by_term=True).items():
            if not np.isfinite(values).all():
                item = int(np.argmin(np.isfinite(values)))
                impossible.append((name, values[item], item))
        return impossible
