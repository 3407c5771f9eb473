"""The README's commands and six lines in a clone of their own with caches of their own, from nothing and again."""

import math
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common.part import Part, groups, interval, rows_to_keep, spread
from common.processes import call

ROOT = Path(__file__).resolve().parents[1]
TARGETS = {
    ("example", "nothing"): 90,
    ("example", "caches"): 25,
    ("six_lines", "nothing"): 60,
    ("six_lines", "caches"): 20,
    ("tests", "nothing"): 360,
}
COMMANDS = {"example": "examples/galaxies.py", "tests": "pytest"}
# What the first step of a kind compiles, in units of a fixed compilation.
UNITS = {"TreeGuided": 8.0, "SplitMerge": 4.5}
SOURCE = """
def f(x, y, n):
    total, m = 0.0, np.zeros((3, 3))
    for i in range(n):
        a = x[i % x.shape[0]] * {k}.5 + math.log(1.0 + y[i % y.shape[0]] ** 2)
        if a > total:
            total += math.exp(-a) + m[i % 3, (i + 1) % 3]
            m[(i + 2) % 3] = a
        else:
            total -= math.sqrt(a * a + {k}.0) * m.sum()
    return total, m
"""


def unit():
    """CPU seconds of a fixed compilation, in which times can be compared between machines."""
    import numba
    import numpy as np

    def compile_functions():
        for k in range(12):
            scope = {"np": np, "math": math}
            exec(SOURCE.format(k=k), scope)
            numba.njit(fastmath=True)(scope["f"])(np.ones(4), np.ones(4), 3)

    # The first compilations of a process also load parts of numba.
    compile_functions()
    start = time.process_time()
    compile_functions()
    return time.process_time() - start


def first_step(sampler):
    """CPU seconds that the first step for a normal-Wishart mixture takes, and these in units."""
    from common.data import mixture, small_data

    import pymc_nrm as nrm

    model = mixture("NormalWishart", small_data("NormalWishart", 1000))
    before = unit()
    start = time.process_time()
    with model:
        getattr(nrm.steps, sampler)([model["z"]])
    seconds = time.process_time() - start
    return seconds, 2.0 * seconds / (before + unit())


def in_new_caches(sampler):
    """The same without any compiled kernels."""
    with tempfile.TemporaryDirectory() as folder:
        return call(first_step, cache={name: Path(folder, name) for name in ("numba", "pytensor")}, sampler=sampler)


def command_of(name):
    """The command of the README that runs this."""
    lines = (ROOT / "README.md").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("python -m pip install uv") and COMMANDS[name] in line]
    return line.split("#")[0].strip()


def six_lines():
    """The program of the README that clusters a table, with its picture saved."""
    text = (ROOT / "README.md").read_text().split("## A table, six lines")[1]
    program = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    picture = r"nrm.plots.plot_clusters\(.*\)"
    return re.sub(picture, r"\g<0>.savefig('clusters.png')", program)


def timed(command, folder, environment):
    """Wall and CPU seconds of a command in a folder."""
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, cpu


def in_new_clone(name):
    """Wall and CPU seconds from nothing, and again where that is of interest."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "clone")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        environment = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
        # The environment of this process, which uv puts first, has no pip.
        own = str(Path(sys.prefix, "bin"))
        environment["PATH"] = os.pathsep.join(one for one in environment["PATH"].split(os.pathsep) if one != own)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment |= {"MPLBACKEND": "agg", "NUMBA_CACHE_DIR": str(Path(folder, "numba"))}
        environment["PYTENSOR_FLAGS"] = f"base_compiledir={Path(folder, 'pytensor')}"
        if name in COMMANDS:
            command = command_of(name)
        else:
            Path(clone, "six_lines.py").write_text(six_lines())
            command = "python -m pip install --quiet uv && python -m uv run six_lines.py"
        times = {"nothing": timed(command, clone, environment)}
        if name != "tests":
            times["caches"] = timed(command, clone, environment)
        return times


def measure(quick, note, sets=None):
    rows = rows_to_keep("first_minutes", quick, note, sets)
    units = [call(unit)]
    for sampler in [name for name in sets or UNITS if name in UNITS]:
        seconds, units_each = zip(*[in_new_caches(sampler) for _ in range(1 if quick else 3)], strict=True)
        rows.append({"set": sampler, "from": "nothing", "repeats": len(seconds), **spread(units_each)})
        rows[-1]["cpu"] = spread(seconds)["median"]
        print(rows[-1], flush=True)
    commands = ("example", "six_lines", *(() if quick else ("tests",)))
    for name in [name for name in sets or commands if name not in UNITS]:
        runs = [in_new_clone(name) for _ in range(1 if quick else 3)]
        for cache in runs[0]:
            clock, processor = zip(*(times[cache] for times in runs), strict=True)
            cpu = spread(processor)["median"]
            rows.append({"set": name, "from": cache, "repeats": len(runs), **spread(clock), "cpu": cpu})
            print(rows[-1], flush=True)
        units.append(call(unit))
    note(f"The unit, a fixed compilation, took {min(units):.1f} to {max(units):.1f} CPU s between these runs.")
    return rows


def table(rows):
    processor = ", ".join(f"{row['set']} from {row['from']} {row['cpu']:.0f}" for row in rows)
    return (
        "The README's first command (*example*), its six lines until the picture, and its test command, each in a new "
        "clone, without environment and caches of numba and PyTensor, and again; and the first step for a "
        "normal-Wishart mixture.  Medians and ranges of three runs are above; CPU seconds: "
        f"{processor}.\n"
    )


def headline(rows):
    lines = []
    for name, here in groups(rows, "set").items():
        if name in UNITS:
            [row] = here
            claim, target = f"First `{name}` of normal-Wishart, units of a fixed compilation", UNITS[name]
            lines.append((claim, interval(row, ".1f"), f"{target:g}", row["median"] <= target))
        else:
            targets = [TARGETS[name, row["from"]] for row in here]
            claim = f"README's {name.replace('_', ' ')}, from {'; from '.join(row['from'] for row in here)}"
            measured, target = "; ".join(interval(row, ".0f") for row in here), "; ".join(map(str, targets))
            met = all(row["median"] <= target for row, target in zip(here, targets, strict=True))
            lines.append((claim, f"{measured} s", f"{target} s", met))
    return lines


SETS = {name: name for name in (*UNITS, "example", "six_lines", "tests")}
MEANING = "Most of the first minute compiles kernels; from caches a third of it is left."
PART = Part("first_minutes", measure, table, headline=headline, options={"sets": SETS}, meaning=MEANING)
