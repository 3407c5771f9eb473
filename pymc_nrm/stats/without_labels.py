"""Results in a form that suits ArviZ: scalars of every draw instead of labels."""

import xarray as xr

from pymc_nrm.stats.convergence import as_number
from pymc_nrm.stats.draws import nested_names, partition_names, posterior_of, renamed_variables
from pymc_nrm.stats.nested.levels import draws_of
from pymc_nrm.stats.quantities import SCALARS, quantities_of
from pymc_nrm.stats.step_statistics import warn_of_foreign_steps

__all__ = ["without_labels"]


def without_labels[Result: (xr.DataTree, xr.Dataset)](idata: Result) -> Result:
    """Replace the labels in a result by quantities that do not depend on them, for ArviZ.

    ArviZ makes a row or a plot of every number of every variable, but labels are only names, and there may be many.
    Parameters of slots, such as ``slope`` of a likelihood with ``slope[z]``, and deterministics that change when
    clusters are renamed, which ``nrm.sample`` marks, such as ``z + 1``, are left out, since their labels switch.
    All functions of ArviZ take the result of this function, as in ``az.plot_trace(nrm.without_labels(idata))``.

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
        and others of :func:`~pymc_nrm.stats.nested_quantities`.

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
    posterior, names = posterior_of(idata), [*partition_names(idata), *nested_names(idata)]
    warn_of_foreign_steps(idata)
    shown, renamed = {}, renamed_variables(posterior)
    for name, array in posterior.data_vars.items():
        if name in renamed:
            continue
        if name not in names:
            shown[name] = as_number(array)
            continue
        quantities = quantities_of(draws_of(idata, name), idata)
        for quantity in SCALARS:
            if quantity in quantities and f"{name}_{quantity}" not in posterior:
                values = quantities[quantity] if "chain" in posterior.dims else quantities[quantity].isel(chain=0)
                shown[f"{name}_{quantity}"] = values.drop_vars(("chain", "draw"), errors="ignore")
    scalars = xr.Dataset(shown, attrs=posterior.attrs)
    if isinstance(idata, xr.Dataset):
        return scalars
    if "posterior" not in idata.children:
        return xr.DataTree(scalars)
    result = idata.copy()
    result["posterior"] = xr.DataTree(scalars)
    if "warmup_posterior" in result.children:
        warmup = idata["warmup_posterior"].to_dataset()
        result["warmup_posterior"] = xr.DataTree(warmup.drop_vars([*names, *renamed], errors="ignore"))
    return result
