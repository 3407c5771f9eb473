"""Chains on this machine, through ``pm.sample``."""

import warnings

import pymc as pm

from pymc_nrm.common.processors import usable_cores
from pymc_nrm.common.pymc_internals import default_chains, naming_dead_chains
from pymc_nrm.run.checkpoint_step import checkpointed_step
from pymc_nrm.run.interruption import interrupts_outside_of_conversions
from pymc_nrm.run.storage import ChainTrace
from pymc_nrm.steps.chunked_sampler import clusters_are_kept


def on_usable_cores(kwargs):
    """Arguments with as many chains at a time as there are processors to use, unless ``cores`` is given."""
    if kwargs.get("cores") is not None:
        return kwargs
    chains = default_chains(None) if kwargs.get("chains") is None else kwargs["chains"]
    return {**kwargs, "chains": chains, "cores": min(chains, usable_cores())}


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
