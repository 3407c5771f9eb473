"""A step that keeps checkpoints of its chain, and resumes a stopped chain from them."""

import itertools
import time
from typing import Any, NamedTuple

import numpy as np
from pymc.step_methods import CompoundStep

from pymc_nrm.common.pymc_internals import (
    end_with_parent,
    left_out_of_state,
    make_step,
    set_left_out,
    steps_without_state,
)
from pymc_nrm.models.rvs import partitions_of
from pymc_nrm.partitions.labels import smallest_type
from pymc_nrm.run.chains.trace import kept_row
from pymc_nrm.run.checkpoints.chain_files import ChainFiles
from pymc_nrm.run.checkpoints.fingerprint import describe_steps, point_digest

# Default seconds between checkpoints, and the largest share of the time that checkpoints may take.
SECONDS_BETWEEN = 10.0
_PART_OF_TIME = 0.02
# Draws that wait for the next checkpoint go to disk once they take this many bytes.
_BYTES_IN_MEMORY = 2**26


class Checkpoints(NamedTuple):
    """How the chains of a run keep checkpoints."""

    folder: Any
    # Key of the random generator of chain 0 in NumPy's seed sequence.
    first_key: int
    # Shortest time between checkpoints.
    seconds: float | None
    partitions: list
    thin: int
    # Whether draws of tuning are kept.
    keep_warmup: bool


def checkpoints_of(folder, generator, seconds, model, kept):
    """How the chains of a run keep checkpoints; their generators are spawned from ``generator`` next."""
    partitions = [partition.name for partition in partitions_of(model)]
    first_key = generator.bit_generator.seed_seq.n_children_spawned
    return Checkpoints(folder, first_key, seconds, partitions, kept.thin, kept.keep_warmup)


class SavedChain(NamedTuple):
    """Sampler state needed to resume a chain, besides its draws."""

    # Digest of the point from which the chain started.
    start: str
    state: Any
    # Values of the steps that the state leaves out.
    left_out: list
    # The point after the last draw.
    point: dict


def checkpointed_step(checkpoints, model, kwargs):
    """Make the step that ``pm.sample`` would make, add checkpoints, and put it into the arguments of ``pm.sample``.

    The step is None where checkpoints are neither possible nor asked for by the user.
    """
    step, kwargs = make_step(model, kwargs)
    for name in steps_without_state(step):
        if checkpoints.folder.is_temporary:
            return None, kwargs
        raise ValueError(
            f"{name} does not say what it carries from one draw to the next, so that a run with it cannot be resumed; "
            "choose another step, or leave out checkpoint"
        )
    step = CheckpointedStep(step, checkpoints)
    step.check()
    return step, kwargs | {"step": step}


class CheckpointedStep(CompoundStep):
    """The steps of a model, with checkpoints of their chain.

    A resumed chain first returns the draws that it has already made, without computing anything, so that PyMC handles
    them as in a run that was never stopped.  PyMC may copy the step into other processes before a chain starts.
    """

    def __init__(self, step, checkpoints):
        self._is_single = not isinstance(step, CompoundStep)
        super().__init__([step] if self._is_single else step.methods)
        self._checkpoints = checkpoints
        self._files = None
        # Steps belong to the user, who may resume the run in the same session.
        self._untouched = self.sampling_state, left_out_of_state(self)

    def check(self):
        """Check that the steps are those with which the run began, and restore the state they had then."""
        self._set_up(np.random.default_rng(0), 1, 1)
        self.reset_tuning()
        self._set_state(*self._checkpoints.folder.check_steps(describe_steps(self), self._untouched))

    def _set_state(self, state, left_out):
        self.sampling_state = state
        set_left_out(self, left_out)

    def _set_up(self, rng, tune, draws):
        if self._is_single:
            # PyMC gives a single step the generator of the chain itself, not one spawned from it.
            self.methods[0].setup_chain(rng, tune, draws)
        else:
            super().setup_chain(rng, tune, draws)

    def setup_chain(self, rng, tune, draws):
        """Open the files of a chain, which is identified by its random generator."""
        self._close_files()
        end_with_parent()
        self._set_up(rng, tune, draws)
        chain = rng.bit_generator.seed_seq.spawn_key[-1] - self._checkpoints.first_key
        self._files = ChainFiles(self._checkpoints.folder.path, chain)
        self._chain, self._n_tune, self._n_iterations = chain, tune, tune + draws
        position, _ = self._files.recover()
        self._saved, self._n_saved = position.saved, position.n_iterations
        self._replay = itertools.chain.from_iterable(self._files.blocks(position.log_size))
        self._iteration, self._stopped_at, self._start = 0, -1, None
        self._forget()
        self._seconds, self._last = self._checkpoints.seconds, time.monotonic()
        if self._seconds is None:
            self._seconds = SECONDS_BETWEEN

    def stop_tuning(self):
        super().stop_tuning()
        self._stopped_at = self._iteration

    def step(self, point):
        """Return the next draw, from the files if it was made before."""
        if self._start is None:
            self._start = point_digest(point)
            if self._saved is not None and self._saved.start != self._start:
                raise ValueError(
                    f"chain {self._chain} cannot be resumed, since it would start from another point than before; make "
                    "the model with the same initial values"
                )
        iteration = self._iteration
        self._iteration += 1
        if iteration < self._n_saved:
            values, stats = next(self._replay)
            return (point if values is None else _with_values(point, values)), stats
        if iteration == self._n_saved and self._saved is not None:
            point = self._restore(point)
        point, stats = super().step(point)
        self._record(iteration, point, stats)
        return point, stats

    def _restore(self, point):
        self._set_state(self._saved.state, self._saved.left_out)
        if self._stopped_at == self._n_saved:
            # Tuning ended between the last saved draw and the next one.
            super().stop_tuning()
        return {**point, **self._saved.point}

    def _record(self, iteration, point, stats):
        if self._files is None:
            return
        kept = kept_row(iteration, self._n_tune, self._checkpoints.thin, self._checkpoints.keep_warmup) is not None
        values = None
        if kept:
            # PyMC may write the next draw into the same memory.
            values = {name: np.array(value) for name, value in point.items()}
            for name in self._checkpoints.partitions:
                values[name] = values[name].astype(smallest_type(values[name].max()))
            self._n_bytes += sum([value.nbytes for value in values.values()])
        self._waiting.append((values, stats))
        is_last = iteration + 1 == self._n_iterations
        try:
            if is_last or time.monotonic() - self._last >= self._seconds:
                self._commit(iteration + 1, point)
            elif self._n_bytes > _BYTES_IN_MEMORY:
                self._append(iteration + 1)
        except OSError as error:
            if self._checkpoints.folder.is_temporary:
                # The chain needs no checkpoint: an extension repeats the draws that were not written.
                self._close_files()
                self._forget()
                return
            raise OSError(
                f"no checkpoint of chain {self._chain} could be written to {str(self._checkpoints.folder.path)!r}: "
                f"{error}; draws up to the last checkpoint are there, and nrm.resume resumes from it"
            ) from error

    def _append(self, n_iterations):
        """Append the waiting draws to the log."""
        self._files.append(n_iterations - len(self._waiting), n_iterations, self._waiting)
        self._forget()

    def _forget(self):
        # Values of each draw, None if they are not kept, and its statistics.
        self._waiting, self._n_bytes = [], 0

    def _commit(self, n_iterations, point):
        """Write a checkpoint."""
        begin = time.monotonic()
        values = {name: np.array(value) for name, value in point.items()}
        self._append(n_iterations)
        saved = SavedChain(self._start, self.sampling_state, left_out_of_state(self), values)
        self._files.commit(n_iterations, saved)
        self._last = time.monotonic()
        if self._checkpoints.seconds is None:
            self._seconds = max(SECONDS_BETWEEN, (self._last - begin) / _PART_OF_TIME)

    def close(self):
        """Close the files, and restore the steps to their state before the run."""
        self._close_files()
        self._set_state(*self._untouched)

    def _close_files(self):
        if self._files is not None:
            self._files.close()
            self._files = None


def _with_values(point, values):
    """Replace values of a point and keep their types, but drop the mark of a start from the types of labels."""
    return {**point, **{name: np.asarray(value, np.asarray(point[name]).dtype.str) for name, value in values.items()}}
