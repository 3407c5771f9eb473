"""The course of a draw of steps that are PyMC's NUTS, with other draws before and after its transition."""

import logging
from weakref import WeakSet

import pymc as pm

from pymc_nrm.models.rvs import checked_model

_log = logging.getLogger(__name__)

# Models for which a step of these kinds has been made.
MODELS_WITH_OWN_NUTS = WeakSet()


def warn_of_stock_nuts(kwargs, message):
    """Warn if PyMC makes a step of labels, with these arguments, and takes its own NUTS for continuous variables."""
    # PyMC gives an initial point to steps that it makes itself.
    made_by_pymc = kwargs.get("initial_point") is not None
    if made_by_pymc and checked_model(kwargs.get("model")) not in MODELS_WITH_OWN_NUTS:
        _log.warning(message)


class NUTSStep(pm.NUTS):
    """Base of steps that make a transition of NUTS; subclasses define ``before(point)`` and ``after(point, given)``.

    ``before`` returns the point where NUTS starts and what ``after`` is given; ``after`` returns the next point.
    """

    def __init__(self, vars, *, model, **kwargs):
        super().__init__(vars, model=model, **kwargs)
        MODELS_WITH_OWN_NUTS.add(model)

    def __setstate__(self, state):
        # A worker of a client unpickles step and model together, and PyMC makes the step of the partition there.
        self.__dict__.update(state)
        MODELS_WITH_OWN_NUTS.add(self._model)

    def step(self, point):
        point, given = self.before(point)
        # Where its target depends on nothing else, NUTS takes all entries of a point as its own.
        moved, stats = super().step(point if self.shared else {name: point[name] for name in self.var_names})
        return self.after({**point, **moved}, given), stats
