"""The scripts that mypy and pyright check can be run."""

import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent / "typing"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["models", "results", "merge_trees"])
def test_script_runs(name):
    done = subprocess.run([sys.executable, FOLDER / f"{name}.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
