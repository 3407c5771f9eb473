"""Notebooks of the documentation: short, committed with their outputs, run from nothing in three CPU minutes each."""

import base64
import importlib
import json
import os
import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).parents[1] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
LARGEST_NOTEBOOK = 400_000  # bytes of all its pictures


@pytest.fixture
def run_notebooks(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    return importlib.import_module("run_notebooks")


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def outputs_of(notebook):
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_short_and_has_its_outputs(path):
    cells = read(path)["cells"]
    assert cells[0]["cell_type"] == "markdown" and "".join(cells[0]["source"]).startswith("# ")
    assert len(cells) <= 10
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not [line for cell in code for line in cell["source"] if len(line.rstrip("\n")) > 85]
    outputs = outputs_of({"cells": cells})
    assert not [output for output in outputs if output["output_type"] == "error"]
    pictures = [base64.b64decode("".join(png)) for o in outputs if (png := o.get("data", {}).get("image/png"))]
    assert pictures and sum(map(len, pictures)) < LARGEST_NOTEBOOK
    texts = ["".join(output.get("text", [])) for output in outputs]
    assert not [text for text in texts if re.search(r"Warning|site-packages|/tmp/|/home/", text)]
    # A page of the documentation.
    assert f"\n{path.stem}\n" in (DOCS / "notebooks" / "index.md").read_text()


def test_times_and_metadata_are_left_out(run_notebooks):
    log = "Sampling 4 chains took 5 seconds.\nConvergence: fine.\n"
    streams = [{"output_type": "stream", "name": "stderr", "text": text} for text in (log, "Compiling kernels\n")]
    cell = {"id": "x", "cell_type": "code", "metadata": {"execution": {"iopub.status": 1}}, "outputs": streams}
    [cleaned] = run_notebooks.clean({"cells": [cell]})["cells"]
    assert [output["text"] for output in cleaned["outputs"]] == ["Convergence: fine.\n"]
    assert cleaned["metadata"] == {} and cleaned["id"] == "cell-0"


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_from_nothing(path, run_notebooks, tmp_path, monkeypatch):
    """With nothing compiled, in a time that a reader waits, and its outputs are of the kinds that are committed."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.setenv("PYTENSOR_FLAGS", f"base_compiledir={tmp_path / 'pytensor'}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(DOCS.parent), os.environ.get("PYTHONPATH", "")]))
    notebook, seconds = run_notebooks.executed(path)
    assert 1.0 < seconds <= run_notebooks.LIMIT
    for found, stored in zip(notebook["cells"], read(path)["cells"], strict=True):
        kinds = [[output["output_type"] for output in cell.get("outputs", [])] for cell in (found, stored)]
        assert kinds[0] == kinds[1]
