"""What a run keeps: every k-th draw of its variables, with labels in small integers or not at all."""

import copy
import hashlib
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from pymc.pytensorf import reseed_rngs
from pymc.util import get_random_generator, get_state_from_generator

from pymc_nrm.common.pymc_internals import BaseTrace
from pymc_nrm.models.rvs import names_in_chunks, partitions_of
from pymc_nrm.models.values import generators_of, with_own_generators
from pymc_nrm.partitions.chunked import CLUSTER_COUNTS, CLUSTER_SUMS, FOLLOWED_LABELS
from pymc_nrm.partitions.labels import smallest_type


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

    @property
    def groups(self):
        """Rows of tuning and of draws, where there are any, by how names of their groups begin."""
        end = self.n_warmup_rows + self.n_draw_rows
        rows = {"warmup_": slice(0, self.n_warmup_rows), "": slice(self.n_warmup_rows, end)}
        return {prefix: part for prefix, part in rows.items() if part.stop > part.start}


def kept_row(iteration, n_tune, thin, keep_warmup):
    """The row that keeps an iteration of a chain, counted apart for tuning and for draws; None if none does."""
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

    def __init__(self, model, kept, random_seed=None):
        self.model, self.draws, self.thin, self.keep_warmup = model, kept.draws, kept.thin, kept.keep_warmup
        partitions = [partition.name for partition in partitions_of(model)]
        self.compact = partitions if kept.label_storage == "compact" else ()
        # The clusters of rows in chunks, whose number varies, are statistics of their step.
        in_chunks, variables = names_in_chunks(model), _value_variables(model, kept.var_names)
        self.left_out = statistics_left_out(in_chunks, kept.label_storage, kept.var_names)
        left_out = (partitions if kept.label_storage == "none" else []) + in_chunks
        self.variables = [value for value in variables if value.name not in left_out]
        if not self.variables and not any(value.name in in_chunks for value in variables):
            raise ValueError(
                f"label_storage={kept.label_storage!r} leaves none of var_names={list(kept.var_names)} to keep; name "
                "another variable"
            )
        # Missing entries are drawn for each row, from seeds of their own, so that no step reads them.
        self.variables, self.generators = _with_own_generators(model, self.variables)
        self.entropy = _entropy(random_seed) if self.generators else None
        self.traces, self.arrays, self.first_chain = {}, {}, 0
        # Where labels of all rows in chunks are written, and what tells them.
        self.label_file = self.labels_of_rows = None

    @property
    def is_full(self):
        """Whether labels could not be written."""
        return self.label_file is not None and self.label_file.error is not None

    def reseed(self, chain, iteration):
        """Seed the draws of missing entries, for any order of iterations."""
        if self.generators:
            key = (self.first_chain + chain, iteration)
            words = np.random.SeedSequence(self.entropy, spawn_key=key).generate_state(4).tolist()
            for place, generator in self.generators.items():
                reseed_rngs([generator], [*words, place])

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
        names = ", ".join(variable.name for variable in model.unobserved_RVs)
        raise ValueError(f"var_names must be variables of the model: {names}; got {', '.join(map(repr, unknown))}")
    return model.replace_rvs_by_values(chosen)


def _with_own_generators(model, variables):
    """Variables that are drawn get generators that no other code advances; also a dict of these by their place in the
    model, which does not depend on what else is kept.
    """
    are_drawn = [bool(generators_of([variable])) for variable in variables]
    drawn, own_generators = with_own_generators(list(compress(variables, are_drawn)))
    for old, new in zip(compress(variables, are_drawn), drawn, strict=True):
        new.name = old.name
    places = {
        generator: place
        for place, generator in enumerate(generators_of(model.deterministics) if own_generators else ())
    }
    drawn = iter(drawn)
    kept = [next(drawn) if is_drawn else variable for variable, is_drawn in zip(variables, are_drawn, strict=True)]
    return kept, {places[generator]: new for generator, new in own_generators.items()}


def _entropy(random_seed):
    """A number that is the same for equal seeds and for generators in equal states."""
    state = get_state_from_generator(get_random_generator(random_seed))
    return int.from_bytes(hashlib.blake2b(repr(state).encode(), digest_size=16).digest(), "big")


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
            self.storage.reseed(self.chain, self.n_iterations)
            for name, value in zip(self.varnames, self.fn(*point.values()), strict=True):
                self.storage.write(self, row, name, value)
            for arrays, stats in zip(self.stats, sampler_stats, strict=True):
                for name in arrays.keys() & stats.keys():
                    arrays[name][row] = stats[name]
            if self.storage.label_file is not None and self.n_iterations >= self.n_tune:
                self._write_labels(row - self.n_warmup_rows)
            self.n_written = row + 1
        # An interrupt may come anywhere above: a row counts only when it is complete.
        self.n_iterations += 1

    def _write_labels(self, draw):
        labels = self.storage.labels_of_rows()
        # A resumed chain first repeats draws whose labels are there.
        if labels is not None:
            self.storage.label_file.write(self.chain, draw, labels)

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


def statistics_left_out(in_chunks, label_storage, var_names):
    """Names of the statistics that hold clusters and are not kept, given the names of a partition of rows in chunks and
    of its mixtures.
    """
    partition, *mixtures = in_chunks or [None]
    left_out = {FOLLOWED_LABELS} if label_storage == "none" else set()
    if var_names is not None:
        left_out |= set() if partition in var_names else {CLUSTER_COUNTS, FOLLOWED_LABELS}
        left_out |= {CLUSTER_SUMS} if set(mixtures).isdisjoint(var_names) else set()
    return left_out
