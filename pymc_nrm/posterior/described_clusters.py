"""What descriptions say of clusters: how many items draws keep together, and what sets clusters apart."""

import numpy as np

from pymc_nrm.common.wrapping import whole_percent
from pymc_nrm.partitions.chunked import Chunked
from pymc_nrm.posterior.component_shares import component_shares
from pymc_nrm.posterior.default_clusters import clusters_to_show
from pymc_nrm.posterior.described_columns import observations_of_items
from pymc_nrm.posterior.description import Words
from pymc_nrm.posterior.number_of_clusters import OVERLAP, clusters_overlap_in, number_of_clusters
from pymc_nrm.posterior.special_description import Special, described_data
from pymc_nrm.stats.contingency import contingency_table
from pymc_nrm.stats.draws import stack_draws
from pymc_nrm.stats.point_estimate import left_out_words
from pymc_nrm.stats.result import posterior_of

# A cluster is set apart by at most so many columns; beside the first, they differ by so many standard deviations.
_MOST_APART, _LEAST_DIFFERENCE = 6, 0.5
# Where most items are in clusters of less certainty, a note says so.
_LEAST_CERTAINTY = 0.5


def of_clusters(asked):
    """How many items of a cluster are together in draws, how many others with them, and what sets it apart."""
    clusters = clusters_to_show(
        asked.idata, asked.model, asked.partition, asked.estimate, asked.components, asked.level
    )
    labels, draws = clusters.labels, clusters.draws
    counts, partitions = np.bincount(labels), stack_draws(draws)
    together, others = (
        np.quantile(numbers, asked.tails, axis=0, method="inverted_cdf").astype("int64")
        for numbers in _numbers_in_draws(labels, partitions)
    )
    columns, described, has_parameters = described_data(asked, labels, clusters.all_draws, clusters.kept)
    numbers = {"together_low": together[0], "together_high": together[1]}
    numbers |= {"others_low": others[0], "others_high": others[1]}
    cells = {"together": _ranges(together), "others": _ranges(others)}
    weights = component_shares(asked.model, asked.partition, posterior_of(asked.idata), labels, clusters.kept)
    if weights is not None:
        mean, (low, high) = weights.mean(axis=0), np.quantile(weights, asked.tails, axis=0)
        numbers |= {"weight": mean, "weight_low": low, "weight_high": high}
        ends = zip(map(whole_percent, mean), 100 * low, 100 * high, strict=True)
        cells["component weight"] = [f"{middle} ({first:.0f} to {last:.0f})" for middle, first, last in ends]
    further = ("component weight",) * (weights is not None)
    observations = observations_of_items(asked.model, asked.partition)
    if observations is not None:
        observations = observations[clusters.kept]
        of_cluster = np.bincount(labels, observations).astype("int64")
        numbers["observations"] = of_cluster
        shares = map(whole_percent, of_cluster / of_cluster.sum())
        cells = {"observations": [f"{n:,} {share}" for n, share in zip(of_cluster, shares, strict=True)], **cells}
        further = ("observations", *further)
    word = "rows" if columns and all(column.items is None for column in columns) else "items"
    of_values = word if all(column.counts is None for column in columns) else "observations"
    kinds = {column.kind for column in columns}
    missing = any(np.isnan(column.values).any() for column in columns)
    number, overlap = number_of_clusters(labels, draws, asked.ci_prob), clusters_overlap_in(draws)

    def notes(certainty):
        words = word, of_values
        return _notes(words, kinds, has_parameters, weights is not None, counts, certainty, asked.ci_prob, overlap)

    return Special(
        words=Words("cluster", word, f"what sets it apart (all other {of_values})", further=further),
        title=_title(clusters, number, asked.partition, word, asked.components, observations),
        labels=labels,
        names=clusters.names,
        estimate=clusters.estimate,
        draws=draws,
        entries=[most_apart(described, k) for k in range(len(counts))],
        notes=notes,
        long_notes=_long_notes(word, kinds, missing, asked.ci_prob, len(partitions)),
        numbers=numbers,
        cells=cells,
        columns=described,
    )


def _title(clusters, number, partition, word, components, observations):
    n_left_out = np.count_nonzero(~clusters.kept)
    text = _title_of_kept(clusters, number, partition, word, components, observations)
    return f"{text}; {left_out_words(n_left_out, word)}" if n_left_out else text


def _title_of_kept(clusters, number, partition, word, components, observations):
    n, kind = len(clusters.labels), partition.owner.op.kind
    items = f"{n:,} followed rows of {kind.rows.n:,}" if isinstance(kind, Chunked) else f"{n:,} {word}"
    items += "" if observations is None else f" of {observations.sum():,} observations"
    if clusters.of_tree is not None:
        return f"{number.title(items)}, {clusters.of_tree}"
    if clusters.why_not_fused is not None:
        return f"{number.title(items)}, of the point estimate (not joined: {clusters.why_not_fused})"
    if components:
        return f"{number.title(items)}, the components of the point estimate"
    if clusters.n_components in (None, number.estimate):
        return number.title(items)
    return number.title(items, further=f"{clusters.n_components:,} components, joined where they overlap")


def _notes(words, kinds, parameters, own_weights, counts, certainty, ci_prob, overlap):
    """At most three sentences that a reader of the short text needs."""
    word, of_values = words
    notes = [f"certainty: how probable it is that two {word} of the cluster belong together"]
    if overlap:
        notes.append(OVERLAP.format(word=word))
    elif counts @ (certainty < _LEAST_CERTAINTY) > counts.sum() / 2:
        notes.append(
            f"most {word} are in clusters of certainty below {100 * _LEAST_CERTAINTY:.0f} %: the data do not settle "
            "where one cluster ends"
        )
    has_medians, has_shares = kinds & {"positive", "zero or positive"}, kinds & {"levels", "truth", "zero or positive"}
    told = ["numbers: means"] * ("number" in kinds) + ["medians where all are positive"] * bool(has_medians)
    told += [f"per cent: shares of {of_values}"] * bool(has_shares)
    told += ["component weight: the mean over draws"] * own_weights
    told += [f"ranges: {100 * ci_prob:.4g} % intervals"] * bool(parameters or own_weights)
    if len(notes) == 1 and told:
        notes.append("; ".join(told))
    return (*notes, "all columns: .to_text(full=True); data: .table; labels: .estimate")


def _long_notes(word, kinds, missing, ci_prob, n_draws):
    notes = [
        f"together, others: how many of these {word} are in one cluster, and how many other {word} with them, in "
        f"{100 * ci_prob:.4g} % of {n_draws} draws, each a clustering that the data allow"
    ]
    notes += ["numbers: mean ± standard deviation"] * ("number" in kinds)
    if kinds & {"positive", "zero or positive"}:
        notes.append("positive columns: median and range of the middle 80 %, after the share of zeros if there are any")
    return (*notes, *(["missing: without a value, which means and shares leave out"] * missing))


def _numbers_in_draws(labels, draws):
    """How many items of each cluster of the estimate are in that cluster of a draw which holds most of them, and how
    many others. Shapes: ``labels`` (n,), ``draws`` (S, n); returns (S, K) each.
    """
    n, n_clusters = len(labels), int(labels.max()) + 1
    together, others = np.empty((2, len(draws), n_clusters), dtype=np.int64)
    for s, draw in enumerate(draws):
        shared = contingency_table(draw, labels)
        sizes = shared.sum(axis=1)
        most = (shared * (n + 1) - sizes[:, None]).argmax(axis=0)
        together[s] = shared[most, np.arange(n_clusters)]
        others[s] = sizes[most] - together[s]
    return together, others


def _ranges(bounds):
    return [f"{low}" if low == high else f"{low} to {high}" for low, high in zip(*bounds, strict=True)]


def most_apart(described, k):
    """The columns in which a cluster differs most from all other items; all columns if there are no others."""
    sizes = {name: of_column.differences[k] for name, of_column in described.items()}
    known = sorted((name for name, size in sizes.items() if np.isfinite(size)), key=lambda name: -sizes[name])
    if not known:
        return "; ".join(f"{name} {column.cells[k]}" for name, column in described.items() if column.cells[k])
    kept = [name for place, name in enumerate(known[:_MOST_APART]) if place == 0 or sizes[name] >= _LEAST_DIFFERENCE]
    return "; ".join(f"{name} {described[name].apart[k]}" for name in kept)
