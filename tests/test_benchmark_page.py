"""The page of benchmarks has every part with stored results, and says when, where and against whom it was measured."""

import importlib
import json
import os
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture
def benchmark_page(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    return importlib.import_module("benchmark_page")


@pytest.fixture
def part(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    return importlib.import_module("common.part")


def test_every_stored_part_is_on_the_page(benchmark_page):
    environment, path = dict(os.environ), list(sys.path)
    results = benchmark_page.stored_results()
    assert (dict(os.environ), sys.path) == (environment, path)
    text = benchmark_page.page(results, "https://host/repository")
    names = [part.name for part, _ in results]
    assert sorted(re.findall(r"^### (\w+)$", text, re.MULTILINE)) == sorted(names)
    assert len(names) > 20
    report = (ROOT / "benchmarks" / "results" / "REPORT.md").read_text()
    for name in re.findall(r"https://host/repository/blob/main/benchmarks/results/REPORT\.md#(\w+)", text):
        assert f"\n## {name}\n" in report
    for _, found in results:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    assert not re.search(r"\b(None|nan)\b", text)


def results_of(part, *, met, **more):
    def measure(quick, note):
        """Unused."""

    measured = part.Part(
        "accuracy",
        measure,
        str,
        headline=lambda rows: [("seconds", "2 s", "1 s", met), ("peak", "1 GB", None, None)],
        meaning="It is slow.",
        peers=("pymc", "nutpie"),
    )
    found = {
        "machine": "Chip, 2 CPUs, load 0.5; Python 3.13.0, pymc 6.4.0",
        "quick": False,
        "seconds": 1234.5,
        "notes": [],
        "rows": [{}],
    }
    return measured, found | more


def test_dates_machines_and_versions_of_peers(benchmark_page, part):
    """Old results have neither date nor versions of peers; that of PyMC is always known."""
    old = benchmark_page.page([results_of(part, met=False)], "a")
    assert "| [accuracy](#accuracy) | - | Chip, 2 CPUs, load 0.5 | pymc 6.4.0, nutpie | 0 of 1 |" in old
    assert "| seconds | 2 s | 1 s | **no** |\n| peak | 1 GB | - | - |\n\nIt is slow.\n" in old
    stored = {"date": "2026-12-01", "peers": {"pymc": "6.4.0", "nutpie": "0.16"}}
    new = benchmark_page.page([results_of(part, met=True, **stored)], "a")
    assert "| 2026-12-01 | Chip, 2 CPUs, load 0.5 | pymc 6.4.0, nutpie 0.16 | 1 of 1 |" in new
    assert "*2026-12-01, Chip, 2 CPUs, load 0.5, 1,234 s; Python 3.13.0, pymc 6.4.0.*" in new


def test_a_measured_part_stores_its_date_and_peers(part, tmp_path, capsys):
    measured = part.Part("small", lambda quick, note: [{"x": 1}], str, peers=("pymc", "programs in C++"))
    measured.main(["--output", str(tmp_path)])
    found = json.loads((tmp_path / "small.json").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    assert found["peers"]["pymc"] and found["peers"]["programs in C++"] is None
