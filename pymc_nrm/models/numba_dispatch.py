"""Forward draws in PyTensor's numba backend, which would otherwise fall back to Python code."""

import functools
import hashlib

from pymc_nrm.kernels.fingerprints import class_fingerprint, source_fingerprint
from pymc_nrm.kernels.generic import prepare_numba


@functools.cache
def register_numba(op_class, describe):
    """Register the draw of a random variable with PyTensor's numba backend when the first such variable is made."""
    # Importing PyTensor's numba backend takes as long as importing PyMC, so wait until a model needs it.
    from pytensor.link.numba.dispatch.basic import numba_njit
    from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
    from pytensor.link.utils import compile_function_src

    @numba_core_rv_funcify.register(op_class)
    def funcify(op, node):
        prepare_numba()
        source, environment, hyperparameter_class = describe(op)
        draw = numba_njit(compile_function_src(source, "draw", environment))
        # PyTensor's disk cache stores the draw under this key, which changes with the code that the draw calls.
        key = f"{source_fingerprint('models')}{class_fingerprint(hyperparameter_class)}{source}"
        return draw, int(hashlib.sha256(key.encode()).hexdigest()[:15], 16)
