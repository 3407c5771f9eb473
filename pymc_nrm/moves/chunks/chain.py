"""The state of a chain at the driver: exact sums of clusters, and changes of labels that blocks have yet to make."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import Centred, add_item, prepare_data, statistics_size
from pymc_nrm.families.components import add_densities_of_items, component_panel, write_component
from pymc_nrm.families.features import features
from pymc_nrm.families.gaps import check_filled
from pymc_nrm.families.product import product_data
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.moves.chunks.exact_sums import add_rounded, quanta_of, round_statistics
from pymc_nrm.moves.chunks.rows_in_lanes import draw_columns

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_FIRST_STEP, _SECOND_STEP = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_FIVE, _SIX, _PLACE = np.uint64(5), np.uint64(6), np.uint64(26)
_UNIT = 2.0**-53


@kernel
def philox(a, b, c, d, first_key, second_key):
    """Four words of 32 bits from a counter of four and a key of two, all uint64."""
    for _ in range(10):
        first, second = _FIRST_FACTOR * a, _SECOND_FACTOR * c
        a = (second >> _HALF) ^ b ^ first_key
        c = (first >> _HALF) ^ d ^ second_key
        b, d = second & _LOW, first & _LOW
        first_key = (first_key + _FIRST_STEP) & _LOW
        second_key = (second_key + _SECOND_STEP) & _LOW
    return a, b, c, d


@kernel
def row_uniform(seed, call, stream, row):
    """A number in [0, 1) of 53 bits; the seed is uint64, the others are whole numbers of at least 0."""
    number = np.uint64(row)
    a, b, _, _ = philox(number & _LOW, number >> _HALF, np.uint64(call), np.uint64(stream), seed & _LOW, seed >> _HALF)
    return float(((a >> _FIVE) << _PLACE) + (b >> _SIX)) * _UNIT


class Changes(NamedTuple):
    """Changes of labels that the next pass makes first: a row of cluster k and side s goes to ``target[k, s]``, and
    then the rows ``rows``, in increasing order, get the labels ``labels``.
    """

    target: Any
    rows: Any
    labels: Any


def no_changes(n_clusters, new_names=None):
    """Changes that only give clusters new names, if any."""
    names = np.arange(n_clusters) if new_names is None else new_names
    return Changes(np.stack([names, names], axis=1), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Preparation(NamedTuple):
    """A family, with hyperparameters of full shape, and the centre and grid that the data of all blocks share; None for
    families whose data are not centred.  ``places`` are its columns, or None for all.
    """

    family: Any
    center: Any = None
    grid: Any = None
    places: Any = None

    def __call__(self, values):
        """Rows (m, d) as kernels read them."""
        values = values if self.places is None else np.ascontiguousarray(values[:, self.places])
        check_filled(type(self.family), values, "rows in chunks")
        if self.center is None:
            return prepare_data(self.family, values)
        return Centred(values - self.center, self.center, self.grid)

    def is_like(self, other):
        """Whether both prepare data in the same way; hyperparameters may differ."""
        same = isinstance(other, Preparation) and all(
            one is another for one, another in zip(self[1:], other[1:], strict=True)
        )
        return type(self.family) is type(other.family) and same


class Preparations(NamedTuple):
    """The family of all mixtures of a partition, and how the data of each are prepared."""

    family: Any
    parts: Any

    def __call__(self, values):
        """Rows (m, d) as kernels read them."""
        return product_data([part(values) for part in self.parts])

    def is_like(self, other):
        """Whether both prepare data in the same way; hyperparameters may differ."""
        return self.parts is getattr(other, "parts", None)


class Block:
    """Rows ``first`` to ``first + n - 1``, their labels and sides, and where the rows of the sample are among them.

    ``read`` returns the values (n, d), float64.  ``kept`` says whether prepared data stay in memory.
    """

    def __init__(self, first, n, read, kept=True):
        self.first, self.n, self.read, self.kept = first, n, read, kept
        self.labels, self.sides = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int8)
        self._preparation, self._data = None, None

    def unread(self):
        """Return the block without what reads it, for another process."""
        return Block(self.first, self.n, None, kept=False)

    def reset(self):
        """Put all rows into one cluster."""
        self.labels.fill(0)
        self.sides.fill(0)

    def data(self, preparation):
        """The rows as kernels read them."""
        if not self.kept:
            return preparation(self.read())
        if self._preparation is None or not preparation.is_like(self._preparation):
            self._data = preparation(self.read())
        self._preparation = preparation
        return self._data

    def own(self, rows):
        """The slice of increasing row numbers that are in this block."""
        return slice(*np.searchsorted(rows, [self.first, self.first + self.n]))

    def begin(self, changes):
        """Make the changes of labels that are due."""
        make_changes(self.labels, self.sides, changes.target)
        own = self.own(changes.rows)
        self.labels[changes.rows[own] - self.first] = changes.labels[own]

    def labels_of(self, rows):
        """Labels of increasing row numbers, and 0 for those of other blocks."""
        found, own = np.zeros(len(rows), dtype=np.int64), self.own(rows)
        found[own] = self.labels[rows[own] - self.first]
        return found


@kernel(threaded=True)
def make_changes(labels, sides, target):
    """Give rows the labels of ``target`` (n_clusters, 2), and side 0."""
    for i in range(labels.shape[0]):
        labels[i] = target[labels[i], sides[i]]
        sides[i] = 0


class Atoms(NamedTuple):
    """Atoms above the level: parameters (n_atoms, size) and logarithms of jumps (n_atoms,).

    ``names[k]`` is the new label of the rows of cluster k, or -1 if they draw one of the atoms; ``own[k]`` is then the
    atom of the cluster, or -1 if it has none.
    """

    names: Any
    own: Any
    parameters: Any
    log_jumps: Any


@kernel(inner_loop=True, threaded=True)
def relabel_rows(labels, first, family, data, atoms, seed, call, quanta, counts, sums):
    """Draw the labels of the rows whose atoms are above the level, and sum statistics of rows that leave their atoms or
    come; False if one is too large.  Shapes: ``labels`` (n,), ``counts`` (n_atoms,), ``sums`` (n_atoms, size).
    """
    n_atoms = atoms.log_jumps.shape[0]
    width = (n_atoms + LANES - 1) // LANES * LANES
    panel, values, uniforms = component_panel(family, width), np.empty((n_atoms, LANES)), np.empty(LANES)
    for k in range(n_atoms):
        write_component(family, atoms.parameters[k], panel, k)
    memory, rounded = np.zeros(sums.shape[1]), np.empty(sums.shape[1], dtype=np.int64)
    items, likely, chosen = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    right, n, n_waiting = True, labels.shape[0], 0
    for row in range(n + 1):
        if row < n:
            if atoms.names[labels[row]] >= 0:
                labels[row] = atoms.names[labels[row]]
            else:
                items[n_waiting] = row
                n_waiting += 1
        if n_waiting < LANES and (row < n or n_waiting == 0):
            continue
        # Lanes beyond the last row hold the first one again.
        for lane in range(n_waiting, LANES):
            items[lane] = items[0]
        for lane in range(LANES):
            likely[lane] = max(atoms.own[labels[items[lane]]], 0)
            uniforms[lane] = row_uniform(seed, call, 0, first + items[lane])
        if n_atoms > 1:
            for k in range(n_atoms):
                for lane in range(LANES):
                    values[k, lane] = atoms.log_jumps[k]
            add_densities_of_items(family, panel, data, items, n_atoms, values)
            draw_columns(uniforms, values, n_atoms, likely, chosen)
        for lane in range(n_waiting):
            i, name = items[lane], chosen[lane]
            before = atoms.own[labels[i]]
            labels[i] = name
            if name != before:
                right &= round_statistics(family, data, i, quanta, memory, rounded)
                counts[name] += 1
                add_rounded(rounded, sums[name], 1)
                if before >= 0:
                    counts[before] -= 1
                    add_rounded(rounded, sums[before], -1)
        n_waiting = 0
    return right


def relabel(block, message):
    """Draw labels given atoms; return what their counts and sums gain, and the labels of the sample."""
    changes, preparation, quanta, atoms, seed, call, sample = message
    block.begin(changes)
    n_atoms, size = len(atoms.log_jumps), len(quanta.quantum)
    counts, sums = np.zeros(n_atoms, dtype=np.int64), np.zeros((n_atoms, size), dtype=np.int64)
    family, data = preparation.family, block.data(preparation)
    right = relabel_rows(block.labels, block.first, family, data, atoms, seed, call, quanta, counts, sums)
    check_bounds(right, block)
    return counts, sums, block.labels_of(sample)


def gather_rows(block, message):
    """Labels (m,) and values (m, d) of increasing row numbers."""
    changes, rows, n_columns = message
    block.begin(changes)
    values, own = np.zeros((len(rows), n_columns)), block.own(rows)
    values[own] = block.read()[rows[own] - block.first]
    return block.labels_of(rows), values


def read_labels(block, message):
    """Labels (m,) of increasing row numbers, after the changes."""
    changes, rows = message
    block.begin(changes)
    return (block.labels_of(rows),)


def sum_clusters(block, message):
    """Counts (n_clusters,) and sums (n_clusters, size) of the labels as they are after the changes."""
    changes, preparation, quanta, n_clusters = message
    block.begin(changes)
    sums = np.zeros((n_clusters, len(quanta.quantum)), dtype=np.int64)
    right = add_rows(block.labels, preparation.family, block.data(preparation), quanta, sums)
    check_bounds(right, block)
    return np.bincount(block.labels, minlength=n_clusters), sums


@kernel(threaded=True)
def add_rows(labels, family, data, quanta, sums):
    """Add the rounded statistics of all rows to those of their clusters (n_clusters, size)."""
    memory, rounded = np.zeros(sums.shape[1]), np.empty(sums.shape[1], dtype=np.int64)
    right = True
    for i in range(labels.shape[0]):
        right &= round_statistics(family, data, i, quanta, memory, rounded)
        add_rounded(rounded, sums[labels[i]], 1)
    return right


def rounded_rows(preparation, data, n, quanta):
    """Statistics of n prepared rows as numbers of quanta, int64 (n, size)."""
    sums = np.zeros((n, len(quanta.quantum)), dtype=np.int64)
    if not add_rows(np.arange(n, dtype=np.int32), preparation.family, data, quanta, sums):
        raise ValueError("statistics of rows are larger than those that were first read: the data have changed")
    return sums


def largest_statistics(block, preparation):
    """Largest absolute statistics of the rows of a block (size,)."""
    largest = np.zeros(statistics_size(preparation.family))
    find_largest(block.n, preparation.family, block.data(preparation), largest)
    return largest


@kernel(threaded=True)
def find_largest(n, family, data, largest):
    """Write the largest absolute statistics of n rows."""
    memory = np.zeros(largest.shape[0])
    for i in range(n):
        memory.fill(0.0)
        add_item(family, memory, data, i, 1.0)
        for j in range(largest.shape[0]):
            largest[j] = max(largest[j], abs(memory[j]))


def check_bounds(right, block):
    """Raise an error if statistics of a block are larger than they were."""
    if not right:
        raise ValueError(
            f"rows {block.first} to {block.first + block.n - 1} have larger statistics than when they were first read: "
            "the data have changed"
        )


class Clusters(NamedTuple):
    """Counts (n_clusters,) and sums of statistics in quanta (n_clusters, size), both int64."""

    counts: Any
    sums: Any


def measured_quanta(engine, preparation):
    """Quanta of the statistics of all rows."""
    return quanta_of(np.max(list(engine.each(largest_statistics, preparation)), axis=0), engine.n_rows)


class Chain:
    """Clusters of the rows of an engine, and what its passes need.

    ``sample`` are row numbers in increasing order, chosen without looking at labels; their values (n_sample, d) and
    labels are at the driver.  ``preparation`` may be replaced by one with other hyperparameters.
    """

    def __init__(self, engine, preparation, sample, sample_values, quanta=None):
        self.engine, self.preparation = engine, preparation
        self.sample, self.sample_values = sample, sample_values
        self.n, self.n_columns = engine.n_rows, sample_values.shape[1]
        self.quanta = measured_quanta(engine, preparation) if quanta is None else quanta
        self.sample_data = preparation(sample_values)
        # Where the rows of the sample are, for proposals that look at near rows.
        self.points = features(self.sample_data, np.random.default_rng(0))
        self._whole = None
        self.reset()

    def reset(self):
        """Put all rows into one cluster."""
        self.engine.reset()
        self.changes = no_changes(1)
        if self._whole is None:
            self._whole = Clusters(*self.engine.run(sum_clusters, (self.changes, self.preparation, self.quanta, 1)))
        self.clusters = self._whole
        self._sample_labels = np.zeros(len(self.sample), dtype=np.int64)
        self.seed, self.call = np.uint64(0), 0

    def restore(self, labels):
        """Give all rows the labels (n,) of an earlier chain, 0 to K - 1."""
        n_clusters = int(labels.max()) + 1
        self.engine.set_labels(labels)
        self.changes = no_changes(n_clusters)
        clusters = self.engine.run(sum_clusters, (self.changes, self.preparation, self.quanta, n_clusters))
        self.set(Clusters(*clusters), self.changes, labels[self.sample].astype(np.int64))

    def begin_sweep(self, rng):
        """Draw the seed of the numbers of rows of a sweep."""
        self.seed, self.call = rng.integers(2**64, dtype=np.uint64), 0

    def next_call(self):
        """Seed and number of another call, which draws numbers of rows of its own."""
        self.call += 1
        return self.seed, self.call

    def take_changes(self):
        """Changes of labels for the next pass."""
        changes, self.changes = self.changes, no_changes(len(self.clusters.counts))
        return changes

    def set(self, clusters, changes, sample_labels=None):
        """Replace the clusters, with changes of labels for the next pass."""
        self.clusters, self.changes, self._sample_labels = clusters, changes, sample_labels

    def statistics(self, sums=None):
        """Statistics of the clusters, or of sums (..., size)."""
        return (self.clusters.sums if sums is None else sums) * self.quanta.quantum

    def sample_labels(self):
        """Labels of the sample, (n_sample,)."""
        if self._sample_labels is None:
            [self._sample_labels] = self.engine.run(read_labels, (self.take_changes(), self.sample))
        return self._sample_labels

    def labels(self):
        """Labels of all rows, (n,)."""
        self.engine.run(read_labels, (self.take_changes(), self.sample))
        return self.engine.labels()
