"""Machine code that an installed package brings is loaded, and compiled again where it is damaged."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pymc_nrm.kernels.shipped import PACKAGE

PROGRAM = """
import sys

import numpy as np

from pymc_nrm.kernels.compile_times import keep_seconds, last_seconds
from pymc_nrm.kernels.special import log_sum_exp

value = log_sum_exp(np.zeros(8))
if sys.argv[1:]:
    keep_seconds("moves of this version", 0.0)
    keep_seconds("kernels of a model", 4.0)
print(value, sum(log_sum_exp.dispatcher.stats.cache_hits.values()))
print(last_seconds("moves of this version"), last_seconds("kernels of a model"))
"""


def run(cache, *arguments, **environment):
    """Words that the program prints, and its warnings."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)} | environment
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.split(), done.stderr


@pytest.fixture(scope="module")
def builder():
    spec = importlib.util.spec_from_file_location(
        "build_kernels", Path(__file__).parents[2] / "packaging" / "build_kernels.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_installed_machine_code_is_loaded_and_checked(builder, tmp_path):
    package, path = tmp_path / PACKAGE, {"PYTHONPATH": str(tmp_path)}
    value = "2.0794415416798357"
    assert run(tmp_path / "built", "keep", NUMBA_CPU_NAME="generic")[0] == [value, "0", "0.0", "4.0"]
    builder.fill(package, tmp_path / "built")
    # No other processor has compiled anything, and this one compiles nothing; nor is a title of another machine known.
    assert run(tmp_path / "first", **path) == ([value, "1", "0.0", "None"], "")
    assert not [*(tmp_path / "first").rglob("*.nbc")]
    for file in package.rglob("*.nbc"):
        file.write_bytes(file.read_bytes()[:-1])
    printed, warning = run(tmp_path / "second", **path)
    assert printed == [value, "0", "0.0", "None"]
    assert "A file of compiled kernels cannot be read" in warning
    assert run(tmp_path / "second", **path)[0] == [value, "1", "0.0", "None"]


def test_tags_are_those_of_numba(builder):
    (_, python, _, abi, _, platform) = builder.tags_of_numba()
    assert python == abi == f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert platform
