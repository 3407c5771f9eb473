"""Sweeps of NestedGibbs: time by size, memory, and whether chains from different starts agree.

Run with ``python benchmarks/nested_sweeps.py [--quick] [--output FOLDER]``.
"""

import common.one_core  # noqa: F401

# isort: split

import os
import time

import numpy as np
import pymc as pm
from common.chains import time_draws
from common.part import Part, markdown, spread
from common.power_laws import exponent, fit_power_law, scaling_picture
from common.processes import call
from common.tree_data import balanced, diffusion
from memory import CLEAR, STATUS

import pymc_nrm as nrm

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
    import gc

    from memory import resident

    few = balanced(200, FEATURES).X
    step, point = new_chain(few, name)
    for _ in range(2):
        point, _ = step.step(point)
    step, point = new_chain(balanced(n, FEATURES).X, name)
    gc.collect()
    CLEAR.write_text("5")
    before = resident("VmRSS")
    for _ in range(n_sweeps):
        point, _ = step.step(point)
    return resident("VmHWM") - before


def starts_of(data, rng):
    """Values where chains start: none for that of the step, the true tree, one leaf, and leaves at random."""
    n = data.truth.shape[1]
    return {
        "the step's own": None,
        "true tree": first_appearance(data.truth.T),
        "one leaf": np.zeros((n, DEPTH), dtype="int64"),
        "random leaves": first_appearance(np.stack([rng.permutation(n) % k for k in (5, 25, 100)], axis=1), nest=True),
    }


def first_appearance(paths, nest=False):
    """Labels in order of appearance, level by level; with ``nest``, below those of the level above."""
    found = np.empty(paths.shape, dtype="int64")
    for level in range(paths.shape[1]):
        keys = [tuple(row) for row in paths[:, : level + 1]] if nest else paths[:, level].tolist()
        numbers = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        found[:, level] = [numbers[key] for key in keys]
    return found


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
    target, rows = (0.05 if quick else 0.3), []
    animals = load_animals(note)
    if animals is not None:
        for name, depth in ((DIFFUSION, 3), (PUBLISHED, 4)):
            times, n_nodes = sweep_times(animals, name, depth, target, repeats=5)
            row = {"kind": "sweep", "data": "animals", "n": len(animals), "d": animals.shape[1], "what": name}
            rows.append(row | {"depth": depth, "nodes": n_nodes} | spread(times))
    data = diffusion(2000, FEATURES)
    for name in () if quick else MODELS:
        times, n_nodes = sweep_times(data.X, name, DEPTH, target)
        row = {"kind": "sweep", "data": "diffusion", "n": 2000, "d": FEATURES, "what": name, "depth": DEPTH}
        rows.append(row | {"nodes": n_nodes} | spread(times))
        print(rows[-1], flush=True)
    points = []
    for n in (250, 500, 1000) if quick else (500, 1000, 2000, 4000):
        X = balanced(n, FEATURES).X
        for name in MODELS:
            times, n_nodes = sweep_times(X, name, DEPTH, target)
            row = {"kind": "point", "against": "n", "value": n, "what": name, "unit": "seconds", "nodes": n_nodes}
            points.append(row | spread(times))
            print(points[-1], flush=True)
    if quick:
        note("Memory and chains from several starts are left to the full form.")
    elif not (STATUS.exists() and os.access(CLEAR, os.W_OK)):
        note("Memory skipped: the peak is read from /proc, which Linux has.")
    else:
        for n in (1000, 4000):
            for name in MODELS[:2]:
                rise = call(memory_rise, n=n, name=name)
                rows.append({"kind": "memory", "n": n, "what": name, "rise": rise})
    if not quick:
        rows += chain_rows(data, SHOWN_DRAWS[-1])
    return rows + points + fits(points)


def load_animals(note):
    """Five principal components of the animals, or None with a note."""
    from common.tree_sets import animals

    try:
        return animals().X
    except FileNotFoundError as error:
        note(f"animals skipped: {error}")


def fits(points):
    """A power law for each model."""
    rows = []
    for name in dict.fromkeys(row["what"] for row in points):
        chosen = [row for row in points if row["what"] == name]
        x = [row["value"] for row in chosen]
        slope, error, factor = fit_power_law(x, [row["median"] for row in chosen])
        rows.append(
            {"kind": "fit", "against": "n", "what": name, "unit": "seconds", "exponent": slope, "error": error}
            | {"factor": factor, "points": len(x), "least": min(x), "most": max(x)}
        )
    return rows


def table(rows):
    kinds = {
        kind: [row for row in rows if row["kind"] == kind] for kind in ("sweep", "point", "fit", "memory", "chain")
    }
    text = (
        "One sweep is a draw of `NestedGibbs` with fixed hyperparameters: those of `from_data`, alpha = 1, and for the "
        "published model alpha = 0.3, gamma = 1.15, gamma_0 = 1.  CPU seconds without compilation, medians and ranges "
        'of means over sweeps, after five sweeps from the step\'s own start.  "Items only" has `n_moves=0`.\n\n'
    )
    text += markdown(
        ["Data", "n x d", "Model", "depth", "nodes", "ms per sweep"],
        [
            [r["data"], f"{r['n']} x {r['d']}", r["what"], r["depth"], r["nodes"], milliseconds(r)]
            for r in kinds["sweep"]
        ],
    )
    text += f"\n**By number of items**: a tree of 36 leaves, d = {FEATURES}, depth {DEPTH}.\n\n"
    titles = ["Model", *(f"n = {value:,}: ms (nodes)" for value in dict.fromkeys(r["value"] for r in kinds["point"]))]
    lines = []
    for fit in kinds["fit"]:
        cells = [f"{1e3 * r['median']:.3g} ({r['nodes']})" for r in kinds["point"] if r["what"] == fit["what"]]
        lines.append([fit["what"], *cells, exponent(fit)])
    text += markdown([*titles, "exponent"], lines)
    if kinds["memory"]:
        text += "\n**Memory** that ten sweeps add to a process with model, data and kernels.\n\n"
        lines = [[r["what"], r["n"], r["rise"] / MEGA, r["rise"] / r["n"]] for r in kinds["memory"]]
        text += markdown(["Model", "n", "MB", "bytes per item"], lines)
    if kinds["chain"]:
        first = kinds["chain"][0]
        shown = list(first["at"])
        text += (
            f"\n**Do chains agree?**  {first['n']} items of a simulated diffusion, d = {first['d']}: log joint density "
            f"after some draws, its mean and standard deviation in the second half of {first['draws']}, and CPU seconds"
            ".\n\n"
        )
        lines = [
            [r["start"], *(f"{r['at'][t]:,.0f}" for t in shown), f"{r['mean']:,.1f}", r["sd"], r["nodes"], r["seconds"]]
            for r in kinds["chain"]
        ]
        text += markdown(["Start", *(f"draw {t}" for t in shown), "mean", "sd", "nodes", "seconds"], lines)
    return text


def milliseconds(row):
    return f"{1e3 * row['median']:.3g} ({1e3 * row['least']:.3g} to {1e3 * row['most']:.3g})"


def pictures(rows, folder):
    panels = {("n", "seconds"): ("items", "CPU time of a sweep (s)")}
    shown = [row for row in rows if row["kind"] in ("point", "fit")]
    name = scaling_picture(shown, panels, folder, "nested_sweeps.png")
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

if __name__ == "__main__":
    PART.main()
