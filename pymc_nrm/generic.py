"""Functions open on the type of their first argument, and compiled kernels whose disk cache cannot go stale.

A measure or a family is a ``NamedTuple`` of its hyperparameters.  A function made with :func:`generic` picks its
implementation by that type, in Python at run time and in numba at compile time.  A function made with :func:`kernel` is
compiled by numba and kept on disk.
"""

import functools
import hashlib
import inspect
import pathlib

__all__ = ["Kernel", "generic", "kernel", "layer_of", "numba_extension", "precompile", "source_fingerprint"]

_generics = []
_extensions = []

# Where kernels stand, in the order of imports: a kernel calls nothing of a later place.
KERNEL_LAYERS = (
    "checks",
    "generic",
    "lanes",
    "special",
    "kernel_op",
    "measures",
    "families",
    "partitions",
    "trees",
    "distributions",
    "samplers",
    "stats",
    "predictions",
)

# Contraction and reassociation change the last bits only; nan and inf keep their meaning.
_jit_options = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "arcp"}}


def generic(function):
    """Make a function open on the ``NamedTuple`` type of its first argument.

    The decorated body is the default; ``@name.register(SomeType)`` adds the implementation for a type.  A call works
    from Python and from inside any :func:`kernel`, where the choice is made at compile time and costs nothing.

    Parameters
    ----------
    function : callable
        Default implementation, for types that registered none.

    Returns
    -------
    callable
        The dispatching function, with ``register`` and ``dispatch`` as in :func:`functools.singledispatch`.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Disc(NamedTuple):
    ...     radius: float
    >>> @generic
    ... def area(shape):
    ...     raise NotImplementedError
    >>> @area.register(Disc)
    ... def _(shape):
    ...     return 3.0 * shape.radius**2
    >>> area(Disc(2.0))
    12.0
    """
    dispatcher = functools.singledispatch(function)
    _generics.append(dispatcher)
    if _numba_is_ready:
        _overload(dispatcher)
    return dispatcher


# Importing numba costs about as much as the rest of PyMC's own import, so it waits for the first compilation.
_numba_is_ready = False


def numba_extension(register):
    """Call a function that extends numba, for example by an intrinsic, when numba is imported for the first time.

    Parameters
    ----------
    register : callable
        Without arguments; imports what it needs of numba.

    Returns
    -------
    callable
        The function itself.

    Examples
    --------
    >>> @numba_extension
    ... def register():
    ...     from numba.extending import overload
    """
    _extensions.append(register)
    if _numba_is_ready:
        register()
    return register


def _overload(dispatcher):
    from numba.extending import overload

    @overload(dispatcher, strict=False, jit_options=_jit_options)
    def implementation(first, *rest):
        # Fields of one type give a types.NamedUniTuple, of several a types.NamedTuple; both carry the class.
        return dispatcher.dispatch(getattr(first, "instance_class", object))


def prepare_numba():
    """Tell numba once about the generic functions and about kernels that call kernels."""
    global _numba_is_ready
    if _numba_is_ready:
        return
    from numba import types
    from numba.extending import typeof_impl

    _numba_is_ready = True
    for dispatcher in _generics:
        _overload(dispatcher)
    for register in _extensions:
        register()
    typeof_impl.register(Kernel)(lambda value, context: types.Dispatcher(value.dispatcher))


class Kernel:
    """A function that numba compiles when it is first called, see :func:`kernel`.

    Parameters
    ----------
    function : callable
    """

    def __init__(self, function):
        functools.update_wrapper(self, function)

    @functools.cached_property
    def dispatcher(self):
        """The numba dispatcher behind the kernel."""
        prepare_numba()
        from numba import njit

        dispatcher = njit(**_jit_options)(self.__wrapped__)
        file = pathlib.Path(self.__wrapped__.__code__.co_filename)
        if file.is_file():
            dispatcher._cache = _source_cache()(self.__wrapped__)
            dispatcher._cache.layer = layer_of(file)
        return dispatcher

    def __call__(self, *arguments):
        return self.dispatcher(*arguments)

    def __reduce__(self):
        return self.__qualname__


def kernel(function):
    """Compile a function with numba and keep the machine code on disk.

    Numba's own cache looks at the file of the function alone.  The key used here also covers every source file of this
    package that the function can call and, for types defined elsewhere, the file and the registered implementations of
    the type: whatever is edited or upgraded, old machine code is never loaded.

    Parameters
    ----------
    function : callable
        Function in the subset of Python that numba compiles.

    Returns
    -------
    Kernel
        The function, callable from Python and from other kernels.

    Examples
    --------
    >>> @kernel
    ... def double(x):
    ...     return 2.0 * x
    >>> double(1.5)
    3.0
    """
    return Kernel(function)


def precompile(compiled, *arguments):
    """Compile a kernel for the types of the given arguments, or load it from the cache, without running it.

    Parameters
    ----------
    compiled : Kernel
        A function made with :func:`kernel`.
    *arguments
        Values of the types that later calls will have.

    Examples
    --------
    >>> @kernel
    ... def double(x):
    ...     return 2.0 * x
    >>> precompile(double, 1.0)
    >>> len(double.dispatcher.signatures)
    1
    """
    dispatcher = compiled.dispatcher
    dispatcher.compile(tuple(dispatcher.typeof_pyval(argument) for argument in arguments))


@functools.cache
def _source_cache():
    from numba.core.caching import FunctionCache, IndexDataCacheFile

    class SourceCache(FunctionCache):
        def _index_key(self, sig, codegen):
            return (*super()._index_key(sig, codegen), source_fingerprint(self.layer), *_foreign_fingerprints(sig))

        def load_overload(self, sig, target_context):
            self._choose_file(sig)
            return super().load_overload(sig, target_context)

        def save_overload(self, sig, data):
            self._choose_file(sig)
            super().save_overload(sig, data)

        def _choose_file(self, sig):
            # An index is unpickled as a whole, and with it the types of all its signatures: those of a script or a
            # notebook cannot be imported elsewhere, and must not be in the index that every process reads.
            foreign = "".join(_foreign_fingerprints(getattr(sig, "args", sig)))
            suffix = f".{hashlib.sha256(foreign.encode()).hexdigest()[:16]}" if foreign else ""
            stamp = self._impl.locator.get_source_stamp()
            self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base + suffix, stamp)

    return SourceCache


def layer_of(path):
    """The folder or file directly below the package in which a file stands; None for files elsewhere."""
    root = pathlib.Path(__file__).parent
    path = pathlib.Path(path)
    return path.relative_to(root).with_suffix("").parts[0] if path.is_relative_to(root) else None


@functools.cache
def source_fingerprint(layer=None):
    """Hash of the source files that kernels of one layer may call.

    Parameters
    ----------
    layer : str, optional
        A member of ``KERNEL_LAYERS``, for its files and those of the layers before it; ``"stats"``, for its files and
        those that it may import; by default the whole package.

    Returns
    -------
    str
        Hexadecimal digest; it changes when one of the ``.py`` files does.

    Examples
    --------
    >>> source_fingerprint() == source_fingerprint("special")
    False
    """
    digest = hashlib.sha256()
    root = pathlib.Path(__file__).parent
    below = KERNEL_LAYERS[: KERNEL_LAYERS.index(layer) + 1] if layer in KERNEL_LAYERS else None
    if layer == "stats":
        below = ("checks", "generic", "special", "stats")
    for path in sorted(root.rglob("*.py")):
        if below is None or layer_of(path) in below:
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _foreign_fingerprints(signature):
    """Hashes of the types in a signature that another package or a script defines."""
    nested = [numba_type for argument in signature for numba_type in _nested(argument)]
    classes = [numba_type.instance_class for numba_type in nested if hasattr(numba_type, "instance_class")]
    return [class_fingerprint(cls) for cls in classes if not cls.__module__.startswith(f"{__package__}.")]


def _nested(numba_type):
    yield numba_type
    for element in getattr(numba_type, "types", ()):
        yield from _nested(element)


def class_fingerprint(cls):
    """Hash of the implementations that a type has registered, and of the files they stand in.

    Parameters
    ----------
    cls : type

    Returns
    -------
    str
        Hexadecimal digest.

    Examples
    --------
    >>> class_fingerprint(int) == class_fingerprint(float)
    False
    """
    digest = hashlib.sha256(f"{cls.__module__}.{cls.__qualname__}".encode())
    implementations = [dispatcher.dispatch(cls) for dispatcher in _generics]
    for function in implementations:
        code = inspect.unwrap(function).__code__
        path = pathlib.Path(code.co_filename)
        digest.update(path.read_bytes() if path.is_file() else _code_bytes(code))
    return digest.hexdigest()


def _code_bytes(code):
    """Bytes that stand for a code object with no file behind it, as in a notebook."""
    constants = [_code_bytes(c) if inspect.iscode(c) else repr(c).encode() for c in code.co_consts]
    return b"".join([code.co_code, repr(code.co_names).encode(), *constants])
