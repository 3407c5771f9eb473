"""What descriptions say of clusters of nodes, or of rows or columns of a table: to whom they are tied, how strongly."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymc_nrm.common.wrapping import cut, first_few
from pymc_nrm.models.rvs import dims_of
from pymc_nrm.networks.models.block_data import block_models
from pymc_nrm.networks.posterior.block_draws import BlockDraws
from pymc_nrm.networks.posterior.block_parameters import n_pairs_of_clusters, parameters_of_estimate
from pymc_nrm.networks.posterior.estimates import Clusters, clusters_of
from pymc_nrm.networks.posterior.strengths import strength_of
from pymc_nrm.posterior.default_clusters import clusters_to_show
from pymc_nrm.posterior.described_clusters import most_apart
from pymc_nrm.posterior.description import Words
from pymc_nrm.posterior.number_of_clusters import OVERLAP, clusters_overlap_in, number_of_clusters
from pymc_nrm.posterior.special_description import Special, described_data
from pymc_nrm.stats.point_estimate import evenly_spaced
from pymc_nrm.stats.result import posterior_of

# Parameters of blocks are drawn in so many draws of the partition.
_MOST_DRAWS = 200
# Ties to at most so many other clusters are named, and so many members, of at most so many characters.
_MOST_OTHERS, _MOST_MEMBERS, _NAME = 3, 5, 16


class _Ties(NamedTuple):
    """How strongly clusters are tied in one block model."""

    name: str
    strength: Any
    # Posterior mean and ends of the interval of the strength between clusters, (K, L), or (L, K) for columns.
    mean: Any
    low: Any
    high: Any
    # The mean over all pairs.
    overall: float
    # Names of the other clusters, and whether these are clusters of the same partition.
    others: Any
    same: bool
    directed: bool


def of_blocks(asked):
    """Sizes of clusters, to whom they are tied and how strongly, what else sets them apart, and who is in them."""
    asked.refuse_what_is_of_clusters("has a block model")
    clusters = clusters_to_show(asked.idata, asked.model, asked.partition, asked.estimate, components=True)
    labels, names, draws = clusters.labels, clusters.names, clusters.draws
    [dim] = dims_of(asked.model, asked.partition)
    word = f"{dim}s" if asked.model.coords.get(dim) is not None else "items"
    ties = [_ties(asked, rv, labels, names) for rv in block_models(asked.model, asked.partition)]
    _, columns, has_parameters = described_data(asked, labels, clusters.all_draws, clusters.kept)
    number, overlap = number_of_clusters(labels, draws, asked.ci_prob), clusters_overlap_in(draws)
    members = _members(asked.model, dim, labels)
    entries = [_entries(ties, columns, members, k) for k in range(len(names))]
    cells = {}
    for data in ties:
        prefix = f"{data.name}: " if len(ties) > 1 else ""
        write = data.strength.writer(data.mean)
        for s, other in enumerate(data.others):
            cells[f"{prefix}{'to ' if data.directed or not data.same else ''}{other}"] = [
                _cell(data, k, s, write) for k in range(len(names))
            ]
    return Special(
        words=Words("cluster", word, _header(ties)),
        title=number.title(f"{len(labels):,} {word}"),
        labels=labels,
        names=names,
        estimate=clusters.estimate,
        draws=draws,
        entries=entries,
        notes=lambda certainty: _notes(word, ties, overlap, asked.ci_prob),
        long_notes=_long_notes(ties, has_parameters, asked.ci_prob),
        cells=cells,
        columns=columns,
        tables={"blocks": _table(ties, names), "members": _table_of_members(asked.model, dim, labels, names)},
    )


def _ties(asked, rv, labels, names):
    """Strengths of the ties of the clusters of a partition in one block model."""
    posterior = evenly_spaced(posterior_of(asked.idata, by_chain=True), _MOST_DRAWS)
    draws = BlockDraws(posterior, asked.model, rv)
    clusters = others = Clusters(labels, names)
    is_column = draws.is_table and draws.blocks.partitions[1] is asked.partition
    if draws.is_table:
        others = clusters_of(asked.idata, asked.model, draws.blocks.partitions[0 if is_column else 1], None)
    estimates = [others, clusters] if is_column else [clusters, others]
    strength = strength_of(draws.family_class)
    parameters = parameters_of_estimate(draws, estimates, np.random.default_rng(0), progressbar=False)
    values, weights = strength.of(parameters), _weights_of_blocks(draws.blocks, estimates)
    if is_column:
        values, weights = values.swapaxes(1, 2), weights.T
    mean, (low, high) = values.mean(axis=0), np.quantile(values, asked.tails, axis=0)
    has_pairs = ~np.isnan(mean)
    overall = float(np.average(mean[has_pairs], weights=weights[has_pairs]))
    directed = draws.directed
    return _Ties(rv.name, strength, mean, low, high, overall, others.names, not draws.is_table, directed)


def _weights_of_blocks(blocks, estimates):
    """Numbers of pairs of the blocks of estimates (R, C), which add up to the number of all pairs."""
    weights = n_pairs_of_clusters(blocks, [np.bincount(clusters.labels) for clusters in estimates]).astype("float64")
    if not (blocks.is_table or blocks.directed):
        # Both entries (r, s) and (s, r) stand for the same pairs.
        weights[~np.eye(len(weights), dtype=bool)] /= 2.0
    return weights


def _header(ties):
    """The header of what a cluster is tied to, with the strength of all pairs."""
    [data, *others] = ties
    if others:
        return "whom it is tied to"
    write = data.strength.writer(data.mean)
    return f"whom it is tied to (all pairs {write(data.overall)})"


def _entries(ties, columns, members, k):
    """Ties of a cluster above the average, the strongest first, what else sets it apart, and its members."""
    texts = []
    for data in ties:
        write, prefix = data.strength.writer(data.mean), f"{data.name} " if len(ties) > 1 else ""
        strengths = [
            (f"to {other}", data.mean[k, s], data.low[k, s], data.high[k, s]) for s, other in enumerate(data.others)
        ]
        if data.same:
            strengths[k] = ("within", *strengths[k][1:])
        if data.directed:
            strengths += [
                (f"from {other}", data.mean[s, k], data.low[s, k], data.high[s, k])
                for s, other in enumerate(data.others)
                if s != k
            ]
        strengths = sorted((entry for entry in strengths if not np.isnan(entry[1])), key=lambda entry: -entry[1])
        strong = [entry for entry in strengths if entry[1] > data.overall] or strengths[:1]
        texts += [f"{prefix}{name} {_interval(write, *numbers)}" for name, *numbers in strong[: _MOST_OTHERS + 1]]
    apart = most_apart(columns, k) if columns else ""
    return "; ".join(filter(None, [*texts, apart, members[k]]))


def _interval(write, mean, low, high):
    """A strength with its interval; the unit of percentages stands once."""
    low, high = write(low), write(high)
    if low.endswith(" %") and high.endswith(" %"):
        low, high = low[:-2], high[:-2]
    return f"{write(mean)} ({low} to {high})"


def _cell(data, k, s, write):
    return "" if np.isnan(data.mean[k, s]) else _interval(write, data.mean[k, s], data.low[k, s], data.high[k, s])


def _members(model, dim, labels):
    """The first members of each cluster, if they have names."""
    names = model.coords.get(dim)
    n_clusters = int(labels.max()) + 1
    if names is None or not any(isinstance(name, str) for name in names):
        return [""] * n_clusters
    texts = np.array([cut(str(name), _NAME) for name in names], dtype=object)
    return [first_few(texts[labels == k].tolist(), _MOST_MEMBERS) for k in range(n_clusters)]


def _table(ties, names):
    """A row for each pair of clusters of each block model."""
    rows = [
        {
            "data": data.name,
            "cluster": names[k],
            "to": other,
            "mean": data.mean[k, s],
            "low": data.low[k, s],
            "high": data.high[k, s],
        }
        for data in ties
        for k in range(len(names))
        for s, other in enumerate(data.others)
    ]
    return pd.DataFrame(rows)


def _table_of_members(model, dim, labels, names):
    items = model.coords.get(dim)
    items = pd.Index(range(len(labels)) if items is None else list(items), name=dim)
    return pd.DataFrame({"cluster": names[labels]}, index=items)


def _notes(word, ties, overlap, ci_prob):
    notes = [f"certainty: how probable it is that two {word} of the cluster belong together"]
    if overlap:
        notes.append(OVERLAP.format(word=word))
    else:
        what = " and ".join(dict.fromkeys(data.strength.name for data in ties))
        notes.append(f"ties: {what}, with {100 * ci_prob:.4g} % intervals; those above the mean of all pairs")
    return (*notes, 'all ties: .tables["blocks"]; members: .tables["members"]; labels: .estimate')


def _long_notes(ties, has_parameters, ci_prob):
    notes = [
        f"{data.name}: {data.strength.name} of a pair of two clusters, the mean over their pairs; {100 * ci_prob:.4g} "
        f"% intervals; of all pairs {data.strength.writer(data.mean)(data.overall)}"
        for data in ties
    ]
    return tuple(notes + [f"ranges of parameters: {100 * ci_prob:.4g} % intervals"] * has_parameters)
