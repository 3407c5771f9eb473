"""Labels as a graph reads them, for every vector of three labels."""

import itertools

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_nrm.partitions.flat import Indices, Sizes
from pymc_nrm.partitions.labels import canonical_labels


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
@pytest.mark.parametrize("n", [3, 2])
def test_every_vector(mode, n):
    labels = pt.lvector()
    read = pytensor.function([labels], [*Sizes()(labels, n), *Indices()(labels, n)], mode=mode)
    for given in map(np.array, itertools.product(range(-1, 4), repeat=3)):
        sizes, valid, indices, in_range = read(given)
        ordered = min(given) >= 0 and np.array_equal(canonical_labels(given), given)
        assert valid == (ordered and n == 3)
        np.testing.assert_array_equal(sizes, np.bincount(given) if ordered else [3])
        assert in_range == (min(given) >= 0 and max(given) < n)
        np.testing.assert_array_equal(indices, given if in_range else 0)
