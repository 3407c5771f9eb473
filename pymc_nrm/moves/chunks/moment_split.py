"""Splits and merges of disjoint sets of clusters with labels summed out, by parameters whose moments match.

Some rows, the probes, are drawn without looking at labels; S is the union of their clusters.  If it is one cluster, a
split into k parts is proposed, with probability P(k), and refused unless every part has a probe.  If there are k
clusters, a merge makes S one cluster.

The divided state is extended by a random order of its parts, by their weights w from a Dirichlet distribution with
parameters ``n_c - sigma``, and by parameters theta_c from their posteriors, with joint density r.  The state of one
cluster is extended by theta from its posterior, and by weights and variables that turn theta into parameters of parts,
which gives w and the theta_c a density g (``families/moment_split.py``).  Given them, a split draws the label of every
row with probability ``w f(x) / sum w f(x)``, in all with probability q.  It is accepted with probability ``min(1, R)``,
a merge with ``min(1, 1 / R)``, where ``R = prod L(c) r / (L(S) g q P(k))`` and L is the target of a cluster given u.

Labels cancel.  With h the prior density of parameters, ``prod L(c) r`` is the product of all ``h(theta_c)``, of weights
and densities of the rows given their labels, and of powers of w; rows and q together are the density M of the rows with
labels summed out.  One pass over S gives M, whichever way the move goes.
"""

import math

import numpy as np

from pymc_nrm.families.base import statistics_size
from pymc_nrm.families.conjugate import draw_parameters, log_marginal, log_parameter_density, parameters_size
from pymc_nrm.families.moment_split import join_parameters, split_parameters
from pymc_nrm.families.needs import MOMENT_SPLIT
from pymc_nrm.families.product import unfolded
from pymc_nrm.kernels.generic import kernel, lacking
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import copy_row, draw_log_gamma, log_rising_factorial, log_sum_exp
from pymc_nrm.moves.chunks.scan import Parts, divide, nearest, scan

# Weights of the parts of a split are from a Dirichlet distribution with this parameter; their number is one more than a
# geometric variable with this probability.
_SHAPE, _STOP = 2.0, 0.5


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
    # The order of the parts, and the law of their number.
    total -= math.lgamma(n_parts + 1.0) + math.log(_STOP) + (n_parts - 2) * math.log(1.0 - _STOP)
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


def draw_probes(rng, points):
    """Some of the nearest rows of a row, of random numbers, from the data alone."""
    n = len(points)
    pivot, n_near, n_probes = int(rng.integers(n)), *(2 + np.sort(n ** rng.random(2) - 1.0)[::-1]).astype(int)
    return rng.choice(nearest(points, pivot, n_near), min(n_probes, n), replace=False, shuffle=False)


def disjoint_sets(rng, points, labels, n_sets):
    """Probes, arrays of places in the sample; clusters (m, k) in random order, -1 behind the last; numbers of parts."""
    probes, clusters, n_parts, taken = [], [], [], set()
    for _ in range(n_sets):
        rows, size = draw_probes(rng, points), 1 + rng.geometric(_STOP)
        different = rng.permutation(np.unique(labels[rows]))
        if not taken.intersection(different.tolist()):
            # Sets of too many clusters are left alone in both directions.
            taken.update(different.tolist())
            size = size if len(different) == 1 else len(different)
            if size <= min(LANES, len(rows)):
                probes.append(rows)
                clusters.append(np.append(different, np.full(LANES - len(different), -1)))
                n_parts.append(size)
    return probes, np.array(clusters)[..., : max(n_parts, default=0)], np.array(n_parts, dtype=np.int64)


def split_and_merge_by_moments(chain, rng, law, n_sets):
    """Split or merge disjoint sets of clusters; return how many splits and merges were accepted.

    It leaves the target given u invariant, and is irreducible if all rows are in the sample.  Families without the
    functions of ``families/moment_split.py`` are left alone.
    """
    labels, (counts, sums), family = chain.sample_labels(), chain.clusters, chain.preparation.family
    if len(labels) < 2 or any(lacking(type(one), MOMENT_SPLIT) for one in unfolded(family)):
        return 0, 0
    probes, clusters, n_parts = disjoint_sets(rng, chain.points, labels, n_sets)
    if not probes:
        return 0, 0
    log_uniforms, apart = -rng.standard_exponential(len(probes)), clusters[:, 1] >= 0
    log_weights = np.full(clusters.shape, -np.inf)
    parameters = np.zeros((*clusters.shape, parameters_size(family)))
    log_ratio, least = np.empty(len(probes)), np.full(len(probes), -np.inf)
    for i, size in enumerate(n_parts):
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
    probes = [rows for rows, one in zip(probes, tried, strict=True) if one]
    clusters, n_parts, apart, log_uniforms, log_ratio, log_weights, parameters = (
        x[tried] for x in (clusters, n_parts, apart, log_uniforms, log_ratio, log_weights, parameters)
    )
    none, summed = np.full(clusters.shape, -1), np.ones(len(probes), dtype=bool)
    parts = Parts(clusters, n_parts, ~apart, summed, none, parameters, log_weights)
    asked = np.unique(np.concatenate(probes))
    new_counts, new_sums, log_density, sides = scan(chain, parts, chain.sample[asked])
    log_ratio += log_density
    probed = [len(np.unique(sides[np.searchsorted(asked, rows)])) for rows in probes]
    # The logarithm of an impossible density is NaN, and all comparisons are false.
    accepted = (log_uniforms < np.where(apart, -log_ratio, log_ratio)) & (apart | (probed == n_parts))
    divide(chain, clusters, accepted & ~apart, accepted & apart, new_counts, new_sums)
    return int((accepted & ~apart).sum()), int((accepted & apart).sum())
