"""The comparison of every step with the model, by value, before the first draw of a chain.

A step proves from the graph of a model what its kernels rely on.  Besides, it makes a few of its own moves where a
chain starts, and near there, and compares the log ratio of densities by its kernels with the difference of the
log-probability of the model.  A move that another term of the model depends on, a family whose functions disagree, and
machine code that is out of date all show in this difference.
"""

import logging
import operator
from typing import Any, NamedTuple

import numpy as np
from pymc.exceptions import SamplingError
from pytensor.compile.sharedvalue import SharedVariable

from pymc_nrm.models.itemwise.item_table import with_noise
from pymc_nrm.models.log_density import log_density_of

_log = logging.getLogger(__name__)
_SEED = 20261128
# Standard deviations of the noise added to a start, on the scale of value variables, until the density is finite.
_SCALES = (1.0, 0.3, 0.1, 0.03)
# The differences may differ by this share of one more than their size at the start, and near it, where covariances may
# be almost singular; and by this share of the sum of all absolute terms, in double and in single precision.
_AT_START, _NEAR_START, _SHARE_OF_TERMS, _SHARE_OF_SINGLE = 5e-4, 5e-3, 1e-8, 1e-5


class OwnMove(NamedTuple):
    """A move that a step may make."""

    # What the move does and how its ratio is computed, after "If", in messages.
    what: str
    before: dict
    after: dict
    # Log density of the point after the move, minus the one before it, by what the step runs.
    log_ratio: Any


class ModelComparison:
    """Compares moves of a step, which samples these value variables, with the log-probability of its model."""

    def __init__(self, step, model, values):
        self._density, self.title = log_density_of(model), type(step).__name__
        self._continuous = [value.name for value in model.continuous_value_vars]
        self._variables = ", ".join(repr(model.values_to_rvs[value].name) for value in values)
        self._option = f"{step.name}={{'check_moves': False}}"
        # Moves that the last check has compared, and the last two points with their densities.
        self.n_compared, self._last = 0, []
        # Data that pm.set_data may change, and their values when a check last passed.
        self._data = [variable for variable in model.data_vars if isinstance(variable, SharedVariable)]
        self._passed = None

    def terms(self, point, names):
        """Log-probability of the terms of these names at a point."""
        return float(self._density(point)[self._density.places(names)].sum())

    def check(self, moves_to_compare, point):
        """Compare moves at a point and near it; raise a SamplingError where they differ from the model.

        ``moves_to_compare(rng, point)`` yields an :class:`OwnMove` for each move at a point.  Further chains with the
        same data in this process are not compared again.
        """
        data = [variable.get_value(borrow=True) for variable in self._data]
        if self._passed is not None and all(map(operator.is_, data, self._passed)):
            return
        rng, self.n_compared = np.random.default_rng(_SEED), 0
        if self._is_random(point):
            _log.warning(
                f"{self.title} is not compared with the model, whose log-probability is random: draws need not be "
                "from\nthe posterior."
            )
            return
        for place in self._points(point, rng):
            try:
                for move in moves_to_compare(rng, place):
                    self._compare(move, _AT_START if place is point else _NEAR_START)
            except SamplingError:
                raise
            except Exception as error:
                # Kernels that run in Python raise errors where machine code has infinite values, and operations of
                # users where values are not allowed, which they may be near the start.
                if place is point and not isinstance(error, ArithmeticError):
                    raise
        self._last, self._passed = [], data

    def _is_random(self, point):
        return not np.array_equal(self._density(point), self._density_at(point), equal_nan=True)

    def _points(self, point, rng):
        if np.isfinite(self._density_at(point)).all():
            yield point
        for scale in _SCALES:
            noisy = {name: with_noise(value, rng, scale) for name, value in point.items() if name in self._continuous}
            if noisy and self._is_finite(point | noisy):
                yield point | noisy
                return

    def _is_finite(self, point):
        try:
            return np.isfinite(self._density(point)).all()
        except Exception:  # operations of users may refuse values
            return False

    def _density_at(self, point):
        """Log-probability of all terms; successive moves share points."""
        for evaluated, values in self._last:
            if evaluated is point:
                return values
        values = self._density(point)
        self._last = [*self._last[-1:], (point, values)]
        return values

    def _compare(self, move, share_of_ratio):
        before, after = self._density_at(move.before), self._density_at(move.after)
        if not np.isfinite(before).all() or np.isnan(after).any():
            return
        by_model, by_step = float(after.sum() - before.sum()), float(move.log_ratio)
        if np.isneginf(by_model) and np.isneginf(by_step):
            return
        self.n_compared += 1
        size = np.abs(before).sum() + np.abs(after[np.isfinite(after)]).sum()
        share_of_terms = _SHARE_OF_SINGLE if self._density.is_single else _SHARE_OF_TERMS
        same_side = np.isneginf(by_step) == np.isneginf(by_model)
        if same_side and abs(by_step - by_model) <= share_of_ratio * (1.0 + abs(by_model)) + share_of_terms * size:
            return
        raise SamplingError(
            f"{self.title} would not sample {self._variables} from the posterior. If {move.what}, the log-probability "
            f"of the model changes by {by_model:.6g}, and by {by_step:.6g} according to the step. Functions of a "
            "family or a measure of your own may disagree (testing.check_family and testing.check_measure name the "
            "function), a class may have been edited after this process compiled it (restart it), another step may "
            "sample a variable that depends on this one (leave out step), or columns are almost collinear (leave one "
            f"out). {self._option} skips this comparison"
        )
