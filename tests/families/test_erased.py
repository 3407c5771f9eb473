"""Families behind addresses: what they lead to lives as long as it is used, in every process, thread and order."""

import copy
import gc
import multiprocessing
import pickle
import signal
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.families import conjugate
from pymc_nrm.families.erased.erased import Erased
from pymc_nrm.families.erased.shared_kernel import SharedKernel, erase, erased
from pymc_nrm.families.product import unfolded_data
from pymc_nrm.kernels.generic import Kernel
from pymc_nrm.measures.base import Weights
from pymc_nrm.partitions.clusters import build_state, log_target
from pymc_nrm.posterior.tables import log_leave_one_out_table, log_predictive_table
from pymc_nrm.testing import kernel_inputs
from tests.helpers import call_until_interrupted

pytestmark = pytest.mark.xdist_group("NormalGamma")

N = 12


def inputs(seed, n=N):
    """Family and data that differ with the seed."""
    rng = np.random.default_rng(seed)
    return kernel_inputs(nrm.NormalGamma(float(seed), 0.5, 2.0, 1.0 + seed), rng.normal(seed, 1.0, size=(n, 2)))


def log_density(family, data, labels=None):
    """By the shared kernels."""
    n = len(data.values)
    labels = np.arange(n) % 3 if labels is None else labels
    weights = Weights(np.zeros(n + 1), np.zeros(n + 1))
    return log_target(build_state(labels, family, data), weights, family, data)


def log_density_in_python(family, data):
    """By the methods of the family alone."""
    rows = np.zeros((3, family.statistics_size()))
    for i in range(len(data.values)):
        family.add_item(rows[i % 3], data, i, 1.0)
    return sum(conjugate.log_marginal(family, row) for row in rows)


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("place", [4, 5])
def test_addresses_are_never_copied(copied, place):
    record = erased(*inputs(1), Erased)
    with pytest.raises(TypeError, match="cannot be pickled or copied: the address is valid in one process"):
        copied(record[place])


def test_values_of_the_last_calls_are_not_confused():
    cases = [inputs(seed) for seed in range(5)]
    expected = [log_density_in_python(*case) for case in cases]
    for k in np.random.default_rng(0).integers(0, 5, 60):
        assert log_density(*cases[k]) == pytest.approx(expected[k], rel=1e-12)
    # The same data with another family, and the same family with other data.
    (family, data), (other, more) = cases[:2]
    assert log_density(other, data) != log_density(family, data) != log_density(family, more)


def test_memory_that_is_free_again_is_not_read():
    for seed in range(200):
        family, data = inputs(seed % 7, n=3 + seed % 11)
        expected = log_density_in_python(family, data)
        assert log_density(family, data) == pytest.approx(expected, rel=1e-12)
        del family, data
        gc.collect(0)
        np.full(4096, np.nan)


VIEWS = {
    "the array": lambda addresses: addresses,
    "its end": lambda addresses: addresses[1:],
    "a row of its end": lambda addresses: addresses[1:][0],
    "all words": lambda addresses: addresses.reshape(-1),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_memory_lives_as_long_as_an_array_of_addresses(view):
    families, X = [nrm.NormalGamma(0.0, 0.5, 2.0, 1.0), nrm.PoissonGamma(1.0, 1.0)], np.ones((2, N, 1))
    family, data = kernel_inputs(families, list(X))
    arrays = [*family.second, *(rows.values for rows in unfolded_data(family, data))]
    memory = [weakref.ref(array) for array in arrays]
    left = view(erase(family, data, Erased)[1].parts)
    memory.append(weakref.ref(left.base if left.base.__class__ is not np.ndarray else left.base.base))
    del family, data, arrays
    gc.collect()
    assert all(array() is not None for array in memory)
    del left
    gc.collect()
    assert all(array() is None for array in memory)


def test_entries_of_arrays_are_read_when_a_kernel_runs():
    family, data = inputs(2)
    before = log_density(family, data)
    data.values[0] += 1.0
    assert log_density(family, data) == pytest.approx(log_density_in_python(family, data), rel=1e-12)
    assert log_density(family, data) != before


def test_arrays_behind_addresses_keep_their_memory():
    family, data = inputs(3)
    log_density(family, data)
    for refcheck in (True, False):
        with pytest.raises(ValueError, match="cannot resize"):
            data.values.resize((100 * N, 2), refcheck=refcheck)


def test_arrays_may_change_their_shape_and_type():
    X = np.arange(24.0).reshape(12, 2)
    family, data = inputs(3)[0], inputs(3)[1]._replace(values=X)
    expected = log_density_in_python(family, data)
    assert log_density(family, data) == pytest.approx(expected, rel=1e-12)
    X.shape = (2, 12)
    refusing, values = Refusing(99.0), Values(X)
    assert log_density(refusing, values, np.zeros(2, dtype=np.int64)) == -12.0
    X.shape = (24, 1)
    assert log_density(refusing, values, np.zeros(24, dtype=np.int64)) == -X.sum()


def test_labels_of_other_types_are_refused():
    with pytest.raises(Exception, match="contiguous float64 or int64; got array\\(int32"):
        build_state(np.zeros(N, dtype=np.int32), *inputs(1))


def test_threads_do_not_share_what_they_passed():
    cases = [inputs(seed) for seed in range(8)]
    expected = [log_density_in_python(*case) for case in cases]

    def work(k):
        return [log_density(*cases[(k + step) % 8]) - expected[(k + step) % 8] for step in range(100)]

    with ThreadPoolExecutor(8) as pool:
        for errors in pool.map(work, range(8)):
            np.testing.assert_allclose(errors, 0.0, atol=1e-9)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_make_their_own_addresses(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    case = inputs(4)
    expected = log_density(*case)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(log_density, case) == expected


def test_a_family_with_further_data():
    family, data = inputs(5)
    _, points = kernel_inputs(nrm.NormalGamma(0.0, 1.0, 1.0, 1.0), np.random.default_rng(6).normal(size=(4, 2)))
    labels = np.arange(N) % 2
    table = log_predictive_table(labels, family, data, points, 4)
    rows = np.zeros((3, family.statistics_size()))
    for i in range(N):
        family.add_item(rows[i % 2], data, i, 1.0)
    for j in range(4):
        for k in range(3):
            together = rows[k].copy()
            family.add_item(together, points, j, 1.0)
            ratio = conjugate.log_marginal(family, together) - conjugate.log_marginal(family, rows[k])
            assert table[j, k] == pytest.approx(ratio, rel=1e-10)
    assert log_leave_one_out_table(labels, family, data, data).shape == (N, 3)


def test_ctrl_c_in_an_entry():
    family, data = inputs(6, n=200_000)
    # Ends in time, or the test fails.
    labels = np.zeros(200_000, dtype=np.int64)
    log_density(family, data, labels)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            call_until_interrupted(lambda: build_state(labels, family, data), seconds=30.0)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert np.isfinite(log_density(family, data, labels))


class Refusing(NamedTuple):
    """A family whose methods raise an error."""

    largest: float

    def statistics_size(self):
        return 1

    def add_item(self, statistics, data, item, sign):
        if data.values[item, 0] > self.largest:
            raise ValueError("an item is too large")
        statistics[0] += sign * data.values[item, 0]

    def log_marginal(self, statistics):
        return -statistics[0]


class Values(NamedTuple):
    values: object


class Named(NamedTuple):
    name: str

    def statistics_size(self):
        return 1


def test_errors_of_methods_come_out():
    data = Values(np.arange(4.0)[:, None])
    labels = np.zeros(4, dtype=np.int64)
    assert log_density(Refusing(9.0), data, labels) == -6.0
    with pytest.raises(ValueError, match="an item is too large"):
        build_state(labels, Refusing(2.0), data)
    assert log_density(Refusing(9.0), data, labels) == -6.0


def test_text_cannot_lie_behind_an_address():
    with pytest.raises(
        Exception, match=r"in kernels, Named.name may hold numbers, arrays and tuples of them; got unicode_type"
    ):
        build_state(np.zeros(2, dtype=np.int64), Named("a"), Values(np.zeros((2, 1))))


def test_a_kernel_of_this_form_needs_family_and_data():
    assert isinstance(build_state, SharedKernel)
    with pytest.raises(ValueError, match="data"):
        SharedKernel(lambda labels, family: None, Erased)
    assert Kernel.passed(build_state, (1, 2))[0] == (1, 2)
