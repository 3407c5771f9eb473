"""Chains on this machine through ``pm.sample``, with Ctrl-C, and elsewhere through a client that calls functions."""

import contextlib
import functools
import logging
import signal
import threading
import time
import warnings
from collections import deque

import cloudpickle
import pymc as pm
from pymc.util import get_random_generator, get_state_from_generator, random_generator_from_state
from rich.console import Console

from pymc_nrm.common.processors import usable_cores
from pymc_nrm.common.pymc_internals import NO_DRAWS, ParallelSamplingError, default_chains, naming_dead_chains
from pymc_nrm.kernels.compilation import same_bits_in_every_process
from pymc_nrm.kernels.interrupts import Interrupted, call_again_later, loses_errors
from pymc_nrm.models.rvs import n_items, names_in_chunks, partitions_of
from pymc_nrm.run.results import join_chains
from pymc_nrm.run.storage import ChainTrace, Storage, checkpointed_step
from pymc_nrm.steps.chunked_sampler import clusters_are_kept


@contextlib.contextmanager
def interrupts_before_draws(folder):
    """Turn the ValueError of a run that was interrupted while it tuned into a KeyboardInterrupt."""
    try:
        yield
    except ValueError as error:
        if str(error) != NO_DRAWS:
            raise
        rest = "" if folder is None else f"; nrm.resume({str(folder.path)!r}) goes on with it"
        raise KeyboardInterrupt(f"the run was interrupted before its first draw{rest}") from None


@contextlib.contextmanager
def interrupts_outside_of_conversions():
    """Delay SIGINT by some milliseconds while numba converts results to Python objects, or stores machine code.

    Numba runs Python code for every array of a result.  A KeyboardInterrupt there becomes a SystemError, which PyMC
    does not recognise as an interrupt, and all draws are lost; in a callback of LLVM it is lost itself.
    """
    handler = signal.getsignal(signal.SIGINT)
    # Only the main thread handles signals; a handler may also be a number, or None if it is not Python's.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return

    def hold(signum, frame):
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
    step, token = None, clusters_are_kept.set(True)
    if checkpoints is not None:
        step, kwargs = checkpointed_step(checkpoints, storage.model, kwargs)
    try:
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
    finally:
        clusters_are_kept.reset(token)
        if step is not None:
            step.close()
    report = trace.report
    return storage.record(trace.chains, report.n_tune, report.n_draws, report.t_sampling)


# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_chains")

_SECONDS_BETWEEN_LOOKS = 0.05
# The default of pm.sample on a machine with at least four processors.
DEFAULT_CHAINS = 4


def _check_client(client):
    """Check that a client can run chains: it must have ``submit``, and must not be asynchronous or closed."""
    if not callable(getattr(client, "submit", None)):
        raise TypeError(
            "client must have a method submit that gives futures, as a dask.distributed.Client or an executor of "
            f"concurrent.futures; got {type(client).__name__}"
        )
    if getattr(client, "asynchronous", False):
        raise ValueError("client must not be asynchronous; make it with asynchronous=False")
    if getattr(client, "status", None) in ("closing", "closed"):
        raise ValueError("client must be open; got a closed one")


def sample_remotely(
    client, model, storage_options, *, initvals, quiet, chains=None, random_seed=None, progressbar=True, **kwargs
):
    """Sample every chain as a separate task, with the same draws as on this machine."""
    # `pm.sample` spawns one random generator per chain from the generator of the seed.  A worker gets this generator
    # after it has spawned those of all earlier chains, so that it spawns that of the worker's chain next.
    _check_client(client)
    chains = DEFAULT_CHAINS if chains is None else chains
    if initvals is not None and not isinstance(initvals, dict) and len(initvals) != chains:
        raise ValueError(f"initvals must be one dict or one for each of the {chains} chains; got {len(initvals)}")
    rng = get_random_generator(random_seed)
    states = []
    for _ in range(chains):
        states.append(get_state_from_generator(rng))
        rng.spawn(1)
    try:
        payload = cloudpickle.dumps((model, storage_options, initvals, kwargs), protocol=-1)
    except Exception as error:
        raise ValueError(
            f"the model and the arguments of a run with a client must be picklable, to be sent to workers: {error}"
        ) from error
    futures = {}
    try:
        _submit(client, payload, states, futures)
        return join_chains(_finished(futures, bool(progressbar) and not quiet), chains)
    finally:
        for future in futures.values():
            # A client that is gone holds no tasks.
            with contextlib.suppress(Exception):
                future.cancel()


def _submit(client, payload, states, futures):
    """Send every chain to a worker, and put its future into ``futures``."""
    try:
        submit = client.submit
        if hasattr(client, "scatter"):  # Dask: send the data once, and do not merge equal tasks
            payload = client.scatter(payload)
            submit = functools.partial(submit, pure=False)
        for chain, state in enumerate(states):
            futures[chain] = submit(sample_chain, payload, chain, state)
    except Exception as error:
        chain = len(futures)
        raise ParallelSamplingError(
            f"Chain {chain} failed: it cannot be sent to a worker, {_said(error)}", chain
        ) from error


def sample_chain(payload, chain, state):
    """Sample one chain on a worker; a generator in ``state`` spawns the generator of the chain next."""
    model, storage_options, initvals, kwargs = cloudpickle.loads(payload)
    if initvals is not None and not isinstance(initvals, dict):
        initvals = initvals[chain]
    with same_bits_in_every_process():
        return run_chains(
            Storage(model, **storage_options),
            initvals=initvals,
            chains=1,
            cores=1,
            random_seed=random_generator_from_state(state),
            progressbar=False,
            quiet=True,
            **kwargs,
        )


def _finished(futures, progress):
    """Yield pairs of chain and record as chains finish."""
    waiting, start = dict(futures), time.monotonic()
    while waiting:
        done = [chain for chain, future in waiting.items() if future.done()]
        for chain in done:
            try:
                record = waiting.pop(chain).result()
            except Exception as error:
                raise ParallelSamplingError(f"Chain {chain} failed with: {_said(error)}", chain) from error
            if progress:
                _log.info(
                    f"Chain {chain} finished ({len(futures) - len(waiting)} of {len(futures)}), "
                    f"{time.monotonic() - start:.0f} seconds after the start"
                )
            yield chain, record
        if not done:
            time.sleep(_SECONDS_BETWEEN_LOOKS)


def _said(error):
    return f"{type(error).__name__}: {error}"


# A child of PyMC's logger, which shows messages of level INFO.
_watch_log = logging.getLogger("pymc.nrm_watch")

# Runs over fewer items need no estimate of their time.
MANY_ITEMS = 20_000
SECONDS_BETWEEN_LINES = 30.0
# Times are told once so many draws of the run have taken so long; the first draw of a chain does not count.
_DRAWS_BEFORE_ESTIMATE = 4
_SECONDS_BEFORE_ESTIMATE = 5.0
# The pace is that of the last draws, since those of tuning take longer.
_LAST_DRAWS = 20
_PAGE = 'With nrm.Chunks a chain uses all cores, see "Large data" in the documentation, docs/how-to/large-data.md.'


def watched(model, draws, kwargs):
    """The callback in arguments of ``pm.sample``, one that also tells how long the run takes if it has many items."""
    callback = kwargs.get("callback")
    items = {partition.name: n_items(partition) for partition in partitions_of(model)}
    name = max(items, key=items.get, default=None)
    if name is None or items[name] <= MANY_ITEMS:
        return callback
    tune, chains = (kwargs.get(name) for name in ("tune", "chains"))
    chains = default_chains(kwargs.get("cores")) if chains is None else chains
    console = Console()
    has_bar = kwargs.get("progressbar") is not False and (console.is_terminal or console.is_jupyter)
    n_total = chains * (draws + (1000 if tune is None else tune))
    if name not in names_in_chunks(model):
        _watch_log.info(_PAGE)
    return Watch(callback, f"{name} has {items[name]:,} items", n_total, lines=not has_bar)


class Watch:
    """A callback of ``pm.sample``: one line about the time of a draw and of the run, then one every half minute."""

    def __init__(self, callback, subject, n_total, lines):
        self._callback, self._subject, self._lines = callback, subject, lines
        self._n_total, self._n_done, self._chains = n_total, 0, set()
        self._times, self._last_line = deque(maxlen=_LAST_DRAWS + 1), None
        _watch_log.info(
            f"{subject}: chains first build what all their draws use; how long a draw takes is said after some."
        )

    def __call__(self, trace, draw):
        if self._callback is not None:
            self._callback(trace=trace, draw=draw)
        now = time.monotonic()
        self._n_done += 1
        self._chains.add(draw.chain)
        self._times.append(now)
        if self._n_done >= self._n_total:
            return
        if self._last_line is None:
            if len(self._times) > _DRAWS_BEFORE_ESTIMATE and now - self._times[0] > _SECONDS_BEFORE_ESTIMATE:
                self._last_line = now
                _watch_log.info(
                    f"{self._subject}: a draw takes {_duration(len(self._chains) * self._seconds_per_draw())}, the "
                    f"remaining {self._n_total - self._n_done:,} of the run about {self._left()}."
                )
        elif self._lines and now - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = now
            _watch_log.info(f"{self._n_done:,} of {self._n_total:,} draws; about {self._left()} left.")

    def _seconds_per_draw(self):
        return (self._times[-1] - self._times[0]) / (len(self._times) - 1)

    def _left(self):
        return _duration(self._seconds_per_draw() * (self._n_total - self._n_done))


def _duration(seconds):
    if seconds < 1.0:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 100.0:
        return f"{seconds:.2g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
