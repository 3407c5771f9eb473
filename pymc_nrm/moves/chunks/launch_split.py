"""Splits and merges of disjoint pairs of clusters, by a launch and one scan with fixed parameters.

Two anchors are drawn without looking at labels; S is the cluster of one and that of the other together.  The launch
finds parameters and weights of two halves about the anchors, from S and never from how S is divided now.  In the scan,
every row but the anchors draws its half with probability ``w f(x) / sum w f(x)``; log q is the sum over rows.  If the
anchors are apart, log q is that of the present halves.  A split is accepted with probability ``min(1, R)`` and a merge
with ``min(1, 1 / R)``, where ``R = L(a) L(b) / (L(S) q)`` and L is the target of a cluster given u.  Given the launch,
this is Metropolis-Hastings.

A move on S rearranges rows of S only.  Pairs are taken in their order, and left out if an anchor is in an S taken
before: whether it is depends on earlier sets S, which no move changes.  Given all S, moves are independent kernels.
"""

import math

import numpy as np

from pymc_nrm.families.base import add_item, statistics_size
from pymc_nrm.families.components import add_component_densities, component_panel, write_component
from pymc_nrm.families.conjugate import draw_parameters, log_marginal, parameters_size
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.moves.chunks.scan import Parts, divide, nearest, scan

# Steps of the launch on the rows of the sample.
N_STEPS = 8


@kernel
def cluster_weights(law, family, counts, statistics):
    """Log of ``kappa(n_c) p(X_c)`` for clusters with counts (m,) and statistics (m, size)."""
    values = np.empty(counts.shape[0])
    for k in range(counts.shape[0]):
        values[k] = law.log_scale + math.lgamma(counts[k] - law.sigma) + log_marginal(family, statistics[k])
    return values


@kernel
def draw_halves(rng, law, family, counts, statistics, parameters, log_weights):
    """Draw the parameters of two halves and write the logarithms of their weights, from counts (2,)."""
    for half in range(2):
        draw_parameters(family, statistics[half], rng, parameters[half])
        log_weights[half] = math.log(counts[half] - law.sigma)


@kernel
def launch(rng, law, family, data, labels, first, second, anchors, n_steps, parameters, log_weights):
    """Find two halves of the rows of two clusters in the sample, with labels (n_sample,): draw parameters (2, size) and
    weights given halves about the anchors, and halves given these.
    """
    counts, statistics = np.empty(2, dtype=np.int64), np.empty((2, statistics_size(family)))
    panel, values = component_panel(family, LANES), np.empty(LANES)
    for step in range(n_steps + 1):
        counts.fill(1)
        statistics.fill(0.0)
        for half in range(2):
            add_item(family, statistics[half], data, anchors[half], 1.0)
        for i in range(labels.shape[0]):
            if step == 0 or (labels[i] != first and labels[i] != second) or i == anchors[0] or i == anchors[1]:
                continue
            values[0], values[1] = log_weights[0], log_weights[1]
            add_component_densities(family, panel, data, i, LANES, values)
            half = 1 if rng.random() * (1.0 + math.exp(values[0] - values[1])) < 1.0 else 0
            counts[half] += 1
            add_item(family, statistics[half], data, i, 1.0)
        draw_halves(rng, law, family, counts, statistics, parameters, log_weights)
        for half in range(2):
            write_component(family, parameters[half], panel, half)


def disjoint_pairs(rng, points, labels, n_pairs):
    """Anchors (m, 2), places in the sample, and their clusters (m, 2); the second is -1 if it is the first."""
    anchors, clusters, taken = [], [], set()
    for _ in range(n_pairs):
        # Near rows more often than distant ones, from the data alone: most pairs of the latter are in two clusters.
        pivot, n_near = int(rng.integers(len(labels))), int(1.0 + len(labels) ** rng.random())
        near = nearest(points, pivot, n_near)
        pair = rng.permutation(np.array([pivot, rng.choice(near[near != pivot])]))
        first, second = int(labels[pair[0]]), int(labels[pair[1]])
        if not taken & {first, second}:
            taken |= {first, second}
            anchors.append(pair)
            clusters.append((first, second if second != first else -1))
    return np.array(anchors), np.array(clusters)


def split_and_merge(chain, rng, law, n_pairs):
    """Split or merge disjoint pairs of clusters; return how many splits and merges were accepted.

    It leaves the target given u invariant, and is irreducible if all rows are in the sample.
    """
    labels, (counts, sums) = chain.sample_labels(), chain.clusters
    if len(labels) < 2:
        return 0, 0
    anchors, clusters = disjoint_pairs(rng, chain.points, labels, n_pairs)
    log_uniforms = -rng.standard_exponential(len(anchors))
    apart = clusters[:, 1] >= 0
    whole_counts, whole_sums = counts[clusters[:, 0]], sums[clusters[:, 0]]
    whole_counts[apart] += counts[clusters[apart, 1]]
    whole_sums[apart] += sums[clusters[apart, 1]]
    family = chain.preparation.family
    log_whole = cluster_weights(law, family, whole_counts, chain.statistics(whole_sums))
    log_present = cluster_weights(law, family, counts, chain.statistics())
    log_divided = np.where(apart, log_present[clusters].sum(axis=1), np.nan)
    # Since q is at most 1, some merges are rejected whatever the scan would say.
    tried = ~(apart & (log_uniforms >= log_whole - log_divided))
    if not tried.any():
        return 0, 0
    anchors, clusters, apart, log_uniforms = (x[tried] for x in (anchors, clusters, apart, log_uniforms))
    log_whole, log_divided = log_whole[tried], log_divided[tried]
    new_counts, new_sums, log_q = propose(chain, rng, law, anchors, clusters, apart)
    split = ~apart
    halves = [
        cluster_weights(law, family, new_counts[split, h], chain.statistics(new_sums[split, h])) for h in range(2)
    ]
    log_divided[split] = halves[0] + halves[1]
    log_ratio = log_divided - log_whole - log_q
    # The logarithm of an impossible q is NaN, and all comparisons are false.
    accepted = log_uniforms < np.where(apart, -log_ratio, log_ratio)
    divide(chain, clusters, accepted & split, accepted & apart, new_counts, new_sums)
    return int((accepted & split).sum()), int((accepted & apart).sum())


def propose(chain, rng, law, anchors, clusters, apart):
    """Launch, and scan: counts (m, 2), sums (m, 2, size) and log q (m,) of halves, drawn or present."""
    m, family = len(anchors), chain.preparation.family
    parameters, log_weights = np.empty((m, 2, parameters_size(family))), np.empty((m, 2))
    labels = chain.sample_labels()
    for k in range(m):
        launch(
            rng,
            law,
            family,
            chain.sample_data,
            labels,
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
        draw_halves(rng, law, family, counts[k], chain.statistics(sums[k]), parameters[k], log_weights[k])
    return scan(chain, Parts(clusters, two, ~apart, no, rows, parameters, log_weights), nothing)[:3]
