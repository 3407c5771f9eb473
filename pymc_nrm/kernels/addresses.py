"""Calls of machine code by its address, with values of any type in memory: for kernels that do not depend on a type.

A kernel that calls :func:`call_at` is compiled once, whatever the *entry* at the address does.  An entry is itself a
kernel, compiled for the type of a value, which it reads by :func:`load` where :func:`store` has put it.
"""

import inspect

from pymc_nrm.kernels.generic import numba_extension
from pymc_nrm.kernels.lanes import LANES


def call_at(address, method, place, p, q, r, s, t, i, j, k, m, x):
    """Call the entry at an address: a kernel of these arguments, all of them whole numbers but the last, a double.

    It finds its values at the place.  An error in it is raised here.
    """


def call_with_rng_at(address, method, place, rng, p, q, r, i, k, x, y):
    """Call an entry that draws random numbers; the last two arguments are doubles."""


def entry_address(kernel, values):
    """Address of the machine code of an entry for values of this type, which becomes part of the calling kernel."""


def random_entry_address(kernel, values):
    """The same for an entry of :func:`call_with_rng_at`."""


def address_of(array):
    """Address of a contiguous array."""


def n_words(values):
    """Number of words of eight bytes that a tuple takes in memory."""


def store(values, words):
    """Write a tuple of numbers, arrays and tuples into words (n_words,), without its arrays' entries."""


def load(place):
    """The tuple that :func:`store` has written at a place; it owns no references to its arrays."""


def room_for(values):
    """Number of words that :func:`place_all` takes."""


def place_all(values, address):
    """Write a tuple or an array to an address, followed by the entries of its arrays, which it then refers to."""


def load_result(function, first, number, address):
    """What ``function(first, number)`` has made, where :func:`place_all` has put it; it is not called again."""


def doubles(address, n):
    """The doubles (n,) at an address."""


def whole_numbers(address, n):
    """The whole numbers (n,) at an address."""


def table(address, n, m):
    """The doubles (n, m) at an address."""


def lane_blocks(address, a, b, c):
    """The doubles (a, b, c, LANES) at an address."""


def as_double(value):
    """A value as a double; functions that always raise an error return no value, which becomes 0."""


@numba_extension
def _compile_addresses():
    from llvmlite import ir
    from numba import carray
    from numba.core import cgutils, types
    from numba.core.errors import TypingError
    from numba.extending import intrinsic, lower_builtin, overload, type_callable

    word = ir.IntType(64)
    whole, double = types.int64, types.float64

    def emitted(function):
        """Decorator for the signature of a function for given types, and what emits its machine code.

        An overload that calls an intrinsic would be compiled for each combination of types.
        """

        def register(define):
            @type_callable(function)
            def _(typing_context):
                def typer(*kinds):
                    return define(typing_context, *kinds)[0]

                typer.pysig = inspect.signature(function)
                return typer

            @lower_builtin(function, types.VarArg(types.Any))
            def _(context, builder, signature, arguments):
                return define(context.typing_context, *signature.args)[1](context, builder, signature, arguments)

        return register

    # Whatever the type of the values, their place is passed alike.
    def entry_types(values):
        return whole, types.CPointer(values), *(whole,) * 9, double

    def random_entry_types(values):
        return whole, types.CPointer(values), types.npy_rng, *(whole,) * 5, double, double

    def emitted_call(kinds):
        def emit(context, builder, signature, arguments):
            address, method, place, *others = arguments
            target = context.call_conv.get_function_type(double, kinds).as_pointer()
            place = builder.inttoptr(place, context.get_value_type(kinds[1]))
            status, result = context.call_conv.call_function(
                builder, builder.inttoptr(address, target), double, kinds, [method, place, *others]
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return result

        return double(whole, whole, whole, *kinds[2:]), emit

    call, random_call = emitted_call(entry_types(types.int8)), emitted_call(random_entry_types(types.int8))

    @emitted(call_at)
    def _(typing_context, address, method, place, p, q, r, s, t, i, j, k, m, x):
        return call

    @emitted(call_with_rng_at)
    def _(typing_context, address, method, place, rng, p, q, r, i, k, x, y):
        return random_call

    def address_of_compiled(kernel, values, kinds):
        dispatcher = kernel.dispatcher
        dispatcher.get_call_template(kinds, {})
        compiled = dispatcher.overloads[kinds]
        if compiled.signature.return_type != double:
            raise TypeError(f"an entry must return a double; got {compiled.signature.return_type}")

        def emit(context, builder, signature, arguments):
            context.add_linking_libs([compiled.library])
            return builder.ptrtoint(context.declare_function(builder.module, compiled.fndesc), word)

        return whole(kernel, values), emit

    @emitted(entry_address)
    def _(typing_context, kernel, values):
        return address_of_compiled(kernel, values, entry_types(values))

    @emitted(random_entry_address)
    def _(typing_context, kernel, values):
        return address_of_compiled(kernel, values, random_entry_types(values))

    def emit_address(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(array.data, word)

    @emitted(address_of)
    def _(typing_context, array):
        if array.layout != "C" or array.dtype not in (double, whole):
            raise TypeError(f"arrays behind addresses must be contiguous float64 or int64; got {array}")
        return whole(array), emit_address

    @emitted(n_words)
    def _(typing_context, values):
        check_kinds(values, "a tuple")

        def emit(context, builder, signature, arguments):
            size = context.get_abi_sizeof(context.get_value_type(values))
            return ir.Constant(word, -(-size // 8))

        return whole(values), emit

    def without_owners(context, builder, kind, value):
        """The same value, whose arrays do not say who owns their memory."""
        if isinstance(kind, types.BaseTuple):
            for place, element in enumerate(kind.types):
                part = without_owners(context, builder, element, builder.extract_value(value, place))
                value = builder.insert_value(value, part, place)
            return value
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, value)
            array.meminfo = ir.Constant(array.meminfo.type, None)
            array.parent = ir.Constant(array.parent.type, None)
            return array._getvalue()
        return value

    def check_kinds(kind, name):
        """Raise an error that names a field of another type than numbers, arrays and tuples of them."""
        if isinstance(kind, types.BaseTuple):
            owner = getattr(kind, "instance_class", None)
            names = [f"{owner.__name__}.{field}" for field in owner._fields] if owner else [name] * len(kind.types)
            for element, name in zip(kind.types, names, strict=True):
                check_kinds(element, name)
        elif not isinstance(kind, types.Array | types.Number | types.Boolean | types.NoneType):
            raise TypingError(f"in kernels, {name} may hold numbers, arrays and tuples of them; got {kind}")

    @emitted(store)
    def _(typing_context, values, words):
        def emit(context, builder, signature, arguments):
            array = context.make_array(words)(context, builder, arguments[1])
            place = builder.bitcast(array.data, context.get_value_type(values).as_pointer())
            builder.store(without_owners(context, builder, values, arguments[0]), place)
            return context.get_dummy_value()

        return types.void(values, words), emit

    @emitted(load)
    def _(typing_context, place):
        values = place.dtype

        def emit(context, builder, signature, arguments):
            at = builder.bitcast(arguments[0], context.get_value_type(values).as_pointer())
            # Owners are null in memory, too; here the compiler sees it and counts no references.
            return without_owners(context, builder, values, builder.load(at))

        return values(place), emit

    def bytes_of(builder, array):
        """Bytes of the entries of an array, a multiple of a word."""
        size = builder.add(builder.mul(array.nitems, array.itemsize), ir.Constant(word, 7))
        return builder.and_(size, ir.Constant(word, -8))

    def size_of(context, kind):
        return ir.Constant(word, -(-context.get_abi_sizeof(context.get_value_type(kind)) // 8) * 8)

    def arrays_of(context, builder, kind, value):
        """The arrays of a value, from the first to the last."""
        if isinstance(kind, types.BaseTuple):
            for place, element in enumerate(kind.types):
                yield from arrays_of(context, builder, element, builder.extract_value(value, place))
        elif isinstance(kind, types.Array):
            if kind.layout != "C":
                raise TypeError(f"arrays of component_panel must be contiguous; got {kind}")
            yield context.make_array(kind)(context, builder, value)

    @emitted(room_for)
    def _(typing_context, values):
        def emit(context, builder, signature, arguments):
            total = size_of(context, values)
            for array in arrays_of(context, builder, values, arguments[0]):
                total = builder.add(total, bytes_of(builder, array))
            return builder.sdiv(total, ir.Constant(word, 8))

        return whole(values), emit

    def moved(context, builder, kind, value, at):
        """The value, whose arrays lie one after the other from an address on, and the address behind them."""
        if isinstance(kind, types.BaseTuple):
            for place, element in enumerate(kind.types):
                part, at = moved(context, builder, element, builder.extract_value(value, place), at)
                value = builder.insert_value(value, part, place)
            return value, at
        if not isinstance(kind, types.Array):
            return value, at
        array = context.make_array(kind)(context, builder, value)
        data = builder.inttoptr(at, array.data.type)
        cgutils.raw_memcpy(builder, data, array.data, array.nitems, array.itemsize)
        at = builder.add(at, bytes_of(builder, array))
        array.data = data
        return array._getvalue(), at

    @emitted(place_all)
    def _(typing_context, values, address):
        def emit(context, builder, signature, arguments):
            value, address = arguments
            behind = builder.add(address, size_of(context, values))
            value, _ = moved(context, builder, values, value, behind)
            place = builder.inttoptr(address, context.get_value_type(values).as_pointer())
            builder.store(without_owners(context, builder, values, value), place)
            return context.get_dummy_value()

        return types.void(values, whole), emit

    @emitted(load_result)
    def _(typing_context, function, first, number, address):
        kind = typing_context.resolve_function_type(function, (first, number), {}).return_type

        def emit(context, builder, signature, arguments):
            place = builder.inttoptr(arguments[3], context.get_value_type(kind).as_pointer())
            return without_owners(context, builder, kind, builder.load(place))

        return kind(function, first, number, whole), emit

    def pointer_of(kind):
        def emit(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        @intrinsic
        def compiled_pointer(typing_context, address):
            return types.CPointer(kind)(whole), emit

        return compiled_pointer

    double_at, whole_at = pointer_of(double), pointer_of(whole)

    @overload(doubles)
    def _(address, n):
        return lambda address, n: carray(double_at(address), (n,))

    @overload(whole_numbers)
    def _(address, n):
        return lambda address, n: carray(whole_at(address), (n,))

    @overload(table)
    def _(address, n, m):
        return lambda address, n, m: carray(double_at(address), (n, m))

    @overload(lane_blocks)
    def _(address, a, b, c):
        return lambda address, a, b, c: carray(double_at(address), (a, b, c, LANES))

    @overload(as_double)
    def _(value):
        if isinstance(value, types.NoneType):
            return lambda value: 0.0
        return lambda value: float(value)
