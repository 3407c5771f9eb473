"""The start of a step over many items from chains of the same step on some of them."""

import numpy as np

from pymc_nrm.families.some_items import take_items
from pymc_nrm.measures.base import Weights
from pymc_nrm.moves.gibbs import join_in_turn
from pymc_nrm.moves.sampled_start import climb
from pymc_nrm.partitions.clusters import build_state


class _Chain:
    """Moves of a step on m items, given u of all items."""

    def __init__(self, step, rng, table, family, data, m, previous):
        self._step, self._family, self._data = step, family, data
        self._table = Weights(table.join[: m + 1], table.moment[: m + 1])
        if previous is None:
            labels = step.start_of_few(rng, self._table, family, data)
        else:
            labels = previous.labels_of_all(rng, self._table, data, np.arange(len(previous.state.labels)))
        self.state = build_state(labels, family, data)

    def advance(self):
        """Make the moves of a draw."""
        self.state, _ = self._step.moves(self.state, self._table, self._family, self._data)

    def labels_of_all(self, rng, table, data, own):
        """Labels of all items of the data: the chain's own are at some places (m,), the others join in turn."""
        labels = np.full(len(table.moment) - 1, -1)
        labels[own] = self.state.labels
        return join_in_turn(rng, table, self._family, data, self.state, labels)


def start_from_samples(step, rng, table, family, data):
    """Labels of all items from chains on some of them, whose clusters the others join."""

    def begin(items, previous):
        return _Chain(step.for_start(), rng, table, family, take_items(data, items), len(items), previous)

    n = len(table.moment) - 1
    last, items = climb(rng, n, begin, _Chain.advance, step.partition.units_of_every_start())
    return last.labels_of_all(rng, table, data, items)
