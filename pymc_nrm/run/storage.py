"""What a run keeps: every k-th draw of its variables, with labels in small integers or not at all."""

import copy
import itertools
import time
from typing import Any, NamedTuple

import numpy as np
from pymc.step_methods import CompoundStep

from pymc_nrm.common.pymc_internals import BaseTrace, end_with_parent, left_out_of_state, make_step, set_left_out
from pymc_nrm.models.rvs import names_in_chunks
from pymc_nrm.partitions.labels import smallest_type
from pymc_nrm.run.chunked_results import statistics_left_out
from pymc_nrm.run.fingerprint import describe_steps, point_digest
from pymc_nrm.run.run_folder import ChainFiles

# How labels may be kept.
LABEL_STORAGE = ("full", "compact", "none")


class RunRecord(NamedTuple):
    """What a run kept; rows from tuning come first."""

    # Values of each variable; dict of str to shape (n_chains, n_warmup_rows + n_draw_rows, ...).
    values: dict
    # For each chain, the rows of the statistics of each step.
    stats: list
    # Types of the statistics of each step, in PyMC's form.
    sampler_vars: list
    n_warmup_rows: int
    n_draw_rows: int
    # Iterations of tuning, kept or not.
    n_tune: int
    seconds: Any


def kept_row(iteration, n_tune, thin, keep_warmup):
    """The row in which an iteration of a chain is kept, counted from 0 separately for tuning and for draws. The result
    is None if the iteration is not kept.
    """
    if iteration >= n_tune:
        iteration -= n_tune
    elif not keep_warmup:
        return None
    return iteration // thin if (iteration + 1) % thin == 0 else None


def write_rows(arrays, name, place, values):
    """Write values to a place in an array of a dict; if they are too large for its unsigned type, it becomes wider."""
    if arrays[name].dtype.kind == "u":
        largest = int(values.max(initial=0))
        if largest > np.iinfo(arrays[name].dtype).max:
            arrays[name] = arrays[name].astype(smallest_type(largest))
    arrays[name][place] = values


class Storage:
    """What all chains of a run keep, and the arrays that hold it, shape (n_chains, n_rows, ...)."""

    def __init__(self, model, partitions, draws, *, label_storage, thin, keep_warmup, var_names=None):
        self.model, self.draws, self.thin, self.keep_warmup = model, draws, thin, keep_warmup
        self.compact = partitions if label_storage == "compact" else ()
        # The clusters of rows in chunks, whose number varies, are statistics of their step.
        in_chunks, variables = names_in_chunks(model), _value_variables(model, var_names)
        self.left_out = statistics_left_out(in_chunks, label_storage, var_names)
        left_out = (partitions if label_storage == "none" else []) + in_chunks
        self.variables = [value for value in variables if value.name not in left_out]
        if not self.variables and not any(value.name in in_chunks for value in variables):
            raise ValueError(
                f"label_storage={label_storage!r} leaves none of var_names={list(var_names)} to keep; name another "
                "variable"
            )
        self.traces, self.arrays = {}, {}

    def n_kept(self, n_tune, n_draws):
        """Numbers of rows kept of ``n_tune`` iterations of tuning and of ``n_draws`` draws."""
        return (n_tune // self.thin if self.keep_warmup else 0), n_draws // self.thin

    def record(self, chains, n_tune, n_draws, seconds):
        """What is kept of some chains, all with ``n_tune`` iterations of tuning and ``n_draws`` draws."""
        n_rows = sum(kept := self.n_kept(n_tune, n_draws))
        # Indexing with a slice shares memory with the array, indexing with a list does not.
        chosen = slice(None) if len(chains) == len(self.traces) else chains
        values = {name: array[chosen, :n_rows] for name, array in self.arrays.items()}
        traces = [self.traces[chain] for chain in chains]
        stats = [
            [{name: rows[:n_rows] for name, rows in of_step.items()} for of_step in trace.stats] for trace in traces
        ]
        return RunRecord(values, stats, traces[0].sampler_vars, *kept, n_tune, seconds)

    def write(self, trace, row, name, value):
        """Write one row of a chain.  The first one makes the array, whose memory is taken up as it is written."""
        if name not in self.arrays:
            # All chains have been set up before the first draw.
            dtype = smallest_type(0) if name in self.compact else value.dtype
            self.arrays[name] = np.empty((len(self.traces), trace.n_rows, *np.shape(value)), dtype)
        write_rows(self.arrays, name, (trace.chain, row), value)


def _value_variables(model, var_names):
    if var_names is None:
        return model.unobserved_value_vars
    chosen = [variable for variable in model.unobserved_RVs if variable.name in var_names]
    unknown = sorted(set(var_names) - {variable.name for variable in chosen})
    if unknown:
        known = ", ".join(variable.name for variable in model.unobserved_RVs)
        raise ValueError(f"var_names must be variables of the model: {known}; got {', '.join(map(repr, unknown))}")
    return model.replace_rvs_by_values(chosen)


class ChainTrace(BaseTrace):
    """The trace of a chain, written by PyMC's sampling loops; rows that are not kept are not even evaluated.

    For PyMC its length is the number of iterations, which separates tuning from draws.  PyMC copies it for each chain.
    """

    def __init__(self, storage):
        self.storage = storage
        # The first draw sets the shapes.
        super().__init__(model=storage.model, vars=storage.variables, var_shapes={}, var_dtypes={})
        self.n_iterations = self.n_written = 0

    def setup(self, draws, chain, sampler_vars=None):
        left_out = self.storage.left_out
        sampler_vars = [{name: of[name] for name in of if name not in left_out} for of in sampler_vars]
        super().setup(draws, chain, sampler_vars)
        self.chain, self.n_iterations, self.n_written = chain, 0, 0
        self.n_tune = draws - self.storage.draws
        self.n_warmup_rows, n_draw_rows = self.storage.n_kept(self.n_tune, self.storage.draws)
        self.n_rows = self.n_warmup_rows + n_draw_rows
        self.stats = [
            {name: np.zeros(self.n_rows, dtype=dtype) for name, dtype in stats.items()} for stats in sampler_vars
        ]
        self.storage.traces[chain] = self

    def record(self, point, sampler_stats=None, *, in_warmup):
        row = kept_row(self.n_iterations, self.n_tune, self.storage.thin, self.storage.keep_warmup)
        if row is not None:
            row += self.n_warmup_rows if self.n_iterations >= self.n_tune else 0
            for name, value in zip(self.varnames, self.fn(*point.values()), strict=True):
                self.storage.write(self, row, name, value)
            for arrays, stats in zip(self.stats, sampler_stats, strict=True):
                for name in arrays.keys() & stats.keys():
                    arrays[name][row] = stats[name]
            self.n_written = row + 1
        # An interrupt may come anywhere above: a row counts only when it is complete.
        self.n_iterations += 1

    def __len__(self):
        return self.n_iterations

    def _slice(self, idx):
        # PyMC uses only the length of what remains of an interrupted run; the rows come from the storage.
        sliced = copy.copy(self)
        sliced.n_iterations = len(range(*idx.indices(len(self))))
        return sliced

    # What callbacks of users read: the rows written so far.

    def get_values(self, varname, burn=0, thin=1):
        return self.storage.arrays[varname][self.chain, : self.n_written][burn::thin]

    def point(self, idx):
        return {name: self.get_values(name)[idx] for name in self.varnames}

    def _get_sampler_stats(self, varname, sampler_idx, burn, thin):
        return self.stats[sampler_idx][varname][: self.n_written][burn::thin]


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


class SavedChain(NamedTuple):
    """What a chain needs to go on, besides its draws."""

    # Digest of the point from which the chain started.
    start: str
    state: Any
    # Values of the steps that the state leaves out.
    left_out: list
    # The point after the last draw.
    point: dict


def checkpointed_step(checkpoints, model, kwargs):
    """Make the step that ``pm.sample`` would make, add checkpoints, and put it into the arguments of ``pm.sample``."""
    step, kwargs = make_step(model, kwargs)
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
        if is_last or time.monotonic() - self._last >= self._seconds:
            self._commit(iteration + 1, None if is_last else point)
        elif self._n_bytes > _BYTES_IN_MEMORY:
            self._append(iteration + 1)

    def _append(self, n_iterations):
        """Append the waiting draws to the log."""
        self._files.append(n_iterations - len(self._waiting), n_iterations, self._waiting)
        self._forget()

    def _forget(self):
        # Values of each draw, None if they are not kept, and its statistics.
        self._waiting, self._n_bytes = [], 0

    def _commit(self, n_iterations, point):
        """Write a checkpoint; ``point`` is None if the chain is done."""
        begin = time.monotonic()
        saved = SavedChain(self._start, None, [], {})
        if point is not None:
            values = {name: np.array(value) for name, value in point.items()}
            saved = SavedChain(self._start, self.sampling_state, left_out_of_state(self), values)
        try:
            self._append(n_iterations)
            self._files.commit(n_iterations, saved)
        except OSError as error:
            raise OSError(
                f"no checkpoint of chain {self._chain} could be written to {str(self._checkpoints.folder.path)!r}: "
                f"{error}; draws up to the last checkpoint are there, and nrm.resume goes on with them"
            ) from error
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
