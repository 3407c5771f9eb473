"""Groups of trajectories: CPU seconds from a table of 500 subjects by 6 visits to the description of three groups."""

import time
import warnings

import numpy as np
import pandas as pd
from common.part import Part, columns

import pymc_nrm as nrm
from pymc_nrm.stats import adjusted_rand

TARGET, N_SUBJECTS, N_VISITS = 60, 500, 6  # CPU seconds
LEVELS, SLOPES, SHARES = np.array([10.0, 12.0, 8.0]), np.array([0.0, 1.0, -0.5]), [0.5, 0.3, 0.2]
FORMS = {
    "number unknown": {},
    "three groups": {"n_groups": 3},
    "three groups, membership by age": {"n_groups": 3, "membership": "age"},
}


def simulate(n, seed=1):
    """Rows of subjects and their groups; intercepts of subjects and errors have standard deviation 1."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, n, p=SHARES)
    visit = np.tile(np.arange(N_VISITS), (n, 1))
    t = visit + rng.uniform(-0.3, 0.3, visit.shape)
    y = LEVELS[group][:, None] + SLOPES[group][:, None] * t + rng.normal(size=(n, 1)) + rng.normal(size=t.shape)
    age = 50.0 + 8.0 * group + 8.0 * rng.normal(size=n)
    table = {"subject": np.repeat(np.arange(n), N_VISITS), "t": t.ravel(), "y": y.ravel()}
    return pd.DataFrame(table | {"age": np.repeat(age, N_VISITS)}), group


def describe(df, options, size, seed=1):
    """Labels, number of groups in draws, and the text of the description."""
    model = nrm.growth.growth_mixture(df, subject="subject", time="t", target="y", **options)
    idata = nrm.sample(**size, model=model, random_seed=seed, progressbar=False)
    estimate = nrm.point_estimate(idata, random_seed=seed, progressbar=False)
    text = str(nrm.describe(idata, model, estimate))
    return estimate["labels"].values, idata["posterior"]["z_n_clusters"].values, text


def measure(quick, note):
    warnings.filterwarnings("ignore", category=UserWarning)
    rows = []
    df, group = simulate(100 if quick else N_SUBJECTS)
    for name, options in FORMS.items():
        # Kernels are compiled and loaded.
        describe(df[df["subject"] < 60], options, {"draws": 5, "tune": 5, "chains": 1, "quiet": True})
        size = {"draws": 100, "tune": 100, "chains": 1} if quick else {"chains": 2, "cores": 1}
        before = time.process_time()
        labels, numbers, text = describe(df, options, size)
        rows.append({"form": name, "n": len(group), "cpu": time.process_time() - before})
        rows[-1] |= {"groups": float(numbers.mean()), "ari": float(adjusted_rand(labels, group))}
        print(text, rows[-1], sep="\n", flush=True)
    return rows


def table(rows):
    shown = {"Model": "form", "CPU s": "cpu", "groups": "groups", "ARI": "ari"}
    return (
        f"{rows[0]['n'] if rows else 0} subjects by {N_VISITS} visits in three groups, from a DataFrame to the "
        "description, all with defaults: `growth_mixture`, `sample` (2 chains of 1000 draws after 1000, more if they "
        "are too few), `point_estimate`, `describe`; kernels compiled.  *groups*: posterior mean; *ARI*: "
        f"of the estimate with the groups.\n\n{columns(rows, shown)}"
    )


def headline(rows):
    return [
        (f"Growth mixture, {row['form']}", f"{row['cpu']:.3g} CPU s", f"at most {TARGET} CPU s", row["cpu"] <= TARGET)
        for row in rows
    ]


MEANING = "Intercepts of subjects are integrated out, so that a draw costs what one of a regression costs."
PART = Part("growth", measure, table, headline=headline, meaning=MEANING)
