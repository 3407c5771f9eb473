"""Ranges of hyperparameters inside the log-probability, for those that are no constants."""

import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters

from pymc_nrm.families.supports import DESCRIPTIONS


def with_conditions(log_probability, parameters, d=None):
    """Attach the ranges of hyperparameters to a log-probability.

    Parameters
    ----------
    log_probability : scalar tensor
    parameters : Measure or Family
        Fields are tensors.
    d : scalar tensor, optional
        Number of features.

    Returns
    -------
    scalar tensor
        It raises ``ParameterValueError`` outside the ranges, or is minus infinity where PyMC asks for that.
    """
    conditions, messages = [], []
    for name, value in parameters._asdict().items():
        support = parameters.hyperparameters[name].support
        condition = {
            "positive": lambda x: x > 0,
            "non-negative": lambda x: x >= 0,
            "unit interval": lambda x: pt.and_(x >= 0, x < 1),
            "greater than d - 1": lambda x: x > d - 1,
        }.get(support)
        if condition is not None:
            conditions.append(pt.all(condition(value)))
            messages.append(f"{name} {DESCRIPTIONS[support]}")
    return check_parameters(log_probability, *conditions, msg=", ".join(messages)) if conditions else log_probability
