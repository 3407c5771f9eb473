"""Clustering of real data with known classes: agreement, held-out density, calibration and time, for all methods."""

from functools import partial

import numpy as np
from common import real_data_ours as ours
from common.part import Part, rows_to_keep, skipping
from common.real_data_fits import (
    agreement,
    brier_score,
    held_out,
    reliability,
    together,
)
from common.real_data_report import headline, pictures, table
from common.real_data_sets import CATALOGUE, load_all
from peers import latent_classes, partitioners

GAUSSIAN = ("continuous", "counts")
DISCRETE = ("binary", "counts", "categorical")
# Method, the kinds of data it is for, and the kinds for which its density is one of the data.
METHODS = {
    ours.NAME: (ours.fit, None, ours.KINDS_WITH_DENSITY),
    ours.AS_READ: (partial(ours.fit, write_model=ours.default_reading), None, ()),
    "GaussianMixture, BIC": (partitioners.em, GAUSSIAN, ("continuous",)),
    "BayesianGaussianMixture": (partitioners.variational, GAUSSIAN, ("continuous",)),
    "latent classes, BIC": (latent_classes.fit, DISCRETE, DISCRETE),
    "k-means, silhouette": (partitioners.k_means, None, ()),
    "HDBSCAN": (partitioners.hdbscan, None, ()),
    "HDBSCAN, 15": (partial(partitioners.hdbscan, min_cluster_size=15), None, ()),
}
QUICK_SETS = ("iris", "votes")


def on_all_items(data, method, label, seed=1):
    """Agreement with the classes, calibration and time of one method on all items of a set."""
    found = method(data, seed)
    row = {"clusters": len(np.unique(found.labels)), "seconds": found.seconds} | found.about
    if data.classes is not None:
        similarity = together(found.labels) if found.similarity is None else found.similarity
        row |= agreement(found.labels, data.classes)
        row["brier"] = brier_score(similarity, data.classes)
        if found.similarity is not None:
            row["reliability"] = reliability(similarity, data.classes)
    if found.fused_labels is None:
        return [row]
    fused = {
        "method": ours.FUSED_NAMES[label],
        "clusters": len(np.unique(found.fused_labels)),
        "seconds": found.seconds,
    }
    if data.classes is not None:
        fused |= agreement(found.fused_labels, data.classes)
    return [row, fused]


def measure(quick, note, sets=None, methods=None):
    chosen = sets or (QUICK_SETS if quick else CATALOGUE)
    rows = rows_to_keep("real_data", quick, note, sets, methods, origin)
    for name, data in load_all(chosen, note).items():
        n, d = data.X.shape
        same = {"set": name, "kind": data.kind, "n": n, "d": d, "classes": len(data.class_names), "about": data.about}
        for label in methods or METHODS:
            method, kinds, with_density = METHODS[label]
            if kinds is not None and data.kind not in kinds:
                continue
            if label == ours.AS_READ and not ours.reads_otherwise(data):
                continue
            with skipping(label, note):
                found = [same | {"method": label} | row for row in on_all_items(data, method, label)]
                if data.kind in with_density:
                    found[0]["held_out"] = held_out(data, ours.fit_for_density if label == ours.NAME else method)
                rows += found
                print(f"{name}: {label}: {found[0]}", flush=True)
    if not quick:
        note_absent(rows, note)
    order = [list(CATALOGUE), list(METHODS)]
    return sorted(rows, key=lambda row: (order[0].index(row["set"]), order[1].index(origin(row))))


def note_absent(rows, note):
    """Say for which sets there are no rows of the package, or of no method at all."""
    found = {name: {origin(row) for row in rows if row["set"] == name} for name in CATALOGUE}
    for who, absent in (
        ("the package, only by peers", [name for name, here in found.items() if here and ours.NAME not in here]),
        ("peers, only by the package", [name for name, here in found.items() if here and here <= {*ours.FUSED_NAMES}]),
        ("any method", [name for name, here in found.items() if not here]),
    ):
        if absent:
            note(f"Not measured by {who}: {'; '.join(absent)}.")


def origin(row):
    """The method behind a row."""
    return next((name for name, fused in ours.FUSED_NAMES.items() if fused == row["method"]), row["method"])


OPTIONS = {"sets": CATALOGUE, "methods": METHODS}
MEANING = (
    "The package predicts items better than all peers on nearly all sets.  Its components are pure and split classes; "
    "fused clusters agree with classes as well as the best peer on average."
)
PART = Part("real_data", measure, table, pictures, headline, OPTIONS, MEANING, peers=("scikit-learn",))
