"""Functions that dispatch on the type of their first argument, and compiled kernels whose disk cache cannot go stale.

A measure or a family is a ``NamedTuple`` of its hyperparameters, whose methods define its behaviour.  A function made
with :func:`generic` calls the method of the same name, chosen in Python at run time and in numba at compile time.  A
function made with :func:`kernel` is compiled by numba, and its machine code is kept on disk.
"""

import functools
import pathlib
import threading
import types
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pymc_nrm.kernels.argument_types import told_apart
from pymc_nrm.kernels.interrupts import call_with_late_interrupts, compile_check_signals
from pymc_nrm.kernels.interrupts import check_signals as check_signals
from pymc_nrm.kernels.kernel_cache import attach_cache, dispatchers
from pymc_nrm.kernels.layers import is_composed
from pymc_nrm.kernels.part_compiler import are_known, compilers

_extensions = [compile_check_signals]

# Contraction and reassociation change only the last bits; NaN and infinity keep their meaning.
_jit_options = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
_part_options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Generic:
    """A function that dispatches on the type of its first argument, see :func:`generic`."""

    def __init__(
        self,
        function: Callable[..., Any],
        inline: bool,
        derived_from: Any = None,
        reads: Iterable[Any] = (),
        agrees_with: Iterable[Any] = (),
    ) -> None:
        functools.update_wrapper(self, function)
        self.derived_from, self.reads = derived_from, tuple(reads)
        self.sources = (*self.reads, *agrees_with, *([] if derived_from is None else [derived_from]))
        self.options = _jit_options | {"forceinline": True} if inline else _jit_options
        self.registry: dict[type, Callable[..., Any]] = {object: function}

    def __call__(self, first: Any, *arguments: Any, **named: Any) -> Any:
        return self.dispatch(type(first))(first, *arguments, **named)

    def dispatch(self, cls: type) -> Callable[..., Any]:
        """The implementation for a type: the first one among the classes of its method resolution order.

        An inherited one counts only if no class below it has its own version of a function that it must agree with.
        """
        # Classes may be edited in place, as notebooks do when a module is reloaded: nothing is remembered.
        for base in cls.__mro__:
            implementation = self.implementation_of(base)
            if implementation is not None:
                return implementation
            if any(source.implementation_of(base) is not None for source in self.sources):
                break
        return self.registry[object]

    def implementation_of(self, cls: type) -> Callable[..., Any] | None:
        """The implementation that a class itself has, without its bases; None if it has none."""
        method = vars(cls).get(self.__name__)
        return method if isinstance(method, types.FunctionType) else self.registry.get(cls)

    def register(self, cls: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator that adds the implementation for a type from outside its class."""
        if isinstance(vars(cls).get(self.__name__), types.FunctionType):
            raise TypeError(f"{cls.__name__} already has a method {self.__name__}; another cannot be registered")

        def add(implementation):
            self.registry[cls] = implementation
            return implementation

        return add


def generic(
    function: Callable[..., Any] | None = None,
    *,
    inline: bool = False,
    derived_from: Any = None,
    reads: Iterable[Any] = (),
    agrees_with: Iterable[Any] = (),
) -> Any:
    """Make a function that dispatches on the ``NamedTuple`` type of its first argument.

    The implementation for a type is its method of the same name, or the function that ``@name.register(SomeType)`` adds
    from outside; the decorated body is the default.  Calls work from Python and from any :func:`kernel`, where the
    implementation is chosen at compile time at no cost.

    Parameters
    ----------
    function : callable
        Default implementation, for types that have none.
    inline : bool
        Whether to inline the implementation into kernels, however long it is; a call that passes arrays costs about
        ten nanoseconds.
    derived_from : generic function, optional
        Function that the default implementation calls: a type that has it does not lack this one.
    reads : iterable of generic functions, optional
        Functions whose default implementations write what this one reads: a type with its own has its own here too.
    agrees_with : iterable of generic functions, optional
        Further functions that every implementation must agree with.  If a subclass redefines one of them, or
        ``derived_from`` or ``reads``, it does not inherit this function, and gets the default.

    Returns
    -------
    callable
        The dispatching function, with ``register`` and ``dispatch`` as in :func:`functools.singledispatch`.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @generic
    ... def area(shape):
    ...     raise NotImplementedError
    >>> class Disc(NamedTuple):
    ...     radius: float
    ...     def area(self):
    ...         return 3.0 * self.radius**2
    >>> area(Disc(2.0))
    12.0
    """
    if function is None:
        return functools.partial(
            generic, inline=inline, derived_from=derived_from, reads=reads, agrees_with=agrees_with
        )
    dispatcher = Generic(function, inline, derived_from, reads, agrees_with)
    dispatchers.append(dispatcher)
    if _numba_is_ready:
        _overload(dispatcher)
    return dispatcher


def lacking(parameters_type: type, functions: Iterable[Any]) -> list[str]:
    """Names of the generic functions that a type must still define.

    A function that neither the type nor its bases implement is left out if it follows from another one; if that one is
    missing, its name stands in the list.
    """
    names = (_missing_name(parameters_type, function) for function in functions)
    return list(dict.fromkeys(name for name in names if name is not None))


def _missing_name(cls, function):
    """The name of what a type must define to have a function; None if it has it."""
    if _implements(cls, function):
        return None
    if function.derived_from is None or any(_implements(cls, read) for read in function.reads):
        return function.__name__
    return _missing_name(cls, function.derived_from)


def _implements(cls, function):
    return function.dispatch(cls) is not function.dispatch(object)


def describe_fields[T](hyperparameters: Mapping[str, Any], **attributes: Any) -> Callable[[type[T]], type[T]]:
    """Decorator that describes the fields of a ``NamedTuple`` and sets further class attributes.

    Type checkers would read an assignment in the body of a ``NamedTuple`` as a field, an argument of its constructor.
    """

    def describe(cls):
        if tuple(hyperparameters) != cls._fields:
            raise ValueError(
                f"hyperparameters of {cls.__name__} must be described in the order of its fields {cls._fields}; "
                f"got {tuple(hyperparameters)}"
            )
        for name, value in {"hyperparameters": dict(hyperparameters), **attributes}.items():
            setattr(cls, name, value)
        return cls

    return describe


_runs_in_python: ContextVar[bool] = ContextVar("runs_in_python", default=False)


@contextmanager
def kernels_in_python(runs: bool = True):
    """Run kernels as Python functions, or as machine code again if not ``runs``: for few values, compilation would take
    longer.
    """
    token = _runs_in_python.set(runs)
    try:
        yield
    finally:
        _runs_in_python.reset(token)


# Importing numba takes about as long as the rest of PyMC's import, so it waits for the first compilation.
_numba_is_ready = False
_preparing = threading.RLock()


def numba_extension(register):
    """Decorator for a function that extends numba, for example by an intrinsic; it runs once numba is imported."""
    _extensions.append(register)
    if _numba_is_ready:
        register()
    return register


def _overload(dispatcher):
    from numba.extending import overload

    options = dispatcher.options | _part_options
    if are_known():
        options["pipeline_class"] = compilers().PartCompiler

    @overload(dispatcher, strict=False, jit_options=options)
    def implementation(first, *arguments):
        # Fields of equal types make a types.NamedUniTuple, others a types.NamedTuple; both carry the class.
        return dispatcher.dispatch(getattr(first, "instance_class", object))


def prepare_numba():
    """Register generic functions, extensions and kernels that call kernels with numba; do this once."""
    global _numba_is_ready
    # Several threads may call kernels for the first time.
    with _preparing:
        if _numba_is_ready:
            return
        from numba.extending import typeof_impl
        from numba.types import Dispatcher

        _numba_is_ready = True
        for dispatcher in dispatchers:
            _overload(dispatcher)
        for register in _extensions:
            register()
        typeof_impl.register(Kernel)(lambda value, context: Dispatcher(value.part))


class Kernel:
    """A function that numba compiles when it is first called, see :func:`kernel`.

    Parameters
    ----------
    function : callable
    exact : bool
        Whether every operation rounds as written, without contraction and reassociation.
    inner_loop : bool
        Whether to optimise it before it becomes part of another kernel, in any module.
    threaded : bool
        Whether calls from Python release its lock.
    """

    def __init__(
        self, function: Callable[..., Any], exact: bool = False, inner_loop: bool = False, threaded: bool = False
    ) -> None:
        functools.update_wrapper(self, function)
        # Numba passes the options of a caller on to functions that set none.
        self._options = {**_jit_options, "fastmath": False} if exact else _jit_options
        self._whole_options = {"no_cfunc_wrapper": True} | ({"nogil": True} if threaded else {})
        self._is_composed = not inner_loop and is_composed(function.__module__ or "")

    @functools.cached_property
    def dispatcher(self):
        """The numba dispatcher for calls from Python."""
        pipeline = {"pipeline_class": compilers().WholeCompiler} if are_known() else {}
        return self._dispatcher("", self._whole_options | pipeline)

    @functools.cached_property
    def part(self):
        """The numba dispatcher for calls from other kernels.

        Numba optimises and translates every function together with everything it calls, so a function counts again for
        each kernel up to the one that Python calls.  Parts need neither machine code nor wrappers for calls from
        Python; parts in rooms of ``layers.is_composed`` are optimised only within their callers.
        """
        if are_known():
            classes = compilers()
            compiler = classes.PartCompilerWithoutOptimisation if self._is_composed else classes.PartCompiler
            dispatcher = self._dispatcher(".part", _part_options | {"pipeline_class": compiler})
        else:
            dispatcher = self._dispatcher(".whole", _part_options)
        template = dispatcher.get_call_template

        def template_for_any_value(args, kws):
            # Numba would compile the function again for each constant among the arguments.
            return template(tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()})

        from numba.types import unliteral

        dispatcher.get_call_template = template_for_any_value
        return dispatcher

    def _dispatcher(self, suffix, options):
        prepare_numba()
        from numba import njit

        dispatcher = njit(**self._options, **options)(self.__wrapped__)
        if pathlib.Path(self.__wrapped__.__code__.co_filename).is_file():
            attach_cache(dispatcher, suffix)
        return dispatcher

    def __call__(self, *arguments: Any) -> Any:
        if _runs_in_python.get():
            return self.__wrapped__(*arguments)
        arguments, _alive = self.passed(arguments)
        return call_with_late_interrupts(self.dispatcher, told_apart(arguments))

    def passed(self, arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        """What numba is given for arguments from Python, and what must stay alive until the call returns."""
        return arguments, None

    def __reduce__(self):
        return self.__qualname__


def kernel(function: Callable[..., Any] | None = None, *, inner_loop: bool = False, threaded: bool = False) -> Any:
    """Compile a function with numba and keep the machine code on disk.

    Numba's own cache looks only at the file of the function.  The key used here also covers every source file of this
    package that the function can call and, for types and kernels defined elsewhere, everything their implementations
    reach (``kernel_cache.function_fingerprint``).  Outdated machine code is therefore never loaded, whatever is edited
    or upgraded.  If the disk is full, read-only or damaged, every process compiles the function, after a warning.

    Parameters
    ----------
    function : callable
        Function in the subset of Python that numba compiles.
    inner_loop : bool
        Whether the function spends most of its time in its own loops.  Other kernels of rooms of ``layers.is_composed``
        that only become part of other kernels are not optimised by themselves, which halves the time of compilation.
    threaded : bool
        Whether a call from Python releases its lock, so that threads run side by side; Ctrl-C waits for its end.

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
    if function is None:
        return functools.partial(kernel, inner_loop=inner_loop, threaded=threaded)
    return Kernel(function, inner_loop=inner_loop, threaded=threaded)


def exact_kernel(function: Callable[..., Any]) -> Kernel:
    """A :func:`kernel` whose operations round as written, for arithmetic that exploits rounding errors.

    Flags belong to single instructions, so it stays exact when it is inlined into other kernels.
    """
    return Kernel(function, exact=True)


def precompile(compiled: Kernel, *arguments: Any) -> None:
    """Compile a kernel for the types of the arguments, or load it from the cache, without running it.

    Parameters
    ----------
    compiled : Kernel
        A function made with :func:`kernel`.
    *arguments
        Values with the types of later calls.

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
    arguments, _ = compiled.passed(arguments)
    dispatcher.compile(tuple(dispatcher.typeof_pyval(argument) for argument in told_apart(arguments)))
