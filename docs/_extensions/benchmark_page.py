"""Page of benchmarks from the stored results: headline figures of each part, when and where measured, and against whom.

Nothing is measured here.  The results are in ``benchmarks/results``, one JSON file for each part, and each part makes
its headline figures from its rows.
"""

import importlib
import inspect
import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path

from first_page import repository

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# Headings of the page, and the parts below them; parts that are nowhere come last.
GROUPS = {
    "Against other programs": (
        *("accuracy", "gibbs_sweep", "stock_pymc", "labels_as_index", "own_weights", "collapsed_regressions"),
        *("held_out", "real_data", "regression", "equal_time", "trees_of_items", "hidden_states", "segmentation"),
    ),
    "Defaults, from a table to an answer": ("defaults", "tables", "drawn_tables", "agreement_of_chains", "growth"),
    "Samplers": ("samplers", "ablation"),
    "Waiting": ("first_minutes", "latency", "waiting"),
    "Size": ("scaling", "large", "chunks", "documents"),
}


def setup(app):
    """Write the page before Sphinx reads it."""
    app.connect("builder-inited", _write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_page(app):
    from reference_pages import write_folder  # needs Sphinx, which the page itself does not

    folder = Path(app.srcdir) / "explanation" / "generated"
    write_folder(folder, {"benchmarks.txt": page(stored_results(), repository())})


def stored_results():
    """Pairs of a part and its stored results, in the order of the report."""
    with _modules_of_benchmarks():
        report = importlib.import_module("report")
        return [tuple(result) for result in report.read_results(report.RESULTS)]


@contextmanager
def _modules_of_benchmarks():
    """The folder of the benchmarks on the path; numbers of threads that they set must not reach kernels of pages."""
    environment = set(os.environ)
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in set(os.environ) - environment:
            del os.environ[name]


def page(results, address):
    """The page: one table of all parts, then the headline figures of each."""
    report = f"{address}/blob/main/benchmarks/results/REPORT.md"
    lines = ["| Part | Measured on | Machine | Compared with | Goals met |", "| --- | --- | --- | --- | --- |"]
    by_name = {part.name: (part, found) for part, found in results}
    rest = [name for name in by_name if name not in {name for names in GROUPS.values() for name in names}]
    sections = []
    for title, names in (GROUPS | ({"Others": tuple(rest)} if rest else {})).items():
        there = [by_name[name] for name in names if name in by_name]
        lines += [_row(part, found) for part, found in there]
        sections += [f"## {title}\n"] * bool(there) + [_section(part, found, report) for part, found in there]
    return "\n".join(["\n".join(lines), "", *sections])


def _row(part, found):
    met = [claim[3] for claim in _claims(part, found) if claim[3] is not None]
    goals = f"{sum(map(bool, met))} of {len(met)}" if met else "-"
    cells = [f"[{part.name}](#{part.name})", _date(found), _machine(found), _peers(part, found), goals]
    return f"| {' | '.join(cells)} |"


def _section(part, found, report):
    """One part: what it measures, its headline figures, what they mean, and where the rest is."""
    what = inspect.getdoc(inspect.getmodule(part.measure)).split("\n\n")[0].replace("``", "`")
    lines = [f"### {part.name}\n", f"{_sentence(what)}\n"]
    claims = _claims(part, found)
    if claims:
        lines += ["| What | Measured | Target | Met |", "| --- | --- | --- | --- |"]
        lines += [f"| {' | '.join(_cell(value) for value in claim)} |" for claim in claims] + [""]
    lines.append(f"{part.meaning}\n")
    several = ", the last of several runs" if any("several runs" in note for note in found["notes"]) else ""
    versions = found["machine"].split("; ", 1)[-1]
    lines.append(
        f"*{_date(found)}, {_machine(found)}, {found['seconds']:,.0f} s{several}; {versions}.* "
        f"[All figures of this part]({report}#{part.name}).\n"
    )
    return "\n".join(lines)


def _claims(part, found):
    return part.headline(found["rows"]) if part.headline and found["rows"] else []


def _date(found):
    return found.get("date", "-")


def _machine(found):
    """The processor, the number of CPUs, and the load at the start: what else ran slows a measurement down."""
    return found["machine"].split(";")[0]


def _peers(part, found):
    """Names of peers, with versions where they are stored; the line of the machine has the version of PyMC."""
    stored = found.get("peers", {})
    pymc = re.search(r"\bpymc ([\w.]+)", found["machine"])
    known = {"pymc": pymc.group(1)} if pymc else {}
    versions = {name: stored.get(name) or known.get(name) for name in stored or part.peers}
    return ", ".join(f"{name} {version}" if version else name for name, version in versions.items()) or "-"


def _cell(value):
    if value is None or isinstance(value, str):
        return value or "-"
    return "yes" if value else "**no**"


def _sentence(text):
    text = " ".join(text.split())
    return text if text.endswith(".") else f"{text}."
