"""Steps for continuous variables that know of the whole model, which PyMC's choice variable by variable does not."""

from pymc_nrm.common.pymc_internals import accept_in_nuts, flatten_steps, resolve_backend_compile_kwargs
from pymc_nrm.models.learned_priors import learned_priors
from pymc_nrm.models.missing_entries import continuous_values, missing_variables
from pymc_nrm.models.rvs import kind_of, partition_of, partitions_of
from pymc_nrm.partitions.slots import SlotLabels
from pymc_nrm.partitions.weighted_components import WeightedComponents
from pymc_nrm.steps import LearnedGibbs, MissingGibbs, SlotNUTS, WeightedNUTS
from pymc_nrm.steps.weighted_gibbs import has_densities
from pymc_nrm.steps.weighted_nuts import values_for_weighted_nuts


def given_steps(kwargs):
    """The steps among the arguments of ``pm.sample``, as a list."""
    steps = kwargs.get("step")
    return list(steps) if isinstance(steps, list | tuple) else [] if steps is None else [steps]


def continuous_without_step(model, steps):
    """The continuous value variables of a model, but for missing entries, that none of the steps samples."""
    taken = {variable for step in steps for method in flatten_steps(step) for variable in method.vars}
    return [variable for variable in continuous_values(model) if variable not in taken]


def learned_variables(model, kwargs, *, before_nuts=False):
    """Value variables without a step that a :class:`~pymc_nrm.steps.LearnedGibbs` can draw, prior by prior; of all
    partitions or only of the kinds that have it take them before a NUTS of this package takes the others.
    """
    without_step = continuous_without_step(model, given_steps(kwargs))
    priors = learned_priors(model)
    if before_nuts:
        priors = [prior for prior in priors if kind_of(_partition_of(prior)).learned_before_nuts]
    values = [[model.rvs_to_values[rv] for rv in prior.variables] for prior in priors]
    chosen = [variable for variables in values if set(variables) <= set(without_step) for variable in variables]
    # Options of NUTS ask for NUTS where there is nothing else that it could sample.
    return [] if len(chosen) == len(without_step) and {"nuts", "target_accept"} & kwargs.keys() else chosen


def _partition_of(prior):
    return partition_of(prior.mixture) if hasattr(prior, "mixture") else prior.partition


def with_learned_gibbs(model, kwargs, variables):
    """Add a :class:`~pymc_nrm.steps.LearnedGibbs` for some variables, if there are any."""
    if not variables:
        return kwargs
    kwargs = dict(kwargs)
    options = kwargs.pop(LearnedGibbs.name, None) or {}
    compile_kwargs = resolve_backend_compile_kwargs(kwargs.get("backend"), kwargs.get("compile_kwargs"))
    step = LearnedGibbs(variables, model=model, compile_kwargs=compile_kwargs, **options)
    return kwargs | {"step": [*given_steps(kwargs), step]}


def with_missing_gibbs(model, kwargs):
    """Put a :class:`~pymc_nrm.steps.MissingGibbs` before all other steps, for missing entries without a step.

    It moves labels: the steps of partitions, which report statistics of the labels they leave, come after it.
    """
    steps = given_steps(kwargs)
    taken = {variable for step in steps for method in flatten_steps(step) for variable in method.vars}
    entries = [model[name] for name in missing_variables(model)]
    entries = [rv for rv in entries if model.rvs_to_values[rv] not in taken]
    if not entries:
        return kwargs
    kwargs = dict(kwargs)
    options = kwargs.pop(MissingGibbs.name, None) or {}
    compile_kwargs = resolve_backend_compile_kwargs(kwargs.get("backend"), kwargs.get("compile_kwargs"))
    return kwargs | {"step": [MissingGibbs(entries, model=model, compile_kwargs=compile_kwargs, **options), *steps]}


def with_own_nuts(model, kwargs):
    """Add a SlotNUTS or a WeightedNUTS, with the options of NUTS, for continuous variables without a step, if the model
    has labels that index parameters.  Those that a kind leaves to a LearnedGibbs are left out.
    """
    steps, learned = given_steps(kwargs), learned_variables(model, kwargs, before_nuts=True)
    without_step = [variable for variable in continuous_without_step(model, steps) if variable not in learned]
    weighted = partitions_of(model, WeightedComponents)
    if partitions_of(model, SlotLabels):
        step_class = SlotNUTS
    elif weighted and all(has_densities(model, partition) for partition in weighted):
        step_class, without_step = WeightedNUTS, values_for_weighted_nuts(model, without_step)
    else:
        return kwargs
    if not without_step:
        return kwargs
    kwargs = accept_in_nuts(kwargs)
    options = kwargs.pop("nuts", None) or {}
    compile_kwargs = resolve_backend_compile_kwargs(kwargs.get("backend"), kwargs.get("compile_kwargs"))
    step = step_class(without_step, model=model, compile_kwargs=compile_kwargs, **options)
    return kwargs | {"step": [step, *steps]}
