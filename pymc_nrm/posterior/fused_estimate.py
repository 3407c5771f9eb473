"""A point estimate whose clusters are fused where the densities of their items overlap."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_count, check_number, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.common.result_names import added_names, result_dataset
from pymc_nrm.families.conjugate import log_affinities, named_parameters
from pymc_nrm.families.needs import PARAMETERS, check_needs
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.models.rvs import checked_model, family_of, find_partition, kind_of, mixtures_of, other_uses
from pymc_nrm.partitions.chunked import Chunked
from pymc_nrm.partitions.grouped import family_of_rows
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.partitions.weighted_components import WeightedComponents
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.layout import padded
from pymc_nrm.posterior.marked_items import mark_items
from pymc_nrm.stats.contingency import contingency_table
from pymc_nrm.stats.draws import draws_of_items, estimated_items, item_coords, item_dimension, partition_draws
from pymc_nrm.stats.losses import check_loss, chosen_loss, draw_losses, read_estimate, summarise_losses
from pymc_nrm.stats.point_estimate import evenly_spaced, fingerprint, point_estimate

# Parameters of components are means of so many draws: the noise of one draw makes components look further apart.
_PARAMETER_DRAWS = 20
# Closeness is this power of the affinity: the larger, the less a small overlap counts.  Of two Gaussians of one
# covariance whose means are r standard deviations apart, it is exp(-3 r^2 / 32): .43 for r = 3 and .03 for r = 6.
_POWER = 0.75


def fused_estimate(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    estimate: Any = None,
    *,
    var_name: str | None = None,
    omega: float | None = None,
    n_clusters: int | None = None,
    keep_empty_items: bool = False,
    loss: str | None = None,
    max_draws: int = 200,
    random_seed: Any = None,
    progressbar: bool = True,
    **costs: Any,
) -> xr.Dataset:
    """Partition in which clusters of a point estimate are one if the densities of their items overlap.

    A cluster is a component of the mixture: a group that does not have the shape of the family takes several.  This
    estimate joins them, and keeps the components and the tree of all fusions.

    Parameters
    ----------
    %(idata)s
    %(model)s
    estimate : array_like of int, shape (n,), or Dataset, optional
        Labels of the components, or the result of :func:`~pymc_nrm.point_estimate`; by default the point estimate with
        the arguments below.
    %(partition)s
    omega : positive float, optional
        Cost of separating two items of the same density, where joining two items of disjoint densities costs one: the
        larger, the fewer clusters.  By default it is chosen from the draws, see Notes.
    n_clusters : int, optional
        Fuse until this number of clusters is left, in place of ``omega``.
    keep_empty_items : bool
        Whether items without any known value are in the estimate too, as for :func:`~pymc_nrm.point_estimate`; used
        unless ``estimate`` is given.
    loss, **costs
        As for :func:`~pymc_nrm.point_estimate`: for the estimate if none is given, and for ``expected_loss``.
    max_draws : int
        How many draws the distances use, evenly spaced in every chain.
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    Dataset
        As from :func:`~pymc_nrm.point_estimate`: ``labels`` and ``n_clusters`` after fusion, ``expected_loss`` over all
        draws and its ``mcse``.

        Before fusion: ``component_labels`` of the items, and along ``component`` its ``component_size``,
        ``component_cluster``, the label after fusion, and ``component_closeness``, dims (component, component_other),
        one minus the mean distance of an item of the one and an item of the other.

        The tree, along ``fusion``: ``fusion_first`` and ``fusion_second`` say what is fused, where numbers below the
        number of components m are components and m + t is what fusion t has made, as in SciPy; ``fusion_closeness`` is
        the mean closeness of what is joined, and never rises.  The tree ends in a single cluster; the first
        ``n_fusions`` fusions, whose closeness is above ``threshold``, are made.

        ``draw_fusion``, dims (chain, draw, draw_cluster): the clusters of every draw in use, fused in the same way, at
        the same threshold; -1 beyond the number of clusters.

        Attributes ``loss``, the costs, ``omega``, ``n_draws_used``, and ``draws_used``, a number that tells other draws
        from these.

    Raises
    ------
    NotImplementedError
        If a family has no affinity in closed form: ``MultinomialDirichlet``, ``NormalRegression``,
        ``NormalTrajectory``, and families of one's own.
    TypeError
        If the loss has no such cost.
    ValueError
        If the partition has no mixture, the estimate has a different number of items, ``omega`` or ``n_clusters`` is
        not allowed or both are given, or the draws or the model lack a variable.

    Notes
    -----
    The affinity (Bhattacharyya coefficient) of two densities is ``integral sqrt(f g)``: 1 if they are equal, 0 if they
    do not overlap; affinities of several mixtures over the partition are multiplied.  The distance of items i and
    j is ``D[i, j] = E(1 - affinity^(3/4))``, the mean over draws of the partition; parameters of components are means
    of 20 draws given the partition, and the distance is 0 where the items share one.  The loss of a partition is

        ``sum over pairs i < j:  D[i, j] if they are together, omega (1 - D[i, j]) if not``

    (FOLD; Dombowsky & Dunson 2023, "Bayesian clustering via fusing of localized densities", where D is the mean of the
    Hellinger distance ``sqrt(1 - affinity)`` over draws of the parameters, too).  Fusing A and B lowers it if the mean
    of D over their pairs is below ``omega / (1 + omega)``.  The pair of clusters with the smallest mean is fused first
    (average linkage), until no fusion lowers the loss.  By default ``omega = sum D / sum (1 - D)``, as in the paper:
    clusters are fused if their items are closer than two items of the data on average.  In many dimensions, Hellinger
    distances are close to one even for pieces of one group, and noise of drawn parameters adds to them; the distance
    here agrees better with known classes.

    The search is restricted to unions of components of the estimate; the expectation is not, it is over all draws and
    over parameters drawn given the data.  Distances, and so the fusions, do not depend on names of labels nor on
    affine maps of Gaussian data.  Long chains of components are fused only as far as that lowers the loss.  Densities
    and predictions still use the components.

    The computation takes O(S K^2 d^3) time for S draws with K clusters of full covariance, and memory for the
    parameters of one draw.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.1), observed=[10, 12, 14, 9, 90, 88])
    >>> labels = [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 2, 2]]
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [labels])})
    >>> fused = nrm.fused_estimate(posterior, model, [0, 0, 1, 1, 2, 2], random_seed=1)
    >>> fused.labels.values.tolist(), fused.component_cluster.values.tolist()
    ([0, 0, 0, 0, 1, 1], [0, 0, 1])
    """
    if loss is not None:
        check_loss(loss, costs)
    if omega is not None and n_clusters is not None:
        raise ValueError(f"give either omega or n_clusters, not both; got {omega!r} and {n_clusters!r}")
    if omega is not None:
        omega = check_number("omega", omega, lambda value: 0.0 < value < np.inf, "positive and finite")
    check_count("n_clusters", n_clusters, 1, optional=True)
    check_count("max_draws", max_draws, least=1)
    model = checked_model(model)
    rv = find_partition(model, var_name, chunked=True)
    partition = rv.name
    draws = draws_of(idata, model, partition)
    _check_families(draws)
    labels = partition_draws(mark_items(draws.posterior, model, rv), partition)
    loss, costs = chosen_loss(loss, costs, labels)
    options = {"loss": loss, "random_seed": random_seed, "progressbar": progressbar}
    if estimate is None:
        estimate = point_estimate(labels, keep_empty_items=keep_empty_items, **options, **costs)
    kept, labels = estimated_items(labels, estimate), draws_of_items(labels, estimate)
    components, _ = read_estimate(estimate, labels)
    m = int(components.max()) + 1
    if n_clusters is not None and n_clusters > m:
        raise ValueError(f"n_clusters must be at most {m}, the number of components of the estimate; got {n_clusters}")
    thinned = evenly_spaced(draws.posterior, max_draws)
    if isinstance(draws.kind, Chunked):
        clusters = evenly_spaced(idata["clusters"].to_dataset(), max_draws)
        thinned = xr.DataTree.from_dict({"posterior": thinned, "clusters": clusters})
    used = draws_of(thinned, model, partition)
    rng = random_generator(random_seed)
    sums, mean_distance, trees = _closeness(used, components, kept, rng, progressbar)
    sizes = np.bincount(components)
    fusions, closeness = fuse(sums, sizes)
    if omega is None:
        omega = mean_distance / (1.0 - mean_distance) if mean_distance < 1.0 else np.inf
    threshold = 1.0 / (1.0 + omega)
    n_fusions = int((closeness > threshold).sum()) if n_clusters is None else m - n_clusters
    # Draws are fused to the level of the estimate.
    level = threshold if n_clusters is None else closeness[n_fusions - 1] * (1 - 1e-12) if n_fusions else np.inf
    fused_draws = padded([cut_fusions(tree, int((close > level).sum())) for tree, close in trees], -1)
    cluster = cut_fusions(fusions, n_fusions)
    fused = cluster[components]
    dim, coords = item_dimension(labels), item_coords(labels)
    along, other_dim, fusion, of_draw = added_names(
        {dim, *coords}, "component", "component_other", "fusion", "draw_cluster"
    )
    losses = summarise_losses(draw_losses(fused, labels, loss, costs), loss, costs)
    variables = {
        **losses.data_vars,
        "labels": (dim, fused),
        "n_clusters": int(fused.max()) + 1,
        "component_labels": (dim, components),
        "component_size": (along, sizes),
        "component_cluster": (along, cluster),
        "component_closeness": ((along, other_dim), sums / np.outer(sizes, sizes)),
        "fusion_first": (fusion, fusions[:, 0]),
        "fusion_second": (fusion, fusions[:, 1]),
        "fusion_closeness": (fusion, closeness),
        "n_fusions": n_fusions,
        "threshold": threshold,
        "draw_fusion": (
            ("chain", "draw", of_draw),
            fused_draws.reshape(used.posterior.sizes["chain"], used.posterior.sizes["draw"], -1),
        ),
    }
    attrs = {**losses.attrs, "omega": omega, "n_draws_used": len(used)}
    return result_dataset(variables, coords, attrs | {"draws_used": fingerprint(evenly_spaced(labels, max_draws))})


def why_not_fused(model, rv):
    """Why the components of a partition are not fused unless a user asks for it, in a few words, or None."""
    kind = kind_of(rv)
    if isinstance(kind, WeightedComponents) and mixtures_of(model, rv) and not other_uses(model, rv):
        return "log_weights define the components"
    return why_not_comparable(model, rv) if kind.why_not_fused is None else kind.why_not_fused


def why_not_comparable(model, rv):
    """Why the components of a partition have no overlap, in a few words, or None."""
    mixtures = mixtures_of(model, rv)
    if not mixtures:
        return "no Mixture depends on the partition"
    if kind_of(rv).why_not_fused is None and (uses := other_uses(model, rv)):
        return f"{uses[0].name} depends on its labels too"
    for mixture in mixtures:
        family_class = type(family_of(mixture))
        if lacking(family_class, [*PARAMETERS, log_affinities]):
            return f"{family_class.__name__} has no affinity in closed form"
    return None


def _check_families(draws):
    if not draws.mixtures:
        raise ValueError(f"no Mixture depends on partition {draws.partition!r}: its items have no densities")
    for name in draws.mixtures:
        family_class = type(family_of(draws.model[name]))
        check_needs(family_class, PARAMETERS, "fused_estimate")
        if lacking(family_class, [log_affinities]):
            raise NotImplementedError(
                f"{family_class.__name__} has no affinity in closed form, which fused_estimate needs for {name!r}"
            )


def _closeness(draws, components, kept, rng, progressbar):
    """Closeness summed over pairs of items of components (m, m), the mean distance of two different items, and the tree
    of fusions of each draw. The components are of the items that are kept, bool (n,).
    """
    n, m = len(components), int(components.max()) + 1
    sums, total, trees = np.zeros((m, m)), 0.0, []
    for draw in tracked(draws, "Comparing components", progressbar):
        # Clusters without these items, or in which no row of chunks is followed, are left out.
        members = draw.labels[kept]
        present = members[np.sort(np.unique(members, return_index=True)[1])]
        members = canonical_labels(members)
        counts = np.bincount(members)
        log_affinity = np.zeros((len(counts), len(counts)))
        for name, family in zip(draws.mixtures, draw.families, strict=True):
            rows = draws.cluster_parameters(draw, name, rng, _PARAMETER_DRAWS)
            family = family_of_rows(family)
            log_affinity += log_affinities(family, named_parameters(family, rows[present]))
        close = np.exp(_POWER * log_affinity)
        table = contingency_table(members, components)
        sums += table.T @ close @ table
        total += counts @ (1.0 - close) @ counts
        trees.append(fuse(np.outer(counts, counts) * close, counts))
    n_pairs = max(n * (n - 1), 1)
    return sums / len(draws), min(total / len(draws) / n_pairs, 1.0), trees


def fuse(sums, sizes):
    """Fuse, again and again, the two clusters whose items are closest on average, as numbered in the result's tree.

    Shapes: ``sums`` (m, m), ``sizes`` (m,); returns (m - 1, 2) and the mean closeness of what is joined (m - 1,).
    """
    sums, sizes = np.array(sums, dtype=float), np.array(sizes, dtype=float)
    m = len(sums)
    node, alive = np.arange(m), np.ones(m, dtype=bool)
    fusions, closeness = np.empty((m - 1, 2), dtype=np.int64), np.empty(m - 1)
    between = sums / np.outer(sizes, sizes)
    np.fill_diagonal(between, -1.0)
    # The closest cluster of each, and how close it is.
    nearest = between.argmax(axis=1)
    for t in range(m - 1):
        a = int(between[np.arange(m), nearest].argmax())
        b = int(nearest[a])
        fusions[t], closeness[t] = np.sort(node[[a, b]]), between[a, b]
        sums[a] += sums[b]
        sums[:, a] += sums[:, b]
        sizes[a] += sizes[b]
        node[a], alive[b] = m + t, False
        between[b] = between[:, b] = -1.0
        between[a] = between[:, a] = np.where(alive & (np.arange(m) != a), sums[a] / (sizes[a] * sizes), -1.0)
        stale = (nearest == a) | (nearest == b)
        stale[a] = True
        nearest[stale] = between[stale].argmax(axis=1)
        nearest[between[a] > between[np.arange(m), nearest]] = a
    return fusions, closeness


def cut_fusions(fusions, n_fusions):
    """Labels of clusters after the first fusions, in order of appearance. Shapes: returns (m,)."""
    m = len(fusions) + 1
    node = np.arange(m)
    for t, fusion in enumerate(fusions[:n_fusions]):
        node[np.isin(node, fusion)] = m + t
    return canonical_labels(node)
