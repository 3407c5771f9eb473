"""Tables of no other part, from a DataFrame to a description of its clusters: seconds, agreement, what the log says."""

import time
import warnings

import numpy as np
import pandas as pd
from common.log_lines import logged
from common.part import Part, columns, rows_to_keep, skipping
from common.real_data_sets import keel, r_data

import pymc_nrm as nrm
from pymc_nrm.stats import adjusted_rand

TARGET = 60  # CPU seconds
STEPS = ("model", "draws", "estimate", "description")


def survey():
    found = r_data("MASS", "survey")
    return found.drop(columns="Sex"), found["Sex"]


def segment():
    X, classes = keel("segment")
    # It has only one value, for which mixture_model refuses it.
    return X.drop(columns="x3"), classes


# How to read each table, and kinds of whole numbers with few values.
SETS = {
    # This copy tells one class of the three from the others.
    "new-thyroid": (lambda: keel("new-thyroid1", "imbalanced"), {}),
    "mammographic": (lambda: keel("mammographic"), dict.fromkeys(["x1", "x3", "x4", "x5"], "categorical")),
    "led7digit": (lambda: keel("led7digit"), {}),
    "survey": (survey, {}),
    "banana": (lambda: keel("banana"), {}),
    "phoneme": (lambda: keel("phoneme"), {}),
    "segment": (segment, {}),
}


def describe(X, kinds, size, seed=1):
    """Labels, description and seconds of each step."""
    steps, seconds = {}, time.perf_counter()

    def lap(name):
        nonlocal seconds
        now = time.perf_counter()
        steps[name], seconds = now - seconds, now

    model = nrm.mixture_model(X, kinds=kinds)
    lap("model")
    idata = nrm.sample(**size, model=model, random_seed=seed, progressbar=False)
    lap("draws")
    estimate = nrm.point_estimate(idata, random_seed=seed, progressbar=False)
    lap("estimate")
    text = str(nrm.describe(idata, model, estimate))
    lap("description")
    return estimate["labels"].values, text, steps


def measure(quick, note, sets=None):
    rows = rows_to_keep("tables", quick, note, sets, method_of=lambda row: row["set"])
    for name in sets or SETS:
        with skipping(f"set {name}", note), logged() as lines, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read, kinds = SETS[name]
            X, classes = read()
            X, classes = X.reset_index(drop=True), pd.factorize(classes)[0]
            known = classes >= 0
            # Kernels are compiled and loaded.
            describe(X.iloc[:100], kinds, {"draws": 5, "tune": 5, "chains": 1})
            lines.texts.clear()
            caught.clear()
            size = {"draws": 50, "tune": 50, "chains": 1} if quick else {"chains": 2, "cores": 1}
            before = time.process_time()
            labels, text, steps = describe(X, kinds, size)
            rows.append({"set": name, "n": X.shape[0], "d": X.shape[1], "gaps": int(X.isna().sum().sum())})
            rows[-1] |= {"cpu": time.process_time() - before, **steps, "n_classes": int(classes.max()) + 1}
            rows[-1] |= {
                "n_clusters": len(set(labels)),
                "n_large": int((np.bincount(labels) * 100 >= len(labels)).sum()),
            }
            rows[-1]["ari"] = float(adjusted_rand(labels[known], classes[known]))
            rows[-1]["verdict"] = lines.verdict()
            print(*lines.texts, *[str(one.message) for one in caught], text, rows[-1], sep="\n", flush=True)
    return rows


def seconds(row):
    return sum(row[step] for step in STEPS)


def table(rows):
    shown = {"Data": lambda row: f"{row['set']}, {row['n']} x {row['d']}"}
    shown |= {
        "seconds": lambda row: f"{seconds(row):.0f}",
        "CPU seconds": lambda row: f"{row['cpu']:.0f}",
        "ARI": "ari",
    }
    shown |= {"classes": "n_classes", "clusters": "n_clusters", "of 1 % and more": "n_large", "chains": "verdict"}
    return (
        "From a DataFrame to the description of its clusters, all with defaults: `mixture_model`, `sample` (2 chains "
        "of 1000 draws after 1000, one after the other), `point_estimate`, `describe`; kernels compiled.  "
        "*ARI*: of the estimate with known classes; *chains*: what the report says.\n\n"
        f"{columns(rows, shown)}"
    )


def headline(rows):
    within = sum(row["cpu"] <= TARGET for row in rows)
    claim = f"Tables described within {TARGET} CPU s, kernels compiled"
    return [(claim, f"{within} of {len(rows)}", f"{len(rows)} of {len(rows)}", within == len(rows))] if rows else []


MEANING = (
    "Most tables are described within the target; draws take most of the time, and the point estimate a sixth to a "
    "third of it for thousands of rows."
)
PART = Part("tables", measure, table, headline=headline, options={"sets": list(SETS)}, meaning=MEANING)
