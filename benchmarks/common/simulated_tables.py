"""Tables of one group, and of several, whose rows and columns are few: what a default should report of them."""

import zlib
from typing import NamedTuple

import numpy as np
import pandas as pd

ROWS = (20, 40, 100, 300, 1000)
SETS = range(1, 21)
# Kinds of tables of one group, and their numbers of columns.
ONE_GROUP = {
    "normal": (1, 3, 10),
    "t": (1, 3, 10),
    "uniform": (1, 3, 10),
    "binary": (3, 10),
    "categories": (3, 10),
    "counts": (3, 10),
    "mixed": (5, 10),
}
# Tables of several groups: rows and columns.
HALVES = [(n, d) for n in (40, 100, 300) for d in (1, 3, 8)]
TENTH = [(n, d) for n in (40, 100, 300) for d in (3, 8)]
THREE = [(n, d) for n in (100, 300) for d in (3, 8)]
WIDE = [(186, 30)]
BINARY_CLASSES = [(300, 6), (300, 12), (500, 40), (186, 300)]
CATEGORICAL_CLASSES = [(300, 6), (500, 40), (186, 100), (186, 300)]
# By the number of items: how many latent classes, and the concentration of their probabilities around common ones.
CLASSES = {6: (3, 1.0), 12: (3, 2.0), 40: (4, 10.0), 100: (4, 20.0), 300: (4, 20.0)}
LEVELS, TAIL, NUMERIC_SHARE = "abcd", 5, 2


class Cell(NamedTuple):
    """Tables of one kind and shape."""

    kind: str
    n: int
    d: int
    power: bool  # whether there are several groups

    @property
    def name(self):
        return f"{self.kind} {self.n} x {self.d}"


class Table(NamedTuple):
    """A simulated table."""

    X: pd.DataFrame
    kinds: dict  # of its columns, for `mixture_model`
    groups: np.ndarray  # of its rows

    @property
    def kind(self):
        """What `common.real_data_sets` calls data of these columns."""
        found = set(self.kinds.values())
        names = {"numeric": "continuous", "binary": "binary", "categorical": "categorical", "count": "counts"}
        return names[found.pop()] if len(found) == 1 else "mixed"

    @property
    def values(self):
        """Rows as floats; categories become the numbers of their levels."""
        columns = [x.cat.codes if isinstance(x.dtype, pd.CategoricalDtype) else x for _, x in self.X.items()]
        return np.column_stack(columns).astype(float)


def cells():
    """All cells, by name."""
    found = [Cell(kind, n, d, False) for kind, columns in ONE_GROUP.items() for n in ROWS for d in columns]
    several = {
        "halves": HALVES,
        "a tenth": TENTH,
        "three": THREE,
        "in a third of columns": WIDE,
        "binary classes": BINARY_CLASSES,
        "categorical classes": CATEGORICAL_CLASSES,
    }
    found += [Cell(kind, n, d, True) for kind, shapes in several.items() for n, d in shapes]
    return {cell.name: cell for cell in found}


def simulate(cell, number):
    """A table of a cell, the same one each time."""
    rng = np.random.default_rng([zlib.crc32(cell.kind.encode()), cell.n, cell.d, number])
    groups = np.zeros(cell.n, dtype=int)
    if cell.kind in NUMERIC:
        return _table(NUMERIC[cell.kind](rng, cell.n, cell.d), ["numeric"] * cell.d, groups)
    if cell.kind in SHIFTED:
        means, groups = SHIFTED[cell.kind](rng, cell.n, cell.d)
        return _table(means[groups] + rng.normal(size=(cell.n, cell.d)), ["numeric"] * cell.d, groups)
    if cell.kind in CLASS_LEVELS:
        n_classes, concentration = CLASSES[cell.d]
        groups = rng.permutation(np.arange(cell.n) % n_classes)
        levels, kind = CLASS_LEVELS[cell.kind]
        columns = [_answers(rng, groups, levels, concentration) for _ in range(cell.d)]
        return _table(columns, [kind] * cell.d, groups)
    kinds = COLUMNS[cell.kind]
    kinds = [kinds[k % len(kinds)] for k in range(cell.d)]
    return _table([INDEPENDENT[kind](rng, cell.n) for kind in kinds], kinds, groups)


def _table(columns, kinds, groups):
    columns = columns.T if isinstance(columns, np.ndarray) else columns
    names = [f"x{k + 1}" for k in range(len(kinds))]
    as_read = {
        name: pd.Categorical([LEVELS[level] for level in x]) if kind == "categorical" else x
        for name, kind, x in zip(names, kinds, columns, strict=True)
    }
    return Table(pd.DataFrame(as_read), dict(zip(names, kinds, strict=True)), groups)


def _normal(rng, n, d):
    """Normal rows with correlations."""
    return rng.normal(size=(n, 2 * d)) @ rng.normal(size=(2 * d, d)) / np.sqrt(2 * d)


def _t(rng, n, d):
    return _normal(rng, n, d) / np.sqrt(rng.chisquare(TAIL, (n, 1)) / TAIL)


def _uniform(rng, n, d):
    return rng.uniform(-1.0, 1.0, (n, d))


def _directions(rng, d, k):
    """Columns of k orthogonal unit vectors, shape (d, k)."""
    return np.linalg.qr(rng.normal(size=(d, k)))[0]


def _two(rng, n, d, share, distance):
    means = np.array([[0.0], [distance]]) @ _directions(rng, d, 1).T
    return means, rng.permutation((np.arange(n) < share * n).astype(int))


def _three(rng, n, d):
    corners = 4.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    return corners @ _directions(rng, d, 2).T, rng.permutation(np.arange(n) % 3)


def _in_a_third(rng, n, d):
    """Four groups whose means differ in a third of the columns, by about 2 standard deviations in each."""
    means = np.zeros((4, d))
    means[:, : d // 3] = np.sqrt(2.0) * rng.normal(size=(4, d // 3))
    return means, rng.permutation(np.arange(n) % 4)


NUMERIC = {"normal": _normal, "t": _t, "uniform": _uniform}
SHIFTED = {
    "halves": lambda rng, n, d: _two(rng, n, d, 0.5, 4.0),
    "a tenth": lambda rng, n, d: _two(rng, n, d, 0.1, 5.0),
    "three": _three,
    "in a third of columns": _in_a_third,
}
CLASS_LEVELS = {"binary classes": (2, "binary"), "categorical classes": (4, "categorical")}


def _answers(rng, groups, levels, concentration):
    """Levels of an item: probabilities of classes are Dirichlet about common ones, which are Dirichlet(2, ..., 2)."""
    while True:
        common = rng.dirichlet(np.full(levels, 2.0))
        p = rng.dirichlet(concentration * common + 1e-3, groups.max() + 1)
        x = (rng.random(len(groups))[:, None] > p.cumsum(axis=1)[groups, :-1]).sum(axis=1)
        # The recipes refuse constant columns.
        if x.min() < x.max():
            return x


def _counts(rng, n):
    while True:
        x = rng.poisson(rng.lognormal(1.0, 0.7), n)
        if x.min() < x.max():
            return x


# With one class, the concentration does not matter.
INDEPENDENT = {
    "numeric": lambda rng, n: rng.normal(size=n),
    "binary": lambda rng, n: _answers(rng, np.zeros(n, dtype=int), 2, 10.0),
    "categorical": lambda rng, n: _answers(rng, np.zeros(n, dtype=int), 4, 10.0),
    "count": _counts,
}
COLUMNS = {
    "binary": ["binary"],
    "categories": ["categorical"],
    "counts": ["count"],
    "mixed": ["numeric", "numeric", "binary", "categorical", "count"],
}
