"""Families whose functions are wrong."""

import pymc_nrm as nrm
from tests.helpers import functions_of


def right(generic, parent=nrm.PoissonGamma):
    return generic.dispatch(parent)


def spoilt(family, changes):
    """The family with wrong functions: ``change`` gets what the right one returned, and then its arguments."""

    Wrong = type("Wrong", (type(family),), functions_of(type(family)))

    def implementation(generic, change):
        function = right(generic, type(family))
        return lambda *arguments: change(function(*arguments), *arguments)

    for generic, change in changes.items():
        wrong = right(generic, object) if change is None else implementation(generic, change)
        setattr(Wrong, generic.__name__, wrong)
    return Wrong(*family)
