"""Every example runs, prints no traceback and saves a picture; shipped data agree with their sources."""

import ast
import gzip
import importlib
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


def test_files_of_fashion_mnist(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    image_tree = importlib.import_module("image_tree")
    images = np.arange(24, dtype="uint8").reshape(2, 3, 4)
    files = {"images": images, "labels": np.array([9, 0], dtype="uint8")}
    for kind, values in files.items():
        header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes()
        (tmp_path / image_tree.FASHION[kind]).write_bytes(gzip.compress(header + values.tobytes()))
    found, classes = image_tree.fashion(tmp_path)
    np.testing.assert_allclose(found, images / 255)
    assert classes.tolist() == ["boot", "T-shirt"]
    path = tmp_path / image_tree.FASHION["labels"]
    path.write_bytes(gzip.compress(b"\0\0\x08\x01\0\0\0\x03\1"))
    with pytest.raises(ValueError, match="must hold bytes in the format of MNIST; it begins with 00 00 08 01"):
        image_tree.fashion(tmp_path)
    path.write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="is not compressed by gzip"):
        image_tree.fashion(tmp_path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"train-labels-idx1-ubyte.gz is missing; download .* of Fashion-MNIST"):
        image_tree.fashion(tmp_path)


# Numbers of rows and columns, and the means of the columns.
DATASETS = {
    "galaxies": (galaxies, (82,), 20831.463415),
    "old_faithful": (old_faithful, (272, 2), [3.487783, 70.897059]),
}


@pytest.mark.parametrize(("load", "shape", "mean"), DATASETS.values(), ids=DATASETS)
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
