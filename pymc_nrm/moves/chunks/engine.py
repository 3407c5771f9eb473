"""Passes over blocks of rows, on threads of this machine or as tasks of a Dask cluster."""

import copy
import operator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pymc_nrm.partitions.labels import smallest_type

# Number of partial sums that one task adds up.
_FAN_IN = 8
# After this many passes the labels go through this process, so that no task keeps the history that led to them.
_PASSES_BETWEEN_RESTARTS = 200


class Engine:
    """Runs passes over blocks on this machine.

    A pass is a function of a block and a message, which may change the labels of the block and returns a tuple of
    arrays.  :meth:`run` returns the sums of these arrays over all blocks.  Integers have the same sum in any order, and
    so have floats that are 0 in all blocks but one.
    """

    def __init__(self, blocks, n_threads=1):
        self.blocks = [block for block in blocks if block.n]
        self.n_rows, self.n_blocks, self.n_threads = sum(block.n for block in self.blocks), len(self.blocks), n_threads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 and self.n_blocks > 1 else None

    def each(self, one_pass, message):
        """Iterate over the results of a pass for each block, in order; the pass changes no labels."""
        map_all = map if self._pool is None else self._pool.map
        return map_all(lambda block: one_pass(block, message), self.blocks)

    def run(self, one_pass, message):
        """Sums over blocks of the results of a pass."""
        totals = None
        for parts in self.each(one_pass, message):
            totals = parts if totals is None else add(totals, parts)
        return list(totals)

    def reset(self):
        """Put all rows into one cluster."""
        for block in self.blocks:
            block.reset()

    def labels(self):
        """Labels of all rows, (n,)."""
        return np.concatenate([block.labels for block in self.blocks]).astype(np.int64)

    def set_labels(self, labels):
        """Replace the labels of all rows, (n,)."""
        for block in self.blocks:
            block.reset()
            block.labels[:] = labels[block.first : block.first + block.n]


def add(totals, parts):
    """Sums of two tuples of arrays."""
    return tuple(total + part for total, part in zip(totals, parts, strict=True))


class ClusterEngine:
    """Runs the same passes as tasks of a ``distributed.Client``; labels stay with the workers.

    Tasks are functions of their inputs, and random numbers belong to rows: the results of a dead worker are computed
    again, with the same values.  ``sources`` are, for each block, a future of its values or a function that reads them;
    ``n_threads`` is for chains on a sample of the rows, which this process runs.
    """

    def __init__(self, client, blocks, sources, n_threads=1):
        self._client, self._sources = client, sources
        self._first_blocks, self.n_blocks = blocks, len(blocks)
        self.n_rows, self.n_threads = sum(block.n for block in blocks), n_threads
        self.reset()

    def reset(self):
        """Put all rows into one cluster."""
        self._blocks, self._n_passes = self._submit(copy.copy, self._first_blocks), 0

    def _submit(self, function, *arguments):
        """Futures of a function called with one argument from each list."""
        # Without unique names, equal tasks of several passes would be merged.
        return [self._client.submit(function, *each, pure=False) for each in zip(*arguments, strict=True)]

    def each(self, one_pass, message):
        """Iterate over the results of a pass for each block, in order; the pass changes no labels."""
        repeated = [one_pass] * self.n_blocks, [message] * self.n_blocks
        futures = self._submit(_advance, self._blocks, self._sources, *repeated)
        for future in self._submit(operator.itemgetter(1), futures):
            yield self._client.gather(future)

    def run(self, one_pass, message):
        """Sums over blocks of the results of a pass."""
        if self._n_passes == _PASSES_BETWEEN_RESTARTS:
            self._restart()
        self._n_passes += 1
        repeated = [one_pass] * self.n_blocks, [message] * self.n_blocks
        futures = self._submit(_advance, self._blocks, self._sources, *repeated)
        self._blocks = self._submit(operator.itemgetter(0), futures)
        parts = self._submit(operator.itemgetter(1), futures)
        while len(parts) > 1:
            groups = [parts[first : first + _FAN_IN] for first in range(0, len(parts), _FAN_IN)]
            parts = [self._client.submit(_add_all, group, pure=False) for group in groups]
        return list(self._client.gather(parts[0]))

    def _restart(self):
        """Create blocks from their labels, without the history that led to them."""
        self._begin(self._client.gather(self._submit(_state, self._blocks)))

    def _begin(self, states):
        """Make blocks from their labels and sides."""
        blocks = [copy.copy(block) for block in self._first_blocks]
        for block, state in zip(blocks, states, strict=True):
            block.labels, block.sides = state
        self._blocks, self._n_passes = self._submit(_widened, blocks), 0

    def labels(self):
        """Labels of all rows, (n,)."""
        states = self._client.gather(self._submit(_state, self._blocks))
        return np.concatenate([labels for labels, _ in states]).astype(np.int64)

    def set_labels(self, labels):
        """Replace the labels of all rows, (n,)."""
        blocks = self._first_blocks
        self._begin([(labels[block.first : block.first + block.n], np.zeros(block.n, np.int8)) for block in blocks])


def _advance(block, source, one_pass, message):
    """A copy of a block after a pass, and the result of the pass."""
    block = copy.copy(block)
    block.labels, block.sides = block.labels.copy(), block.sides.copy()
    block.read = source if callable(source) else lambda: source
    parts = one_pass(block, message)
    block.read = None
    return block, parts


def _add_all(group):
    total = group[0]
    for parts in group[1:]:
        total = add(total, parts)
    return total


def _state(block):
    """Labels and sides in the smallest types that hold them."""
    return block.labels.astype(smallest_type(int(block.labels.max()))), block.sides


def _widened(block):
    block = copy.copy(block)
    block.labels = block.labels.astype(np.int32)
    return block
