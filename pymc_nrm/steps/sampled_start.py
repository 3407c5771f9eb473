"""The start of a step over many items from chains of the same step on some of them."""

import numpy as np

from pymc_nrm.families.some_items import take_items
from pymc_nrm.measures.base import Weights
from pymc_nrm.moves.gibbs import draw_labels
from pymc_nrm.moves.sampled_start import climb
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.labels import canonical_labels


class _Chain:
    """Moves of a step on m items, given u of all items."""

    def __init__(self, step, rng, table, family, data, m, previous):
        self._step, self._family, self._data = step, family, data
        self._table = Weights(table.join[: m + 1], table.moment[: m + 1])
        if previous is None:
            labels = step.labels_of_tree(rng, self._table, family, data)
        else:
            labels = previous.labels_of_all(rng, data, m, np.arange(len(previous.state.labels)))
        self.state = build_state(labels, family, data)

    def advance(self):
        """Make the moves of a draw."""
        self.state, _ = self._step.moves(self.state, self._table, self._family, self._data)

    def labels_of_all(self, rng, data, n, own):
        """Labels of n items, of which its own are at some places (m,)."""
        labels = np.empty(n, dtype=np.int64)
        draw_labels(rng, self.state, self._table, self._family, data, labels)
        labels[own] = self.state.position[self.state.labels]
        return canonical_labels(labels)


def start_from_samples(step, rng, table, family, data):
    """Labels of all items from chains on some of them, whose clusters label the others."""

    def begin(items, previous):
        return _Chain(step.for_start(), rng, table, family, take_items(data, items), len(items), previous)

    n = len(table.moment) - 1
    last, items = climb(rng, n, begin, _Chain.advance, step.partition.units_of_every_start())
    return last.labels_of_all(rng, data, n, items)
