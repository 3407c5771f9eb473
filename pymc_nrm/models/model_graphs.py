"""Graphs that are taken from a model: all of them are operations on tensors, whether or not its variables have dims."""

from pymc_nrm.common.named_dims import lowered


def log_probabilities(model, variables, jacobian=True):
    """Log-probabilities of variables and potentials of a model, elementwise, in terms of value variables."""
    return lowered(model.logp(vars=list(variables), sum=False, jacobian=jacobian))


def at_values(model, variables):
    """Variables in terms of value variables."""
    return lowered(model.replace_rvs_by_values(list(variables)))
