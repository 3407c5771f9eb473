"""Where chains on diffusion trees start."""

import numpy as np
import pytest

from pymc_nrm.families.base import Dense
from pymc_nrm.moves.nested.diffusion_sweep import diffusion_start
from pymc_nrm.partitions.labels import is_canonical


def clustered(rng):
    """Three groups of two clusters of ten items: 16 apart between the groups, 8 within them."""
    cluster = np.repeat(np.arange(6), 10)
    middle = np.array([0.0, 8.0, 24.0, 32.0, 48.0, 56.0])[cluster]
    return cluster, middle[:, None] * [1.0, -1.0] + 0.1 * rng.normal(size=(60, 2))


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_columns_are_nested_and_canonical(depth):
    rng = np.random.default_rng(1)
    for values in (clustered(rng)[1], rng.normal(size=(30, 3)), np.repeat(rng.normal(size=(4, 1)), 5, axis=0)):
        paths = diffusion_start(Dense(values), depth, rng)
        assert paths.shape == (len(values), depth)
        assert paths.dtype == np.int64
        for column, above in zip(paths.T[1:], paths.T[:-1], strict=True):
            assert is_canonical(column)
            assert len(np.unique(np.column_stack([column, above]), axis=0)) == column.max() + 1


def test_clusters_are_leaves():
    cluster, values = clustered(np.random.default_rng(1))
    paths = diffusion_start(Dense(values), 2, np.random.default_rng(1))
    np.testing.assert_array_equal(paths[:, 1], cluster)
    assert 2 <= paths[:, 0].max() + 1 <= 3


def test_nothing_to_cut():
    rng = np.random.default_rng(1)
    for values in (np.ones((1, 2)), np.ones((5, 2))):
        assert (diffusion_start(Dense(values), 3, rng) == 0).all()
    # A constant feature is left out.
    cluster, values = clustered(rng)
    values = np.column_stack([values, np.full(60, 7.0)])
    np.testing.assert_array_equal(diffusion_start(Dense(values), 1, rng)[:, 0], cluster)
