"""Splits and merges of disjoint sets of clusters: by a launch and one scan, or by parameters with matching moments."""

import math

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.components import add_densities_of_items, component_panel, write_component
from pymc_nrm.families.conjugate import draw_parameters, log_marginal, log_parameter_density, parameters_size
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.families.needs import MOMENT_SPLIT
from pymc_nrm.families.product import unfolded
from pymc_nrm.families.shared.two_components import join_parameters, split_parameters
from pymc_nrm.kernels.generic import kernel, lacking
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.kernels.special import copy_row, draw_log_gamma, log_rising_factorial, log_sum_exp
from pymc_nrm.moves.chunks.rows_in_lanes import take_items
from pymc_nrm.moves.chunks.scan import Parts, divide, nearest, of_sets, scan

# Number of steps of the launch, and about how many rows of the sample it uses: a pass over all rows follows.
N_STEPS, _LAUNCH_ROWS = 8, 4000
# Each draw tries all sets with at most this many rows.
_FEW_ROWS = 50_000


@kernel
def cluster_weights(intensity, family, counts, statistics):
    """Log of ``kappa(n_c) p(X_c)`` for clusters with counts (m,) and statistics (m, size)."""
    values = np.empty(counts.shape[0])
    for k in range(counts.shape[0]):
        values[k] = intensity.log_scale + math.lgamma(counts[k] - intensity.sigma) + log_marginal(family, statistics[k])
    return values


@kernel
def draw_halves(rng, intensity, family, counts, statistics, parameters, log_weights):
    """Draw the parameters of two halves and write the logarithms of their weights, from counts (2,)."""
    for half in range(2):
        draw_parameters(family, statistics[half], rng, parameters[half])
        log_weights[half] = math.log(counts[half] - intensity.sigma)


@shared_kernel(components=True)
def launch(rng, intensity, family, data, labels, stride, first, second, anchors, n_steps, parameters, log_weights):
    """Find two halves of two clusters: draw parameters given halves of every stride-th sampled row, and repeat."""
    counts, statistics = np.empty(2, dtype=np.int64), np.empty((2, statistics_size(family)))
    panel, values, items = component_panel(family, LANES), np.empty((2, LANES)), np.zeros(LANES, dtype=np.int64)
    n_places, n_drawing = (labels.shape[0] + stride - 1) // stride, 0
    drawing = np.empty(n_places, dtype=np.int64)
    for place in range(n_places):
        i = place * stride
        if labels[i] in (first, second) and i != anchors[0] and i != anchors[1]:
            drawing[n_drawing] = i
            n_drawing += 1
    for step in range(n_steps + 1):
        counts.fill(1)
        statistics.fill(0.0)
        for half in range(2):
            add_item(family, statistics[half], data, anchors[half], 1.0)
        for begin in range(0, n_drawing if step > 0 else 0, LANES):
            n_here = take_items(drawing, begin, n_drawing, items)
            for half in range(2):
                for lane in range(LANES):
                    values[half, lane] = log_weights[half]
            add_densities_of_items(family, panel, data, items, 2, values)
            for lane in range(n_here):
                half = 1 if rng.random() * (1.0 + math.exp(values[0, lane] - values[1, lane])) < 1.0 else 0
                counts[half] += 1
                add_item(family, statistics[half], data, items[lane], 1.0)
        draw_halves(rng, intensity, family, counts, statistics, parameters, log_weights)
        for half in range(2):
            write_component(family, parameters[half], panel, half)


def most_rows(counts):
    """Largest number of rows of disjoint sets together, unless the first has more: a pass over many takes long."""
    return max(counts.sum() // 4, _FEW_ROWS)


def disjoint_pairs(rng, points, labels, counts, n_pairs):
    """Anchors (m, 2), positions in the sample, and their clusters (m, 2); the second is -1 if both are the same."""
    anchors, clusters, taken, n_rows, most = [], [], set(), 0, most_rows(counts)
    for _ in range(n_pairs):
        # Near rows more often than distant rows, from the data alone: most distant pairs are in two clusters.
        pivot, n_near = int(rng.integers(len(labels))), int(1.0 + len(labels) ** rng.random())
        near = nearest(points, pivot, n_near)
        pair = rng.permutation(np.array([pivot, rng.choice(near[near != pivot])]))
        first, second = int(labels[pair[0]]), int(labels[pair[1]])
        if not taken & {first, second}:
            # Pairs with too many rows are skipped, in both directions.
            taken |= {first, second}
            size = sum(counts[cluster] for cluster in {first, second})
            if n_rows + size <= most or not anchors:
                n_rows += size
                anchors.append(pair)
                clusters.append((first, second if second != first else -1))
    return np.array(anchors), np.array(clusters)


def split_and_merge(chain, rng, intensity, n_pairs):
    """Split or merge disjoint pairs of clusters; return the numbers of accepted splits and merges.

    It leaves the target given u invariant, and is irreducible if all rows are in the sample.
    """
    labels, (counts, sums) = chain.sample_labels(), chain.clusters
    if len(labels) < 2:
        return 0, 0
    anchors, clusters = disjoint_pairs(rng, chain.points, labels, counts, n_pairs)
    log_uniforms = -rng.standard_exponential(len(anchors))
    apart = clusters[:, 1] >= 0
    whole_counts, whole_sums = of_sets(clusters, counts), of_sets(clusters, sums)
    family = chain.preparation.family
    log_whole = cluster_weights(intensity, family, whole_counts, chain.statistics(whole_sums))
    log_present = cluster_weights(intensity, family, counts, chain.statistics())
    log_divided = np.where(apart, log_present[clusters].sum(axis=1), np.nan)
    # Since q is at most 1, some merges are rejected whatever the scan would find.
    tried = ~(apart & (log_uniforms >= log_whole - log_divided))
    if not tried.any():
        return 0, 0
    anchors, clusters, apart, log_uniforms = (x[tried] for x in (anchors, clusters, apart, log_uniforms))
    log_whole, log_divided = log_whole[tried], log_divided[tried]
    new_counts, new_sums, log_q = propose(chain, rng, intensity, anchors, clusters, apart)
    split = ~apart
    halves = [
        cluster_weights(intensity, family, new_counts[split, h], chain.statistics(new_sums[split, h])) for h in range(2)
    ]
    log_divided[split] = halves[0] + halves[1]
    log_ratio = log_divided - log_whole - log_q
    # The logarithm of an impossible q is NaN, and all comparisons are false.
    accepted = log_uniforms < np.where(apart, -log_ratio, log_ratio)
    divide(chain, clusters, accepted & split, accepted & apart, new_counts, new_sums)
    return int((accepted & split).sum()), int((accepted & apart).sum())


def propose(chain, rng, intensity, anchors, clusters, apart):
    """Launch and scan: return counts (m, 2), sums (m, 2, size) and log q (m,) of halves, drawn or present."""
    m, family = len(anchors), chain.preparation.family
    parameters, log_weights = np.empty((m, 2, parameters_size(family))), np.empty((m, 2))
    labels = chain.sample_labels()
    for k in range(m):
        launch(
            rng,
            intensity,
            family,
            chain.sample_data,
            labels,
            len(labels) // _LAUNCH_ROWS + 1,
            *clusters[k],
            anchors[k],
            N_STEPS,
            parameters[k],
            log_weights[k],
        )
    rows, two, no = chain.sample[anchors], np.full(m, 2), np.zeros(m, dtype=bool)
    nothing = np.zeros(0, dtype=np.int64)
    counts, sums, _, _ = scan(chain, Parts(clusters, two, ~no, no, rows, parameters, log_weights), nothing)
    for k in range(m):
        draw_halves(rng, intensity, family, counts[k], chain.statistics(sums[k]), parameters[k], log_weights[k])
    return scan(chain, Parts(clusters, two, ~apart, no, rows, parameters, log_weights), nothing)[:3]


# Weights of the parts of a split have a Dirichlet distribution with this parameter; the number of parts is one more
# than a geometric variable with this probability.
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
def extend_parts(rng, intensity, family, counts, statistics, log_weights, parameters):
    """Draw weights and parameters of clusters, and return the log density of their rows given them and the labels."""
    draw_weights(rng, counts - intensity.sigma, log_weights)
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
        # Part c is split off from the component in the last row.
        copy_row(whole, parameters[last])
        log_next = log_sum_exp(log_weights[c + 1 :])
        p, q = math.exp(log_weights[c] - log_rest), math.exp(log_next - log_rest)
        split_parameters(family, whole, p, q, rng, parameters[c], parameters[last])
        log_rest = log_next


@kernel
def log_ratio_without_rows(intensity, family, n, statistics, log_weights, parameters):
    """Logarithm of R / M for a set of n rows with these statistics, and parts with these weights and parameters."""
    n_parts = log_weights.shape[0]
    total = (n_parts - 1) * intensity.log_scale - log_rising_factorial(
        n - n_parts * intensity.sigma, (n_parts - 1) * intensity.sigma
    )
    total -= math.lgamma(n_parts * _SHAPE) - n_parts * math.lgamma(_SHAPE)
    # The order of the parts, and the distribution of their number.
    total -= math.lgamma(n_parts + 1.0) + math.log(_STOP) + (n_parts - 2) * math.log(1.0 - _STOP)
    no_data = np.zeros(statistics_size(family))
    for c in range(n_parts):
        total -= (intensity.sigma + _SHAPE) * log_weights[c]
        total += log_parameter_density(family, no_data, parameters[c])
    whole, tail, log_tail = np.empty(parameters.shape[1]), parameters[n_parts - 1].copy(), log_weights[n_parts - 1]
    for c in range(n_parts - 2, -1, -1):
        log_both = log_sum_exp(log_weights[c:])
        p, q = math.exp(log_weights[c] - log_both), math.exp(log_tail - log_both)
        total -= join_parameters(family, p, q, parameters[c], tail, whole)
        copy_row(tail, whole)
        log_tail = log_both
    return total - log_marginal(family, statistics) - log_parameter_density(family, statistics, tail)


def draw_probes(rng, points):
    """Random rows among the nearest rows of a random row, from the data alone; two in half of the cases."""
    n = len(points)
    pivot, n_near, n_probes = int(rng.integers(n)), *(2 + np.sort(n ** rng.random(2) - 1.0)[::-1]).astype(int)
    n_probes = n_probes if rng.random() < 0.5 else 2
    return rng.choice(nearest(points, pivot, n_near), min(n_probes, n), replace=False, shuffle=False)


def disjoint_sets(rng, points, labels, counts, n_sets):
    """Probes, arrays of positions in the sample; clusters (m, k) in random order, -1 at the end; numbers of parts."""
    probes, clusters, n_parts, taken, n_rows, most = [], [], [], set(), 0, most_rows(counts)
    for _ in range(n_sets):
        rows, size = draw_probes(rng, points), 1 + rng.geometric(_STOP)
        different = rng.permutation(np.unique(labels[rows]))
        if not taken.intersection(different.tolist()):
            # Sets with too many clusters or rows are skipped, in both directions.
            taken.update(different.tolist())
            size, n_here = size if len(different) == 1 else len(different), counts[different].sum()
            if size <= min(LANES, len(rows)) and (n_rows + n_here <= most or not probes):
                n_rows += n_here
                probes.append(rows)
                clusters.append(np.append(different, np.full(LANES - len(different), -1)))
                n_parts.append(size)
    return probes, np.array(clusters)[..., : max(n_parts, default=0)], np.array(n_parts, dtype=np.int64)


def split_and_merge_by_moments(chain, rng, intensity, n_sets):
    """Split or merge disjoint sets of clusters; return the numbers of accepted splits and merges.

    It leaves the target given u invariant, and is irreducible if all rows are in the sample.  It does nothing for
    families without the functions of ``families/shared/two_components.py``.
    """
    labels, (counts, sums), family = chain.sample_labels(), chain.clusters, chain.preparation.family
    if len(labels) < 2 or any(lacking(type(part_family), MOMENT_SPLIT) for part_family in unfolded(family)):
        return 0, 0
    probes, clusters, n_parts = disjoint_sets(rng, chain.points, labels, counts, n_sets)
    if not probes:
        return 0, 0
    log_uniforms, apart = -rng.standard_exponential(len(probes)), clusters[:, 1] >= 0
    log_weights = np.full(clusters.shape, -np.inf)
    parameters = np.zeros((*clusters.shape, parameters_size(family)))
    log_ratio, least = np.empty(len(probes)), np.full(len(probes), -np.inf)
    for i, size in enumerate(n_parts):
        present = clusters[i, : size if apart[i] else 1]
        statistics, row = chain.statistics(sums[present]), (log_weights[i, :size], parameters[i, :size])
        if apart[i]:
            least[i] = extend_parts(rng, intensity, family, counts[present], statistics, *row)
        else:
            extend_whole(rng, family, statistics[0], *row)
        whole = chain.statistics(sums[present].sum(axis=0))
        log_ratio[i] = log_ratio_without_rows(intensity, family, counts[present].sum(), whole, *row)
    # The density of rows given their labels is a part of M, so that some merges are rejected whatever the pass finds.
    tried = np.where(apart, log_uniforms < -log_ratio - least, np.isfinite(log_ratio))
    if not tried.any():
        return 0, 0
    probes = [rows for rows, is_tried in zip(probes, tried, strict=True) if is_tried]
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
