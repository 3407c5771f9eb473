"""Make one report from the stored results of all parts: a table of claims, then a short section for each part.

Run with ``python benchmarks/report.py [FOLDER]``.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import NamedTuple

from common.part import RESULTS, SEVERAL_RUNS, Part, markdown
from run import NAMES


class Result(NamedTuple):
    """A part and what it stored: machine, quick, seconds, cpu_seconds, notes, rows."""

    part: Part
    found: dict


def read_results(folder, names=NAMES):
    """Results of the parts that have stored any, in the order of the names."""
    paths = {name: Path(folder) / f"{name}.json" for name in names}
    return [
        Result(importlib.import_module(name).PART, json.loads(path.read_text()))
        for name, path in paths.items()
        if path.exists()
    ]


def headline(results):
    """The claims of all parts as a Markdown table, and the machines."""
    lines = []
    for part, found in results:
        claims = part.headline(found["rows"]) if part.headline and found["rows"] else []
        for claim, measured, target, met in claims:
            lines.append([claim, measured, target, None if met is None else ("yes" if met else "**no**")])
    table = markdown(["What", "Measured", "Target", "Met"], lines)
    machines = " and ".join(sorted({processor(found) for _, found in results}))
    return (
        f"{table}\nMeasured on {machines}.  The JSON of each part has versions, repeats, spreads and all that is not "
        "shown here.\n"
    )


def processor(found):
    """The processor that a part was measured on."""
    return found["machine"].split(",")[0]


def section(result, folder, failed):
    """The section of one part: machine, notes, what was measured, the figures that matter, what they mean, pictures."""
    part, found = result
    lines = [f"## {part.name}\n"]
    if failed:
        lines.append("**The last run of this part failed: these are results of an earlier one.**\n")
    form = "quick form, " if found["quick"] else ""
    several = ", the last of several runs" if SEVERAL_RUNS in found["notes"] else ""
    lines.append(f"*{processor(found)}, {form}{found['seconds']:.0f} s{several}.*\n")
    notes = [f"- {note}" for note in found["notes"] if note != SEVERAL_RUNS]
    lines += notes + ([""] if notes else [])
    if not found["rows"]:
        return "\n".join([*lines, "Nothing was measured.\n"])
    # What the full form shows need not hold for a look.
    lines += [part.table(found["rows"]), *([] if found["quick"] else [f"{part.meaning}\n"])]
    pictures = part.pictures(found["rows"], folder) if part.pictures else {}
    return "\n".join([*lines, *(f"![{caption}]({name})\n" for name, caption in pictures.items())])


def report(results, folder, failed=()):
    """The whole report as Markdown; pictures are drawn into the folder."""
    return head(results) + "\n".join(section(result, folder, result.part.name in failed) for result in results)


def head(results):
    """The report before its first section: the claims, and which parts have no results."""
    absent = [name for name in NAMES if name not in {result.part.name for result in results}]
    missing = f"No results of: {', '.join(absent)}.\n\n" if absent else ""
    return f"# Benchmarks\n\n{headline(results)}\n{missing}"


def main():
    parser = argparse.ArgumentParser(description="Write the report of the benchmarks.")
    parser.add_argument("folder", type=Path, nargs="?", default=RESULTS, help="folder of the results")
    parser.add_argument("--failed", nargs="*", default=[], help="parts whose last run failed")
    options = parser.parse_args()
    results = read_results(options.folder)
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / "REPORT.md"
    path.write_text(report(results, options.folder, options.failed))
    print(f"Saved {path}")
    if options.folder.resolve() == RESULTS and any(result.found["quick"] for result in results):
        print(f"{RESULTS} should hold results of the full form only; some are of the quick form.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
