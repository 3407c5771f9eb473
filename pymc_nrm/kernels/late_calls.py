"""Calls of kernels from PyTensor's functions, by an address that machine code asks for when it first runs.

Numba links a kernel into every function that calls it, and optimises the result again: for an operation of PyTensor,
for the function that PyTensor puts around it, and for each graph.  A late call has the types of the kernel, but none of
its code.  The address belongs to the process that asks: it stands in a variable of the loaded machine code, which files
hold as 0, so that no file, no pickled function and no other process ever has it.
"""

import functools
import inspect
from typing import Any, NamedTuple

from pymc_nrm.kernels.argument_types import told_apart
from pymc_nrm.kernels.generic import Kernel, prepare_numba


class _Callee(NamedTuple):
    kernel: Kernel
    # Types of numba.
    kinds: Any

    def compiled(self):
        """The compiled kernel, from the disk if it is there."""
        dispatcher = self.kernel.dispatcher
        dispatcher.get_call_template(self.kinds, {})
        return dispatcher.overloads[self.kinds]


# How Python calls text of one byte for each letter.
_ONE_BYTE = 1

# The callees that PyTensor's functions of this process may ask for, and those that have an address: machine code that
# has it may outlive their kernels, which a notebook may define anew.
_callees, _addressed = {}, []


def address_of_kernel(key):
    """Address of a kernel; machine code calls this."""
    compiled = _callees[key].compiled()
    _addressed.append(compiled)
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


def late_call(kernel, arguments, key):
    """A function for numba that calls a kernel late, with arguments of the types of these values.

    The key says which kernel and which types these are: machine code of another process asks for it.  Arrays must be
    contiguous.
    """
    prepare_numba()
    kinds = tuple(kernel.dispatcher.typeof_pyval(value) for value in told_apart(arguments))
    _callees[key] = _Callee(kernel, kinds)
    return _function(key)


@functools.cache
def _function(key):
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.core.errors import TypingError
    from numba.extending import lower_builtin, type_callable

    def in_kernel(kind):
        """The type of a kernel's argument: whether an array is read-only does not change its layout in memory."""
        if isinstance(kind, types.Array):
            return types.Array(kind.dtype, kind.ndim, kind.layout, aligned=kind.aligned)
        if isinstance(kind, types.BaseTuple):
            return str(type(kind)), tuple(map(in_kernel, kind.types))
        return kind

    def call_kernel(*arguments):
        """The late call."""

    @type_callable(call_kernel)
    def _(typing_context):
        def typer(*kinds):
            callee = _callees[key]
            if [*map(in_kernel, kinds)] != [*map(in_kernel, callee.kinds)]:
                raise TypingError(f"a late call needs arguments of types {callee.kinds}; got {kinds}")
            return callee.compiled().signature.return_type(*kinds)

        names = [f"argument_{j}" for j in range(len(_callees[key].kinds))]
        typer.pysig = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        )
        return typer

    @lower_builtin(call_kernel, types.VarArg(types.Any))
    def _(context, builder, signature, arguments):
        kinds, word = _callees[key].kinds, ir.IntType(64)
        known = cgutils.add_global_variable(builder.module, word, "address_of_kernel")
        known.linkage, known.initializer = "private", ir.Constant(word, 0)
        place = cgutils.alloca_once_value(builder, builder.load(known))
        with builder.if_then(builder.icmp_unsigned("==", builder.load(place), ir.Constant(word, 0)), likely=False):
            python = context.get_python_api(builder)
            lock = python.gil_ensure()
            module = python.import_module(context.insert_const_string(builder.module, __name__))
            letters = context.insert_const_string(builder.module, key)
            size, kind = ir.Constant(python.py_ssize_t, len(key)), ir.Constant(ir.IntType(32), _ONE_BYTE)
            text = python.string_from_kind_and_data(kind, letters, size)
            found = python.call_method(module, "address_of_kernel", [text])
            with builder.if_then(cgutils.is_null(builder, found), likely=False):
                python.gil_release(lock)
                context.call_conv.return_exc(builder)
            address = python.long_as_longlong(found)
            for value in (found, text, module):
                python.decref(value)
            python.gil_release(lock)
            builder.store(address, place)
            builder.store(address, known)
        result = signature.return_type
        target = context.call_conv.get_function_type(result, kinds).as_pointer()
        function = builder.inttoptr(builder.load(place), target)
        status, value = context.call_conv.call_function(builder, function, result, kinds, arguments)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return value

    return call_kernel
