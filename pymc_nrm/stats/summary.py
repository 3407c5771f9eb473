"""One table of all that was sampled: parameters as usual, partitions by quantities that do not depend on labels."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, random_generator
from pymc_nrm.common.marks import ALL_SLOTS_USED
from pymc_nrm.stats.convergence import (
    N_PAIRS,
    as_number,
    clusters_overlap,
    convergence_of,
    pair_depths,
    pair_name,
    suppress_division_warnings,
)
from pymc_nrm.stats.draws import missing_values, renamed_variables, slot_variables, variable_names
from pymc_nrm.stats.levels import flat_or_nested_draws
from pymc_nrm.stats.quantities import SCALARS, quantities_of, scalars_of
from pymc_nrm.stats.result import Result, posterior_by_chain
from pymc_nrm.stats.step_statistics import warn_of_foreign_steps

if TYPE_CHECKING:
    import pandas as pd


def summary(
    idata: xr.DataTree | xr.Dataset,
    var_names: Any = None,
    *,
    n_sizes: int = 3,
    n_pairs: int = N_PAIRS,
    random_seed: Any = None,
    **kwargs: Any,
) -> "pd.DataFrame":
    """Summarise a result in one table: rows for each partition, then ``az.summary`` of the parameters.

    Labels are only names, so their means and R-hat say nothing.  Instead of labels, a partition ``z`` has the rows

    * ``z[n_clusters]``, ``z[entropy]`` (nats), ``z[log_joint]`` (if ``sample_stats`` has it), and ``z[size 1]``,
      ``z[size 2]``, ..., the sizes of its largest clusters, 0 in draws with fewer clusters,
    * ``z[worst R-hat: i, j]`` and ``z[largest z: i, j]``: indicators that items i and j share a cluster.  These are the
      pairs with the largest R-hat and with the largest standardised difference between chains, among those that
      :func:`~pymc_nrm.stats.partition_convergence` compares.  The mean is the probability that they share one.  If one
      pair is the worst in both ways, it has the only row ``z[worst R-hat and z: i, j]``.

    A nested partition ``h`` has ``h[n_nodes level 1]``, ..., ``h[entropy level 1]``, ..., ``h[mean_common_depth]``,
    ``h[n_components]`` and ``h[log_joint]`` where there are such, see :func:`~pymc_nrm.stats.partition_quantities`, and
    the two worst pairs, whose mean is the level of the lowest node that they share.  Its components are a partition of
    their own, ``h_components``.

    Parameters
    ----------
    %(result)s
    var_names : str or list of str, optional
        Parameters and partitions to show; all by default, except ``z_n_clusters``, which equals ``z[n_clusters]``,
        parameters of slots, deterministics that change when clusters are renamed, and missing values of data, which
        ``nrm.sample`` marks.  The table has them in this order; by default partitions come first, then scalars, then
        arrays.
    n_sizes : int
        How many cluster sizes to show for each partition, if it has as many clusters.
    n_pairs : int
        Number of pairs of items to compare.
    random_seed : int, Generator or None
        Seed for choosing the pairs.
    **kwargs
        Passed to ``arviz_stats.summary``, for example ``kind``, ``ci_prob``, ``ci_kind``, ``round_to``.

    Returns
    -------
    pandas.DataFrame
        With the columns of ``az.summary``: mean, sd, interval, ess_bulk, ess_tail, r_hat, mcse_mean, mcse_sd.

    Raises
    ------
    TypeError
        If ``idata`` is neither a DataTree nor a Dataset, or ``var_names`` is not a string or a list of strings.
    ValueError
        If a DataTree has no group ``posterior``, there are no draws, a name is not in the posterior, or ``n_sizes`` is
        not a whole number of at least 0.

    Warns
    -----
    UserWarning
        If the clusters of a partition overlap almost completely, so that their number mostly reflects the prior: two
        draws of a chain agree about which items share a cluster with an adjusted Rand index below 0.2, which is
        ``draw_agreement`` of :func:`~pymc_nrm.stats.partition_convergence`.

    Notes
    -----
    Each call computes everything from the given draws and reads nothing from the group ``partition_stats``, so the
    table is also right for slices and thinned draws.  R-hat of a single chain is NaN, as in ``az.summary``.

    The two pairs are the worst of many, so they have a larger R-hat and a smaller effective sample size than a typical
    pair.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> labels = rng.integers(2, size=(2, 200, 3))
    >>> labels = np.where(labels == labels[..., :1], 0, 1)
    >>> sample = ("chain", "draw")
    >>> posterior = xr.Dataset({"x": (sample, rng.normal(size=(2, 200))), "z": ((*sample, "item"), labels)})
    >>> summary(posterior).index.tolist()[:4]
    ['z[n_clusters]', 'z[entropy]', 'z[size 1]', 'z[size 2]']
    """
    import arviz_stats

    check_count("n_sizes", n_sizes, 0)
    random_generator(random_seed)
    result = Result(idata)
    posterior, partitions, nested = posterior_by_chain(result.posterior), result.partitions, result.nested
    warn_of_foreign_steps(result)
    if var_names is None:
        derived = {f"{name}_n_clusters" for name in partitions} | renamed_variables(posterior)
        derived |= missing_values(posterior)
        derived |= {f"{name}_{quantity}" for name in nested for quantity in ("n_nodes", "n_components")}
        shown = [name for name in posterior.data_vars if name not in derived]
        # What was asked first: the partitions, then scalars, then arrays, such as what priors of families learned.
        shown.sort(key=lambda name: (name not in {*partitions, *nested}, posterior[name].ndim))
    else:
        shown = variable_names(var_names, posterior)
    text = [name for name in shown if posterior[name].dtype.kind not in "biufc"]
    if text:
        raise TypeError(f"var_names must be of numbers; {text[0]!r} holds {posterior[text[0]].dtype}")
    table = posterior[[]]
    for name in shown:
        if name not in {*partitions, *nested}:
            table = table.assign({name: as_number(posterior[name])})
            continue
        rows = _rows(result, name, n_sizes, n_pairs, random_seed)
        table = table.assign({f"{name}[{row}]": array for row, array in rows.items()})
    if not any(array.size for array in table.data_vars.values()):
        raise ValueError(f"idata must have variables to summarise; got {sorted(map(str, shown))} of no entries")
    with suppress_division_warnings():
        return arviz_stats.summary(table, **kwargs)


def _rows(result, name, n_sizes, n_pairs, random_seed):
    """Scalars of each draw of a partition, keyed by the names of their rows."""
    draws = flat_or_nested_draws(result, name)
    quantities = quantities_of(draws, result)
    rows = {row: array for row, array in scalars_of(quantities).items() if row != "largest_cluster"}
    # Statistics have this for all partitions if one of them has slots.
    has_slots = name in slot_variables(result.posterior).values()
    if ALL_SLOTS_USED in quantities and (has_slots or quantities[ALL_SLOTS_USED].any()):
        rows["all slots used"] = quantities[ALL_SLOTS_USED].astype("float64")
    if "cluster_sizes" in quantities:
        sizes = quantities["cluster_sizes"]
        rows |= {f"size {rank}": sizes.sel(rank=rank, drop=True) for rank in sizes["rank"].values[:n_sizes]}
    pairs = convergence_of(draws, n_pairs, random_seed)
    if "n_clusters" in quantities and (text := clusters_overlap(name, float(quantities.n_clusters.mean()), pairs)):
        warnings.warn(text, UserWarning, stacklevel=3)
    for title, worst in _worst_pairs(pairs):
        pair = np.array([[int(worst["item"]), int(worst["item_other"])]])
        depth = pair_depths(draws.values, pair)[:, :, 0]
        rows[f"{title}: {pair_name(worst)}"] = xr.DataArray(depth.astype("float64"), dims=("chain", "draw"))
    return rows


def _worst_pairs(pairs):
    """Titles and rows of the pairs with the largest R-hat and the largest z-score, where they are known."""
    worst = {
        title: int(np.nanargmax(pairs[statistic].values))
        for title, statistic in (("worst R-hat", "rhat"), ("largest z", "z"))
        if pairs[statistic].notnull().any()
    }
    if len(worst) > len(set(worst.values())):
        worst = {"worst R-hat and z": worst["largest z"]}
    return [(title, pairs.isel(pair=place)) for title, place in worst.items()]


def without_labels[Idata: (xr.DataTree, xr.Dataset)](idata: Idata) -> Idata:
    """Replace the labels in a result by quantities that do not depend on them, for ArviZ.

    ArviZ makes a row or a plot of every number of every variable, but labels are only names, and there may be many.
    Parameters of slots, such as ``slope`` of a likelihood with ``slope[z]``, and deterministics that change when
    clusters are renamed, which ``nrm.sample`` marks, such as ``z + 1``, are left out, since their labels switch.
    All functions of ArviZ take the result of this function, as in ``az.plot_trace(nrm.stats.without_labels(idata))``.

    Parameters
    ----------
    %(result)s

    Returns
    -------
    DataTree or Dataset
        A copy that shares its arrays with ``idata``; truth values become numbers, which ArviZ needs.  Instead of a
        partition ``z``, its posterior has ``z_n_clusters``, ``z_entropy`` (nats), ``z_largest_cluster`` and, if
        ``sample_stats`` has it, ``z_log_joint``; see :func:`~pymc_nrm.stats.quantities.partition_quantities`.
        Instead of a nested partition ``h``, it has ``h_n_nodes`` and ``h_entropy`` by level, ``h_mean_common_depth``
        and others of :func:`~pymc_nrm.stats.partition_quantities`.

    Raises
    ------
    TypeError
        If ``idata`` is neither a DataTree nor a Dataset.
    ValueError
        If a DataTree has no group ``posterior``, or there are no draws.

    Notes
    -----
    Labels are in ``posterior`` of every result, since ``pm.sample_posterior_predictive``, ``pm.compute_log_likelihood``
    and ``pm.compute_deterministics`` look there for all free variables.  Given a result without labels, the first of
    these functions draws new partitions from the prior.

    Examples
    --------
    >>> labels = [[[0, 0, 1], [0, 1, 2]]]
    >>> posterior = xr.Dataset({"x": (("chain", "draw"), [[0.1, 0.3]]), "z": (("chain", "draw", "item"), labels)})
    >>> list(without_labels(posterior))
    ['x', 'z_n_clusters', 'z_entropy', 'z_largest_cluster']
    """
    result = Result(idata)
    posterior, names = result.posterior, [*result.partitions, *result.nested]
    warn_of_foreign_steps(result)
    shown, renamed = {}, renamed_variables(posterior)
    for name, array in posterior.data_vars.items():
        if name in renamed:
            continue
        if name not in names:
            shown[name] = as_number(array)
            continue
        quantities = quantities_of(flat_or_nested_draws(result, name), result)
        for quantity in SCALARS:
            if quantity in quantities and f"{name}_{quantity}" not in posterior:
                values = quantities[quantity] if "chain" in posterior.dims else quantities[quantity].isel(chain=0)
                shown[f"{name}_{quantity}"] = values.drop_vars(("chain", "draw"), errors="ignore")
    scalars = xr.Dataset(shown, attrs=posterior.attrs)
    if isinstance(idata, xr.Dataset):
        return scalars
    if "posterior" not in idata.children:
        return xr.DataTree(scalars)
    tree = idata.copy()
    tree["posterior"] = xr.DataTree(scalars)
    if "warmup_posterior" in tree.children:
        warmup = idata["warmup_posterior"].to_dataset()
        tree["warmup_posterior"] = xr.DataTree(warmup.drop_vars([*names, *renamed], errors="ignore"))
    return tree
