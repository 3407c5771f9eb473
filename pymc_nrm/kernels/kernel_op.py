"""PyTensor operations whose values a kernel computes, both in Python and in PyTensor's numba backend."""

import functools
import hashlib

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Constant
from pytensor.graph.op import Op
from pytensor.graph.replace import graph_replace

from pymc_nrm.kernels.kernel_cache import code_fingerprint, function_fingerprint, package_fingerprint
from pymc_nrm.kernels.late_calls import late_call


class KernelOp(Op):
    """Base class of operations that call one kernel; subclasses define ``kernel``, ``make_node``, ``pullback`` if there
    are derivatives, and ``constant``, the positions of inputs without derivatives.

    The kernel takes arrays, with scalars as arrays without dimensions, and returns an array or a tuple of arrays.
    """

    __props__ = ()
    kernel = None
    constant = ()

    def __init__(self):
        register_numba(type(self))

    def __reduce__(self):
        return type(self), ()

    def perform(self, node, inputs, output_storage):
        values = type(self).kernel(*[np.asarray(value) for value in inputs])
        values = values if isinstance(values, tuple) else (values,)
        for storage, value in zip(output_storage, values, strict=True):
            storage[0] = value

    def numba_source(self, node):
        """Source and globals of the function ``call`` for PyTensor's numba backend."""
        code = type(self).kernel.__wrapped__.__code__
        names = code.co_varnames[: code.co_argcount]
        arguments = ", ".join(map(contiguous, names, node.inputs))
        source = f"def call({', '.join(names)}):\n    return kernel({arguments})\n"
        return source, {"np": np}

    def example(self, node):
        """Arguments of the kernel, of the types that it gets."""
        return tuple(map(example_of, node.inputs))

    def fingerprint(self):
        """Text that changes with the code that this function calls."""
        function = type(self).kernel.__wrapped__
        if function.__module__.startswith("pymc_nrm."):
            return code_fingerprint([function.__module__])
        return package_fingerprint() + function_fingerprint(function)

    def connection_pattern(self, node):
        return [[place not in self.constant] * len(node.outputs) for place in range(len(node.inputs))]

    def pullback(self, inputs, outputs, cotangents):
        return [disconnected_type() for _ in inputs]


def contiguous(name, variable):
    """Source of a variable as kernels are given it."""
    return f"np.ascontiguousarray({name})" if variable.ndim else name


def example_of(variable):
    """An array of the type of a variable."""
    return np.ones((1,) * variable.ndim, dtype=variable.type.dtype)


def as_input(value):
    """A constant as a shared variable of the same memory: keys of PyTensor's machine code cover all constants.

    The graph of another data set then has the machine code of this one.
    """
    value = pt.as_tensor(value)
    if not isinstance(value, Constant):
        return value
    # Numba compiles again for arrays of another layout, and for those that are read-only.
    array = np.require(value.data, requirements=["C", "W"])
    return pytensor.shared(array, shape=value.type.shape, borrow=True)


@functools.cache
def number_as_input(n):
    """A whole number as a shared variable, the same one each time, so that PyTensor merges operations on it."""
    return pytensor.shared(np.asarray(n, dtype="int64"))


def symbolic_pullback(function, inputs, cotangents, constant=()):
    """Cotangents of the inputs of an operation, from an equivalent symbolic function.

    Second derivatives, which samplers do not need, then come from a graph.
    """
    # Inputs may depend on each other; partial derivatives need variables that do not.
    fresh = [variable.type() for variable in inputs]
    values = dict(zip(fresh, inputs, strict=True))
    total = 0.0
    for output, cotangent in zip(function(*fresh), cotangents, strict=True):
        if not isinstance(cotangent.type, DisconnectedType):
            weight = cotangent.type()
            values[weight] = cotangent
            total += (output * weight).sum()
    wanted = [k for k in range(len(inputs)) if k not in constant]
    partial = pt.grad(total, [fresh[k] for k in wanted], disconnected_inputs="ignore")
    derivatives = dict(zip(wanted, graph_replace(partial, values, strict=False), strict=True))
    return [derivatives[k] if k in derivatives else disconnected_type() for k in range(len(inputs))]


@functools.cache
def register_numba(op_class):
    """Register operations with PyTensor's numba backend.

    Their methods are ``numba_source``, whose source may call ``kernel``, ``fingerprint``, and ``example``, arguments of
    this kernel.
    """
    # Wait for the first use, since importing PyTensor's numba backend takes most of a second.
    from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_and_cache_key
    from pytensor.link.utils import compile_function_src

    @register_funcify_and_cache_key(op_class)
    def funcify(op, node=None, **kwargs):
        source, environment = op.numba_source(node)
        kinds = [(variable.type.dtype, variable.ndim) for variable in node.inputs]
        key = f"{type(op).__module__}.{type(op).__qualname__} {op.fingerprint()} {source} {kinds}"
        key = hashlib.sha256(key.encode()).hexdigest()
        if hasattr(op, "kernel"):
            environment |= {"kernel": late_call(type(op).kernel, op.example(node), key)}
        return numba_njit(compile_function_src(source, "call", environment)), key
