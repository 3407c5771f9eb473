"""Sweeps of NestedGibbs: time by size, memory, and whether chains from different starts agree."""

import time

import numpy as np
import pymc as pm
from common import tree_sets
from common.chains import time_draws
from common.part import Part, columns, groups, interval, skipping, spread, where
from common.pictures import exponent, fits, scaling_picture
from common.processes import call, rise_of_memory, tells_memory
from common.tree_sets import balanced, diffusion

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import canonical_labels

DIFFUSION, PUBLISHED, ITEMS_ONLY = "NormalDiffusion", "published model", "NormalDiffusion, items only"
MODELS = (DIFFUSION, PUBLISHED, ITEMS_ONLY)
DEPTH, FEATURES = 3, 10
SHOWN_DRAWS = (1, 5, 20, 60)
MEGA = 1e6


def model_of(X, name, depth=DEPTH):
    """Model with the default hyperparameters of the families; the paper's concentrations for the published one."""
    with pm.Model() as model:
        if name == PUBLISHED:
            weights = nrm.HierarchicalDirichletProcess(1.15, 1.0)
            tree = nrm.NestedPartition("tree", nrm.DirichletProcess(0.3), depth=depth, weights=weights, n=len(X))
            nrm.Mixture("x", tree, nrm.NormalWishart.from_data(X), observed=X)
        else:
            tree = nrm.NestedPartition("tree", nrm.DirichletProcess(1.0), depth=depth, n=len(X))
            nrm.Mixture("x", tree, nrm.NormalDiffusion.from_data(X, depth), observed=X)
    return model


def new_chain(X, name, depth=DEPTH, start=None, seed=1):
    """Step and first point of a chain; without a start, the step chooses its own in the first draw."""
    model = model_of(X, name, depth)
    options = {"n_moves": 0} if name == ITEMS_ONLY else {}
    with model:
        step = nrm.NestedGibbs([model["tree"]], rng=np.random.default_rng(seed), **options)
    step.setup_chain(np.random.default_rng(seed), 0, 1)
    point = model.initial_point()
    return step, point if start is None else point | {"tree": start}


def sweep_times(X, name, depth, target, n_warm=5, repeats=3):
    """CPU seconds per sweep after a few: several means over some sweeps; and the last number of nodes."""
    step, point = new_chain(X, name, depth)
    for _ in range(n_warm):
        point, _ = step.step(point)
    times, stats = time_draws(step, point, target, repeats)
    return times, stats[0]["n_nodes"]


def memory_rise(n, name, n_sweeps=10):
    """By how many bytes a new process grows in the first sweeps of a chain, compilation left out."""

    def sweep(step, point, n_sweeps):
        for _ in range(n_sweeps):
            point, _ = step.step(point)

    sweep(*new_chain(balanced(200, FEATURES).X, name), 2)
    step, point = new_chain(balanced(n, FEATURES).X, name)
    return rise_of_memory(lambda: sweep(step, point, n_sweeps))[0]


def starts_of(data, rng):
    """Values where chains start: none for that of the step, the true tree, one leaf, and leaves at random."""
    n = data.truth.shape[1]
    return {
        "the step's own": None,
        "true tree": first_appearance(data.truth.T),
        "one leaf": np.zeros((n, DEPTH), dtype="int64"),
        "random leaves": first_appearance(np.stack([rng.permutation(n) % k for k in (5, 25, 100)], axis=1)),
    }


def first_appearance(paths):
    """Labels of nodes in order of appearance, level by level; nodes of one label below different ones differ."""
    levels = range(1, paths.shape[1] + 1)
    nodes = [np.unique(paths[:, :level], axis=0, return_inverse=True)[1] for level in levels]
    return np.stack([canonical_labels(labels) for labels in nodes], axis=1)


def chain_rows(data, n_draws):
    """Log joint density along chains from different starts, with CPU seconds and nodes."""
    rows = []
    for k, (start, value) in enumerate(starts_of(data, np.random.default_rng(1)).items()):
        step, point = new_chain(data.X, DIFFUSION, start=value, seed=k)
        begin, traces = time.process_time(), []
        for _ in range(n_draws):
            point, stats = step.step(point)
            traces.append((time.process_time() - begin, stats[0]["log_joint"], stats[0]["n_nodes"]))
        seconds, log_joint, n_nodes = (np.array(trace) for trace in zip(*traces, strict=True))
        last = log_joint[n_draws // 2 :]
        rows.append(
            {"kind": "chain", "start": start, "n": len(data.X), "d": data.X.shape[1], "draws": n_draws}
            | {"at": {str(t): float(log_joint[t - 1]) for t in SHOWN_DRAWS if t <= n_draws}}
            | {"mean": float(last.mean()), "sd": float(last.std()), "nodes": float(n_nodes[n_draws // 2 :].mean())}
            | {"seconds": float(seconds[-1])}
        )
        print(rows[-1], flush=True)
    return rows


def measure(quick, note):
    target, rows, points, animals = (0.05 if quick else 0.3), [], [], None
    with skipping("animals", note):
        animals = tree_sets.animals()
    data = diffusion(2000, FEATURES)
    for known, name, depth, repeats in (
        *((animals, name, depth, 5) for name, depth in ((DIFFUSION, 3), (PUBLISHED, 4))),
        *((data, name, DEPTH, 3) for name in (() if quick else MODELS)),
    ):
        if known is not None:
            times, n_nodes = sweep_times(known.X, name, depth, target, repeats=repeats)
            row = {"kind": "sweep", "data": known.name.split(",")[0], "n": len(known.X), "d": known.X.shape[1]}
            rows.append(row | {"what": name, "depth": depth, "nodes": n_nodes} | spread(times))
            print(rows[-1], flush=True)
    for n in (250, 500, 1000) if quick else (500, 1000, 2000, 4000):
        X = balanced(n, FEATURES).X
        for name in MODELS:
            times, n_nodes = sweep_times(X, name, DEPTH, target)
            row = {"kind": "point", "against": "n", "value": n, "what": name, "unit": "seconds", "nodes": n_nodes}
            points.append(row | spread(times))
            print(points[-1], flush=True)
    if quick:
        note("Memory and chains from several starts are left to the full form.")
    elif tells_memory(note):
        for n in (1000, 4000):
            kind = {"kind": "memory", "n": n}
            rows += [kind | {"what": name, "rise": call(memory_rise, n=n, name=name)} for name in MODELS[:2]]
    if not quick:
        rows += chain_rows(data, SHOWN_DRAWS[-1])
    return rows + points + fits(points)


def table(rows):
    text = (
        "One sweep is a draw of `NestedGibbs` with fixed hyperparameters: those of `from_data`, alpha = 1, and for the "
        "published model alpha = 0.3, gamma = 1.15, gamma_0 = 1.  CPU seconds without compilation, medians and ranges "
        'of means over sweeps, after five sweeps from the step\'s own start.  "Items only" has `n_moves=0`.\n\n'
    )
    shown = {"Data": "data", "n x d": lambda row: f"{row['n']} x {row['d']}", "Model": "what"}
    shown |= {"depth": "depth", "nodes": "nodes", "ms per sweep": milliseconds}
    text += columns(where(rows, kind="sweep"), shown)
    text += f"\n**By number of items**: a tree of 36 leaves, d = {FEATURES}, depth {DEPTH}.\n\n"
    points = {(row["what"], row["value"]): row for row in where(rows, kind="point")}
    shown = {"Model": "what"}
    for n in groups(points.values(), "value"):

        def cell(fit, n=n):
            row = points[fit["what"], n]
            return f"{1e3 * row['median']:.3g} ({row['nodes']})"

        shown[f"n = {n:,}: ms (nodes)"] = cell
    text += columns(where(rows, kind="fit"), shown | {"exponent": exponent})
    memory, chains = where(rows, kind="memory"), where(rows, kind="chain")
    if memory:
        text += "\n**Memory** that ten sweeps add to a process with model, data and kernels.\n\n"
        shown = {"Model": "what", "n": "n", "MB": lambda row: row["rise"] / MEGA}
        text += columns(memory, shown | {"bytes per item": lambda row: row["rise"] / row["n"]})
    if chains:
        first = chains[0]
        text += (
            f"\n**Do chains agree?**  {first['n']} items of a simulated diffusion, d = {first['d']}: log joint density "
            f"after some draws, its mean and standard deviation in the second half of {first['draws']}, and CPU seconds"
            ".\n\n"
        )
        shown = {"Start": "start"} | {f"draw {t}": lambda row, t=t: f"{row['at'][t]:,.0f}" for t in first["at"]}
        shown |= {"mean": lambda row: f"{row['mean']:,.1f}", "sd": "sd", "nodes": "nodes", "seconds": "seconds"}
        text += columns(chains, shown)
    return text


def milliseconds(row):
    return interval(row, factor=1e3)


def pictures(rows, folder):
    name = "nested_sweeps.png"
    scaling_picture(rows, {("n", "seconds"): ("items", "CPU time of a sweep (s)")}, folder / name)
    return {name: "Time of a sweep of NestedGibbs against the number of items, with fitted exponents"}


def headline(rows):
    claims = []
    for row in (row for row in rows if row["kind"] == "sweep" and row["what"] != ITEMS_ONLY):
        limit = 2e-3 if row["data"] == "animals" else 0.2
        claim = f"Sweep of NestedGibbs, {row['data']}, {row['n']} x {row['d']}, {row['what']}"
        claims.append((claim, f"{milliseconds(row)} ms", f"{1e3 * limit:g} ms", row["median"] <= limit))
    growth = [row for row in rows if row["kind"] == "fit" and row["what"] != ITEMS_ONLY]
    return claims + [(f"Exponent of a sweep in n, {row['what']}", exponent(row), None, None) for row in growth]


PART = Part("nested_sweeps", measure, table, pictures, headline=headline)
