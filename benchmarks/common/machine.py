"""The machine and the versions, which a benchmark prints first."""

import os
import platform
from importlib.metadata import version
from pathlib import Path


def describe():
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    versions = ", ".join(f"{name} {version(name)}" for name in ("pymc", "pytensor", "numba", "numpy"))
    return f"{model}, {os.cpu_count()} CPUs{load}; Python {platform.python_version()}, {versions}"
