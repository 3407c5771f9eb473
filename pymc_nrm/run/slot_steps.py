"""The step for continuous variables of models whose labels index parameters."""

from pymc_nrm.model.rvs import slot_partitions
from pymc_nrm.pymc_internals import accept_in_nuts, flatten_steps, resolve_backend_compile_kwargs
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
    if not slot_partitions(model):
        return kwargs
    given = kwargs.get("step")
    steps = list(given) if isinstance(given, list | tuple) else [] if given is None else [given]
    taken = {variable for step in steps for method in flatten_steps(step) for variable in method.vars}
    rest = [variable for variable in model.continuous_value_vars if variable not in taken]
    if not rest:
        return kwargs
    kwargs = accept_in_nuts(kwargs)
    options = kwargs.pop("nuts", None) or {}
    compile_kwargs = resolve_backend_compile_kwargs(kwargs.get("backend"), kwargs.get("compile_kwargs"))
    step = SlotNUTS(rest, model=model, compile_kwargs=compile_kwargs, **options)
    return kwargs | {"step": [step, *steps]}
