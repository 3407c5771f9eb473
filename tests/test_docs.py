"""The documentation builds without a warning, and describes every name that the package exports."""

import pathlib
import subprocess
import sys

import pytest

DOCS = pathlib.Path(__file__).parents[1] / "docs"


@pytest.mark.slow
def test_documentation_builds_without_warnings(tmp_path):
    # The build checks that every exported name has a page, see docs/_extensions/coverage_check.py.
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_nb")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", DOCS, tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html" / "index.html").exists()
