"""Checks of the ranges of hyperparameters inside the log-probability, for those that are not constants."""

from pymc_nrm.common.pymc_internals import check_parameters


def with_conditions(log_probability, parameters, d=None):
    """Attach checks of the ranges of hyperparameters to a log-probability. Outside of the ranges it raises
    ``ParameterValueError``, or is minus infinity if PyMC asks for that.
    """
    conditions, messages = [], []
    for name, value in parameters._asdict().items():
        support = parameters.hyperparameters[name].support.given(parameters)
        conditions.append(support.condition(value, d))
        messages.append(f"{name} {support.description}")
    return check_parameters(log_probability, *conditions, msg=", ".join(messages))
