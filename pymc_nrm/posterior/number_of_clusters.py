"""How sure it is how many clusters there are, in the words of a title."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.common.wrapping import percent
from pymc_nrm.stats.convergence import barely_agree, pair_depths, random_pairs
from pymc_nrm.stats.draws import stack_draws

# One group is likely if it is in this share of the draws.
_LIKELY = 0.5
OVERLAP = (
    "draws barely agree which {word} share a cluster: clusters overlap almost completely, and their number mostly "
    "reflects the prior"
)


class NumberOfClusters(NamedTuple):
    """The number of clusters of an estimate, and the numbers in draws that are fused in the same way."""

    estimate: int
    # The shortest interval of numbers with the probability of intervals, and the share of draws in it.
    low: int
    high: int
    share: float
    # The share of draws in which all items are in one cluster.
    share_of_one: float
    n_draws: int

    def title(self, items, noun="cluster", group="group", further=""):
        """How many clusters some items are in, and how sure this is; one group comes first where it is likely."""
        several = self.n_draws > 1
        probability = f"probability {self.share_of_one:.2f}"
        if self.estimate == 1:
            return (
                f"One {group} describes these {items}{_in_brackets(probability * several, self._in_draws(), further)}"
            )
        text = f"{items} in {self.estimate:,} {noun}s{_in_brackets(self._in_draws(), further)}"
        return f"One {group} is likely ({probability}); {text}" if self.share_of_one >= _LIKELY and several else text

    def _in_draws(self):
        """The interval in words; empty if there is one draw."""
        if self.n_draws == 1:
            return ""
        where = "all draws" if self.share == 1.0 else f"{percent(self.share)} of draws"
        if self.low == self.high == self.estimate:
            return f"in {where}"
        return f"{self.low:,} in {where}" if self.low == self.high else f"{self.low:,} to {self.high:,} in {where}"


def number_of_clusters(labels: Any, draws: Any, ci_prob: float) -> NumberOfClusters:
    """Compare labels (n,) of an estimate with draws of a partition (chain, draw, item)."""
    counts = np.array([len(np.unique(draw)) for draw in stack_draws(draws)])
    low, high = shortest_interval(counts, ci_prob)
    share = float(((low <= counts) & (counts <= high)).mean())
    return NumberOfClusters(int(labels.max()) + 1, low, high, share, float((counts == 1).mean()), len(counts))


def clusters_overlap_in(draws: Any) -> bool:
    """Whether draws of a partition (chain, draw, item) barely agree about which items share a cluster."""
    return barely_agree(pair_depths(draws.values, random_pairs(draws.shape[-1])).mean(axis=1))


def _in_brackets(*texts):
    return f" ({'; '.join(filter(None, texts))})" if any(texts) else ""


def shortest_interval(counts, probability):
    """The shortest interval of whole numbers with at least this share of counts (S,), of several the fullest."""
    values, frequencies = np.unique(counts, return_counts=True)
    total = np.append(0, frequencies.cumsum())
    intervals = []
    for k, low in enumerate(values):
        last = int(np.searchsorted(total, total[k] + probability * len(counts) - 1e-9)) - 1
        if last < len(values):
            intervals.append((values[last] - low, total[k] - total[last + 1], low, values[last]))
    return tuple(map(int, min(intervals)[2:]))
