"""Run chains with checked arguments, keep what was asked for, and report what the user must know."""

import logging
from contextlib import nullcontext

import pymc as pm
from xarray import DataTree

from pymc_nrm.common.pymc_internals import naming_dead_chains, warn_divergences, warn_treedepth
from pymc_nrm.kernels.compilation import same_bits_in_every_process, without_announcements
from pymc_nrm.model.rvs import is_nested_partition, is_partition, value_of
from pymc_nrm.run.checkpoint_step import Checkpoints
from pymc_nrm.run.convergence_report import convergence_report
from pymc_nrm.run.diagnosis import diagnose_run
from pymc_nrm.run.gradient_beside import with_gradient_beside
from pymc_nrm.run.interruption import interrupts_before_draws, interrupts_outside_of_conversions
from pymc_nrm.run.label_storage import Storage
from pymc_nrm.run.local_chains import run_chains
from pymc_nrm.run.log_likelihoods import add_log_likelihood, without_log_likelihood
from pymc_nrm.run.remote_chains import sample_remotely
from pymc_nrm.run.renaming import changed_by_renaming
from pymc_nrm.run.results import add_components, mark_partitions, to_datatree
from pymc_nrm.run.slot_parameters import slot_parameters
from pymc_nrm.run.slot_steps import with_slot_nuts
from pymc_nrm.run.watch import watched
from pymc_nrm.stats.diagnostics import attach

_log = logging.getLogger(__name__)
# A child of PyMC's logger, which shows messages of level INFO.
_information = logging.getLogger("pymc.nrm_chains")


def partitions_of(model):
    """Names of the free partitions of a model."""
    return [rv.name for rv in model.free_RVs if is_partition(rv)]


def nested_partitions_of(model):
    """Depths of the free nested partitions of a model, by name."""
    return {rv.name: rv.owner.op.depth for rv in model.free_RVs if is_nested_partition(rv)}


def variables_with_labels(model):
    """Names of the free variables whose values are labels: partitions and nested partitions."""
    return [*partitions_of(model), *nested_partitions_of(model)]


@same_bits_in_every_process()
def run_and_check(
    model,
    arguments,
    *,
    client,
    folder,
    seconds,
    compute_convergence_checks,
    partition_diagnostics,
    quiet,
):
    """Sample, diagnose partitions, and log what a user must know."""
    partitions, kwargs = partitions_of(model), with_slot_nuts(model, dict(arguments))
    draws, label_storage, thin = (kwargs.pop(name) for name in ("draws", "label_storage", "thin"))
    likelihoods = []
    if variables_with_labels(model):
        kwargs, likelihoods = without_log_likelihood(model, kwargs)
    if likelihoods and label_storage == "none":
        raise ValueError("log_likelihood of idata_kwargs must be False with label_storage='none': it needs labels")
    if client is None and not quiet:
        kwargs["callback"] = watched(model, draws, kwargs)
    check = compute_convergence_checks and not quiet
    if check or partition_diagnostics:
        # This takes a second, which somebody who interrupts a run should not wait for.
        import arviz_stats  # noqa: F401
    beside = with_gradient_beside(model, kwargs) if client is None else nullcontext()
    if label_storage == "full" and thin == 1 and client is None and folder is None:
        with (
            without_announcements(quiet),
            interrupts_before_draws(None),
            interrupts_outside_of_conversions(),
            naming_dead_chains(),
            beside,
        ):
            idata = pm.sample(draws, model=model, compute_convergence_checks=False, quiet=quiet, **kwargs)
    else:
        with without_announcements(quiet), interrupts_before_draws(folder), beside:
            idata = _sample_and_store(model, draws, label_storage, thin, client, folder, seconds, quiet, kwargs)
    posterior = idata["posterior"] if isinstance(idata, DataTree) and "posterior" in idata.children else None
    if posterior is None or posterior.sizes.get("draw", 0) == 0:
        return idata
    slots = slot_parameters(model, posterior)
    renamed = changed_by_renaming(model, slots)
    mark_partitions(idata, partitions, slots, nested_partitions_of(model), renamed)
    with_weights = [rv.name for rv in model.free_RVs if is_nested_partition(rv) and value_of(rv).has_weights]
    partitions = [*partitions, *add_components(idata, with_weights)]
    if likelihoods:
        add_log_likelihood(idata, model, likelihoods, not quiet and kwargs.get("progressbar", True) is not False)
    diagnostics = {}
    if check or partition_diagnostics:
        # Draws of a variable are not kept if the argument var_names leaves it out.
        wanted = partitions if label_storage == "none" else [name for name in partitions if name in posterior]
        wanted = [*wanted, *(name for name in nested_partitions_of(model) if name in posterior)]
        found = {name: diagnose_run(idata, name) for name in wanted}
        diagnostics = {name: tree for name, tree in found.items() if tree is not None}
        if label_storage == "none" and not quiet:
            _information.info("Labels were not kept: whether chains agree about pairs of items is not checked.")
    if partition_diagnostics:
        attach(idata, diagnostics, replace_all=True)
    if check:
        nuts = [warning.message for warning in (*warn_divergences(idata), *warn_treedepth(idata))]
        left_out = [name for name in renamed if name in posterior]
        if left_out:
            what = "it may change" if len(left_out) == 1 else "they may change"
            _information.info(f"Convergence of {', '.join(left_out)} is not judged: {what} when clusters are renamed.")
        report = convergence_report(idata, diagnostics, nuts)
        if report:
            _log.warning(report)
        else:
            sizes = posterior.sizes
            _information.info(f"Convergence of {sizes['chain']} chains with {sizes['draw']} draws each: fine.")
    return idata


def _sample_and_store(model, draws, label_storage, thin, client, folder, seconds, quiet, kwargs):
    """Sample with a trace of this package instead of PyMC's."""
    partitions = variables_with_labels(model)
    reason = "a client" if client is not None else f"label_storage={label_storage!r}, thin={thin}"
    reason = "checkpoint" if folder is not None and client is None else reason
    if label_storage != "full" and not partitions:
        raise ValueError(f"label_storage={label_storage!r} is for models with a free partition; this model has none")
    taken = {"trace": None, "return_inferencedata": True}
    taken |= {} if client is None else dict.fromkeys(("cores", "mp_ctx", "callback", "progressbar_theme"))
    for name, allowed in taken.items():
        if kwargs.pop(name, allowed) is not allowed:
            raise ValueError(f"{name} must be {allowed}, its default, with {reason}")
    idata_kwargs = kwargs.pop("idata_kwargs", None) or {}
    for name in ("log_likelihood", "log_prior"):
        if idata_kwargs.get(name):
            raise ValueError(f"{name} of idata_kwargs must be False with {reason}; compute it from the result")
    keep_warmup = not kwargs.pop("discard_tuned_samples", True)
    keep_warning_stat = kwargs.pop("keep_warning_stat", False)
    options = {
        "partitions": partitions,
        "draws": draws,
        "label_storage": label_storage,
        "thin": thin,
        "keep_warmup": keep_warmup,
        "var_names": kwargs.pop("var_names", None),
    }
    if folder is not None:
        first_key = kwargs["random_seed"].bit_generator.seed_seq.n_children_spawned
        kwargs["checkpoints"] = Checkpoints(folder, first_key, seconds, partitions, thin, keep_warmup)
    if client is None:
        record = run_chains(Storage(model, **options), quiet=quiet, **kwargs)
    else:
        if not partitions:
            raise ValueError("client is for models with a free partition; this model has none")
        record = sample_remotely(client, model, options, quiet=quiet, **kwargs)
    if folder is not None and not quiet and _is_cut(record, draws // thin, kwargs["chains"]):
        _information.info(f"The run was interrupted; nrm.resume({str(folder.path)!r}) goes on with it.")
    return to_datatree(
        record,
        model,
        thin=thin,
        keep_warmup=keep_warmup,
        keep_warning_stat=keep_warning_stat,
        idata_kwargs=idata_kwargs,
    )


def _is_cut(record, n_rows, n_chains):
    return record.n_draw_rows < n_rows or len(record.chains) < n_chains
