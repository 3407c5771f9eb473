"""Numbers of rows are those of Philox, and uniform; sums of rounded statistics are exact in any order."""

from fractions import Fraction

import numpy as np
import pytest
from chunk_cases import make_chain

import pymc_nrm as nrm
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.moves.chunks.chain import philox, rounded_rows, row_uniform
from pymc_nrm.moves.chunks.exact_sums import quanta_of

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


def test_quanta_are_powers_of_two_and_sums_fit_into_a_word():
    largest = np.array([0.0, 1.0, 3.7, 1e300, 1e-250, 2.0**40])
    for n in (1, 2, 3, 1000, 10**9):
        quanta = quanta_of(largest, n)
        assert (np.frexp(quanta.quantum)[0] == 0.5).all()
        assert all(int(one) * n < 2**62 for one in quanta.largest)
        assert (quanta.quantum[1:] <= largest[1:] * (n * 2.0**-59)).all()
    # Counts and whole numbers are not rounded at all.
    assert quanta.quantum[1] < 1.0


def test_sums_have_all_digits_of_the_data():
    """Sums and sums of squares of values far from zero, compared with rational arithmetic."""
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(size=(300, 1)), 1e6 + rng.normal(size=(300, 1))])
    chain = make_chain(nrm.NormalGamma(mu=0.0, kappa=0.1, alpha=2.0, beta=1.0), X, n_chunks=4)
    values = [Fraction(float(x)) for x in chain.sample_data.values[:, 0]]
    [[n, total, squares, total_low, squares_low]] = chain.statistics()
    assert n == 600
    for exact, parts in ((sum(values), (total, total_low)), (sum(x * x for x in values), (squares, squares_low))):
        error = abs(sum(map(Fraction, map(float, parts))) - exact)
        assert error < abs(exact) * Fraction(1, 2**80)
    order = rng.permutation(600)
    rounded = rounded_rows(chain.preparation, chain.sample_data, 600, chain.quanta)
    assert np.array_equal(chain.clusters.sums[0], rounded[order].sum(axis=0))
