"""``pm.sample`` with convergence checks that mean something for partitions."""

import logging
import math

import numpy as np
import pymc as pm
from pymc.stats.convergence import log_warnings, warn_divergences, warn_treedepth
from xarray import DataTree

from pymc_nrm.partitions import canonical_labels
from pymc_nrm.samplers.base import is_partition
from pymc_nrm.stats.convergence import convergence_table
from pymc_nrm.stats.diagnostics import attach, diagnose
from pymc_nrm.stats.partition_convergence import largest_z_quantile, pair_name

_log = logging.getLogger(__name__)

# The thresholds of Vehtari et al. (2021), which PyMC uses as well.
_RHAT_LIMIT = 1.01
_ESS_PER_CHAIN = 100
# How often chains that agree may be said to disagree about a partition.
_FALSE_ALARMS = 1e-4


def sample(
    draws=1000,
    *,
    model=None,
    initvals=None,
    compute_convergence_checks=True,
    partition_diagnostics=True,
    quiet=False,
    **kwargs,
):
    """Draw from the posterior like ``pm.sample``, and check the convergence of what does not depend on labels.

    Labels are names, so that R-hat and effective sample sizes of labels say nothing.  Checked instead are the number of
    clusters, the entropy, the size of the largest cluster and the log joint density of every partition, whether chains
    agree about which items share a cluster, and every other variable.

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
    partition_diagnostics : bool
        Whether to put diagnostics of every partition into the result, as :func:`~pymc_nrm.add_diagnostics` does; with
        10,000 items and 4000 draws this takes about a second.
    quiet : bool
        Whether to log nothing and show no progress.
    **kwargs
        All other arguments of ``pm.sample``; options of a step by its name, as in ``tree_guided={"n_trees": 1}``.

    Returns
    -------
    DataTree
        As from ``pm.sample``.  ``sample_stats`` has ``n_clusters``, ``log_joint`` (log density of data, partition and u
        given everything else), ``u`` and ``entropy`` (nats) of each draw.  ``partition_stats`` has a group for each
        partition with diagnostics that do not depend on labels.  With ``return_inferencedata=False``, what
        ``pm.sample`` returns then, unchecked.

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
    if not isinstance(idata, DataTree) or "posterior" not in idata.children or idata["posterior"].sizes["draw"] == 0:
        return idata
    check = compute_convergence_checks and not quiet
    diagnostics = {}
    if check or partition_diagnostics:
        # Draws of a variable are not kept if argument var_names leaves it out.
        diagnostics = {name: diagnose(idata, name) for name in partitions if name in idata["posterior"]}
    if partition_diagnostics:
        attach(idata, diagnostics, replace_all=True)
    if check:
        log_warnings([*warn_divergences(idata), *warn_treedepth(idata)])
        for message in convergence_messages(idata, diagnostics):
            _log.warning(message)
    return idata


def _with_canonical_labels(values, partitions):
    if values is None:
        return None
    return {
        name: canonical_labels(value) if name in partitions and not isinstance(value, str) else value
        for name, value in values.items()
    }


def convergence_messages(idata, diagnostics):
    """What a user must know about the convergence of a run, one sentence each; empty if nothing is wrong.

    Parameters
    ----------
    idata : DataTree
    diagnostics : dict of str to DataTree
        What :func:`~pymc_nrm.stats.diagnostics.diagnose` gives for each partition.

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
        messages.append("Only one chain was sampled: R-hat compares the parts of that chain alone.")
    labels = {f"{name}{suffix}" for name in diagnostics for suffix in ("", "_n_clusters")}
    messages += _messages(
        convergence_table({name: posterior[name] for name in posterior.data_vars if name not in labels}), "", n_chains
    )
    for name, tree in diagnostics.items():
        messages += _messages(tree["convergence"].to_dataset(), f" of the partition {name}", n_chains)
        messages += pair_messages(tree["pairs"].to_dataset(), name, n_chains)
    return messages


def _messages(table, owner, n_chains):
    for name in table.quantity.values:
        row = table.sel(quantity=name)
        if row.constant:
            continue
        if row.rhat > _RHAT_LIMIT:
            yield f"R-hat of {name}{owner} is {float(row.rhat):.3f}, above {_RHAT_LIMIT}: the chains disagree."
        ess = min(float(row.ess_bulk), float(row.ess_tail))
        if ess < _ESS_PER_CHAIN * n_chains:
            yield (
                f"The effective sample size of {name}{owner} is {ess:.0f}, below {_ESS_PER_CHAIN} per chain: "
                "sample longer."
            )


def pair_messages(pairs, name, n_chains):
    """Whether chains agree about which items share a cluster, and whether they tell with what probability.

    The largest of many R-hats exceeds a fixed limit by chance, and the smallest of many effective sample sizes belongs
    to a pair that is hardly ever together.  Looked at are therefore the largest z-score, against a quantile of the
    largest of as many independent ones, and the largest standard error of a probability, against that of a pair with
    probability 1/2 and the least effective sample size that is enough.

    Parameters
    ----------
    pairs : Dataset
        From :func:`~pymc_nrm.stats.partition_convergence.partition_convergence`.
    name : str
        Name of the partition.
    n_chains : int

    Returns
    -------
    list of str
    """
    messages = []
    n_scores = int(pairs.n_scores)
    if n_scores and pairs.max_z > largest_z_quantile(n_scores, 1 - _FALSE_ALARMS):
        pair = pairs.isel(pair=int(pairs.max_z_pair))
        low, high = float(pair.probability_by_part.min()), float(pair.probability_by_part.max())
        messages.append(
            f"The {pairs.attrs['parts']} disagree about the partition {name}: items {pair_name(pair)} share a cluster "
            f"with frequencies between {low:.3f} and {high:.3f}, {float(pairs.max_z):.1f} standard errors apart "
            f"(expected of the largest of {n_scores} differences: {float(pairs.expected_max_z):.1f})."
        )
    limit = 0.5 / math.sqrt(_ESS_PER_CHAIN * n_chains)
    if n_scores and pairs.max_mcse > limit:
        pair = pairs.isel(pair=int(np.nanargmax(pairs.mcse.values)))
        messages.append(
            f"The probability that items {pair_name(pair)} share a cluster in the partition {name} has standard error "
            f"{float(pairs.max_mcse):.3f}, above {limit:.3f}: sample longer."
        )
    return messages
