"""Every use of PyMC's private API, in one place.

The public API is what ``pymc`` and modules such as ``pymc.util`` offer without an underscore.  Names that lie deeper,
or have an underscore, come from here.
"""

import contextlib
import inspect
import multiprocessing
import os
import signal
import threading
import time

import pymc as pm
from pymc.backends.arviz import coords_and_dims_for_inferencedata, find_observations
from pymc.backends.base import BaseTrace, MultiTrace
from pymc.backends.ndarray import NDArray
from pymc.data import MinibatchOp
from pymc.distributions.custom import CustomDistRV
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import DiracDeltaRV, PartialObservedRV
from pymc.distributions.distribution import _support_point as support_point
from pymc.distributions.transforms import _default_transform as default_transform
from pymc.initial_point import make_initial_point_fns_per_chain
from pymc.logprob.abstract import ValuedRV
from pymc.logprob.abstract import _logprob as logprob
from pymc.logprob.utils import CheckParameterValue, ParameterValueError
from pymc.model.core import ValueGradFunction
from pymc.model.fgraph import (
    ModelDeterministic,
    ModelObservedRV,
    clone_model,
    fgraph_from_model,
    model_from_fgraph,
)
from pymc.pytensorf import resolve_backend_compile_kwargs
from pymc.sampling.mcmc import assign_step_methods, instantiate_steppers
from pymc.sampling.parallel import ParallelSamplingError, ProcessAdapter, _cpu_count
from pymc.stats.convergence import warn_divergences, warn_treedepth
from pymc.step_methods import STEP_METHODS, CompoundStep
from pymc.step_methods.arraystep import PopulationArrayStepShared
from pymc.step_methods.compound import Competence, StepMethodState, flatten_steps
from pymc.step_methods.hmc.base_hmc import BaseHMCState
from pymc.step_methods.hmc.quadpotential import (
    QuadPotentialDiagAdapt,
    QuadPotentialDiagAdaptState,
    QuadPotentialFullAdapt,
)
from pymc.step_methods.state import DataClassState, WithSamplingState, dataclass_state
from pymc.util import get_random_generator
from pymc.variational.minibatch_rv import MinibatchRandomVariable

# Name of the vector of all values that a step samples, in functions that PyMC compiles.
JOINED_INPUTS = "joined_inputs"
# Counters of NUTS in a chain, which its sampling state omits.
_LEFT_OUT = ("divergences",)
# Settings of NUTS, which its sampling state omits as well.
SETTINGS = ("max_treedepth", "early_max_treedepth")
# State besides settings: random generators, which come from the seed, and what NUTS remembers of the previous chain.
NOT_SETTINGS = ("rng", "step_size", "_num_divs_sample")
# Message of pm.sample for a run that was interrupted before there were draws to return.
NO_DRAWS = "Not enough samples to build a trace."
_SECONDS_BETWEEN_LOOKS = 0.2
_ARGUMENTS = frozenset(inspect.signature(pm.sample).parameters) - {"kwargs"}


def is_transform_of_dims(transform, name):
    """Return whether a transform is the one of ``pymc.dims`` with this name; a subclass may compute something else."""
    return type(transform).__module__ == "pymc.dims.distributions.transforms" and transform.name == name


def default_chains(cores):
    """Number of chains that ``pm.sample`` runs by default."""
    return max(2, min(4, _cpu_count()) if cores is None else cores)


def register_steps(*steps):
    """Add steps to those that PyMC chooses from."""
    STEP_METHODS.extend(step for step in steps if step not in STEP_METHODS)


def accept_in_nuts(kwargs):
    """Return a copy of the arguments of ``pm.sample`` with ``target_accept`` among the arguments of ``nuts``."""
    kwargs = dict(kwargs)
    if "target_accept" in kwargs:
        accept, options = kwargs.pop("target_accept"), kwargs.get("nuts") or {}
        if "target_accept" in options:
            raise ValueError("target_accept must be given once; got it both as an argument and in nuts")
        kwargs["nuts"] = {**options, "target_accept": accept}
    return kwargs


def make_step(model, kwargs):
    """Return the step that ``pm.sample`` would make, and its arguments with this step instead of those for steps."""
    kwargs = dict(kwargs)
    options = accept_in_nuts({name: kwargs.pop(name) for name in set(kwargs) - _ARGUMENTS})
    compile_kwargs = resolve_backend_compile_kwargs(kwargs.get("backend"), kwargs.get("compile_kwargs"))
    provided, selected = assign_step_methods(model, kwargs.get("step"), methods=STEP_METHODS)
    functions = make_initial_point_fns_per_chain(
        model=model, overrides=kwargs.get("initvals"), jitter_rvs=set(), chains=kwargs["chains"]
    )
    rng = get_random_generator(kwargs["random_seed"]).spawn(1)[0]
    step = instantiate_steppers(
        model,
        steps=provided,
        selected_steps=selected,
        step_kwargs=options,
        initial_point=functions[0](rng.integers(2**30)),
        compile_kwargs=compile_kwargs,
    )
    step = CompoundStep(step) if isinstance(step, list) else step
    return step, kwargs | {"step": step}


def initial_point_with(model, overrides):
    """Return the initial point of a model, without jitter, given the initial values of some variables."""
    functions = make_initial_point_fns_per_chain(model=model, overrides=overrides, jitter_rvs=set(), chains=1)
    return functions[0](0)


def steps_without_state(step):
    """Names of the steps that do not define their sampling state."""
    methods = [
        method
        for method in flatten_steps(step)
        if isinstance(method, PopulationArrayStepShared) or type(method)._state_class is DataClassState
    ]
    return [type(method).__name__ for method in methods]


def left_out_of_state(step):
    """Values that the sampling state of a step omits: a dict for each single step."""
    steps = flatten_steps(step)
    return [{name: getattr(method, name) for name in _LEFT_OUT if hasattr(method, name)} for method in steps]


def set_left_out(step, values):
    """Restore the values that :func:`left_out_of_state` returned."""
    for method, attributes in zip(flatten_steps(step), values, strict=True):
        for name, value in attributes.items():
            setattr(method, name, value)


def end_with_parent():
    """End this process, if PyMC created it for a chain, when its parent has ended; it would wait forever otherwise."""
    if not multiprocessing.current_process().name.startswith("worker_chain_"):
        return
    parent, number = multiprocessing.parent_process(), os.getppid()

    def watch():
        while parent.is_alive() and os.getppid() == number:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def naming_dead_chains():
    """Name the chain in the error if a process of ``pm.sample`` has died."""
    try:
        yield
    except (EOFError, ConnectionError) as error:
        adapter = _adapter_of(error)
        if adapter is None:
            raise
        raise ParallelSamplingError(
            f"Chain {adapter.chain} failed: its process {_ending(adapter._process)}", adapter.chain
        ) from error


def _adapter_of(error):
    """Find the adapter whose pipe broke: PyMC does not name it, but the frames of the traceback hold it."""
    traceback = error.__traceback__
    adapter = None
    while traceback is not None:
        values = traceback.tb_frame.f_locals
        for name in ("proc", "self"):
            if isinstance(values.get(name), ProcessAdapter):
                adapter = values[name]
        traceback = traceback.tb_next
    return adapter


def _ending(process):
    process.join(1.0)
    code = process.exitcode
    if code is None:
        return "does not answer"
    if code >= 0:
        return f"ended with code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    hint = ", as happens when memory is exhausted" if name == "SIGKILL" else ""
    return f"was ended by {name}{hint}"
