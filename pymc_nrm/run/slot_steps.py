"""The step for continuous variables of models whose labels index parameters."""

import numpy as np
from pymc.step_methods.compound import CompoundStep

from pymc_nrm.model.rvs import is_partition
from pymc_nrm.samplers import SlotNUTS


def with_slot_nuts(model, kwargs):
    """Add a :class:`~pymc_nrm.SlotNUTS` for all continuous variables that have no step, if the model needs one.

    Parameters
    ----------
    model : pymc.Model
    kwargs : dict
        Arguments of ``pm.sample``.

    Returns
    -------
    dict
        Arguments with the step; ``nuts`` and ``target_accept`` have become its options.
    """
    if not any(is_partition(rv) and rv.owner.op.max_clusters is not None for rv in model.free_RVs):
        return kwargs
    given = kwargs.get("step")
    steps = [] if given is None else list(np.atleast_1d(np.array(given, dtype=object)))
    taken = {variable for step in steps for variable in _variables(step)}
    rest = [variable for variable in model.continuous_value_vars if variable not in taken]
    if not rest:
        return kwargs
    kwargs = dict(kwargs)
    options = dict(kwargs.pop("nuts", None) or {})
    if "target_accept" in kwargs:
        if "target_accept" in options:
            raise ValueError("target_accept was given twice: by itself and in nuts")
        options["target_accept"] = kwargs.pop("target_accept")
    step = SlotNUTS(rest, model=model, compile_kwargs=kwargs.get("compile_kwargs"), **options)
    return kwargs | {"step": [step, *steps]}


def _variables(step):
    if isinstance(step, CompoundStep):
        return [variable for method in step.methods for variable in method.vars]
    return step.vars
