"""Convergence of quantities that do not depend on how clusters are named, and of indicators of pairs of items."""

import contextlib
import math
import warnings
from typing import Any

import numpy as np
import scipy
import xarray as xr

from pymc_nrm.common.checks import check_count, random_generator
from pymc_nrm.stats.levels import flat_or_nested_draws

# Labels drawn given two Gaussians of equal weight agree by this much at 1.7 standard deviations between them; up to 2,
# their density has a single peak.  Draws from models of one Gaussian, or of two in 20 dimensions, agree by .01, of
# galaxies or two Gaussians 3 standard deviations apart by .35, of penguins by .85, of three clear groups by .95.
_LEAST_AGREEMENT = 0.2
# If a random pair of items is together in more than this share of draws, they are one cluster and few other items.
_ONE_CLUSTER = 0.9
N_PAIRS = 500


def random_pairs(n, n_pairs=N_PAIRS, random_seed=0):
    """Distinct random pairs of items, sorted, the first item before the second; all pairs if there are fewer."""
    check_count("n_pairs", n_pairs, 1)
    rng = random_generator(random_seed)
    total = n * (n - 1) // 2
    if total <= n_pairs:
        return np.column_stack(np.triu_indices(n, 1)).astype("int64")
    chosen = np.sort(rng.choice(total, n_pairs, replace=False))
    # Pair number k is second (second - 1) / 2 + first.
    second = np.array([(1 + math.isqrt(1 + 8 * k)) // 2 for k in chosen.tolist()])
    pairs = np.column_stack([chosen - second * (second - 1) // 2, second])
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def expected_largest_z(n_scores):
    """Mean of the largest absolute value of independent standard normal scores."""
    # For dependent scores that are jointly normal, the largest one is stochastically smaller (Sidak 1967, "Rectangular
    # confidence regions for the means of multivariate normal distributions").
    if n_scores == 0:
        return math.nan
    z = np.linspace(0.0, 12.0, 4801)
    return float(scipy.integrate.simpson(1.0 - scipy.special.erf(z / math.sqrt(2.0)) ** n_scores, x=z))


def largest_z_quantile(n_scores, probability):
    """Quantile of the largest absolute value of independent standard normal scores."""
    tail = -math.expm1(math.log(probability) / n_scores)
    return float(-scipy.special.ndtri(tail / 2))


def pair_convergence(together):
    """Convergence of the indicators of pairs of items, or of other numbers of each draw. ``rhat``, ``ess`` and ``mcse``
    are of the probability of each pair; ``discrepancy`` is the largest difference between two parts of the draws, and
    ``z`` its ratio to ``discrepancy_se``.  Pairs that are constant, and fewer than four draws, give NaN. Shapes:
    ``together`` (n_parts, n_draws, n_pairs).
    """
    # The standard error of a difference is sqrt(2 V / ESS).  V is the mean of the variances within parts; ESS is the
    # effective sample size of one part, from autocovariances about the mean of each part, averaged over parts.  They
    # are averaged because all parts estimate the same distribution if chains agree, and a rare indicator often changes
    # too seldom within a single part.  An indicator has two values, which rank normalisation and folding only relabel:
    # R-hat is the split R-hat, and bulk and mean effective sample sizes are the same.
    values = np.asarray(together, dtype="float64")
    n_parts, n_draws, n_pairs = values.shape
    # The halves of a chain of one draw are empty.
    means = values.mean(axis=1) if n_draws else np.full((n_parts, n_pairs), np.nan)
    ess = sampling_diagnostic("ess", values, method="mean")
    centred = sampling_diagnostic("ess", values - means[:, None], method="identity")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        # Parts that are constant at different values are as good as independent draws.
        centred = np.where(np.isnan(centred), n_parts * n_draws, centred)
        error = np.sqrt(2 * values.var(axis=1, ddof=1).mean(axis=0) / (centred / n_parts))
        error = np.where(np.isnan(ess), np.nan, error)
        discrepancy = means.max(axis=0) - means.min(axis=0)
        return {
            "rhat": sampling_diagnostic("rhat", values, method="split"),
            "ess": ess,
            # As ArviZ does it, which would compute the effective sample size once more.
            "mcse": values.std(axis=(0, 1), ddof=1) / np.sqrt(ess),
            "discrepancy": discrepancy,
            "discrepancy_se": error,
            "z": discrepancy / error,
            "by_part": means,
        }


def partition_convergence(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    var_name: str | None = None,
    *,
    n_pairs: int = N_PAIRS,
    random_seed: Any = None,
) -> xr.Dataset:
    """Check whether chains agree about a partition, by how often pairs of items share a cluster in each chain.

    Chains that have found different clusters may agree about numbers and sizes of clusters.  This function therefore
    compares the indicators "items i and j are in one cluster" for a random set of pairs.  The pairs are chosen without
    looking at the labels, so that the choice does not bias the scores.

    Parameters
    ----------
    %(draws)s
    %(flat_or_nested)s
    n_pairs : int
        Number of pairs; all are taken if there are fewer.
    random_seed : int, Generator or None
        Seed of the choice of pairs.

    Returns
    -------
    Dataset
        With dimension ``pair``.  Coordinates ``item`` and ``item_other`` hold the numbers of the two items, from 0, and
        ``item_name`` and ``item_name_other`` their names, if they have any:

        * ``probability``: share of draws in which the items share a cluster, and its standard error ``mcse``,
        * ``rhat`` (split R-hat) and ``ess`` of the indicator,
        * ``probability_by_part``, dimension ``part``: the frequency in each chain,
        * ``discrepancy``: largest difference between the frequencies of two chains, its standard error
          ``discrepancy_se``, and ``z``, their ratio.

        Scalars:

        * ``max_discrepancy``, its standard error ``max_discrepancy_se``, and ``max_discrepancy_pair``, its position
          along ``pair``,
        * ``max_z``, its position ``max_z_pair``, the number of differences compared ``n_scores``, and
          ``expected_max_z``, the mean of the largest absolute value of that many independent standard normal scores,
        * ``max_rhat``, ``min_ess``, ``max_mcse``, and ``n_constant``, the number of pairs that are always or never
          together: their diagnostics are NaN and do not count,
        * ``draw_agreement``: how far two independent draws of a chain agree about which items share a cluster, as an
          adjusted Rand index, from the probabilities of the pairs: 1 if the partition is certain, 0 if all pairs have
          the same probability, so that nothing is known of which items share a cluster.  NaN if all items are always in
          one cluster, or always alone.

        Of a nested partition, the level of the lowest node that two items share, from 0 (the root) to L, stands for the
        indicator: ``common_depth`` is its posterior mean, and ``common_depth_by_part`` the mean in each chain; there is
        no ``draw_agreement``.

        The attribute ``parts`` is ``"chains"``, or ``"halves"`` if there is only one chain, whose first half is then
        compared with its second.

    Raises
    ------
    ValueError
        If there is no such partition, several to choose from, or ``n_pairs`` is not a whole number of at least 1.

    Notes
    -----
    If ``max_z`` is well above ``expected_max_z``, chains disagree: the scores of pairs depend on each other, and the
    largest of dependent normal scores is smaller than the largest of independent scores.  Scores are only
    asymptotically normal, and the standard errors of slowly mixing chains are too small.  A small ``max_z`` does not
    prove convergence: the check misses pairs that were not chosen, and clusters that no chain has found.

    Examples
    --------
    >>> import xarray as xr
    >>> labels = np.random.default_rng(1).integers(2, size=(2, 200, 3))
    >>> labels = np.where(labels == labels[..., :1], 0, 1)
    >>> draws = xr.DataArray(labels, dims=("chain", "draw", "item"), name="z")
    >>> result = partition_convergence(draws)
    >>> result.sizes["pair"], bool(result.max_rhat < 1.05)
    (3, True)
    """
    return convergence_of(flat_or_nested_draws(idata, var_name), n_pairs, random_seed)


def convergence_of(draws, n_pairs, random_seed):
    """Convergence of draws that :func:`~pymc_nrm.stats.levels.flat_or_nested_draws` has read."""
    pairs = random_pairs(draws.shape[-1], n_pairs, random_seed)
    depth = pair_depths(draws.values, pairs)
    several, nested = len(depth) > 1, draws.ndim == 4
    of_pairs = pair_convergence(depth if several else halves(depth))
    name = "common_depth" if nested else "probability"
    result = xr.Dataset(
        {name: ("pair", depth.mean(axis=(0, 1)))}
        | {
            column: ("pair", of_pairs[column])
            for column in ("mcse", "rhat", "ess", "discrepancy", "discrepancy_se", "z")
        }
        | {f"{name}_by_part": (("part", "pair"), of_pairs["by_part"])},
        coords={"part": draws["chain"].values if several else np.arange(2)} | pair_coordinates(draws, pairs),
        attrs={"parts": "chains" if several else "halves"} | ({"n_levels": draws.shape[2]} if nested else {}),
    )
    constant = (depth == depth[:1, :1]).all(axis=(0, 1))
    scalars = extremes(result) | {"n_constant": int(constant.sum())}
    return result.assign(scalars if nested else scalars | {"draw_agreement": draw_agreement(of_pairs["by_part"])})


def draw_agreement(by_part):
    """Adjusted Rand index between two draws of one part, as a ratio of means over pairs: the share of the variance of
    the indicators of pairs that lies between pairs. Shapes: ``by_part`` (n_parts, n_pairs).
    """
    # A single item has no pair.
    mean = by_part.mean(axis=1, keepdims=True) if by_part.size else np.zeros((1, 1))
    total = (mean * (1.0 - mean)).mean()
    return float(((by_part - mean) ** 2).mean() / total) if total > 0 else math.nan


def agreement_of_parts(by_part):
    """Adjusted Rand index between two draws of one part, on average over parts, and the least between draws of two
    parts, from the probabilities of pairs. It is 1 where both draws are all of one cluster. Shapes: ``by_part``
    (n_parts, n_pairs).
    """
    mean = by_part.mean(axis=1)
    shared, chance = by_part @ by_part.T / by_part.shape[1], np.outer(mean, mean)
    largest = 0.5 * np.add.outer(mean, mean)
    with np.errstate(invalid="ignore", divide="ignore"):
        index = np.where(largest > chance, (shared - chance) / (largest - chance), 1.0)
    return float(np.diagonal(index).mean()), float(index[~np.eye(len(index), dtype=bool)].min())


def pair_depths(labels, pairs):
    """Whether the items of pairs share a cluster or, given labels by level, the level of their lowest common node.
    Shapes: returns (n_chains, n_draws, n_pairs).
    """
    if labels.ndim == 4:
        return sum(pair_depths(labels[:, :, level], pairs).astype(np.int16) for level in range(labels.shape[2]))
    together = np.empty((*labels.shape[:2], len(pairs)), dtype=bool)
    # The entries of a column are far apart in memory: rows are read one block at a time.
    step = max(1, 2**22 // max(labels.shape[2], 1))
    for chain, rows in zip(labels, together, strict=True):
        for start in range(0, len(chain), step):
            block = chain[start : start + step]
            rows[start : start + step] = block[:, pairs[:, 0]] == block[:, pairs[:, 1]]
    return together


def pair_coordinates(draws, pairs):
    """Numbers of the items of pairs and, if the items have names that files can hold, their names."""
    dim = draws.dims[-1]
    coords = {"item": pairs[:, 0], "item_other": pairs[:, 1]}
    if dim in draws.coords:
        names = draws[dim].values
        storable = names.dtype.kind in "iufbUMT" or all(isinstance(name, str) for name in names)
        if storable and not np.array_equal(names, np.arange(len(names))):
            coords |= {"item_name": names[pairs[:, 0]], "item_name_other": names[pairs[:, 1]]}
    return {name: ("pair", values) for name, values in coords.items()}


def pair_name(pair):
    """Names of the two items of a pair of :func:`partition_convergence`, or their numbers if they have no names."""
    stem = "item_name" if "item_name" in pair.coords else "item"
    return ", ".join(_written(pair[name].values) for name in (stem, f"{stem}_other"))


def _written(name):
    """A name as text; of a date at midnight the day alone."""
    if name.dtype.kind != "M":
        return str(name)
    day = name.astype("datetime64[D]")
    return str(day if day == name else name.astype("datetime64[s]"))


def extremes(result):
    """Scalars of :func:`partition_convergence`, from its variables with dimension ``pair``."""
    n_parts = result.sizes["part"]
    n_scores = int(result.z.notnull().sum()) * n_parts * (n_parts - 1) // 2
    scalars = {
        "max_rhat": _extreme(np.fmax, result.rhat),
        "min_ess": _extreme(np.fmin, result.ess),
        "max_mcse": _extreme(np.fmax, result.mcse),
        "max_z": _extreme(np.fmax, result.z),
        "max_z_pair": _place(result.z),
        "n_scores": n_scores,
        "expected_max_z": expected_largest_z(n_scores),
        "max_discrepancy": _extreme(np.fmax, result.discrepancy),
        "max_discrepancy_pair": _place(result.discrepancy),
    }
    place = scalars["max_discrepancy_pair"]
    scalars["max_discrepancy_se"] = float(result.discrepancy_se[place]) if place >= 0 else math.nan
    return scalars


def _extreme(function, array):
    """The largest or smallest value; NaN if there is none."""
    return float(function.reduce(array.values, initial=math.nan))


def _place(array):
    """Position of the largest value, the first of several; -1 if all are NaN."""
    return int(np.nanargmax(array.values)) if array.notnull().any() else -1


def clusters_overlap(name, n_clusters, pairs):
    """Warning and advice if draws barely agree about which items share a cluster; empty if they do. ``pairs`` is the
    result of :func:`~pymc_nrm.stats.partition_convergence`, ``n_clusters`` a mean over draws.
    """
    if not barely_agree(pairs.probability_by_part.values):
        return ""
    agreement = float(pairs.draw_agreement)
    return (
        f"The clusters of {name} overlap almost completely: two draws of a chain agree about which items\nshare a "
        f"cluster with an adjusted Rand index of {agreement:.2f} (1 if equal, 0 by chance), so that their number,\n"
        f"{n_clusters:.3g} on average, mostly reflects the prior. Use densities and predictions, or restrict the "
        'clusters:\nsee "When the data do not tell clusters apart", docs/how-to/read-the-diagnostics.md.'
    )


def barely_agree(by_part):
    """Whether two draws of a chain barely agree about which items share a cluster, beyond that nearly all do. Shapes:
    ``by_part`` (n_parts, n_pairs), the frequencies with which pairs share one.
    """
    return draw_agreement(by_part) < _LEAST_AGREEMENT and by_part.mean() <= _ONE_CLUSTER


def convergence_table(quantities):
    """R-hat, effective sample sizes and Monte Carlo standard errors of scalar and array quantities. Variables are
    ``rhat``, ``ess_bulk``, ``ess_tail`` and ``mcse_mean``, the worst over all elements of a quantity that are finite in
    every draw, and ``constant``, whether none of these varies.  If none varies, and with fewer than four draws per
    chain, the first four are NaN.
    """
    # Rank-normalised split R-hat, bulk and tail effective sample sizes of Vehtari et al. (2021), "Rank-normalization,
    # folding, and localization: an improved R-hat".  R-hat is infinite if chains are constant at different values. For
    # R-hat, a single chain is cut into two halves, each of which is split again.
    rows = {name: _worst(array) for name, array in quantities.items()}
    columns = ("rhat", "ess_bulk", "ess_tail", "mcse_mean", "constant")
    return xr.Dataset(
        {column: ("quantity", [row[k] for row in rows.values()]) for k, column in enumerate(columns)},
        coords={"quantity": list(rows)},
    )


def _worst(array):
    elements = _elements(array)
    judged = elements[:, :, np.isfinite(elements).all(axis=(0, 1))]
    # A quantity that never changes has no R-hat: the ratio of its variances is 0 / 0.
    varying = judged[:, :, (judged != judged[:1, :1]).any(axis=(0, 1))]
    if varying.shape[2] == 0:
        return np.nan, np.nan, np.nan, np.nan, True
    values = (
        sampling_diagnostic("rhat", varying if len(varying) > 1 else halves(varying)).max(),
        sampling_diagnostic("ess", varying, method="bulk").min(),
        sampling_diagnostic("ess", varying, method="tail").min(),
        sampling_diagnostic("mcse", varying, method="mean").max(),
    )
    return *(float(value) for value in values), False


def _elements(array):
    """The draws of each element of an array. Shape: (n_chains, n_draws, n)."""
    stacked = array.transpose("chain", "draw", ...).values
    return stacked.reshape(*stacked.shape[:2], -1)


def n_without_diagnostics(array):
    """The number of elements that are not finite in some draws, but not in all, which have no R-hat."""
    finite = np.isfinite(_elements(array))
    return int((finite.any(axis=(0, 1)) & ~finite.all(axis=(0, 1))).sum())


def halves(draws):
    """Cut a chain (1, n_draws, ...) into halves (2, n_draws // 2, ...), without a draw in the middle."""
    n_draws = draws.shape[1]
    half = n_draws // 2
    return np.concatenate([draws[:, :half], draws[:, n_draws - half :]])


@contextlib.contextmanager
def suppress_division_warnings():
    """Silence divisions by zero: chains that are constant at different values rightly have an infinite R-hat."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "divide by zero|invalid value", RuntimeWarning)
        yield


def as_number(array):
    """Turn truth values into 0 and 1, which ArviZ needs; leave any other array as it is."""
    return array.astype("int64") if array.dtype == bool else array


def sampling_diagnostic(name, draws, **kwargs):
    """Compute ``arviz_stats.rhat``, ``ess`` or ``mcse`` for every element of an array of draws; NaN for elements that
    never change, and with fewer than four draws. Shapes: ``draws`` (n_chains, n_draws, n); returns (n,).
    """
    draws = np.asarray(draws, dtype="float64")
    values, varying = np.full(draws.shape[2], np.nan), (draws != draws[:1, :1]).any(axis=(0, 1))
    if draws.shape[1] >= 4 and varying.any():
        import arviz_stats  # takes most of a second to import, and is needed only after sampling

        data = xr.Dataset({"x": (("chain", "draw", "element"), draws[:, :, varying])})
        with suppress_division_warnings():
            values[varying] = getattr(arviz_stats, name)(data, **kwargs)["x"].values
    return values
