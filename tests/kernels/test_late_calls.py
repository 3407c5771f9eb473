"""Kernels that PyTensor's functions call by an address, which machine code asks for in each process."""

import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.basic import Apply

from pymc_nrm.kernels import late_calls
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.kernels.kernel_op import KernelOp
from pymc_nrm.partitions.flat import Sizes


@kernel
def _halves(x, weights):
    if x.item() < 0.0:
        raise ValueError("x must not be negative")
    return 0.5 * x.item() * weights, np.asarray(0.5 * x.item())


class Halves(KernelOp):
    kernel = _halves
    constant = (1,)

    def make_node(self, x, weights):
        return Apply(self, [pt.as_tensor(x), pt.as_tensor(weights)], [pt.dvector(), pt.dscalar()])


@pytest.fixture
def asked(monkeypatch):
    """The keys of the kernels whose addresses machine code has asked for."""
    keys, address_of_kernel = [], late_calls.address_of_kernel

    def noting(key):
        keys.append(key)
        return address_of_kernel(key)

    monkeypatch.setattr(late_calls, "address_of_kernel", noting)
    return keys


def test_machine_code_asks_once(asked):
    x, weights = pt.dscalar(), pt.dmatrix()
    # A column of a matrix is not contiguous.
    function = pytensor.function([x, weights], Halves()(x, weights[:, 1]), mode="NUMBA")
    for value in (3.0, 4.0):
        many, one = function(value, np.arange(6.0).reshape(3, 2))
        np.testing.assert_array_equal(many, 0.5 * value * np.array([1.0, 3.0, 5.0]))
        assert one == 0.5 * value
    assert len(asked) == 1
    with pytest.raises(ValueError, match="x must not be negative"):
        function(-1.0, np.ones((3, 2)))


def test_other_processes_ask_again():
    labels = pt.lvector()
    function = pytensor.function([labels], Sizes()(labels, 4), mode="NUMBA")
    given = np.array([0, 1, 0, 2])
    expected = [output.tolist() for output in function(given)]
    assert expected == [[2, 1, 1], True]
    code = "import sys, pickle; f, x = pickle.load(sys.stdin.buffer); print([output.tolist() for output in f(x)])"
    found = subprocess.run([sys.executable, "-c", code], input=pickle.dumps((function, given)), capture_output=True)
    assert found.stdout.decode().strip() == str(expected), found.stderr.decode()
    if "fork" in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.apply(_outputs, (pickle.dumps(function), given)) == expected
    assert [output.tolist() for output in function(given)] == expected


def _outputs(pickled, given):
    return [output.tolist() for output in pickle.loads(pickled)(given)]
