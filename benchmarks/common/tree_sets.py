"""Data sets of ``trees_of_items``: items with two levels of known classes, and simulated trees."""

from functools import partial

import numpy as np
from scipy.io import loadmat

from common.real_data_files import beside, r_data, scikit_learn
from common.tree_data import TreeData, diffusion, heavy_tails

# Classes and orders of the Linnaean system.
TAXONOMY = {
    "mammals": {
        "Proboscidea": "Elephant",
        "Perissodactyla": "Rhino Horse",
        "Artiodactyla": "Cow Camel Giraffe Deer",
        "Primates": "Chimp Gorilla",
        "Rodentia": "Mouse Squirrel",
        "Carnivora": "Tiger Lion Cat Dog Wolf Seal",
        "Cetacea": "Dolphin Whale",
    },
    "birds": {
        "Passeriformes": "Robin Finch",
        "Accipitriformes": "Eagle",
        "Galliformes": "Chicken",
        "Sphenisciformes": "Penguin",
        "Struthioniformes": "Ostrich",
    },
    "fish": {"Salmoniformes": "Salmon Trout"},
    "reptiles": {"Squamata": "Iguana", "Crocodilia": "Alligator"},
    "insects": {"Hymenoptera": "Bee Ant", "Lepidoptera": "Butterfly", "Blattodea": "Cockroach"},
}


def principal_components(X, n_components):
    """Coordinates along the first principal components, and their share of the variance."""
    left, lengths, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    share = (lengths[:n_components] ** 2).sum() / (lengths**2).sum()
    return left[:, :n_components] * lengths[:n_components], f"{n_components} components, {share:.0%} of the variance"


def nested_classes(*columns):
    """Numbers of the classes at each level, of which the first is that of the first column alone."""
    names = [" ".join(map(str, row)) for row in zip(*columns, strict=True)]
    return np.stack([np.unique(level, return_inverse=True)[1] for level in (np.asarray(columns[0]).astype(str), names)])


def animals():
    """Thirty-three animals and their classes and orders."""
    found = loadmat(beside("animals.mat"))
    X, about = principal_components(found["data"].astype("float64"), 5)
    place = {
        animal: (top, order) for top, orders in TAXONOMY.items() for order in orders for animal in orders[order].split()
    }
    truth = nested_classes(*zip(*(place[str(name[0])] for name in found["names"].ravel()), strict=True))
    return TreeData("animals", X, truth, f"102 properties, {about}; zoological class, order")


def standardised(name, table, columns, about):
    values = table.to_numpy(dtype="float64")
    return TreeData(name, (values - values.mean(axis=0)) / values.std(axis=0), nested_classes(*columns), about)


def crabs():
    import pandas as pd

    found = pd.read_csv(beside("classes/crabs.csv"))
    return standardised("crabs", found[["FL", "RW", "CL", "CW", "BD"]], (found["sp"], found["sex"]), "species, sex")


def penguins():
    found = r_data("palmerpenguins", "penguins").dropna()
    X = found[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]
    return standardised("penguins", X, (found["species"], found["sex"]), "species, sex")


def olive_oils():
    found = r_data("dslabs", "olive")
    X = found.drop(columns=["region", "area"])
    return standardised("olive oils", X, (found["region"], found["area"]), "region, area")


def digits():
    """Images of digits; their classes have one level, which is compared with both levels of an estimate."""
    found, classes = scikit_learn("digits")
    X, about = principal_components(found.to_numpy(), 10)
    labels = np.unique(classes, return_inverse=True)[1]
    return TreeData("digits", X, np.stack([labels, labels]), f"64 pixels, {about}; the digit, at both levels")


SETS = {
    "animals": animals,
    "crabs": crabs,
    "penguins": penguins,
    "olive oils": olive_oils,
    "digits": digits,
    "diffusion, 33": partial(diffusion, 33),
    "diffusion, 300": partial(diffusion, 300),
    "diffusion, 2000": partial(diffusion, 2000),
    "heavy tails, 300": partial(heavy_tails, 300),
    "heavy tails, 2000": partial(heavy_tails, 2000),
}


def load_all(names, note):
    """Sets by name; those that are not installed, or not beside the repository, are left out with a note."""
    found = {}
    for name in names:
        try:
            found[name] = SETS[name]()
        except ImportError as error:
            note(f"{name} skipped: {error.name} is not installed")
        except FileNotFoundError as error:
            note(f"{name} skipped: {error}")
    return found
