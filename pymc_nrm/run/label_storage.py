"""What a run keeps: every k-th draw, and labels of partitions in small integers or not at all."""

import copy
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.common.pymc_internals import BaseTrace
from pymc_nrm.partitions.value import smallest_type

# How labels may be kept.
LABEL_STORAGE = ("full", "compact", "none")


class ChainRecord(NamedTuple):
    """What one chain kept, except labels."""

    # Rows of each variable.
    samples: dict
    # Rows of the statistics of each step.
    stats: list
    # Types of the statistics, in PyMC's form.
    sampler_vars: list


class RunRecord(NamedTuple):
    """What a run kept."""

    chains: list
    # Labels of each partition; dict of str to shape (n_chains, n_warmup_rows + n_draw_rows, n).
    labels: dict
    # n_warmup_rows, n_draw_rows: Numbers of rows from tuning, which come first, and from draws.
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


class LabelArray:
    """Values of one partition, shape (n_chains, n_rows, *shape), in the smallest unsigned type that holds them.

    Writing a row takes up its memory.  A label that does not fit makes the type wider, at most twice.
    """

    def __init__(self, n_chains, n_rows, shape, dtype=None):
        self.values = np.empty((n_chains, n_rows, *shape), dtype=smallest_type(0) if dtype is None else dtype)
        self._n_written = np.zeros(n_chains, dtype=np.int64)

    def write(self, chain, first, labels):
        """Write one value, or an array of several, into consecutive rows of a chain, beginning with row ``first``."""
        self._make_room(int(labels.max()))
        rows = labels.reshape(-1, *self.values.shape[2:])
        last = first + len(rows)
        self.values[chain, first:last] = rows
        self._n_written[chain] = last

    def _make_room(self, largest):
        if largest <= np.iinfo(self.values.dtype).max:
            return
        wider = np.empty(self.values.shape, dtype=smallest_type(largest))
        for chain, n_written in enumerate(self._n_written):
            wider[chain, :n_written] = self.values[chain, :n_written]
        self.values = wider


class Storage:
    """What all chains of a run keep, and the arrays that hold it."""

    def __init__(self, model, partitions, draws, *, label_storage, thin, keep_warmup, var_names=None):
        self.model, self.draws, self.thin, self.keep_warmup = model, draws, thin, keep_warmup
        kept = [name for name in partitions if var_names is None or name in var_names]
        self.partitions = [] if label_storage == "none" else kept
        self.dtype = np.dtype("int64") if label_storage == "full" else None
        self.variables = [value for value in _value_variables(model, var_names) if value.name not in partitions]
        if not self.variables and not self.partitions:
            raise ValueError(
                f"label_storage={label_storage!r} leaves none of var_names={list(var_names)} to keep; name another "
                "variable"
            )
        self.traces, self.labels = {}, {}

    def n_kept(self, n_tune, n_draws):
        """Numbers of rows kept of ``n_tune`` iterations of tuning and of ``n_draws`` draws."""
        return (n_tune // self.thin if self.keep_warmup else 0), n_draws // self.thin

    def record(self, chains, n_tune, n_draws, seconds):
        """What is kept of some chains, all with ``n_tune`` iterations of tuning and ``n_draws`` draws."""
        n_warmup_rows, n_draw_rows = self.n_kept(n_tune, n_draws)
        n_rows = n_warmup_rows + n_draw_rows
        # Indexing with a slice shares memory with the array, indexing with a list does not.
        chosen = slice(None) if len(chains) == len(self.traces) else chains
        return RunRecord(
            [self.traces[chain].record_of(n_rows) for chain in chains],
            {name: array.values[chosen, :n_rows] for name, array in self.labels.items()},
            n_warmup_rows,
            n_draw_rows,
            n_tune,
            seconds,
        )

    def write(self, trace, row, point):
        """Write the labels of a point as one row of a chain."""
        for name in self.partitions:
            labels = point[name]
            if name not in self.labels:
                # All chains have been set up before the first draw.
                self.labels[name] = LabelArray(len(self.traces), trace.n_rows, labels.shape, self.dtype)
            self.labels[name].write(trace.chain, row, labels)


def _value_variables(model, var_names):
    if var_names is None:
        return model.unobserved_value_vars
    chosen = [variable for variable in model.unobserved_RVs if variable.name in var_names]
    unknown = sorted(set(var_names) - {variable.name for variable in chosen})
    if unknown:
        known = ", ".join(variable.name for variable in model.unobserved_RVs)
        raise ValueError(f"var_names must be variables of the model: {known}; got {', '.join(map(repr, unknown))}")
    return model.replace_rvs_by_values(chosen)


class ThinnedTrace(BaseTrace):
    """The trace of a chain, written by PyMC's sampling loops; rows that are not kept are not even evaluated.

    For PyMC its length is the number of iterations, which separates tuning from draws.  PyMC copies it for each chain.
    """

    def __init__(self, storage):
        self.storage = storage
        # The first draw sets the shapes.
        super().__init__(model=storage.model, vars=storage.variables, var_shapes={}, var_dtypes={})
        self.n_iterations = 0

    def setup(self, draws, chain, sampler_vars=None):
        super().setup(draws, chain, sampler_vars)
        self.chain, self.n_iterations = chain, 0
        self.n_tune = draws - self.storage.draws
        self.n_warmup_rows, n_draw_rows = self.storage.n_kept(self.n_tune, self.storage.draws)
        self.n_rows = self.n_warmup_rows + n_draw_rows
        self.samples = {}
        self.stats = [
            {name: np.zeros(self.n_rows, dtype=dtype) for name, dtype in stats.items()} for stats in sampler_vars
        ]
        self.storage.traces[chain] = self

    def record(self, point, sampler_stats=None, *, in_warmup):
        row = kept_row(self.n_iterations, self.n_tune, self.storage.thin, self.storage.keep_warmup)
        if row is not None:
            row += self.n_warmup_rows if self.n_iterations >= self.n_tune else 0
            self.storage.write(self, row, point)
            for name, value in zip(self.varnames, self.fn(*point.values()), strict=True):
                if name not in self.samples:
                    self.samples[name] = np.empty((self.n_rows, *np.shape(value)), dtype=value.dtype)
                self.samples[name][row] = value
            for arrays, stats in zip(self.stats, sampler_stats, strict=True):
                for name, value in stats.items():
                    arrays[name][row] = value
        # An interrupt may come anywhere above: a row counts only when it is complete.
        self.n_iterations += 1

    def __len__(self):
        return self.n_iterations

    def _slice(self, idx):
        # PyMC uses only the length of what remains of an interrupted run; the rows come from the storage.
        sliced = copy.copy(self)
        sliced.n_iterations = len(range(*idx.indices(len(self))))
        return sliced

    def record_of(self, n_rows):
        """Return the first rows."""
        samples = {name: values[:n_rows] for name, values in self.samples.items()}
        stats = [{name: values[:n_rows] for name, values in arrays.items()} for arrays in self.stats]
        return ChainRecord(samples, stats, self.sampler_vars)
