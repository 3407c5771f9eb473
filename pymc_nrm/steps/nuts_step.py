"""The course of a draw of steps that are PyMC's NUTS, with other draws before and after its transition."""

import logging
from weakref import WeakSet

import numpy as np
import pymc as pm
from pymc.blocking import DictToArrayBijection

from pymc_nrm.common.checks import check_flag
from pymc_nrm.models.rvs import checked_model
from pymc_nrm.steps.comparison import ModelComparison

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
    ``moves_to_compare(rng, point)`` yields moves as other steps do.
    """

    def __init__(self, vars, *, model, check_moves=True, **kwargs):
        check_flag("check_moves", check_moves)
        super().__init__(vars, model=model, **kwargs)
        MODELS_WITH_OWN_NUTS.add(model)
        self.comparison = ModelComparison(self, model, self.vars) if check_moves else None
        self._is_first = True

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self._is_first = True

    def log_target(self, point):
        """Log density of the target of NUTS at a point."""
        self._logp_dlogp_func.set_extra_values(point)
        values = DictToArrayBijection.map({name: np.asarray(point[name]) for name in self.var_names})
        return float(self._logp_dlogp_func(values)[0])

    def __setstate__(self, state):
        # A worker of a client unpickles step and model together, and PyMC makes the step of the partition there.
        self.__dict__.update(state)
        MODELS_WITH_OWN_NUTS.add(self._model)

    def check_start(self, point):
        """Compare the moves of the step with the model where a chain starts."""
        if self.comparison is not None:
            self.comparison.check(self.moves_to_compare, point)

    def step(self, point):
        if self._is_first:
            self.check_start(point)
            self._is_first = False
        point, given = self.before(point)
        # Where its target depends on nothing else, NUTS takes all entries of a point as its own.
        moved, stats = super().step(point if self.shared else {name: point[name] for name in self.var_names})
        return self.after({**point, **moved}, given), stats
