"""Passes over blocks, serial or on threads: one method, so that a cluster of machines can take its place."""

import itertools
from concurrent.futures import ThreadPoolExecutor

__all__ = ["Engine"]


class Engine:
    """Runs passes over blocks on this machine.

    A pass is a function of a block and a message, which may change the labels of the block and returns a tuple of
    arrays.  :meth:`run` returns the sums of these arrays over all blocks; integers, or floats of which all blocks but
    one return 0, have the same sum in any order.
    """

    def __init__(self, blocks, n_threads=1):
        self.blocks = [block for block in blocks if block.n]
        self.n_rows = sum(block.n for block in blocks)
        self._begun = set()
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 and len(self.blocks) > 1 else None

    def run(self, one_pass, message):
        """Sums over blocks of what the pass returns."""
        totals = None
        for parts in self._map(one_pass, message):
            if totals is None:
                totals = list(parts)
            else:
                totals = [total + part for total, part in zip(totals, parts, strict=True)]
        return totals

    def largest(self, one_pass, message):
        """Largest entries over blocks of the one array that the pass returns."""
        largest = None
        for part in self._map(one_pass, message):
            largest = part if largest is None else largest.clip(min=part)
        return largest

    def _map(self, one_pass, message):
        """What the pass returns for each block."""

        def run(block):
            return one_pass(block, message)

        if self._pool is None:
            return map(run, self.blocks)
        if one_pass in self._begun:
            return self._pool.map(run, self.blocks)
        # Kernels are made when they are first called, which threads must not do side by side.
        self._begun.add(one_pass)
        return itertools.chain([run(self.blocks[0])], self._pool.map(run, self.blocks[1:]))
