"""Compile the gradient for NUTS in another process while this one compiles kernels.

PyTensor compiles a gradient when it is first called, which would be in every chain, after the kernels, and keeps it on
disk.  So another process can call the same function once, and the chains load it::

    this process     | model | kernels of the step ............ | chains
    another process          | import, model | gradient ... |
"""

import contextlib
import gc
import os
import pickle
import subprocess
import tempfile

import cloudpickle
import pymc as pm
from pymc.blocking import DictToArrayBijection

from pymc_nrm.common.pymc_internals import resolve_backend_compile_kwargs
from pymc_nrm.kernels.compilation import usable_cores, with_work_beside_compilation
from pymc_nrm.run.choose_steps import continuous_without_step, given_steps
from pymc_nrm.run.start_python import start_python

# Longer than any gradient takes; chains then compile it themselves.
_SECONDS_AT_MOST = 600.0


def with_gradient_beside(model, kwargs, taken=()):
    """Context in which a step that compiles for long has another process compile the gradient for NUTS.

    It is None if there is no gradient, or no core for it.
    """
    # It takes a second core. Variables that are taken get a step later.
    without_step = continuous_without_step(model, given_steps(kwargs))
    names = [variable.name for variable in without_step if variable not in taken]
    if not names or kwargs.get("cores") == 1 or usable_cores() < 2:
        return None
    options = resolve_backend_compile_kwargs(kwargs.get("backend"), kwargs.get("compile_kwargs"))
    return with_work_beside_compilation("the gradient for NUTS", lambda: _other_process(model, names, options))


@contextlib.contextmanager
def _other_process(model, names, options):
    """Start the process, yield whether this was possible, and wait for its end."""
    try:
        content = cloudpickle.dumps((model, names, options))
    except Exception:  # an object in the model may raise anything; chains can still compile the gradient
        yield False
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pickle")
        with open(path, "wb") as file:
            file.write(content)
        process = start_python("-c", f"from {__name__} import compile_gradient; compile_gradient({path!r})")
        if process is None:
            yield False
            return
        try:
            yield True
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_AT_MOST)
        finally:
            process.kill()
            process.wait()


def compile_gradient(path):
    """Call the function that NUTS will call, so that PyTensor keeps it on disk."""
    # Garbage collection takes a tenth of the time of compilation, and this process soon ends.
    gc.disable()
    with open(path, "rb") as file:
        model, names, options = pickle.load(file)
    point = model.initial_point()
    with model:
        variables = [variable for variable in model.value_vars if variable.name in names]
        step = pm.NUTS(variables, initial_point=point, compile_kwargs=options)
    function = step._logp_dlogp_func
    function.set_extra_values({name: point[name] for name in function._extra_vars_shared})
    function(DictToArrayBijection.map({variable.name: point[variable.name] for variable in step.vars}))
