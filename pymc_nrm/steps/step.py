"""The shell of every step: its arguments, its compilation, and the course of a draw."""

from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
from pymc.step_methods import BlockedStep
from pymc.util import get_random_generator

from pymc_nrm.common.checks import check_flag, random_generator
from pymc_nrm.common.progress import elapsed, end_elapsed
from pymc_nrm.common.pymc_internals import StepMethodState, dataclass_state
from pymc_nrm.kernels.compilation import announced_compilation
from pymc_nrm.kernels.interrupts import Interrupted
from pymc_nrm.models.rvs import checked_model
from pymc_nrm.steps.comparison import ModelComparison


@dataclass_state
class StepState(StepMethodState):
    """Sampler state needed to resume a chain, besides its point."""

    options: dict = field(metadata={"frozen": True})


class Draw(NamedTuple):
    """The result of a draw."""

    point: dict
    # The log joint density, or the drawn values: the draw is an error unless all of them are finite.
    checked: Any
    stats: dict


class Step(BlockedStep):
    """Base of the steps of this package.

    Subclasses define

    - ``value_variables(vars, model)``, a class method: the value variables that the argument ``vars`` asks for;
    - ``read_model(model)``, which checks the model and returns the classes of the families that kernels are compiled
      for;
    - ``compile(model, point, compile_kwargs)``, which compiles whatever a draw calls;
    - ``draw(point, inputs)``, which returns a :class:`Draw`, with ``inputs`` from ``read_point(point)``;
    - ``not_finite_error(point, value)``, the error for a draw whose checked value is not finite, or whose kernels found
      that the weights of clusters define no probabilities.

    They may replace ``check_start(point, inputs)``, which checks the first point of a chain, and
    ``moves_to_compare(rng, point)``, moves that are compared with the log-probability of the model before the first
    draw.
    """

    _state_class = StepState
    # Whether one step samples all of its variables, instead of one step each.
    default_blocked = False
    # What the step samples, in messages.
    samples = "variable"
    # Errors of kernels if the weights of clusters define no probabilities.
    kernel_errors: tuple = (ValueError,)

    def __new__(cls, *args, **kwargs):
        # Check before PyMC does, whose errors do not name the arguments.
        kwargs["model"] = model = checked_model(kwargs.get("model"))
        vars = args[0] if args else kwargs.pop("vars", None)
        random_generator(kwargs.get("rng"), "rng")
        return super().__new__(cls, cls.value_variables(vars, model), *args[1:], **kwargs)

    def __init__(
        self,
        vars,
        *,
        options,
        model=None,
        rng=None,
        initial_point=None,
        compile_kwargs=None,
        blocked=False,
        check_moves=True,
    ):
        check_flag("check_moves", check_moves)
        model = checked_model(model)
        self.vars, self.options, self._n_draws = self.value_variables(vars, model), options, 0
        if not self.default_blocked and len(self.vars) != 1:
            raise ValueError(
                f"vars must be one {self.samples} for a step that is blocked; got {len(self.vars)} variables"
            )
        family_classes = self.read_model(model)
        self.rng = get_random_generator(random_generator(rng, "rng"))
        end_elapsed()
        # Chains run in forked processes, which inherit what is compiled here.
        with announced_compilation(type(self).__name__, family_classes, elapsed):
            point = model.initial_point() if initial_point is None else initial_point
            self.compile(model, point, compile_kwargs)
        self.comparison = ModelComparison(self, model, self.vars) if check_moves else None

    def setup_chain(self, rng, tune, draws):
        if Interrupted.came:
            raise KeyboardInterrupt
        super().setup_chain(rng, tune, draws)
        self._n_draws = 0

    def step(self, point):
        """Return the next point of the chain, and the statistics of the draw."""
        inputs = self.read_point(point)
        if self._n_draws == 0:
            self.check_start(point, inputs)
            if self.comparison is not None:
                self.comparison.check(self._moves_without_draws, point)
        try:
            drawn = self.draw(point, inputs)
        except self.kernel_errors as error:
            raise self.not_finite_error(point, str(error)) from error
        if not np.isfinite(drawn.checked).all():
            raise self.not_finite_error(drawn.point, drawn.checked)
        self._n_draws += 1
        return drawn.point, [drawn.stats]

    def read_point(self, point):
        """Read what a draw needs from the point, such as hyperparameters, and draw auxiliary variables given it."""

    def check_start(self, point, inputs):
        """Check options, data and density at the first point of a chain; ``pm.set_data`` may have changed the data."""

    def moves_to_compare(self, rng, point):
        """Yield moves at a point as :class:`OwnMove`, with the log ratios that the kernels of the step give them."""
        return ()

    def _moves_without_draws(self, rng, point):
        """The same, leaving the random generator of the step as it is."""
        kept, self.rng = self.rng, rng
        try:
            yield from self.moves_to_compare(rng, point)
        finally:
            self.rng = kept

    @property
    def when(self):
        """When the current draw is made, in messages."""
        return f"in draw {self._n_draws + 1}" if self._n_draws else "where a chain starts"
