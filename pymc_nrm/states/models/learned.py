"""Concentrations of hidden states whose full conditional given the states is known."""

from typing import Any, NamedTuple

from pymc_nrm.common.named_dims import variable_behind
from pymc_nrm.measures.generalized_gamma_measures import DirichletProcess
from pymc_nrm.models.learned_priors import free_gamma


class LearnedStates(NamedTuple):
    """Hidden states and free variables that are their concentrations, with gamma priors."""

    partition: Any
    variables: Any
    # For each variable: the field of ``StatePrior``, shape and rate.
    fields: Any
    gammas: Any


def learned_states(kind, model, partition, readers):
    """Prior of hidden states, or None unless one of their concentrations has a gamma distribution."""
    measure, transitions, _ = partition.owner.op.priors(partition.owner.op.prior_inputs(partition.owner))
    fields = {"alpha": transitions.alpha, "kappa": transitions.kappa}
    if type(measure) is DirichletProcess:
        fields = {"gamma": measure.alpha} | fields
    gammas = {name: free_gamma(model, partition, field, readers) for name, field in fields.items()}
    gammas = {name: gamma for name, gamma in gammas.items() if gamma is not None}
    variables = [variable_behind(fields[name]) for name in gammas]
    return LearnedStates(partition, variables, list(gammas), list(gammas.values())) if gammas else None
