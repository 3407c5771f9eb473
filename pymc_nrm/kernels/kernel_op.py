"""PyTensor operations whose values a kernel computes, both in Python and in PyTensor's numba backend."""

import functools
import hashlib

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.op import Op
from pytensor.graph.replace import graph_replace

from pymc_nrm.kernels.kernel_cache import function_fingerprint, layer_of, source_fingerprint


class KernelOp(Op):
    """Base class of operations that call one kernel; subclasses define ``kernel``, ``make_node``, ``pullback`` if there
    are derivatives, and ``constant``, the places of inputs in which there are none.

    The kernel takes arrays, with scalars as arrays without dimensions, and returns an array or a tuple of arrays.
    """

    __props__ = ()
    kernel = None
    constant = ()

    def __init__(self):
        _register_numba(type(self))

    def __reduce__(self):
        return type(self), ()

    def perform(self, node, inputs, output_storage):
        values = type(self).kernel(*[np.asarray(value) for value in inputs])
        values = values if isinstance(values, tuple) else (values,)
        for storage, value in zip(output_storage, values, strict=True):
            storage[0] = value

    def connection_pattern(self, node):
        return [[place not in self.constant] * len(node.outputs) for place in range(len(node.inputs))]

    def pullback(self, inputs, outputs, cotangents):
        return [disconnected_type() for _ in inputs]


def symbolic_pullback(function, inputs, cotangents, constant=()):
    """Cotangents of the inputs of an operation, from a symbolic function that computes the same.

    Second derivatives, which samplers do not need, are thus those of a graph.
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
    found = dict(zip(wanted, graph_replace(partial, values, strict=False), strict=True))
    return [found[k] if k in found else disconnected_type() for k in range(len(inputs))]


@functools.cache
def _register_numba(op_class):
    # Wait for the first use, since importing PyTensor's numba backend takes most of a second.
    from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_and_cache_key

    compiled = op_class.kernel.dispatcher
    arguments = ", ".join(compiled.py_func.__code__.co_varnames[: compiled.py_func.__code__.co_argcount])
    environment = {"compiled": compiled}
    exec(f"def call({arguments}):\n    return compiled({arguments})\n", environment)

    @register_funcify_and_cache_key(op_class)
    def _(op, node=None, **kwargs):
        layer = layer_of(compiled.py_func.__code__.co_filename)
        code = source_fingerprint(layer) if layer else source_fingerprint() + function_fingerprint(compiled.py_func)
        key = f"{op_class.__module__}.{op_class.__qualname__} {code}"
        return numba_njit(environment["call"]), hashlib.sha256(key.encode()).hexdigest()
