"""How a LearnedGibbs draws the concentrations of hidden states."""

import numpy as np

from pymc_nrm.kernels.generic import kernels_in_python
from pymc_nrm.states.moves.hyperparameters import (
    DRAWN,
    draw_concentrations_of_states,
    log_density_of_concentrations,
)
from pymc_nrm.steps.target import GivenPartition

# Sweeps for other priors that take about as long as one for hidden states.
_SWEEPS_FOR_STATES = 5


class StateConcentrations:
    """Concentrations of hidden states with gamma priors."""

    kernel = draw_concentrations_of_states

    def __init__(self, model, learned, compile_kwargs):
        self._places = [DRAWN.index(field) for field in learned.fields]
        self._names = [model.rvs_to_values[variable].name for variable in learned.variables]
        self._gammas = np.zeros((len(DRAWN), 2))
        self._gammas[self._places] = learned.gammas
        self._given = GivenPartition(model, learned.partition, [], compile_kwargs)

    def refresh(self):
        """Read constants again, since ``pm.set_data`` may have changed them."""
        self._given.refresh()

    def arguments(self, rng, point, n_sweeps):
        """Arguments of the kernel at a point; it writes to the logarithms."""
        labels, prior, _, _ = self._given.at(point)
        logs = np.zeros(len(DRAWN))
        logs[self._places] = [float(point[name]) for name in self._names]
        return rng, labels, prior, self._gammas, logs, max(1, n_sweeps // _SWEEPS_FOR_STATES)

    @property
    def names(self):
        """Names of the value variables."""
        return self._names

    def log_density(self, point):
        """Log density of the values of the variables given the labels."""
        _, labels, prior, gammas, logs, _ = self.arguments(None, point, 1)
        with kernels_in_python():
            return log_density_of_concentrations(labels, prior, gammas, logs)

    def draw(self, rng, point, n_sweeps):
        """The point with new concentrations."""
        arguments = self.arguments(rng, point, n_sweeps)
        self.kernel(*arguments)
        return point | {name: np.array(arguments[-2][k]) for name, k in zip(self._names, self._places, strict=True)}
