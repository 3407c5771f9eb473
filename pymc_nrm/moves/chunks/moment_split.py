"""Splits and merges of disjoint sets of clusters with labels summed out, by parameters whose moments match.

Two or more anchors are drawn without looking at labels; S is the union of their clusters.  If all are in one cluster, a
split gives each anchor a part of its own; if all are apart, a merge makes S one cluster; otherwise S stays as it is.

The divided state is extended by weights w of its parts, from a Dirichlet distribution with parameters ``n_c - sigma``,
and by parameters theta_c from their posteriors, with joint density r.  The state of one cluster is extended by theta
from its posterior, and by weights and variables that turn theta into parameters of parts: this gives w and the theta_c
a density g (``families/moment_split.py``).  Given them, a split draws the label of every row but the anchors, with
probability ``w f(x) / sum w f(x)``, in all with probability q.  It is accepted with probability ``min(1, R)`` and a
merge with ``min(1, 1 / R)``, where ``R = prod L(c) r / (L(S) g q)`` and L is the target of a cluster given u.

Labels cancel.  With h the prior density of parameters, ``prod L(c) r`` is the product of all ``h(theta_c)``, of weights
and densities of the rows given their labels, and of powers of w; rows and q together are the density M of the rows with
labels summed out, but for anchors, which count for their own parts.  One pass over S gives M, whichever way the move
goes.
"""

import math

import numpy as np

from pymc_nrm.families.base import statistics_size
from pymc_nrm.families.conjugate import draw_parameters, log_marginal, log_parameter_density, parameters_size
from pymc_nrm.families.features import features
from pymc_nrm.families.moment_split import join_parameters, split_parameters
from pymc_nrm.families.needs import MOMENT_SPLIT
from pymc_nrm.families.product import unfolded
from pymc_nrm.kernels.generic import kernel, lacking
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import copy_row, draw_log_gamma, log_rising_factorial, log_sum_exp
from pymc_nrm.moves.chunks.scan import Parts, divide, scan

__all__ = ["split_and_merge_by_moments"]

# Weights of the parts of a split are from a Dirichlet distribution with this parameter.
_SHAPE = 2.0


@kernel
def draw_weights(rng, shapes, log_weights):
    """Draw the logarithms of weights from a Dirichlet distribution."""
    for c in range(shapes.shape[0]):
        log_weights[c] = draw_log_gamma(rng, shapes[c])
    total = log_sum_exp(log_weights)
    for c in range(shapes.shape[0]):
        log_weights[c] -= total


@kernel
def extend_parts(rng, law, family, counts, statistics, log_weights, parameters):
    """Draw weights and parameters of clusters, and return the log density of their rows given them and the labels."""
    draw_weights(rng, counts - law.sigma, log_weights)
    total, no_data = 0.0, np.zeros(statistics.shape[1])
    for c in range(counts.shape[0]):
        draw_parameters(family, statistics[c], rng, parameters[c])
        total += counts[c] * log_weights[c] + log_marginal(family, statistics[c])
        total += log_parameter_density(family, statistics[c], parameters[c])
        total -= log_parameter_density(family, no_data, parameters[c])
    return total


@kernel
def extend_whole(rng, family, statistics, log_weights, parameters):
    """Draw the parameters of a cluster, and of parts with the same moments."""
    last = log_weights.shape[0] - 1
    draw_weights(rng, np.full(last + 1, _SHAPE), log_weights)
    whole, log_rest = np.empty(parameters.shape[1]), 0.0
    draw_parameters(family, statistics, rng, parameters[last])
    for c in range(last):
        # Part c is split off from what the last row stands for.
        copy_row(whole, parameters[last])
        log_next = log_sum_exp(log_weights[c + 1 :])
        p, q = math.exp(log_weights[c] - log_rest), math.exp(log_next - log_rest)
        split_parameters(family, whole, p, q, rng, parameters[c], parameters[last])
        log_rest = log_next


@kernel
def log_ratio_without_rows(law, family, n, statistics, log_weights, parameters):
    """Logarithm of R / M for a set of n rows with these statistics, and parts with these weights and parameters."""
    n_parts = log_weights.shape[0]
    total = (n_parts - 1) * law.log_scale - log_rising_factorial(n - n_parts * law.sigma, (n_parts - 1) * law.sigma)
    total -= math.lgamma(n_parts * _SHAPE) - n_parts * math.lgamma(_SHAPE)
    no_data = np.zeros(statistics_size(family))
    for c in range(n_parts):
        total -= (law.sigma + _SHAPE) * log_weights[c]
        total += log_parameter_density(family, no_data, parameters[c])
    whole, rest, log_rest = np.empty(parameters.shape[1]), parameters[n_parts - 1].copy(), log_weights[n_parts - 1]
    for c in range(n_parts - 2, -1, -1):
        log_both = log_sum_exp(log_weights[c:])
        p, q = math.exp(log_weights[c] - log_both), math.exp(log_rest - log_both)
        total -= join_parameters(family, p, q, parameters[c], rest, whole)
        copy_row(rest, whole)
        log_rest = log_both
    return total - log_marginal(family, statistics) - log_parameter_density(family, statistics, rest)


def anchors_near(rng, points, n_anchors):
    """Rows among the nearest ones of a row, of random number, from the data alone."""
    n = len(points)
    pivot = int(rng.integers(n))
    n_near = max(n_anchors, int(n * 0.5 ** rng.integers(max(1, int(math.log2(n))))))
    distances = ((points - points[pivot]) ** 2).sum(axis=1)
    distances[pivot] = -1.0
    near = np.argpartition(distances, n_near - 1)[:n_near]
    others = near[near != pivot]
    return np.append(pivot, rng.choice(others, n_anchors - 1, replace=False))


def disjoint_sets(rng, points, labels, n_sets):
    """Anchors (m, k), places in the sample, their clusters (m, k), and their numbers (m,); -1 behind the last ones.

    Clusters of a set are all different, or one.
    """
    anchors, clusters, sizes, taken = [], [], [], set()
    most = min(LANES, len(labels))
    for _ in range(n_sets):
        n_anchors = min(1 + rng.geometric(0.5), most)
        chosen = anchors_near(rng, points, n_anchors)
        own = labels[chosen]
        different = set(own.tolist())
        if taken & different:
            continue
        # Sets of which some anchors are together are taken as well, so that they are left alone in both directions.
        taken |= different
        if len(different) in (1, n_anchors):
            anchors.append(np.append(chosen, np.full(LANES - n_anchors, -1)))
            clusters.append(np.append(own[: len(different)], np.full(LANES - len(different), -1)))
            sizes.append(n_anchors)
    width = max(sizes, default=0)
    return np.array(anchors)[..., :width], np.array(clusters)[..., :width], np.array(sizes, dtype=np.int64)


def split_and_merge_by_moments(chain, rng, law, n_sets):
    """Split or merge disjoint sets of clusters; return how many splits and merges were accepted.

    It leaves the target given u invariant, and is irreducible if all rows are in the sample.  Families without the
    functions of ``families/moment_split.py`` are left alone.
    """
    labels, (counts, sums), family = chain.sample_labels(), chain.clusters, chain.preparation.family
    if len(labels) < 2 or any(lacking(type(one), MOMENT_SPLIT) for one in unfolded(family)):
        return 0, 0
    points = features(chain.sample_data, np.random.default_rng(0))
    anchors, clusters, sizes = disjoint_sets(rng, points, labels, n_sets)
    if not len(sizes):
        return 0, 0
    m, k = clusters.shape
    log_uniforms = -rng.standard_exponential(m)
    apart = clusters[:, 1] >= 0
    log_weights, parameters = np.full((m, k), -np.inf), np.zeros((m, k, parameters_size(family)))
    log_ratio, least = np.empty(m), np.zeros(m)
    for i, size in enumerate(sizes):
        own = clusters[i, : size if apart[i] else 1]
        statistics, row = chain.statistics(sums[own]), (log_weights[i, :size], parameters[i, :size])
        if apart[i]:
            least[i] = extend_parts(rng, law, family, counts[own], statistics, *row)
        else:
            extend_whole(rng, family, statistics[0], *row)
        whole = chain.statistics(sums[own].sum(axis=0))
        log_ratio[i] = log_ratio_without_rows(law, family, counts[own].sum(), whole, *row)
    # The density of rows given their labels is a part of M, so that some merges are rejected whatever the pass finds.
    tried = np.where(apart, log_uniforms < -log_ratio - least, np.isfinite(log_ratio))
    if not tried.any():
        return 0, 0
    anchors, clusters, sizes, apart, log_uniforms, log_ratio, log_weights, parameters = (
        x[tried] for x in (anchors, clusters, sizes, apart, log_uniforms, log_ratio, log_weights, parameters)
    )
    rows = np.where(anchors < 0, -1, chain.sample[anchors])
    summed = np.ones(len(sizes), dtype=bool)
    new_counts, new_sums, log_density = scan(
        chain, Parts(clusters, sizes, ~apart, summed, rows, parameters, log_weights)
    )
    log_ratio += log_density
    # The logarithm of an impossible density is NaN, and all comparisons are false.
    accepted = log_uniforms < np.where(apart, -log_ratio, log_ratio)
    divide(chain, clusters, accepted & ~apart, accepted & apart, new_counts, new_sums)
    return int((accepted & ~apart).sum()), int((accepted & apart).sum())
