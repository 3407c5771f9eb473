"""The model that a run samples: without missing entries of data that can be integrated out and drawn afterwards."""

import logging

from pymc_nrm.common.wrapping import wrapped
from pymc_nrm.models.imputed_entries import imputed_entries, integrate_out_imputed
from pymc_nrm.models.rvs import partitions_of

# A child of PyMC's logger, which shows messages of level INFO.
_information = logging.getLogger("pymc.nrm_runs")


def model_to_sample(model, kwargs, *, is_kept_by_pymc, log):
    """The model without missing entries that PyMC imputes, where they can be integrated out, and initial values of it.

    Returns the model itself where steps are given, since these belong to it, or where PyMC keeps the draws.
    """
    if kwargs.get("step") is not None or is_kept_by_pymc:
        names = [rv.name for rv in imputed_entries(model)] if partitions_of(model) else []
        argument = "step" if kwargs.get("step") is not None else "trace or return_inferencedata"
        n_entries, reasons = {}, dict.fromkeys(names, f"{argument} is given")
        result = model
    else:
        result, n_entries, reasons, names = integrate_out_imputed(model)
        kwargs = {**kwargs, "initvals": _without(kwargs.get("initvals"), names)} if names else kwargs
    for name, n in n_entries.items() if log else ():
        entries = "1 missing entry" if n == 1 else f"{n:,} missing entries"
        text = (
            f"{entries} of {name!r} {'is' if n == 1 else 'are'} integrated out, and drawn given each draw of the rest."
        )
        _information.info(wrapped(text))
    for name, reason in reasons.items() if log else ():
        _information.info(wrapped(f"Missing entries {name!r} are sampled like other variables, since {reason}."))
    return result, kwargs


def _without(initvals, names):
    """Initial values without variables of these names."""
    if not isinstance(initvals, dict):
        return initvals and [start and _without(start, names) for start in initvals]
    return {key: value for key, value in initvals.items() if getattr(key, "name", key) not in names}
