"""Steps for continuous variables that know of the whole model, which PyMC's choice variable by variable does not."""

from pymc_nrm.common.pymc_internals import accept_in_nuts, flatten_steps, resolve_backend_compile_kwargs
from pymc_nrm.models.learned_priors import learned_priors
from pymc_nrm.models.missing_entries import continuous_values
from pymc_nrm.models.rvs import partitions_of
from pymc_nrm.steps import LearnedGibbs, SlotNUTS

# Beside NUTS for other variables, the step gains less than compiling it costs if no prior is of so many features.
LEAST_FEATURES = 8


def given_steps(kwargs):
    """The steps among the arguments of ``pm.sample``, as a list."""
    given = kwargs.get("step")
    return list(given) if isinstance(given, list | tuple) else [] if given is None else [given]


def continuous_without_step(model, steps):
    """The continuous value variables of a model, but for missing entries, that none of the steps samples."""
    taken = {variable for step in steps for method in flatten_steps(step) for variable in method.vars}
    return [variable for variable in continuous_values(model) if variable not in taken]


def learned_variables(model, kwargs):
    """Value variables for a :class:`~pymc_nrm.LearnedGibbs`: those without a step, if one prior is of many features or
    nothing is left for NUTS.
    """
    rest, learned = continuous_without_step(model, given_steps(kwargs)), learned_priors(model)
    is_wide = any(one.n_features >= LEAST_FEATURES for one in learned)
    priors = [[model.rvs_to_values[rv] for rv in one.variables] for one in learned]
    chosen = [variable for variables in priors if set(variables) <= set(rest) for variable in variables]
    if len(chosen) < len(rest):
        return chosen if is_wide else []
    # Options of NUTS ask for NUTS where there is nothing else that it could sample.
    return [] if {"nuts", "target_accept"} & kwargs.keys() else chosen


def with_learned_gibbs(model, kwargs, variables):
    """Add a :class:`~pymc_nrm.LearnedGibbs` for some variables, if there are any."""
    if not variables:
        return kwargs
    kwargs = dict(kwargs)
    options = kwargs.pop(LearnedGibbs.name, None) or {}
    compile_kwargs = resolve_backend_compile_kwargs(kwargs.get("backend"), kwargs.get("compile_kwargs"))
    step = LearnedGibbs(variables, model=model, compile_kwargs=compile_kwargs, **options)
    return kwargs | {"step": [*given_steps(kwargs), step]}


def with_careful_nuts(model, kwargs):
    """Set ``target_accept`` to 0.9, unless it is given, where NUTS samples what a family learns."""
    # With 0.8, one or two draws in a thousand of Old Faithful diverge, with 0.9 none, for two gradients more.
    rest = continuous_without_step(model, given_steps(kwargs))
    by_nuts = [rv for one in learned_priors(model) for rv in one.variables if model.rvs_to_values[rv] in rest]
    options = kwargs.get("nuts") or {}
    if not by_nuts or "target_accept" in kwargs.keys() | options.keys():
        return kwargs
    return kwargs | {"nuts": {**options, "target_accept": 0.9}}


def with_slot_nuts(model, kwargs):
    """Add a SlotNUTS, with the options of NUTS, for continuous variables without a step, if the model needs one."""
    if all(kind.max_clusters is None for kind in partitions_of(model).values()):
        return kwargs
    steps = given_steps(kwargs)
    rest = continuous_without_step(model, steps)
    if not rest:
        return kwargs
    kwargs = accept_in_nuts(kwargs)
    options = kwargs.pop("nuts", None) or {}
    compile_kwargs = resolve_backend_compile_kwargs(kwargs.get("backend"), kwargs.get("compile_kwargs"))
    step = SlotNUTS(rest, model=model, compile_kwargs=compile_kwargs, **options)
    return kwargs | {"step": [step, *steps]}
