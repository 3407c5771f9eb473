"""Gibbs sweeps of the kernels and of C++ programs on the same data, and of the kernels for every family.

The programs of ``benchmarks/programs`` are compiled with g++, and skipped if there is none.
"""

import math
import re
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from common.data import gaussian_clusters, plane, simulated_families
from common.part import Part, columns, groups, interval, markdown, spread, where
from common.sweeps import Sweeps, compile_sweeps, gaussian_family, problem, spaced_clusters, timed_sweeps

PROGRAMS = Path(__file__).resolve().parent / "programs"
OPTIONS = ("-O3", "-march=native", "-ffast-math", "-w")


def compiler():
    """Path of g++, or None if there is none."""
    return shutil.which("g++")


def compile_program(name, folder, **defines):
    """Compile ``programs/NAME.cpp`` into a folder, and return the path of the binary."""
    suffix = "".join(f"_{key}{value}" for key, value in defines.items())
    binary = Path(folder) / (name + suffix)
    flags = [f"-D{key}={value}" for key, value in defines.items()]
    subprocess.run([compiler(), *OPTIONS, *flags, str(PROGRAMS / f"{name}.cpp"), "-o", str(binary)], check=True)
    return binary


def write_csv(X, path):
    """Write a table with a title line and all digits, as the program for the plane reads it."""
    np.savetxt(path, X, delimiter=",", header=",".join(f"x{j + 1}" for j in range(X.shape[1])), comments="")


def run_plane(binary, path, n_sweeps, n_burn, seed, n_start=1):
    """Run ``gibbs_plane`` from ``n_start`` random clusters.

    It reports wall time, and the CPU time of the process includes reading, so take the smaller of the two.
    """
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    reported, n_clusters = _run(binary, [path, n_sweeps, n_burn, seed, n_start], r"([\d.]+) s/1000.*E\[K\]=([\d.]+)")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return Sweeps(min(reported / 1000, spent / n_sweeps), n_clusters, None)


def run_gaussian(binary, data, labels, n_sweeps, n_burn, seed, *, scale=5.0, kappa=0.1, nu, alpha=1.0):
    """Run ``gibbs_gaussian`` on files of data and labels; the base measure has mean 0 and scatter ``scale`` I."""
    arguments = [data, labels, n_sweeps, n_burn, seed, alpha, 0.0, kappa, scale, nu]
    number = r"([\d.]+)"
    seconds, n_clusters, moved = _run(binary, arguments, rf"{number} s/1000.*E\[K\]={number}\s+moved={number}")
    return Sweeps(seconds / 1000, n_clusters, moved)


def _run(binary, arguments, pattern):
    command = [str(binary), *[str(argument) for argument in arguments]]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return [float(number) for number in re.search(pattern, report).groups()]


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
        folder = Path(folder)
        rows = chain_rows("plane", plane(), programs, folder, *((3, 2000, 500) if quick else (7, 5000, 1000)))
        X, _ = gaussian_clusters(100, 6, 6, separation=4.0, seed=3)
        rows += chain_rows("check", X, programs, folder, *((3, 8000, 500) if quick else (7, 20_000, 1000)))
        for n in (10_000,) if quick else (1000, 10_000, 100_000, 1_000_000):
            for d in DIMENSIONS:
                for n_clusters in (10, 100) if quick else (10, 100, 300):
                    if n >= 10 * n_clusters:
                        rows += cell_rows(programs, folder, n, d, n_clusters, quick)
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


def summary(runs, times, clusters, n_sweeps):
    """What all rows of sweeps have."""
    moved = None if runs[0].moved is None else float(np.mean([run.moved for run in runs]))
    found = {"sweeps": n_sweeps, "repeats": len(runs), "moved": moved, "clusters": float(np.mean(clusters))}
    return found | spread(times)


def chain_rows(kind, X, programs, folder, repeats, n_sweeps, n_burn):
    """Rows of all programs from a single cluster: time per 1000 sweeps, clusters with the error of their mean."""
    labels = np.zeros(len(X), dtype=np.int64)
    prepared = problem(gaussian_family(X.shape[1]), X)
    compile_sweeps(prepared, labels)
    contenders = contenders_on(programs, folder, X, labels, prepared, n_sweeps, n_burn)
    if programs and kind == "plane":
        write_csv(X, folder / "plane.csv")
        contenders[PLANE] = partial(run_plane, programs[PLANE, 2], folder / "plane.csv", n_sweeps, n_burn)
    rows = []
    for name, runs in alternate(contenders, repeats).items():
        means = [clusters_after(run, n_burn) for run in runs]
        row = {"kind": kind, "n": len(X), "d": X.shape[1], "program": name, "burn": n_burn}
        row |= summary(runs, [1000 * run.seconds for run in runs], means, n_sweeps)
        rows.append(row | {"error": float(np.std(means, ddof=1) / math.sqrt(len(means)))})
    return rows


def enough_sweeps(prepared, labels, seconds):
    compile_sweeps(prepared, labels)
    return max(1, round(seconds / timed_sweeps(prepared, labels, 1, 0).seconds))


def cell_rows(programs, folder, n, d, n_clusters, quick):
    """One size, with all programs from the true labels and the same number of sweeps."""
    X, labels = spaced_clusters(n, d, n_clusters)
    prepared = problem(gaussian_family(d), X)
    n_sweeps = enough_sweeps(prepared, labels, 0.15 if quick else 0.4)
    contenders = contenders_on(programs, folder, X, labels, prepared, n_sweeps, 0)
    if n >= 1_000_000:
        contenders.pop(AFTER, None)
    rows = []
    for name, runs in alternate(contenders, 2 if quick or n >= 1_000_000 else 3).items():
        row = {"kind": "cell", "n": n, "d": d, "true_clusters": n_clusters, "program": name}
        clusters = [clusters_after(run, 0) for run in runs]
        rows.append(row | summary(runs, [NANO * run.seconds / n for run in runs], clusters, n_sweeps))
    return rows


def family_rows(quick, n=10_000, n_clusters=30):
    """The kernels for every other family, in nanoseconds per item and cluster."""
    labels, families = simulated_families(n, n_clusters)
    rows = []
    for name, pair in families.items():
        prepared = problem(*pair)
        n_sweeps = enough_sweeps(prepared, labels, 0.15 if quick else 0.5)
        runs = [timed_sweeps(prepared, labels, n_sweeps, seed) for seed in range(1, 3 if quick else 6)]
        times = [NANO * run.seconds / (n * run.n_clusters.mean()) for run in runs]
        row = {"kind": "family", "family": name, "n": n, "true_clusters": n_clusters}
        rows.append(row | summary(runs, times, [run.n_clusters.mean() for run in runs], n_sweeps))
    return rows


def table(rows):
    shown = {"program": "program", "s per 1000 sweeps": interval, "clusters": _clusters}
    [kernels] = where(rows, kind="plane", program=KERNELS)
    shown["kernels / program"] = lambda row: None if row is kernels else kernels["median"] / row["median"]
    families = "; ".join(f"{row['family']}: {row['median']:.3g}" for row in where(rows, kind="family"))
    parts = [
        "DP(1) mixture of Gaussians, normal-Wishart base measure, CPU seconds.  *C++ in the plane* is "
        "`gibbs_plane.cpp`, written for d = 2; `gibbs_gaussian.cpp` is compiled for one d and weighs clusters *one by "
        f"one* or *side by side* in vector instructions.  1000 items in the plane, where {REFERENCE} +- "
        f"{REFERENCE_ERROR} clusters are right:\n",
        columns(where(rows, kind="plane"), shown),
        "Nanoseconds per item from true clusters that are five standard deviations apart, and times over those of the "
        "programs; ranges are over n, 1000 to 1,000,000:\n",
        size_table(where(rows, kind="cell")),
        f"Nanoseconds per item and cluster, by family: {families}.\n",
    ]
    return "\n".join(parts)


def _clusters(row):
    return f"{row['clusters']:.2f} +- {row['error']:.2f}"


def size_table(rows):
    """One line for each dimension and number of clusters, with ranges over the numbers of items."""
    lines = []
    for size, here in sorted(groups(rows, "d", "true_clusters").items()):
        kernels = spread([row["median"] for row in where(here, program=KERNELS)])["median"]
        ratios = [ratios_to(here, name) for name in LAYOUTS]
        lines.append([*size, f"{kernels:,.0f}", *(interval(spread(r), ".2f") if r else None for r in ratios)])
    return markdown(["d", "K", "kernels, ns per item", *(f"kernels / {name}" for name in LAYOUTS)], lines)


def headline(rows):
    plane_times = {row["program"]: row for row in where(rows, kind="plane")}
    kernels = plane_times[KERNELS]
    met = abs(kernels["clusters"] - REFERENCE) < 3 * math.hypot(kernels["error"], REFERENCE_ERROR)
    reference = f"{REFERENCE} +- {REFERENCE_ERROR}"
    lines = [("Mean number of clusters, 1000 items in the plane", _clusters(kernels), reference, met)]
    if PLANE in plane_times:
        ratio = kernels["median"] / plane_times[PLANE]["median"]
        measured = f"{ratio:.2f}: {interval(kernels, '.3f')} s per 1000 sweeps"
        lines.append(("Gibbs sweep, 1000 items in the plane: kernels / C++", measured, "at most 1.0", ratio <= 1.0))
    for name in LAYOUTS:
        ratios = [ratios_to(where(rows, kind="cell", d=d), name) for d in DIMENSIONS[1:]]
        if all(ratios):
            medians = [spread(found)["median"] for found in ratios]
            target, met = ("at most 1.5", max(medians) <= 1.5) if name == AFTER else (None, None)
            claim = f"Gibbs sweep, d = {' and '.join(map(str, DIMENSIONS[1:]))}, all sizes: kernels / {name}"
            lines.append((claim, " and ".join(f"{value:.2f}" for value in medians), target, met))
    return lines


def ratios_to(cells, name):
    """Times of the kernels over those of a program, for all sizes that both ran."""
    times = {(row["program"], row["n"], row["true_clusters"]): row["median"] for row in cells}
    return [times[KERNELS, *size] / time for (program, *size), time in times.items() if program == name]


MEANING = (
    "Kernels of all families take as long as a C++ program for this model; the fastest, for one dimension, is up to "
    "1.9 times faster in the plane with few clusters, and slower with many clusters or features."
)
PART = Part("gibbs_sweep", measure, table, headline=headline, meaning=MEANING, peers=("programs in C++",))
