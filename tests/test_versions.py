"""What a report of a problem says about the installation."""

import os
import pathlib
import platform
import re
import subprocess
import sys
from importlib import metadata

import pytest

import pymc_nrm as nrm
from pymc_nrm import versions


def shown(capsys):
    assert nrm.show_versions() is None
    lines = capsys.readouterr().out.splitlines()
    return dict(re.split(r" {2,}", line, maxsplit=1) for line in lines)


def test_versions_are_those_of_the_modules_in_use(capsys):
    table = shown(capsys)
    assert table["pymc_nrm"] == nrm.__version__
    assert table["Python"].startswith(platform.python_version())
    assert table["platform"] == platform.platform() and table["CPUs"] == str(os.cpu_count())
    for name in ("PyMC", "PyTensor", "numba", "NumPy", "SciPy", "ArviZ", "xarray", "pandas"):
        assert table[name] == __import__(name.lower()).__version__, name
    assert "scikit-learn" in table


def test_absent_packages_are_named(capsys, monkeypatch):
    def version(distribution):
        if distribution == "scikit-learn":
            raise metadata.PackageNotFoundError(distribution)
        return "1.2"

    monkeypatch.setattr(versions.metadata, "version", version)
    table = shown(capsys)
    assert table["scikit-learn"] == "not installed" and table["pandas"] == "1.2"


def test_kernel_cache_is_the_folder_that_kernels_are_written_to(capsys, monkeypatch, tmp_path):
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    state, folder = shown(capsys)["kernel cache"].split(", ", 1)
    assert state == "writable" and pathlib.Path(folder).is_relative_to(tmp_path) and os.path.isdir(folder)


def test_kernel_cache_that_cannot_be_written_says_what_to_do(capsys, monkeypatch):
    monkeypatch.setattr(versions, "cache_folder", lambda: None)
    assert shown(capsys)["kernel cache"] == "not writable; set NUMBA_CACHE_DIR to a writable folder"
    monkeypatch.setattr(versions, "lacking_names", lambda used: ["numba.core.caching.FunctionCache"])
    assert shown(capsys)["kernel cache"].startswith("off, since this version of numba lacks numba.core.caching.Fun")


def test_the_command_prints_the_same_without_a_warning(capsys):
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", "pymc_nrm.versions"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    nrm.show_versions()
    assert done.stdout == capsys.readouterr().out


def test_the_name_is_at_the_top_beside_the_version():
    assert {"show_versions", "__version__"} <= set(dir(nrm))
    assert nrm.show_versions is versions.show_versions
