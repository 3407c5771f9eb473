"""Partitions and mixtures as random variables: printed names, checks of ranges, draws by numba."""

import functools
import hashlib

from pymc_nrm.common.pymc_internals import check_parameters
from pymc_nrm.kernels.generic import prepare_numba
from pymc_nrm.kernels.kernel_cache import code_fingerprint


def printed_names(title, kind):
    """Names of a random variable that show its measure or family: for graphs, and for text and LaTeX."""
    subtitle = kind.__name__
    return f"{title}[{subtitle}]", (
        f"{title}[{subtitle}]",
        f"\\operatorname{{{title}}}[\\operatorname{{{subtitle}}}]",
    )


def with_conditions(log_probability, parameters, d=None):
    """Attach checks of the ranges of non-constant hyperparameters to a log-probability. Out of range it raises
    ``ParameterValueError``, or is minus infinity if PyMC requests that.
    """
    conditions, messages = [], []
    for name, specification in getattr(parameters, "hyperparameters", {}).items():
        support = specification.support.given(parameters)
        conditions.append(support.condition(getattr(parameters, name), d))
        messages.append(f"{name} {support.description}")
    if not conditions:
        return log_probability
    return check_parameters(log_probability, *conditions, msg=", ".join(messages))


@functools.cache
def register_numba(op_class, describe):
    """Register the draw of a random variable with PyTensor's numba backend, which otherwise runs Python code."""
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
        modules = [value.__module__ for value in environment.values() if hasattr(value, "__module__")]
        key = f"{code_fingerprint([__name__, *modules], hyperparameter_class)} {source}"
        return draw, int(hashlib.sha256(key.encode()).hexdigest()[:15], 16)
