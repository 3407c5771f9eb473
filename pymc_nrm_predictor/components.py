"""Weights of the clusters of all draws, side by side, for new rows."""

import numpy as np


class Draws:
    """Clusters of all draws, one draw after the other, each with a new cluster at its end.

    Shapes: ``start`` (S + 1,), where the components of each draw begin; ``log_weight`` (N,), log probabilities that an
    item joins them, before its data are seen; ``share`` (N, L + 1), shares of the clusters of an estimate among the
    items of a component, and of a new cluster.
    """

    def __init__(self, start, log_weight, share):
        self.start, self.log_weight, self.share = start, log_weight, share
        self._sizes = np.diff(start)

    def __len__(self):
        return len(self._sizes)

    def slices(self):
        """The components of each draw."""
        return map(slice, self.start[:-1], self.start[1:])

    def log_sums(self, table):
        """Log of the sum of exponentials over the components of each draw, (m, S), of a table (m, N)."""
        largest = np.maximum.reduceat(table, self.start[:-1], axis=1)
        shift = np.where(np.isfinite(largest), largest, 0.0)
        sums = np.add.reduceat(np.exp(table - self.spread(shift)), self.start[:-1], axis=1)
        with np.errstate(divide="ignore"):
            return shift + np.log(sums)

    def spread(self, values):
        """Values of each draw (m, S) for each of its components, (m, N)."""
        return np.repeat(values, self._sizes, axis=1)


def log_mean(values):
    """Log of the mean of exponentials of each row, -inf if all are. Shapes: ``values`` (m, S); returns (m,)."""
    largest = values.max(axis=1, keepdims=True)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return shift[:, 0] + np.log(np.exp(values - shift).mean(axis=1))
