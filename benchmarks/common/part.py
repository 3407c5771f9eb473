"""A part of the benchmarks: it measures rows of numbers, stores them, and turns them into a table and pictures.

A script makes one ``Part`` and calls its ``main``: ``python benchmarks/NAME.py [--quick] [--output FOLDER]`` measures
and writes ``FOLDER/NAME.json``.  ``run.py`` runs each part in a separate process, and ``report.py`` reads the results.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from common.machine import describe

RESULTS = Path(__file__).resolve().parents[1] / "results"
QUICK_RESULTS = RESULTS.with_name("results-quick")


class Part(NamedTuple):
    """One part of the benchmarks.

    Parameters
    ----------
    name : str
        Name of the script, and of the file of results.
    measure : callable
        ``measure(quick, note)`` returns rows, a list of dicts of numbers and strings; it calls ``note(text)`` to say
        what is skipped, and why.  The quick form takes well under a minute.
    table : callable
        ``table(rows)`` returns Markdown: what is compared, model, repeats and spread, and one or more tables.
    pictures : callable, optional
        ``pictures(rows, folder)`` saves PNG files into a folder and returns a dict of their names and captions.
    add_arguments : callable, optional
        ``add_arguments(parser)`` adds options to the command line, which ``measure`` gets as keyword arguments.
    headline : callable, optional
        ``headline(rows)`` returns the claims about the part, as tuples of four: the claim, what was measured with its
        range, the target or None, and whether it is met or None.
    """

    name: str
    measure: Callable
    table: Callable
    pictures: Callable | None = None
    add_arguments: Callable | None = None
    headline: Callable | None = None

    def main(self):
        """Measure as the command line says, and store the results."""
        parser = argparse.ArgumentParser(description=f"Part {self.name} of the benchmarks.")
        parser.add_argument("--quick", action="store_true", help="fewer sizes and repeats, for a look")
        parser.add_argument("--output", type=Path, help="folder of the results")
        if self.add_arguments:
            self.add_arguments(parser)
        options = vars(parser.parse_args())
        quick, output = options.pop("quick"), options.pop("output")
        output = output or (QUICK_RESULTS if quick else RESULTS)
        notes = []

        def note(text):
            print(text, flush=True)
            notes.append(text)

        machine = describe()
        print(machine, flush=True)
        start, processor = time.perf_counter(), time.process_time()
        rows = self.measure(quick, note, **options)
        found = {
            "machine": machine,
            "quick": quick,
            "seconds": round(time.perf_counter() - start, 1),
            "cpu_seconds": round(time.process_time() - processor + sum(os.times()[2:4]), 1),
            "notes": notes,
            "rows": rows,
        }
        output.mkdir(parents=True, exist_ok=True)
        path = output / f"{self.name}.json"
        path.write_text(json.dumps(found, indent=1) + "\n")
        print(self.table(rows))
        if self.pictures:
            print(f"Saved {', '.join(self.pictures(rows, output))} in {output}")
        print(f"Saved {path}, after {found['seconds']} s")


def rows_to_keep(name, quick, sets, methods, method_of=lambda row: row["method"]):
    """Stored rows that are not measured again: all of other sets and methods, if only some of either are measured."""
    path = (QUICK_RESULTS if quick else RESULTS) / f"{name}.json"
    if not path.exists() or not (sets or methods):
        return []
    rows = json.loads(path.read_text())["rows"]
    return [row for row in rows if (sets and row["set"] not in sets) or (methods and method_of(row) not in methods)]


def markdown(titles, lines):
    """A Markdown table, with three digits for numbers and a dash for None."""
    rows = [titles, ["---"] * len(titles), *[[_cell(value) for value in line] for line in lines]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _cell(value):
    if value is None:
        return "-"
    if isinstance(value, str | int):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def spread(values):
    """Median and range of repeated measurements, as ``{"median", "least", "most"}``."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return {"median": median, "least": ordered[0], "most": ordered[-1]}
