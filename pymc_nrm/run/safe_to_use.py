"""What is safe to use if chains disagree: densities, and clusters that all chains share."""

import numpy as np

from pymc_nrm.common.marks import NOT_FUSED
from pymc_nrm.stats.convergence import agreement_of_parts, convergence_table

# A chain is stuck if its mean log joint density is lower than in the best chain by so many standard deviations within a
# chain, and so many nats.  Of eleven tables, one had such chains, 8 and 26 standard deviations lower.  In the others,
# the log predictive density of a row differed between chains by 0.1 to 0.6 nats on average, and between halves of a
# chain by 0.1 to 0.4, while it varied by 1.6 to 8 over rows, with R-hat of the number of clusters up to 3.
_STUCK_DEVIATIONS, _STUCK_NATS = 5.0, 10.0
# Chains share their clusters if draws of different chains agree nearly as well as draws of one.
_SHARED = 0.9
# Above this R-hat of a variable outside of partitions, densities may depend on the chain. It is 1.53 if one of four
# chains is apart from the others. The largest in the tables above, but for the stuck chains, is 1.50.
_RHAT_OF_OTHERS = 1.52


def safe_to_use(idata, diagnostics, others):
    """Sentences about a model of one partition whose chains disagree; empty if nothing can be said.

    ``diagnostics`` has the diagnostics of all partitions, ``others`` the draws of other variables by name.
    """
    # After its step, another may have moved items with gaps, so that diagnostics leave out the log joint density.
    reported = idata["sample_stats"].to_dataset() if "sample_stats" in idata.children else {}
    trees, log_joint = list(diagnostics.values()), reported.get("log_joint")
    if len(trees) != 1 or "pairs" not in trees[0].children or getattr(log_joint, "dims", ()) != ("chain", "draw"):
        return ""
    pairs = trees[0]["pairs"].to_dataset()
    if "probability_by_part" not in pairs or log_joint.sizes["chain"] < 2:
        return ""
    means, deviation = log_joint.mean("draw").values, float(np.sqrt(log_joint.var("draw").mean()))
    gaps, chains = means.max() - means, log_joint["chain"].values
    stuck = gaps > max(_STUCK_DEVIATIONS * deviation, _STUCK_NATS)
    kept = f"idata.sel(chain={chains[~stuck].tolist()})"
    about = ""
    if stuck.any():
        are, their = ("Chain", "its") if stuck.sum() == 1 else ("Chains", "their")
        lower = _listed([f"{gap:,.0f}" for gap in gaps[stuck]])
        about = (
            f"\n{are} {_listed(chains[stuck])} found no clusters as good as the best: {their} log joint density is "
            f"lower by {lower}, and draws of a chain vary by {deviation:,.0f}."
        )
    if (~stuck).sum() == 1:
        return f"Safe to use: nothing yet; take {kept} if you must, which no other chain confirms.{about}"
    [name] = diagnostics
    marks = idata["posterior"][name].attrs if name in idata["posterior"] else {}
    function = "point_estimate" if NOT_FUSED in marks else "fused_estimate"
    within, between = agreement_of_parts(pairs["probability_by_part"].values[~stuck])
    agree = f"adjusted Rand index of draws of different chains {between:.2f}, of one chain {within:.2f}"
    safe = []
    rhat = convergence_table({name: values.isel(chain=~stuck) for name, values in others.items()}).rhat
    if not (rhat > _RHAT_OF_OTHERS).any():
        safe.append("densities and predictions, averaged over chains")
    if between >= _SHARED * within:
        safe.append(f"which items share a cluster ({agree})")
        unsafe = ""
    else:
        unsafe = (
            f"\nNot safe: which items share a cluster ({agree}), except for clusters that nrm.{function} finds in "
            "every chain."
        )
    where = f", of {kept}" if stuck.any() else ""
    if not safe:
        shared = f"only clusters that nrm.{function} finds in every chain"
        return f"Safe to use{where}: {shared}; densities and which items share a cluster ({agree}) are not.{about}"
    return f"Safe to use{where}: {'; '.join(safe)}.{unsafe}{about}"


def _listed(values):
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}" if first else last
