"""The benchmarks can be imported, and their report says what was measured; no test measures time."""

import importlib
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
NAMES = (
    *("accuracy", "gibbs_sweep", "samplers", "ablation", "stock_pymc", "labels_as_index"),
    *("collapsed_regressions", "regression", "held_out", "real_data", "tables", "drawn_tables", "agreement_of_chains"),
    *(
        "documents",
        "trees_of_items",
        "hidden_states",
        "own_weights",
        "first_minutes",
        "latency",
        "scaling",
        "large",
        "chunks",
        "equal_time",
    ),
)


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # scripts set these, which must not affect later tests
    return importlib.import_module


@pytest.fixture
def report(module):
    return module("report")


@pytest.mark.parametrize("name", NAMES)
def test_script_defines_a_part(name, module):
    part = module(name).PART
    assert part.name == name
    for function in (part.measure, part.table, part.pictures or print, part.headline or print):
        assert callable(function)
    assert part.meaning.endswith(".")


def test_all_parts_are_run(module):
    assert module("run").NAMES == NAMES
    assert callable(module("tree_bounds").main)
    assert callable(module("published_subclusters").main)


def test_stored_report_says_what_was_measured(report):
    results = report.read_results(report.RESULTS)
    if not results:
        pytest.skip("no results are stored")
    assert not any(result.found["quick"] for result in results)
    stored = (report.RESULTS / "REPORT.md").read_text(encoding="utf-8")
    assert stored.startswith(f"{report.head(results)}## {results[0].part.name}\n")
    for part, found in results:
        assert f"\n{part.table(found['rows'])}\n{part.meaning}\n" in stored, part.name
    assert not re.search(r"\b(None|nan)\b", stored)


@pytest.mark.parametrize("page", ["NOTES.md", "results/REPORT.md"])
def test_page_is_short_enough_to_be_read(page):
    """Details are in the JSON files, and what was tried has one line."""
    assert (FOLDER / page).stat().st_size <= 44_000
