"""A diagonal metric for NUTS that knows how many items each slot has."""

from dataclasses import field

import numpy as np

from pymc_nrm.common.pymc_internals import QuadPotentialDiagAdapt, QuadPotentialDiagAdaptState, dataclass_state

# Share of the latest gradient in the running mean of squared gradients.
_SHARE = 0.02


@dataclass_state
class SlotMetricState(QuadPotentialDiagAdaptState):
    """What the metric has learnt."""

    information: list = field(default_factory=list)


class SlotMetric(QuadPotentialDiagAdapt):
    """Diagonal metric in which the variance of a slot's parameters falls with its number of items.

    Coordinate j of a slot of m items gets the variance ``1 / (c_j (m + 1))``, since precision grows by about the same
    amount with each item.  ``c_j`` is the mean over occupied slots of ``g^2 / (m + 1)``, where g is the gradient of the
    log-probability, whose mean square is the precision: slots are exchangeable, and gradients do not care which slot a
    cluster has.  Coordinates of empty slots have variance 0 and stand still.  All others are adapted as in PyMC.
    """

    _state_class = SlotMetricState

    def __init__(self, n, mean, places, rng=None):
        self.places = places
        self.information = [np.ones(len(place)) for place in places]
        super().__init__(n, mean, np.ones(n), 10, rng=rng)

    def reset(self):
        super().reset()
        self.information = [np.ones(len(place)) for place in self.places]

    def prepare(self, counts):
        """Set the variances of slots to what their numbers of items imply."""
        self._counts = counts
        for place, information, m in zip(self.places, self.information, counts, strict=True):
            precision = information[:, None] * (m + 1.0)
            self._var[place] = np.where(m > 0, 1.0 / precision, 0.0)
            self._stds[place] = np.sqrt(self._var[place])
            self._inv_stds[place] = np.where(m > 0, np.sqrt(precision), 0.0)

    def velocity_energy(self, x, v_out):
        # A trajectory that diverges is reported as such.
        with np.errstate(over="ignore", invalid="ignore"):
            return super().velocity_energy(x, v_out)

    def update(self, sample, grad, tune):
        if tune:
            for j, (place, m) in enumerate(zip(self.places, self._counts, strict=True)):
                occupied = m > 0
                squares = (grad[place][:, occupied] ** 2 / (m[occupied] + 1.0)).mean(axis=1)
                mean = (1.0 - _SHARE) * self.information[j] + _SHARE * np.clip(squares, 1e-8, 1e8)
                self.information[j] = mean
        super().update(sample, grad, tune)

    def raise_ok(self, map_info=None):
        """Variances of 0 belong to empty slots."""
