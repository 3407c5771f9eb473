"""Chains on other machines or in other processes, through a client that runs functions there."""

import contextlib
import functools
import logging
import time

import cloudpickle
from pymc.util import get_random_generator, get_state_from_generator, random_generator_from_state

from pymc_nrm.common.pymc_internals import ParallelSamplingError
from pymc_nrm.kernels.compilation import same_bits_in_every_process
from pymc_nrm.run.arguments import CHAINS_OF_CLIENT
from pymc_nrm.run.chains import local
from pymc_nrm.run.checkpoints.atomic_files import pickled
from pymc_nrm.run.result.to_datatree import join_chains

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_runs")

_SECONDS_BETWEEN_LOOKS = 0.05


def check_client(client):
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


def run_on_client(
    client, storage, checkpoints=None, *, initvals, quiet, chains=None, random_seed=None, progressbar=True, **kwargs
):
    """Run each chain as a separate task, with the same draws as on this machine, and return the record of all."""
    # `pm.sample` spawns one random generator per chain from the generator of the seed.  A worker gets this generator
    # after it has spawned the generators of all earlier chains, so that it spawns the generator of its own chain next.
    check_client(client)
    chains = CHAINS_OF_CLIENT if chains is None else chains
    if initvals is not None and not isinstance(initvals, dict) and len(initvals) != chains:
        raise ValueError(f"initvals must be one dict or one for each of the {chains} chains; got {len(initvals)}")
    rng = get_random_generator(random_seed)
    states = []
    for _ in range(chains):
        states.append(get_state_from_generator(rng))
        rng.spawn(1)
    what = "the model and the arguments of a run with a client must be picklable, to be sent to workers"
    payload = pickled((storage, checkpoints, initvals, kwargs), what)
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
    storage, checkpoints, initvals, kwargs = cloudpickle.loads(payload)
    storage.first_chain = chain
    if initvals is not None and not isinstance(initvals, dict):
        initvals = initvals[chain]
    with same_bits_in_every_process():
        return local.run(
            storage,
            checkpoints,
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
