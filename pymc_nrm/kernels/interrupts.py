"""Ctrl-C while a kernel runs: no Python error may be raised while numba converts arguments and results."""

import _signal
import _thread
import signal
import threading

# Functions that numba and llvmlite call from machine code: an error in them is lost, or becomes another error.
_CALLED_BACK = frozenset({"_numba_unpickle", "_raw_object_cache_notify", "_raw_object_cache_getbuffer"})
_SECONDS_TO_WAIT = 0.005


def loses_errors(frame):
    """Whether an error raised in this frame would be lost on its way, as in a callback of llvmlite."""
    while frame is not None:
        if frame.f_code.co_name in _CALLED_BACK:
            return True
        frame = frame.f_back
    return False


def call_again_later():
    """Let SIGINT come again after some milliseconds."""
    again = threading.Timer(_SECONDS_TO_WAIT, _thread.interrupt_main)
    again.daemon = True
    again.start()


class Interrupted:
    """Whether Ctrl-C has come in this run; PyMC itself would continue with the next chain of the same process."""

    came = False


class _Interrupt:
    """State of our SIGINT handler for the call that it protects; only the main thread has one."""

    handler = None  # the replaced handler
    in_call = False
    came = False


def _hold(signum, frame):
    """Hold SIGINT where an error would do harm; elsewhere call the replaced handler."""
    if _Interrupt.in_call:
        if frame.f_code is _CALL:
            # `check_signals` is asking, or the call is over.
            return _Interrupt.handler(signum, frame)
        lost = loses_errors(frame)
        while frame is not None and frame.f_code is not _CALL:
            if frame.f_code.co_name == "_compile_for_args":
                # Numba is compiling; no machine code runs yet.
                return call_again_later() if lost else _Interrupt.handler(signum, frame)
            frame = frame.f_back
    _Interrupt.came = True


def call_with_late_interrupts(function, arguments):
    """Call a compiled function, and hold a SIGINT that comes while its arguments or results are converted.

    Numba converts tuples and generators with Python code, where Python checks for signals.  A KeyboardInterrupt at that
    point leaves both a result and an error, or null pointers in nested tuples.
    """
    handler = _signal.getsignal(signal.SIGINT)
    # A handler is a number if it is a default of the system, and None if it was not installed from Python.
    if handler is _hold or not callable(handler):
        return function(*arguments)
    try:
        # `signal.signal` converts to enumerations, which takes four times as long as the call itself.
        _signal.signal(_SIGINT, _hold)
    except ValueError:
        # Only the main thread may set handlers.
        return function(*arguments)
    _Interrupt.handler = handler
    try:
        _Interrupt.in_call = True
        return function(*arguments)
    finally:
        _Interrupt.in_call = False
        try:
            _signal.signal(_SIGINT, handler)
        finally:
            # If another signal ends this block, the held signal must not come out of a later call.
            came, _Interrupt.came = _Interrupt.came, False
        if came:
            handler(_SIGINT, None)


_CALL = call_with_late_interrupts.__code__
_SIGINT = int(signal.SIGINT)


def check_signals():
    """Let Python handle signals in the middle of a long kernel, which ends if a handler raises an error.

    The arrays that the kernel has allocated are then leaked, so large arrays should be arguments.
    """


def compile_check_signals():
    """Define :func:`check_signals` for numba."""
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
        # Kernels may run in threads that do not hold Python's lock.
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
