"""Ctrl-C while a kernel runs: machine code holds no Python error, so its arguments and results must not see one."""

import _signal
import signal

__all__ = ["call_with_late_interrupts", "check_signals"]


class _Interrupt:
    """What the handler of SIGINT knows of the call during which it is in place; only the main thread has one."""

    handler = None  # the one that it stands for
    in_call = False
    came = False


def _hold(signum, frame):
    """Take note of SIGINT where an error would do harm, else do what the handler in place before would do."""
    if _Interrupt.in_call:
        if frame.f_code is _CALL:
            # `check_signals` asks, or the call is over.
            return _Interrupt.handler(signum, frame)
        while frame is not None and frame.f_code is not _CALL:
            if frame.f_code.co_name == "_compile_for_args":
                # Numba compiles; no machine code runs yet.
                return _Interrupt.handler(signum, frame)
            frame = frame.f_back
    _Interrupt.came = True


def call_with_late_interrupts(function, arguments):
    """Call a compiled function; SIGINT while its arguments or results are converted waits until it is done.

    Numba's conversions of tuples and generators run Python code, which is where Python looks for signals.  A
    KeyboardInterrupt there leaves a result and an error at once, or null pointers in nested tuples.

    Parameters
    ----------
    function : callable
        A numba dispatcher.
    arguments : tuple

    Returns
    -------
    object
        What the function returns.

    Raises
    ------
    KeyboardInterrupt
        Or whatever the present handler of SIGINT raises.

    Examples
    --------
    >>> call_with_late_interrupts(max, (1, 2))
    2
    """
    handler = _signal.getsignal(signal.SIGINT)
    # A handler may be a number, for the actions of the system, or None, if it is not Python's.
    if handler is _hold or not callable(handler):
        return function(*arguments)
    try:
        # Without the enumerations of `signal.signal`, which take four times as long as the call itself.
        _signal.signal(_SIGINT, _hold)
    except ValueError:
        # Only the main thread handles signals.
        return function(*arguments)
    _Interrupt.handler = handler
    try:
        _Interrupt.in_call = True
        return function(*arguments)
    finally:
        _Interrupt.in_call = False
        _signal.signal(_SIGINT, handler)
        if _Interrupt.came:
            _Interrupt.came = False
            handler(_SIGINT, None)


_CALL = call_with_late_interrupts.__code__
_SIGINT = int(signal.SIGINT)


def check_signals():
    """Let Python handle signals in the middle of a long kernel, which ends if a handler raises an error.

    Memory of arrays that the kernel has made is lost then: large ones should be arguments.

    Examples
    --------
    >>> check_signals()
    """


def compile_check_signals():
    """Tell numba what :func:`check_signals` is in a kernel."""
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic, overload

    def emit(context, builder, signature, arguments):
        function_type = ir.FunctionType(ir.IntType(32), [])
        holds_lock, check = (
            cgutils.get_or_insert_function(builder.module, function_type, name)
            for name in ("PyGILState_Check", "PyErr_CheckSignals")
        )
        zero = ir.Constant(ir.IntType(32), 0)
        # Programs may run kernels in threads that are not Python's.
        with builder.if_then(builder.icmp_signed("!=", builder.call(holds_lock, []), zero), likely=True):
            failed = builder.icmp_signed("!=", builder.call(check, []), zero)
            with builder.if_then(failed, likely=False):
                context.call_conv.return_exc(builder)
        return context.get_dummy_value()

    @intrinsic
    def compiled(typing_context):
        return types.void(), emit

    @overload(check_signals)
    def implementation():
        return lambda: compiled()
