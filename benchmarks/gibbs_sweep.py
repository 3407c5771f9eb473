"""Gibbs sweeps of the kernels and of C++ programs on the same data, and of the kernels for every family.

Run with ``python benchmarks/gibbs_sweep.py [--quick] [--output FOLDER]``.  The programs of ``benchmarks/programs`` are
compiled with g++, and skipped if there is none.
"""

import common.one_core  # noqa: F401

# isort: split

import math
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from common.data import gaussian_clusters, plane
from common.family_data import simulated_families
from common.part import Part, markdown, spread
from common.programs import compile_program, compiler, run_gaussian, run_plane, write_csv
from common.sweeps import compile_sweeps, gaussian_family, problem, spaced_clusters, timed_sweeps

DIMENSIONS = (2, 6, 20)
KERNELS, PLANE, BESIDE, AFTER = "kernels", "C++ in the plane", "C++, side by side", "C++, one by one"
# Two layouts of the same program: clusters side by side in vectors, or one after another in structures.
LAYOUTS = {BESIDE: {}, AFTER: {"L": 1}}
# Number of clusters in the plane according to another exact sampler.
REFERENCE, REFERENCE_ERROR = 10.87, 0.04
NANO = 1e9


def measure(quick, note):
    with tempfile.TemporaryDirectory() as folder:
        programs = {}
        if compiler():
            layouts = {BESIDE: {}} if quick else LAYOUTS
            programs = {
                (name, d): compile_program("gibbs_gaussian", folder, D=d, **defines)
                for name, defines in layouts.items()
                for d in DIMENSIONS
            }
            programs[PLANE, 2] = compile_program("gibbs_plane", folder)
        else:
            note("C++ programs skipped: no g++ found")
        rows = plane_rows(programs, Path(folder), *((3, 2000, 500) if quick else (7, 5000, 1000)))
        rows += check_rows(programs, Path(folder), *((3, 8000, 500) if quick else (7, 20_000, 1000)))
        for n in (10_000,) if quick else (1000, 10_000, 100_000, 1_000_000):
            for d in DIMENSIONS:
                for n_clusters in (10, 100) if quick else (10, 100, 300):
                    if n >= 10 * n_clusters:
                        rows += cell_rows(programs, Path(folder), n, d, n_clusters, quick)
        return rows + family_rows(quick)


def alternate(contenders, repeats):
    """Run all contenders with seeds 1, 2, ..., in reverse order every second time; return lists of their results."""
    found = {name: [] for name in contenders}
    for repeat in range(repeats):
        for name in list(contenders)[:: 1 if repeat % 2 == 0 else -1]:
            found[name].append(contenders[name](repeat + 1))
    return found


def contenders_on(programs, folder, X, labels, prepared, n_sweeps, n_burn):
    """The kernels and the programs for this dimension, as functions of the seed, all from the same labels."""
    data, start = folder / "X.bin", folder / "labels.bin"
    if programs:
        X.tofile(data)
        labels.tofile(start)
    contenders = {KERNELS: lambda seed: timed_sweeps(prepared, labels, n_sweeps, seed)}
    for (name, d), binary in programs.items():
        if d == X.shape[1] and name != PLANE:
            contenders[name] = partial(run_gaussian, binary, data, start, n_sweeps, n_burn, nu=d + 6.0)
    return contenders


def clusters_after(run, n_burn):
    """Mean number of clusters of one run after burn-in."""
    return float(np.mean(run.n_clusters[n_burn:])) if np.ndim(run.n_clusters) else run.n_clusters


def chain_rows(kind, X, found, n_sweeps, n_burn):
    """Time per 1000 sweeps, and mean number of clusters with its standard error from independent chains."""
    rows = []
    for name, runs in found.items():
        means = [clusters_after(run, n_burn) for run in runs]
        moved = None if name == PLANE else float(np.mean([run.moved for run in runs]))
        rows.append(
            {"kind": kind, "n": len(X), "d": X.shape[1], "program": name, "sweeps": n_sweeps, "burn": n_burn}
            | {"repeats": len(runs), **spread([1000 * run.seconds for run in runs]), "moved": moved}
            | {"clusters": float(np.mean(means)), "error": float(np.std(means, ddof=1) / math.sqrt(len(means)))}
        )
    return rows


def plane_rows(programs, folder, repeats, n_sweeps, n_burn):
    """The headline: 1000 items in the plane from a single cluster, and the program written for the plane."""
    X, labels = plane(), np.zeros(1000, dtype=np.int64)
    prepared = problem(gaussian_family(2), X)
    compile_sweeps(prepared, labels)
    contenders = contenders_on(programs, folder, X, labels, prepared, n_sweeps, n_burn)
    if programs:
        write_csv(X, folder / "plane.csv")
        contenders[PLANE] = partial(run_plane, programs[PLANE, 2], folder / "plane.csv", n_sweeps, n_burn)
    return chain_rows("plane", X, alternate(contenders, repeats), n_sweeps, n_burn)


def check_rows(programs, folder, repeats, n_sweeps, n_burn):
    """A check that the numbers of clusters agree in six dimensions, where clusters overlap."""
    X, _ = gaussian_clusters(100, 6, 6, separation=4.0, seed=3)
    labels = np.zeros(len(X), dtype=np.int64)
    prepared = problem(gaussian_family(6), X)
    compile_sweeps(prepared, labels)
    contenders = contenders_on(programs, folder, X, labels, prepared, n_sweeps, n_burn)
    return chain_rows("check", X, alternate(contenders, repeats), n_sweeps, n_burn)


def cell_rows(programs, folder, n, d, n_clusters, quick):
    """One size, with all programs from the true labels and the same number of sweeps."""
    X, labels = spaced_clusters(n, d, n_clusters)
    prepared = problem(gaussian_family(d), X)
    compile_sweeps(prepared, labels)
    first = timed_sweeps(prepared, labels, 1, 0).seconds
    n_sweeps = max(1, round((0.15 if quick else 0.4) / first))
    contenders = contenders_on(programs, folder, X, labels, prepared, n_sweeps, 0)
    if n >= 1_000_000:
        contenders.pop(AFTER, None)
    found = alternate(contenders, 2 if quick or n >= 1_000_000 else 3)
    return [
        {"kind": "cell", "n": n, "d": d, "true_clusters": n_clusters, "program": name, "sweeps": n_sweeps}
        | {"repeats": len(runs), **spread([NANO * run.seconds / n for run in runs])}
        | {"moved": float(np.mean([run.moved for run in runs]))}
        | {"clusters": float(np.mean([clusters_after(run, 0) for run in runs]))}
        for name, runs in found.items()
    ]


def family_rows(quick, n=10_000, n_clusters=30):
    """The kernels for every other family, in nanoseconds per item and cluster."""
    labels, families = simulated_families(n, n_clusters)
    rows = []
    for name, pair in families.items():
        prepared = problem(*pair)
        compile_sweeps(prepared, labels)
        first = timed_sweeps(prepared, labels, 1, 0).seconds
        n_sweeps = max(1, round((0.15 if quick else 0.5) / first))
        runs = [timed_sweeps(prepared, labels, n_sweeps, seed) for seed in range(1, 3 if quick else 6)]
        times = [NANO * run.seconds / (n * run.n_clusters.mean()) for run in runs]
        rows.append(
            {"kind": "family", "family": name, "n": n, "true_clusters": n_clusters, "sweeps": n_sweeps}
            | {"repeats": len(runs), **spread(times), "moved": float(np.mean([run.moved for run in runs]))}
            | {"clusters": float(np.mean([run.n_clusters.mean() for run in runs]))}
        )
    return rows


def interval(row):
    digits = ",.0f" if row["most"] >= 1000 else ".3g"
    return f"{row['least']:{digits}} to {row['most']:{digits}}"


def table(rows):
    chosen = {kind: [row for row in rows if row["kind"] == kind] for kind in ("plane", "check", "cell", "family")}
    parts = [
        "Dirichlet process mixture, alpha = 1, of Gaussians with normal-Wishart base measure: mu = 0, kappa = 0.1, "
        "Psi = 5 I, nu = d + 6.  CPU seconds of one core, compilation, reading and the first sums left out; programs "
        "take turns; median and range of repeats.  *Kernels*: `gibbs_sweep`, items in random order, an item that "
        "stays is not taken out.  *C++ in the plane*: `gibbs_plane.cpp`, written for d = 2.  `gibbs_gaussian.cpp` is "
        "compiled for one d, its items come in order, each is taken out and put back: *one by one* keeps clusters as "
        "structures like the program for the plane, *side by side* interleaves four or eight of them so that vector "
        "instructions work on all at once.\n",
        "**1000 items in the plane**, the data of `common.data.plane`, all programs from one cluster.  Long runs of "
        f"another exact sampler gave {REFERENCE} +- {REFERENCE_ERROR} clusters.\n",
        chain_table(chosen["plane"], "s per 1000 sweeps"),
        "**Check in six dimensions**: 100 items in 6 overlapping clusters, all programs from one cluster.\n",
        chain_table(chosen["check"], "s per 1000 sweeps"),
        "**Sizes.**  Clusters of unequal sizes and shapes, whose median distance to the nearest neighbour is five "
        "standard deviations; all programs from the true clusters.  For d = 2 the program is `gibbs_gaussian.cpp` too, "
        "since the one for the plane cannot start from given clusters.  Nanoseconds per item.  Sweeps leave the true "
        "clusters for those of the posterior, of which there are more or fewer where n is small.\n",
        cell_table(chosen["cell"]),
        "**Families**, kernels only, 10,000 items, from 30 true clusters.\n",
        markdown(
            ("family", "ns per item and cluster", "range", "items moved", "clusters", "sweeps x repeats"),
            [
                (row["family"], row["median"], interval(row), row["moved"], row["clusters"], _runs(row))
                for row in chosen["family"]
            ],
        ),
    ]
    return "\n".join(parts)


def _runs(row):
    return f"{row['sweeps']} x {row['repeats']}"


def chain_table(rows, unit):
    kernels = next(row["median"] for row in rows if row["program"] == KERNELS)
    lines = []
    for row in rows:
        ratio = None if row["program"] == KERNELS else kernels / row["median"]
        clusters = f"{row['clusters']:.2f} +- {row['error']:.2f}"
        lines.append((row["program"], row["median"], interval(row), ratio, clusters, row["moved"], _runs(row)))
    titles = ("program", unit, "range", "kernels / program", "clusters", "items moved", "sweeps x repeats")
    return markdown(titles, lines)


def cell_table(rows):
    cells = {}
    for row in rows:
        cells.setdefault((row["n"], row["d"], row["true_clusters"]), {})[row["program"]] = row
    lines = []
    for key, programs in cells.items():
        kernels = programs[KERNELS]
        line = [f"{key[0]:,}", *key[1:], kernels["median"], interval(kernels)]
        for name in LAYOUTS:
            other = programs.get(name)
            line += [other["median"], interval(other), kernels["median"] / other["median"]] if other else [None] * 3
        other = programs.get(BESIDE)
        line += [" / ".join(f"{row['moved']:.3f}" for row in (kernels, other) if row)]
        line += [" / ".join(f"{row['clusters']:.1f}" for row in (kernels, other) if row), _runs(kernels)]
        lines.append(line)
    titles = ["n", "d", "K", KERNELS, "range"]
    for name in LAYOUTS:
        titles += [name, "range", "ratio"]
    titles += ["items moved: kernels / C++", "clusters on average", "sweeps x repeats"]
    return markdown(titles, lines)


def pictures(rows, folder):
    from common.sweep_pictures import family_picture, size_picture

    cells = [row for row in rows if row["kind"] == "cell"]
    families = [row for row in rows if row["kind"] == "family"]
    lines = {KERNELS: "-", BESIDE: "--", AFTER: ":"}
    return {
        size_picture(cells, lines, folder): "Time of a Gibbs update per item against the number of clusters",
        family_picture(families, folder): "Time of a Gibbs update per item and cluster, by family",
    }


def headline(rows):
    plane_times = {row["program"]: row for row in rows if row["kind"] == "plane"}
    kernels = plane_times[KERNELS]
    clusters = f"{kernels['clusters']:.2f} +- {kernels['error']:.2f}"
    met = abs(kernels["clusters"] - REFERENCE) < 3 * math.hypot(kernels["error"], REFERENCE_ERROR)
    reference = f"{REFERENCE} +- {REFERENCE_ERROR}"
    lines = [("Mean number of clusters, 1000 items in the plane", clusters, reference, met)]
    if PLANE in plane_times:
        ratio = kernels["median"] / plane_times[PLANE]["median"]
        measured = f"{ratio:.2f}: {kernels['median']:.3f} s ({interval(kernels)}) per 1000 sweeps"
        lines.append(("Gibbs sweep, 1000 items in the plane: kernels / C++", measured, "at most 1.0", ratio <= 1.0))
    for name in LAYOUTS:
        for d in DIMENSIONS[1:]:
            cells = [row for row in rows if row["kind"] == "cell" and row["d"] == d]
            ratios = spread(ratios_to(cells, name)) if any(row["program"] == name for row in cells) else None
            if ratios:
                measured = f"{ratios['median']:.2f} ({interval(ratios)})"
                target, met = ("at most 1.5", ratios["median"] <= 1.5) if name == AFTER else (None, None)
                lines.append((f"Gibbs sweep, d = {d}, all sizes: kernels / {name}", measured, target, met))
    return lines


def ratios_to(cells, name):
    """Times of the kernels over those of a program, for all sizes that both ran."""
    times = {(row["program"], row["n"], row["true_clusters"]): row["median"] for row in cells}
    return [times[KERNELS, *size] / time for (program, *size), time in times.items() if program == name]


PART = Part("gibbs_sweep", measure, table, pictures, headline=headline)

if __name__ == "__main__":
    PART.main()
