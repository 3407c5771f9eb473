"""What a user must know about the convergence of a run, in sentences."""

import math
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.stats.convergence import convergence_table
from pymc_nrm.stats.partition_convergence import largest_z_quantile, pair_name

# The thresholds of Vehtari et al. (2021), which PyMC uses as well.
_RHAT_LIMIT = 1.01
_ESS_PER_CHAIN = 100
# How often chains that agree may be said to disagree about a partition.
_FALSE_ALARMS = 1e-4


def convergence_messages(idata: xr.DataTree, diagnostics: Any) -> list[str]:
    """What a user must know about the convergence of a run, one sentence each; empty if nothing is wrong.

    Parameters
    ----------
    idata : DataTree
    diagnostics : dict of str to DataTree
        Diagnostics of each partition, as :func:`~pymc_nrm.add_diagnostics` gives them; without group ``pairs`` if no
        labels were kept.

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
        if "pairs" in tree.children:
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


def pair_messages(pairs: Any, name: Any, n_chains: Any) -> list[str]:
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
