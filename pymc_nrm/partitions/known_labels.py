"""Flat partitions with partly known labels: known items with equal labels share a cluster, others never do.

Known labels are data.  The density of a value is the EPPF of the partition of all items, so that hyperparameters learn
from known labels.  Its sum over values is not one but the probability of the known labels, the EPPF of their numbers of
items.  Forward draws are exact given known labels: by exchangeability the partition of the known items comes first, and
the others follow by the prediction rule.

For kernels the known items of one label are one unit, like groups in ``together.py``, but each item counts.  A cluster
holds at most one such unit, so that its statistics determine its number of items: :class:`KnownGrouped` converts
weights of units into weights of items, and makes a cluster of two labels impossible.

With ``only_known`` a value also has no cluster without a known item: the posterior given that there is none.  The
density of a value is the same, and so are all conditionals given the partition.  Its sum over values is now the
probability that the known labels are right and that no item is in another cluster.  A free item then cannot open a
cluster, and a known item cannot leave the free items of its cluster, which it never needs to: moves of free items alone
reach every such value.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_nrm.families import base, components, conjugate, fast, features
from pymc_nrm.families.counted import Counted
from pymc_nrm.families.erased.shared_kernel import erase
from pymc_nrm.families.fast import add_row
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import Weights, log_eppf
from pymc_nrm.partitions.flat import Ordered
from pymc_nrm.partitions.labels import canonical_labels, rename_in_order
from pymc_nrm.partitions.together import Together
from pymc_nrm.partitions.user_labels import canonical_paths


class KnownItems(NamedTuple):
    """Known labels of the items: an input of the random variable."""

    # Labels from 0 in order of appearance, -1 where unknown; int64 of shape (n,).
    labels: Any


@kernel
def _draw_others(rng, n, measure, known, only_known):
    """Draw the labels of the other items one by one, with ratios of partition probabilities.

    Given no further cluster, a prior of Gibbs type weights k clusters by their sizes minus sigma, whatever comes later:
    the total of these weights depends only on the number of preceding items.
    """
    labels, counts = known.labels.copy(), np.zeros(n, dtype=np.int64)
    k = 0
    for label in known.labels:
        if label >= 0:
            counts[label] += 1
            k = max(k, label + 1)
    log_p = log_eppf(measure, counts[:k]) if k > 0 else 0.0
    for item in range(n):
        if labels[item] >= 0:
            continue
        threshold = rng.random()
        # A new cluster, then the existing clusters.
        chosen = k
        counts[k] = 1
        log_q = log_eppf(measure, counts[: k + 1])
        new = 0.0 if only_known else math.exp(log_q - log_p)
        if only_known:
            # Condition on the known clusters.
            threshold *= 1.0 - math.exp(log_q - log_p)
        threshold -= new
        if k > 0 and threshold >= 0.0:
            counts[k] = 0
            for c in range(k):
                counts[c] += 1
                log_q = log_eppf(measure, counts[:k])
                threshold -= math.exp(log_q - log_p)
                if threshold < 0.0 or c == k - 1:
                    chosen = c
                    break
                counts[c] -= 1
        labels[item], log_p = chosen, log_q
        k = max(k, chosen + 1)
    rename_in_order(labels, k)
    return labels


class KnownLabels(Together):
    """Known items share a cluster if and only if their labels are equal; the others are free.

    ``labels`` are whole numbers or strings, one for each item; -1, NaN and None represent unknown labels.
    """

    why_not_fused = "some labels are known"
    further_priors = {KnownItems: ("(n)",)}
    only_mixtures = "partition {name!r}, some of whose labels are known: use a Mixture"
    draw = staticmethod(_draw_others)

    argument = "known"

    def __init__(self, labels, title="known of a Partition", only_known=False):
        self.known, self.names = read_known_labels(title, labels)
        self.only_known = only_known
        if only_known and not self.names:
            raise ValueError(f"{title} must have a known label with only_known=True; got none")
        units = np.where(self.known >= 0, self.known, len(self.names) + np.arange(len(self.known)))
        super().__init__(units, title)
        self.key = (self.known.tobytes(), self.names, self.only_known)
        self.draw_options = (self.only_known,)
        self._is_known = self.known[self.first] >= 0

    @property
    def all_known(self):
        """Whether the labels of all items are known, so that one value is possible."""
        return bool((self.known >= 0).all())

    def further_fields(self, n):
        return [pt.constant(self.known)]

    def default_start(self, zeros, priors):
        return zeros + canonical_labels(np.maximum(self.known, 0))

    def kernel_parts(self, family, data):
        family, data = super().kernel_parts(family, data)
        return KnownGrouped(family, np.empty(0), np.empty(0), self.only_known), KnownRows(data, self._is_known)

    def with_weights(self, family, weights):
        n_units = len(self.first)
        return family._replace(**weights._asdict()), Weights(weights.join[: n_units + 1], weights.moment[: n_units + 1])

    def units_of_every_start(self):
        return np.flatnonzero(self._is_known)

    @property
    def opens_clusters(self):
        return not self.only_known

    def with_new_clusters(self, family):
        return family._replace(only_known=False)

    def renamed(self, labels, n, argument):
        canonical = Ordered.renamed(self, labels, n, argument)
        check_agreement(argument, canonical, self.known, self.names)
        known_clusters = canonical[self.known >= 0]
        elsewhere = np.flatnonzero(~np.isin(canonical, known_clusters)) if self.only_known else []
        if len(elsewhere):
            raise ValueError(
                f"{argument} must put every item into the cluster of a known label, since only_known=True; items "
                f"{elsewhere[:5].tolist()} are in other clusters"
            )
        return canonical

    def symbolic_sizes(self, labels, n):
        _, valid = super().symbolic_sizes(labels, n)
        sizes, _ = Ordered.symbolic_sizes(self, labels, n)
        items = labels[pt.minimum(np.arange(len(self.groups)), labels.shape[0] - 1)]
        apart = pt.all(pt.diff(pt.sort(items[self.first[self._is_known]])) > 0)
        if self.only_known:
            valid = valid & pt.eq(sizes.shape[0], len(self.names))
        return sizes, valid & apart

    def counts(self, labels):
        return Ordered.counts(self, labels)

    def log_join_others(self, labels, join):
        join = super().log_join_others(labels, join)
        # The only item with its known label is not in the cluster of another label.
        held = np.zeros(join.shape[1], dtype=bool)
        held[labels[self.known >= 0]] = True
        if self.only_known:
            free = self.known < 0
            join[free, -1] = -np.inf
            join[free] -= np.logaddexp.reduce(join[free], axis=1, keepdims=True)
        for item in self.first[self._is_known & (self._sizes == 1)]:
            join[item, held & (np.arange(len(held)) != labels[item])] = -np.inf
            if self.only_known and np.isfinite(join[item, labels[item]]):
                # Items without a label share its cluster, and would be in another cluster.
                join[item, -1] = -np.inf
            join[item] -= np.logaddexp.reduce(join[item])
        return join


def first_known(known):
    """The first item of each known label, from labels in order of appearance, -1 where unknown."""
    items = np.flatnonzero(known >= 0)
    return items[np.unique(known[items], return_index=True)[1]]


def check_agreement(argument, canonical, known, names, what="cluster"):
    """Check that known items share one of the labels of a user if and only if their known labels are equal."""
    items, first = np.flatnonzero(known >= 0), first_known(known)
    wrong = np.argwhere((canonical[items][:, None] == canonical[first]) != (known[items][:, None] == known[first]))
    if len(wrong):
        item, other = items[wrong[0, 0]], first[wrong[0, 1]]
        known_names = [names[known[member]] for member in (other, item)]
        raise ValueError(
            f"{argument} must put known items into one {what} if and only if their labels in known are equal; "
            f"items {other} and {item} have the known labels {known_names[0]!r} and {known_names[1]!r}, and the labels "
            f"{canonical[other]} and {canonical[item]}"
        )


def read_known_labels(title, labels):
    """Labels of items from 0 in order of appearance, -1 where unknown, and the user's labels."""
    if isinstance(labels, Variable):
        raise TypeError(f"{title} must be an array of labels; got {labels} of type {labels.type}")
    array = np.asarray(labels, dtype=object)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{title} must have shape (n,), with at least one item; got shape {array.shape}")
    unknown = np.ma.getmaskarray(labels) if np.ma.isMaskedArray(labels) else pd.isna(array)
    unknown = (np.where(unknown, -1, array) == -1) | _unknown_in_text(labels, array)
    known = np.full(len(array), -1, dtype=np.int64)
    if unknown.all():
        return known, ()
    paths, [names] = canonical_paths(title, array[~unknown])
    known[~unknown] = paths[:, 0]
    return known, tuple(name for _, name in names)


def _unknown_in_text(labels, array):
    """Which labels say in text that they are unknown, as all entries of an array of text and numbers are text."""
    is_array_of_text = getattr(getattr(labels, "dtype", None), "kind", None) in ("U", "T")
    words = {"", "-1", "nan", "None"} if is_array_of_text else {"", "-1"}
    return np.array([isinstance(label, str) and label.strip() in words for label in array])


class KnownRows(NamedTuple):
    """Data of a kernel in which the items are units, and a mask of the units with known labels."""

    groups: Any
    # Bool of shape (number of units,).
    is_known: Any

    def features(self, rng):
        return features.features(self.groups, rng)

    def take_items(self, items):
        return KnownRows(base.take_items(self.groups, items), self.is_known[items])


class KnownGrouped(NamedTuple):
    """The family of such data: a row of statistics ends with numbers of units, of known units, and of their items."""

    family: Any
    # Weights of clusters by their number of items, see `Weights`.
    join: Any
    moment: Any
    # Whether every cluster has a known unit.
    only_known: Any

    def erase(self, data, form):
        family, groups = erase(self.family, data.groups, form)
        return self._replace(family=family), data._replace(groups=groups)

    def statistics_size(self):
        return base.statistics_size(self.family) + 3

    def cache_size(self):
        # Units, whether one is known, and the correction to the weight of one more free item.
        return base.cache_size(self.family) + 3

    def add_item(self, statistics, data, item, sign):
        base.add_item(self.family, statistics[:-3], data.groups, item, sign)
        _count_unit(statistics, data, item, sign)

    def refresh_cache(self, statistics, cache):
        base.refresh_cache(self.family, statistics[:-3], cache[:-3])
        _write_counts(self.join, statistics, cache)

    def update_cache(self, statistics, cache, data, item, sign):
        fast.update_cache(self.family, statistics[:-3], cache[:-3], data.groups, item, sign)
        _count_unit(statistics, data, item, sign)
        _write_counts(self.join, statistics, cache)

    def log_predictive(self, cache, data, item):
        lacking = cache[-1]
        if data.is_known[item]:
            if cache[-2] > 0.0:
                return -math.inf
            if self.only_known and cache[-3] > 0.0:
                # Free items alone are impossible: the greatest ratio.
                return 1e300
            n_units, n_items = int(cache[-3]), data.groups.start[item + 1] - data.groups.start[item]
            lacking = self.moment[n_units + n_items] - self.moment[n_units + 1]
        elif self.only_known and cache[-3] == 0.0:
            return -math.inf
        return base.log_predictive(self.family, cache[:-3], data.groups, item) + lacking

    # Gibbs updates with a panel move only free items, which are units of one item: a known unit stays in its cluster,
    # or opens one again if it is alone.  Free items alone reach every partition that agrees with the known labels.

    def panel_shape(self):
        n_rows, n_sets, n_lane_rows = fast.panel_shape(self.family.family)
        return n_rows + 2 if n_rows > 0 else 0, n_sets, n_lane_rows

    def write_panel(self, cache, rows, lanes, column):
        fast.write_panel(self.family.family, cache[: base.cache_size(self.family.family)], rows[:-2], lanes, column)
        rows[-2, column], rows[-1, column] = cache[-3], cache[-1]

    def update_panel(self, cache, rows, lanes, column, data, item):
        if data.is_known[item]:
            fast.write_panel(self, cache, rows, lanes, column)
            return
        inner, member = cache[: base.cache_size(self.family.family)], _member(data, item)
        fast.update_panel(self.family.family, inner, rows[:-2], lanes, column, data.groups.rows, member)
        rows[-2, column], rows[-1, column] = cache[-3], cache[-1]

    def add_log_predictives(self, rows, lanes, data, item, width, values):
        if data.is_known[item]:
            for k in range(width):
                values[k] = values[k] if rows[-2, k] == 0.0 else -math.inf
            return
        member = _member(data, item)
        fast.add_log_predictives(self.family.family, rows[:-2], lanes, data.groups.rows, member, width, values)
        add_row(rows[-1], width, values)
        if self.only_known:
            for k in range(width):
                values[k] = values[k] if rows[-2, k] > 0.0 else -math.inf

    def log_predictive_without(self, statistics, cache, data, item):
        if fast.panel_shape(self.family.family)[0] == 0:
            return math.nan
        if data.is_known[item]:
            # Above all other weights, among which the weight of a new cluster is not zero.
            return 1e300
        inner, member = cache[: base.cache_size(self.family.family)], _member(data, item)
        log_own_density = fast.log_predictive_without(
            self.family.family, statistics[:-3], inner, data.groups.rows, member
        )
        return log_own_density + self.join[_n_items(statistics) - 1] - self.join[int(statistics[-3]) - 1]

    def log_marginal(self, statistics):
        if statistics[-2] > 1.0 or (self.only_known and statistics[-2] == 0.0):
            return -math.inf
        lacking = self.moment[_n_items(statistics)] - self.moment[int(statistics[-3])]
        return conjugate.log_marginal(self.family, statistics[:-3]) + lacking

    def draw_parameters(self, statistics, rng, parameters):
        conjugate.draw_parameters(self.family, statistics[:-3], rng, parameters)

    parameters_size = Counted.parameters_size
    component_panel, write_component = Counted.component_panel, Counted.write_component

    def add_component_densities(self, panel, data, item, width, values):
        components.add_component_densities(self.family, panel, data.groups, item, width, values)

    def cluster_size(self, statistics, n_units):
        return _n_items(statistics)

    def stays(self, data, item):
        # Clusters of known labels keep their known units; free items come and go.
        return data.is_known[item]

    def opens_clusters(self):
        return not self.only_known


@kernel
def _n_items(statistics):
    return int(statistics[-3] - statistics[-2] + statistics[-1])


@kernel
def _count_unit(statistics, data, item, sign):
    statistics[-3] += sign
    if data.is_known[item]:
        statistics[-2] += sign
        statistics[-1] += sign * (data.groups.start[item + 1] - data.groups.start[item])


@kernel
def _member(data, item):
    return data.groups.members[data.groups.start[item]]


@kernel
def _write_counts(join, statistics, cache):
    n_units, n_items = int(statistics[-3]), _n_items(statistics)
    cache[-3], cache[-2] = statistics[-3], statistics[-2]
    cache[-1] = join[n_items] - join[n_units]
