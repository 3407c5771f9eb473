"""Checks of the ranges of hyperparameters inside the log-probability, for those that are not constants."""

from pymc_nrm.common.pymc_internals import check_parameters


def with_conditions(log_probability, parameters, d=None):
    """Attach checks of the ranges of hyperparameters to a log-probability. Outside of the ranges it raises
    ``ParameterValueError``, or is minus infinity if PyMC asks for that.
    """
    conditions, messages = [], []
    for name, specification in getattr(parameters, "hyperparameters", {}).items():
        support = specification.support.given(parameters)
        conditions.append(support.condition(getattr(parameters, name), d))
        messages.append(f"{name} {support.description}")
    if not conditions:
        return log_probability
    return check_parameters(log_probability, *conditions, msg=", ".join(messages))
