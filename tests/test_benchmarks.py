"""The benchmarks can be imported, and their report says what was measured; no test measures time."""

import importlib
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
NAMES = (
    *("accuracy", "gibbs_sweep", "samplers", "ablation", "stock_pymc", "labels_as_index"),
    *("collapsed_regressions", "regression", "held_out", "real_data", "tables", "agreement_of_chains"),
    *("documents", "trees_of_items", "first_minutes", "latency", "scaling", "large", "chunks", "equal_time"),
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


def test_all_parts_are_run(module):
    assert module("run").NAMES == NAMES
    assert callable(module("tree_bounds").main)
    assert callable(module("published_subclusters").main)


def test_run_goes_on_after_a_failure(tmp_path):
    # A separate folder with three parts: one fails, one is missing, one succeeds.
    copy = tmp_path / "benchmarks"
    shutil.copytree(FOLDER / "common", copy / "common")
    text = (FOLDER / "run.py").read_text()
    text = text.replace("FOLDER = Path", 'NAMES = ("broken", "missing", "sound")\nFOLDER = Path')
    (copy / "run.py").write_text(text)
    (copy / "broken.py").write_text("raise SystemExit(3)\n")
    print_arguments = "print('sound', os.environ['OMP_NUM_THREADS'], *arguments)"
    main = f"    def main(arguments):\n        {print_arguments}\n"
    (copy / "sound.py").write_text(f"import os\nclass PART:\n{main}")
    (copy / "report.py").write_text("import sys\nprint('report', *sys.argv[2:])\n")
    environment = os.environ | {"PYTHONPATH": str(copy)}

    def run(*arguments):
        command = [sys.executable, copy / "run.py", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    done = run("--quick")
    assert done.returncode == 1, done.stderr
    assert f"sound 1 --quick --output {copy / 'results-quick'}" in done.stdout
    assert "report --failed broken missing" in done.stdout
    assert "Failed: broken, missing" in done.stdout
    assert run("--only", "sound").returncode == 0
    assert "invalid choice: 'unknown'" in run("--only", "unknown").stderr


def test_stored_report_says_what_was_measured(report):
    results = report.read_results(report.RESULTS)
    if not results:
        pytest.skip("no results are stored")
    assert not any(result.found["quick"] for result in results)
    stored = (report.RESULTS / "REPORT.md").read_text(encoding="utf-8")
    assert stored.startswith(f"{report.head(results)}## {results[0].part.name}\n")
    for part, found in results:
        assert f"\n{part.table(found['rows'])}" in stored, part.name
