"""Sums of rounded statistics are exact, whatever the order of the rows."""

from fractions import Fraction

import numpy as np
from chunk_cases import make_chain

import pymc_nrm as nrm
from pymc_nrm.moves.chunks.chain import rounded_rows
from pymc_nrm.moves.chunks.exact_sums import quanta_of


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
