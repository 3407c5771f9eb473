"""A part of the benchmarks: it measures rows of numbers, stores them, and turns them into a table and pictures.

A module makes one ``Part``: ``python benchmarks/run.py NAME [--quick] [--output FOLDER]`` measures it and writes
``FOLDER/NAME.json``.  Without a name, ``run.py`` runs each part in a separate process; ``report.py`` reads the results.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import contextmanager
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import NamedTuple

RESULTS = Path(__file__).resolve().parents[1] / "results"
QUICK_RESULTS = RESULTS.with_name("results-quick")
SEVERAL_RUNS = "Measured in several runs: the times above are those of the last."


class Part(NamedTuple):
    """One part of the benchmarks; there is a module for each."""

    name: str
    measure: Callable  # measure(quick, note, **options) returns rows, a list of dicts; note(text) says what is skipped
    table: Callable  # table(rows) returns Markdown: what is compared, and the figures that matter; JSON has the others
    pictures: Callable | None = None  # pictures(rows, folder) saves PNG files; returns a dict of names and captions
    headline: Callable | None = None  # headline(rows) returns claims: what, measured, target or None, met or None
    options: dict = {}  # names on the command line, such as ``sets`` and ``methods``, with what may be chosen
    meaning: str = ""  # what the stored results of the full form mean, in one or two sentences
    peers: tuple = ()  # what is compared with: names of distributions, whose versions are stored, or descriptions

    def main(self, arguments):
        """Measure as the command line says, and store the results."""
        parser = argparse.ArgumentParser(prog=f"run.py {self.name}", description=f"Part {self.name} of the benchmarks.")
        parser.add_argument("--quick", action="store_true", help="fewer sizes and repeats, for a look")
        parser.add_argument("--output", type=Path, help="folder of the results")
        for name, choices in self.options.items():
            kind, text = type(next(iter(choices))), f"of {list(choices)}"
            parser.add_argument(f"--{name}", nargs="+", type=kind, choices=choices, metavar="NAME", help=text)
        options = vars(parser.parse_args(arguments))
        quick, output = options.pop("quick"), options.pop("output")
        output = output or (QUICK_RESULTS if quick else RESULTS)
        notes = []

        def note(text):
            # What is not installed is missing from every set.
            if text not in notes:
                print(text, flush=True)
                notes.append(text)

        machine = describe()
        print(machine, flush=True)
        start, processor = time.perf_counter(), time.process_time()
        rows = self.measure(quick, note, **options)
        seconds = round(time.perf_counter() - start, 1)
        cpu_seconds = round(time.process_time() - processor + sum(os.times()[2:4]), 1)
        found = {"date": date.today().isoformat(), "machine": machine, "peers": versions_of(self.peers)}
        found |= {"quick": quick, "seconds": seconds, "cpu_seconds": cpu_seconds}
        output.mkdir(parents=True, exist_ok=True)
        path = output / f"{self.name}.json"
        head = json.dumps(found | {"notes": notes}, indent=1).removesuffix("\n}")
        lines = ",\n".join(map(json.dumps, rows))
        path.write_text(f'{head},\n "rows": [\n{lines}\n ]\n}}\n')
        print(self.table(rows))
        if self.pictures:
            print(f"Saved {', '.join(self.pictures(rows, output))} in {output}")
        print(f"Saved {path}, after {seconds} s")


def versions_of(names):
    """Version of each distribution, or None of what is not installed or none."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def describe():
    """The machine and the versions."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    versions = ", ".join(f"{name} {version(name)}" for name in ("pymc", "pytensor", "numba", "numpy"))
    return f"{model}, {os.cpu_count()} CPUs{load}; Python {platform.python_version()}, {versions}"


def rows_to_keep(name, quick, note, sets, methods=None, method_of=lambda row: row["method"]):
    """Stored rows that are not measured again: all of other sets and methods, if only some of either are measured."""
    path = (QUICK_RESULTS if quick else RESULTS) / f"{name}.json"
    if not path.exists() or not (sets or methods):
        return []
    note(SEVERAL_RUNS)
    rows = json.loads(path.read_text())["rows"]
    return [row for row in rows if (sets and row["set"] not in sets) or (methods and method_of(row) not in methods)]


@contextmanager
def skipping(what, note):
    """Leave out what needs a package or a file that is not there, with a note."""
    try:
        yield
    except ImportError as error:
        note(f"{what} skipped: {error.name} is not installed")
    except FileNotFoundError as error:
        note(f"{what} skipped: {error}")


def markdown(titles, lines):
    """A Markdown table, with three digits for numbers and a dash for None."""
    rows = [titles, ["---"] * len(titles), *[[_cell(value) for value in line] for line in lines]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def columns(rows, shown):
    """A Markdown table of rows: for each title a key of the rows, or a function of a row; a dict or pairs."""
    titles, cells = zip(*(shown.items() if isinstance(shown, dict) else shown), strict=True)
    return markdown(titles, [[what(row) if callable(what) else row[what] for what in cells] for row in rows])


def _cell(value):
    if value is None:
        return "-"
    if isinstance(value, str | int):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def where(rows, **wanted):
    """Rows that have these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def groups(rows, *keys):
    """Rows by the value of a key, or by those of several, in the order in which they come."""
    found = {}
    for row in rows:
        found.setdefault(row[keys[0]] if len(keys) == 1 else tuple(row[key] for key in keys), []).append(row)
    return found


def spread(values):
    """Median and range of repeated measurements, as ``{"median", "least", "most"}``."""
    return {"median": median(values), "least": min(values), "most": max(values)}


def interval(found, digits=".3g", factor=1.0):
    """Median with its range, as text; the median alone if that is all there is."""
    middle, least, most = (f"{factor * found[key]:{digits}}" for key in ("median", "least", "most"))
    return middle if found["least"] == found["most"] else f"{middle} ({least} to {most})"
