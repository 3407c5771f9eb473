"""Numbers of rows are those of Philox, and uniform."""

import numpy as np
import pytest

from pymc_nrm.kernels.generic import kernel
from pymc_nrm.moves.chunks.chain import philox, row_uniform

# Known answers of the authors' Random123 library, `kat_vectors`: counter, key, result.
PI = "243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"
KNOWN = [
    ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (" ".join(["ffffffff"] * 4), "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    PI,
]


def words(text):
    return [np.uint64(int(word, 16)) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_published_vectors(counter, key, result):
    assert list(philox(*words(counter), *words(key))) == words(result)


@kernel
def uniforms(seed, call, stream, first, n):
    """Numbers of n rows."""
    values = np.empty(n)
    for i in range(n):
        values[i] = row_uniform(seed, call, stream, first + i)
    return values


def test_numbers_of_rows_are_uniform_and_differ_in_all_that_they_depend_on():
    n = 100_000
    base = uniforms(np.uint64(2**63 + 5), 3, 1, 2**40, n)
    others = [
        uniforms(np.uint64(2**63 + 6), 3, 1, 2**40, n),
        uniforms(np.uint64(5), 3, 1, 2**40, n),
        uniforms(np.uint64(2**63 + 5), 4, 1, 2**40, n),
        uniforms(np.uint64(2**63 + 5), 3, 2, 2**40, n),
        uniforms(np.uint64(2**63 + 5), 3, 1, 2**40 + n, n),
        uniforms(np.uint64(2**63 + 5), 3, 1, 0, n),
    ]
    for values in (base, *others):
        assert values.min() >= 0.0 and values.max() < 1.0
        counts = np.bincount((values * 100).astype(int), minlength=100)
        assert ((counts - n / 100) ** 2 / (n / 100)).sum() < 99 + 5 * np.sqrt(2 * 99)
    for values in others:
        assert abs(np.corrcoef(base, values)[0, 1]) < 5 / np.sqrt(n)
    assert np.array_equal(uniforms(np.uint64(2**63 + 5), 3, 1, 2**40 + 7, 10), base[7:17])
