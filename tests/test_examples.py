"""Every example runs, prints no traceback and saves a picture; shipped data agree with their sources."""

import ast
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from pymc_nrm.datasets import galaxies, old_faithful, penguins

ROOT = pathlib.Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
LARGEST_PICTURE = 250_000  # bytes


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_runs(script, tmp_path):
    pytest.importorskip("arviz_plots")
    pytest.importorskip("matplotlib")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, encoding="utf-8", env=environment, cwd=tmp_path
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "Traceback" not in output, output
    assert "divergence" not in output, output
    assert (tmp_path / f"{script.stem}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_has_title_text_and_picture(script):
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    title, text = docstring.split("\n\n", 1)
    assert "\n" not in title
    assert text.endswith(f"Run with ``python examples/{script.stem}.py [FILE.png]``.")
    picture = ROOT / "docs" / "images" / f"{script.stem}.png"
    assert picture.exists(), f"make it with: python {script} {picture}"
    assert picture.stat().st_size < LARGEST_PICTURE


@pytest.mark.parametrize(
    ("load", "shape", "mean"),
    [(galaxies, (82,), 20831.463415), (old_faithful, (272, 2), [3.487783, 70.897059])],
)
def test_datasets(load, shape, mean):
    data = load()
    assert data.shape == shape and data.dtype == np.float64 and np.isfinite(data).all()
    np.testing.assert_allclose(data.mean(axis=0), mean, rtol=1e-6)
    data[:] = 0  # a copy of its own for each caller
    assert load().all()


def test_penguins():
    table = penguins()
    assert table.shape == (344, 8) and table.isna().sum().sum() == 19
    assert table["species"].value_counts().to_dict() == {"Adelie": 152, "Gentoo": 124, "Chinstrap": 68}
    assert table["body_mass_g"].mean() == pytest.approx(4201.754386)
