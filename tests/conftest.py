"""Settings for all tests."""

import pathlib

import numpy as np
import pytest

# Data sets that are not part of the package lie beside the repository.
SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: minutes each; run with `-m slow`")


@pytest.fixture(scope="session")
def shared():
    """Folder of data sets for comparison with published results; tests are skipped without it."""
    if not SHARED.is_dir():
        pytest.skip("needs the data sets beside the repository")
    return SHARED


@pytest.fixture
def rng():
    return np.random.default_rng(20261121)
