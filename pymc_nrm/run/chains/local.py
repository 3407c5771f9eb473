"""Chains on this machine, through ``pm.sample``, and Ctrl-C while functions compiled by PyTensor run."""

import contextlib
import logging
import os
import signal
import threading
import warnings

import pymc as pm

from pymc_nrm.common.pymc_internals import NO_DRAWS, default_chains, naming_dead_chains
from pymc_nrm.kernels.compilation import usable_cores
from pymc_nrm.kernels.interrupts import Interrupted, call_again_later, loses_errors
from pymc_nrm.run.chains.trace import ChainTrace
from pymc_nrm.run.checkpoints.step import checkpointed_step
from pymc_nrm.steps.chunked_sampler import keeper_of_clusters


@contextlib.contextmanager
def interrupts_before_draws(path):
    """Turn the ValueError of a run that was interrupted while it tuned into a KeyboardInterrupt.

    ``path`` is the folder from which the run can be resumed, or None.
    """
    try:
        yield
    except ValueError as error:
        if str(error) != NO_DRAWS:
            raise
        rest = "" if path is None else f"; nrm.resume({str(path)!r}) goes on with it"
        raise KeyboardInterrupt(f"the run was interrupted before its first draw{rest}") from None


@contextlib.contextmanager
def interrupts_outside_of_conversions():
    """Delay SIGINT by some milliseconds while numba converts results to Python objects, or stores machine code.

    Numba runs Python code for every array of a result.  A KeyboardInterrupt there becomes a SystemError, which PyMC
    does not recognise as an interrupt, and all draws are lost; in a callback of LLVM it is lost itself.
    """
    handler, process = signal.getsignal(signal.SIGINT), os.getpid()
    # Only the main thread handles signals; a handler may also be a number, or None if it is not Python's.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return

    def hold(signum, frame):
        # A terminal interrupts the processes of chains as well.  PyMC ends them; one that ends first counts as failed.
        if os.getpid() != process:
            return None
        if loses_errors(frame):
            return call_again_later()
        Interrupted.came = True
        return handler(signum, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        Interrupted.came = False
        signal.signal(signal.SIGINT, handler)


_log = logging.getLogger(__name__)


def on_usable_cores(kwargs):
    """Arguments with as many chains at a time as there are processors to use, unless ``cores`` is given."""
    if kwargs.get("cores") is not None:
        return kwargs
    chains = default_chains(None) if kwargs.get("chains") is None else kwargs["chains"]
    return {**kwargs, "chains": chains, "cores": min(chains, usable_cores())}


def one_after_the_other(kwargs, in_chunks, client):
    """Arguments for chains over rows in chunks, whose labels are in this process and whose passes run on threads.

    ``in_chunks`` are the names of the partition and of its mixtures.
    """
    what = f"{in_chunks[0]!r}, a partition of rows in chunks"
    if client is not None:
        raise ValueError(
            f"client must be None for {what}; Chunks(X, client=client) runs one chain on all workers. Got {client}"
        )
    if kwargs.get("cores") not in (None, 1):
        raise ValueError(
            f"cores must be 1 for {what}, whose chains run one after the other on n_threads of Chunks; got "
            f"{kwargs['cores']}"
        )
    for name, default in (("trace", None), ("return_inferencedata", True)):
        if kwargs.get(name, default) is not default:
            raise ValueError(f"{name} must be {default}, its default, for {what}; got {kwargs[name]!r}")
    options = kwargs.get("idata_kwargs") or {}
    for name in ("log_likelihood", "log_prior"):
        if options.get(name):
            raise ValueError(f"{name} of idata_kwargs must be False for {what}, since draws do not hold its value")
    if not set(in_chunks).isdisjoint(options.get("dims") or {}):
        raise ValueError(f"dims of idata_kwargs must leave out {what}, and its mixtures; got {options['dims']}")
    return {**kwargs, "cores": 1, "chains": default_chains(None) if kwargs.get("chains") is None else kwargs["chains"]}


def run_pymc(draws, model, **kwargs):
    """Run ``pm.sample`` so that Ctrl-C loses no draws, and so that a dead process is named."""
    with interrupts_outside_of_conversions(), naming_dead_chains():
        return pm.sample(draws, model=model, compute_convergence_checks=False, **kwargs)


def run_chains(storage, checkpoints=None, **kwargs):
    """Sample chains on this machine, and return the record of what they kept."""
    step, token = None, keeper_of_clusters.set(storage)
    try:
        if checkpoints is not None:
            step, kwargs = checkpointed_step(checkpoints, storage.model, kwargs)
        with warnings.catch_warnings():
            # PyMC's own trace tells which chains are complete after an interruption; users do not see it.
            warnings.filterwarnings("ignore", ".*return_inferencedata", FutureWarning)
            warnings.filterwarnings("ignore", "Tuning samples will be included", UserWarning)
            trace = run_pymc(
                storage.draws,
                storage.model,
                trace=ChainTrace(storage),
                return_inferencedata=False,
                discard_tuned_samples=not storage.keep_warmup,
                **kwargs,
            )
    except (KeyboardInterrupt, ValueError):
        if not storage.is_full:
            raise
        # PyMC has no draw at all.
        raise OSError(storage.label_file.error) from None
    finally:
        keeper_of_clusters.reset(token)
        if step is not None:
            step.close()
    report = trace.report
    record = storage.record(trace.chains, report.n_tune, report.n_draws, report.t_sampling)
    if storage.is_full:
        if record.n_draw_rows == 0:
            raise OSError(storage.label_file.error)
        _log.error(f"{storage.label_file.error}; the draws before it are kept")
    return record
