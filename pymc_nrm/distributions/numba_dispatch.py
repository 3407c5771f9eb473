"""Forward draws inside PyTensor's numba backend, so that no draw falls back to Python objects."""

import functools
import hashlib

from pymc_nrm.fingerprints import class_fingerprint, source_fingerprint
from pymc_nrm.generic import prepare_numba


@functools.cache
def register_numba(op_class, describe):
    """Register the draw of a random variable with PyTensor's numba backend, once, when the first one is made.

    Parameters
    ----------
    op_class : type
        Subclass of ``RandomVariable``.
    describe : callable
        Takes the Op; gives the source of a function ``draw(rng, *inputs)``, its globals, and the class of its
        hyperparameters.
    """
    # Importing PyTensor's numba backend takes as long as PyMC's own import: only models pay for it.
    from pytensor.link.numba.dispatch.basic import numba_njit
    from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
    from pytensor.link.utils import compile_function_src

    @numba_core_rv_funcify.register(op_class)
    def funcify(op, node):
        prepare_numba()
        source, environment, hyperparameter_class = describe(op)
        draw = numba_njit(compile_function_src(source, "draw", environment))
        # The key makes PyTensor's own disk cache forget the draw when the code behind it changes.
        key = f"{source_fingerprint('distributions')}{class_fingerprint(hyperparameter_class)}{source}"
        return draw, int(hashlib.sha256(key.encode()).hexdigest()[:15], 16)
