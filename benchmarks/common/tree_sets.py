"""Items with places in a tree: real sets with classes at two levels, and simulated trees."""

from functools import partial
from typing import NamedTuple

import numpy as np

from common import real_data_sets as files

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


class TreeData(NamedTuple):
    """Items with known classes at each level."""

    name: str
    X: np.ndarray
    truth: np.ndarray
    about: str


def nested_restaurants(n, depth, alpha, rng):
    """Labels of nested Chinese restaurants, shape (depth, n)."""
    truth = np.zeros((depth, n), dtype="int64")
    parents = np.zeros(n, dtype="int64")
    for level in range(depth):
        sizes, above = [], []
        for item in range(n):
            siblings = [k for k, parent in enumerate(above) if parent == parents[item]]
            weights = np.array([*(sizes[k] for k in siblings), alpha], dtype="float64")
            chosen = rng.choice(len(weights), p=weights / weights.sum())
            if chosen == len(siblings):
                siblings.append(len(sizes))
                sizes.append(0)
                above.append(parents[item])
            sizes[siblings[chosen]] += 1
            truth[level, item] = siblings[chosen]
        parents = truth[level]
    return truth


def diffused_means(truth, steps, d, rng):
    """Means of the leaves of all items, which take a normal step of some variance at every level: shape (n, d)."""
    means = np.zeros((truth.shape[1], d))
    for row, step in zip(truth, steps, strict=True):
        means += np.sqrt(step) * rng.normal(size=(row.max() + 1, d))[row]
    return means


STEPS = (40.0, 15.0, 6.0)


def diffusion(n, d=6, depth=3, alpha=1.0, steps=STEPS, seed=1):
    """Data from the law that ``NormalDiffusion`` assumes, with equal variances, which suit methods of distances."""
    rng = np.random.default_rng([n, d, seed])
    truth = nested_restaurants(n, depth, alpha, rng)
    X = diffused_means(truth, steps, d, rng) + rng.normal(size=(n, d))
    about = f"nested Chinese restaurants, alpha = {alpha:g}; normal steps and noise"
    return TreeData(f"diffusion, {n}", X, truth, about)


def heavy_tails(n, d=6, branches=(4, 3, 3), seed=1):
    """The same with leaves of different shapes, and t tails with 3 degrees of freedom."""
    rng = np.random.default_rng([n, d, seed, 3])
    truth = equal_branches(n, branches, rng)
    n_leaves = int(truth[-1].max()) + 1
    shapes = rng.normal(size=(n_leaves, d, d)) / np.sqrt(d) * rng.lognormal(0.0, 0.5, size=(n_leaves, 1, 1))
    noise = np.einsum("ni,nij->nj", rng.normal(size=(n, d)), shapes[truth[-1]])
    noise /= np.sqrt(rng.chisquare(3, size=(n, 1)))  # the variance of t with 3 degrees of freedom is 3
    about = f"{n_leaves} leaves of one size, each with its covariance; t noise, 3 degrees"
    return TreeData(f"heavy tails, {n}", diffused_means(truth, STEPS, d, rng) + noise, truth, about)


def equal_branches(n, branches, rng):
    """Labels of the items in a tree whose nodes have equally many children and items, shape (depth, n)."""
    leaf = rng.permutation(np.arange(n) % int(np.prod(branches)))
    below = [int(np.prod(branches[level + 1 :])) for level in range(len(branches))]
    return np.stack([leaf // number for number in below])


def nested_classes(*columns):
    """Numbers of the classes at each level, of which the first is that of the first column alone."""
    names = [" ".join(map(str, row)) for row in zip(*columns, strict=True)]
    return np.stack([np.unique(level, return_inverse=True)[1] for level in (np.asarray(columns[0]).astype(str), names)])


def animals():
    """Thirty-three animals and their classes and orders."""
    X, _ = files.animals()
    names = X.index
    X, about = components(X, 5)
    place = {
        animal: (top, order) for top, orders in TAXONOMY.items() for order in orders for animal in orders[order].split()
    }
    truth = nested_classes(*zip(*(place[name] for name in names), strict=True))
    return TreeData("animals", X, truth, f"102 properties, {about}; zoological class, order")


def components(X, n_components):
    """Coordinates along the first principal components, and what they are."""
    X, share = files.principal_components(X, n_components)
    return X.to_numpy(), f"{n_components} components, {share:.0%} of the variance"


def standardised(name, table, about):
    """A table whose last two columns are the classes of two levels."""
    values = table.iloc[:, :-2].to_numpy(dtype="float64")
    X = (values - values.mean(axis=0)) / values.std(axis=0)
    return TreeData(name, X, nested_classes(*(table[column] for column in table.columns[-2:])), about)


def crabs():
    X = files.pd.read_csv(files.beside("classes/crabs.csv"))[["FL", "RW", "CL", "CW", "BD", "sp", "sex"]]
    return standardised("crabs", X, "species, sex")


def penguins():
    features = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    X = files.r_data("palmerpenguins", "penguins").dropna()[[*features, "species", "sex"]]
    return standardised("penguins", X, "species, sex")


def olive_oils():
    X, classes = files.r_set("dslabs", "olive", ["region", "area"])
    return standardised("olive oils", X.join(classes), "region, area")


def digits():
    """Images of digits; their classes have one level, which is compared with both levels of an estimate."""
    found, classes = files.scikit_learn("digits")
    X, about = components(found, 10)
    labels = np.unique(classes, return_inverse=True)[1]
    return TreeData("digits", X, np.stack([labels, labels]), f"64 pixels, {about}; the digit, at both levels")


SETS = {"animals": animals, "crabs": crabs, "penguins": penguins, "olive oils": olive_oils, "digits": digits}
SETS |= {f"diffusion, {n}": partial(diffusion, n) for n in (33, 300, 2000)}
SETS |= {f"heavy tails, {n}": partial(heavy_tails, n) for n in (300, 2000)}
