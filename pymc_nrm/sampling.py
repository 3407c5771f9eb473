"""``pm.sample`` with convergence checks that mean something for partitions."""

import logging

import pymc as pm
from pymc.stats.convergence import log_warnings, warn_divergences, warn_treedepth
from xarray import DataTree

from pymc_nrm.partitions import canonical_labels
from pymc_nrm.samplers.base import PartitionStep, is_partition
from pymc_nrm.stats.convergence import convergence_table

_log = logging.getLogger(__name__)

# The thresholds of Vehtari et al. (2021), which PyMC uses as well.
_RHAT_LIMIT = 1.01
_ESS_PER_CHAIN = 100


def sample(draws=1000, *, model=None, initvals=None, compute_convergence_checks=True, quiet=False, **kwargs):
    """Draw from the posterior like ``pm.sample``, and check the convergence of what does not depend on labels.

    Labels are names, so that R-hat and effective sample sizes of labels say nothing.  Checked instead are the number of
    clusters, the log joint density and the entropy of every partition, and every other variable.

    Parameters
    ----------
    draws : int
        Number of draws per chain.
    model : pymc.Model, optional
        Taken from the context by default.
    initvals : dict or sequence of dict, optional
        As in ``pm.sample``; labels of a partition may be of any kind and are renamed in order of appearance.
    compute_convergence_checks : bool
        Whether to check, and to log what was found.
    quiet : bool
        Whether to log nothing and show no progress.
    **kwargs
        All other arguments of ``pm.sample``; options of a step by its name, as in ``tree_guided={"n_trees": 1}``.

    Returns
    -------
    DataTree
        As from ``pm.sample``.  ``sample_stats`` has ``n_clusters``, ``log_joint`` (log density of data, partition and u
        given everything else), ``u`` and ``entropy`` (nats) of each draw.

    Raises
    ------
    ValueError
        If another NUTS implementation is asked for in a model with a partition, or as ``pm.sample`` does.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
    ...     idata = nrm.sample(100, tune=10, chains=2, cores=1, random_seed=1, quiet=True)
    >>> idata.posterior["z"].shape
    (2, 100, 4)
    """
    model = pm.modelcontext(model)
    partitions = [rv.name for rv in model.free_RVs if is_partition(rv)]
    nuts_sampler = kwargs.get("nuts_sampler")
    if partitions and nuts_sampler not in (None, "pymc"):
        raise ValueError(
            f"nuts_sampler={nuts_sampler!r} cannot sample the partition {partitions[0]!r}; "
            "allowed is 'pymc', the default"
        )
    if initvals is not None:
        is_one = isinstance(initvals, dict)
        renamed = [_with_canonical_labels(values, partitions) for values in ([initvals] if is_one else initvals)]
        initvals = renamed[0] if is_one else renamed
    idata = pm.sample(draws, model=model, initvals=initvals, compute_convergence_checks=False, quiet=quiet, **kwargs)
    if compute_convergence_checks and not quiet and isinstance(idata, DataTree):
        log_warnings([*warn_divergences(idata), *warn_treedepth(idata)])
        for message in convergence_messages(idata, partitions):
            _log.warning(message)
    return idata


def _with_canonical_labels(values, partitions):
    if values is None:
        return None
    return {
        name: canonical_labels(value) if name in partitions and not isinstance(value, str) else value
        for name, value in values.items()
    }


def convergence_messages(idata, partitions):
    """What a user must know about the convergence of a run, one sentence each; empty if nothing is wrong.

    Parameters
    ----------
    idata : DataTree
    partitions : list of str
        Names of the partitions.

    Returns
    -------
    list of str
    """
    posterior = idata["posterior"]
    n_chains, n_draws = posterior.sizes["chain"], posterior.sizes["draw"]
    if n_draws < _ESS_PER_CHAIN:
        return [f"Only {n_draws} draws per chain: convergence cannot be checked reliably."]
    messages = []
    if n_chains == 1:
        messages.append("Only one chain was sampled: R-hat compares the halves of that chain alone.")
    deterministics = {f"{name}_n_clusters" for name in partitions}
    quantities = {
        name: posterior[name] for name in posterior.data_vars if name not in partitions and name not in deterministics
    }
    for name in PartitionStep.checked_stats:
        if partitions and name in idata["sample_stats"]:
            quantities[f"{name} of the partition {', '.join(partitions)}"] = idata["sample_stats"][name]
    table = convergence_table(quantities)
    for name in table.quantity.values:
        row = table.sel(quantity=name)
        if row.constant:
            continue
        if row.rhat > _RHAT_LIMIT:
            messages.append(f"R-hat of {name} is {float(row.rhat):.3f}, above {_RHAT_LIMIT}: the chains disagree.")
        ess = min(float(row.ess_bulk), float(row.ess_tail))
        if ess < _ESS_PER_CHAIN * n_chains:
            messages.append(
                f"The effective sample size of {name} is {ess:.0f}, below {_ESS_PER_CHAIN} per chain: sample longer."
            )
    return messages
