"""Laws of partitions under measures whose fields are numbers or distributions."""

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable

from pymc_nrm.measures.base import check_measure_hyperparameters, draw_partition
from pymc_nrm.recipes.elicitation.laws import n_clusters_pmf

# Draws of hyperparameters over which the law of the number of clusters is averaged.
_N_LAWS = 400


def drawn_measures(measure, n_draws, rng):
    """Measures with float fields, drawn from the distributions of a measure's fields. If all fields are numbers, all
    entries are the same object.
    """
    measure = check_measure_hyperparameters(measure)
    random = [name for name, value in measure._asdict().items() if isinstance(value, Variable)]
    if not random:
        return [measure] * n_draws
    drawn = pm.draw([getattr(measure, name) for name in random], draws=n_draws, random_seed=rng)
    return [
        check_measure_hyperparameters(measure._replace(**dict(zip(random, map(float, values), strict=True))))
        for values in zip(*drawn, strict=True)
    ]


def mean_pmf(measures, n):
    """Law of the number of clusters among n items: the mean of the exact laws under the first 400 measures."""
    if measures[0] is measures[-1]:
        return n_clusters_pmf(measures[0], n)
    laws = [n_clusters_pmf(measure, n) for measure in measures[:_N_LAWS]]
    total = np.zeros(max(map(len, laws)))
    for law in laws:
        total[: len(law)] += law
    return total / len(laws)


def sorted_sizes(measures, n, n_ranks, rng):
    """Sizes of the largest clusters of a partition of n items from each measure. The largest comes first; zeros follow
    where there are fewer clusters. Shapes: returns (n_measures, n_ranks).
    """
    sizes = np.zeros((len(measures), n_ranks), dtype=np.int64)
    for row, measure in zip(sizes, measures, strict=True):
        largest = np.sort(np.bincount(draw_partition(measure, n, rng)))[::-1][:n_ranks]
        row[: len(largest)] = largest
    return sizes
