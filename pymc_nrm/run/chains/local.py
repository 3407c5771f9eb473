"""Chains on this machine, through ``pm.sample``."""

import contextlib
import logging
import warnings

import pymc as pm

from pymc_nrm.common.pymc_internals import naming_dead_chains
from pymc_nrm.run.chains.interrupts import interrupts_outside_of_conversions
from pymc_nrm.run.chains.trace import ChainTrace
from pymc_nrm.run.checkpoints.step import checkpointed_step
from pymc_nrm.steps.chunked_sampler import keeper_of_clusters

_log = logging.getLogger(__name__)


def run(storage, checkpoints=None, **kwargs):
    """Run chains on this machine, and return the record of what ``storage`` kept."""
    step, token = None, keeper_of_clusters.set(storage)
    try:
        if checkpoints is not None:
            step, kwargs = checkpointed_step(checkpoints, storage.model, kwargs)
        with interrupts_outside_of_conversions(), naming_dead_chains(), _without_warnings_about_traces():
            trace = pm.sample(
                storage.draws,
                model=storage.model,
                trace=ChainTrace(storage),
                return_inferencedata=False,
                discard_tuned_samples=not storage.keep_warmup,
                compute_convergence_checks=False,
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


def run_as_pymc(model, draws, **kwargs):
    """Run chains whose draws PyMC keeps, and return what ``pm.sample`` returns."""
    with interrupts_outside_of_conversions(), naming_dead_chains():
        return pm.sample(draws, model=model, compute_convergence_checks=False, **kwargs)


@contextlib.contextmanager
def _without_warnings_about_traces():
    """Silence warnings about PyMC's own trace, which tells which chains an interrupt left complete."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*return_inferencedata", FutureWarning)
        warnings.filterwarnings("ignore", "Tuning samples will be included", UserWarning)
        yield
