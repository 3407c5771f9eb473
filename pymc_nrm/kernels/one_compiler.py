"""Several processes that need the same machine code at the same time: one compiles it, the others wait and load it."""

import contextlib
import functools
import hashlib
import os
import time

# Longer than any kernel takes; a process that waited so long compiles by itself.
_SECONDS_AT_MOST = 120.0
_SECONDS_BETWEEN = 0.02


def compile_in_one_process(dispatcher):
    """Let a numba dispatcher compile what is not on disk under locks of its cache, which end with the compilation."""
    compile_here = dispatcher.compile

    @functools.wraps(compile_here)
    def compile_under_locks(signature):
        from numba.core.compiler_lock import global_compiler_lock

        cache = dispatcher._cache
        # Threads of a process take the lock of numba first, so that they cannot wait for each other.
        with global_compiler_lock, contextlib.ExitStack() as locks:
            before, cache.locks = cache.locks, locks
            try:
                return compile_here(signature)
            finally:
                cache.locks = before

    dispatcher.compile = compile_under_locks


def lock_of(cache, suffix, signature):
    """Path of a file that the process holds which compiles a function for these types."""
    function = cache._py_func
    name = repr((function.__module__, function.__qualname__, suffix, getattr(signature, "args", signature)))
    return os.path.join(cache.cache_path, f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.lock")


@contextlib.contextmanager
def alone(path):
    """Hold a lock that ends with the process, or continue without one where the system or the disk has none."""
    held = None
    with contextlib.suppress(ImportError, OSError):
        held = _taken(path)
    try:
        yield
    finally:
        if held is not None:
            with contextlib.suppress(OSError):
                os.unlink(path)
            os.close(held)


def _taken(path):
    """The lock as an open file, when no other process holds it any more; None after a long time."""
    import fcntl

    until = time.monotonic() + _SECONDS_AT_MOST
    while time.monotonic() < until:
        file = os.open(path, os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The process that held it may have removed the file meanwhile.
            if os.path.exists(path) and os.path.samestat(os.fstat(file), os.stat(path)):
                return file
            os.close(file)
        except BlockingIOError:
            os.close(file)
            time.sleep(_SECONDS_BETWEEN)
        except OSError:
            os.close(file)
            raise
    return None
