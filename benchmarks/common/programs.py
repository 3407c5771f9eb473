"""The C++ programs for comparison with the kernels: compilation, runs, and what they report."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
OPTIONS = ("-O3", "-march=native", "-ffast-math", "-w")


class Report(NamedTuple):
    """CPU seconds per sweep, mean number of clusters after burn-in, and share of items that move per sweep, or None."""

    seconds: float
    n_clusters: float
    moved: float | None


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
    return Report(min(reported / 1000, spent / n_sweeps), n_clusters, None)


def run_gaussian(binary, data, labels, n_sweeps, n_burn, seed, *, scale=5.0, kappa=0.1, nu, alpha=1.0):
    """Run ``gibbs_gaussian`` on files of data and labels; the base measure has mean 0 and scatter ``scale`` I."""
    arguments = [data, labels, n_sweeps, n_burn, seed, alpha, 0.0, kappa, scale, nu]
    number = r"([\d.]+)"
    seconds, n_clusters, moved = _run(binary, arguments, rf"{number} s/1000.*E\[K\]={number}\s+moved={number}")
    return Report(seconds / 1000, n_clusters, moved)


def _run(binary, arguments, pattern):
    command = [str(binary), *[str(argument) for argument in arguments]]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return [float(number) for number in re.search(pattern, report).groups()]
