"""Run chains with checked arguments, keep what was asked for, and report what the user must know."""

import logging
from contextlib import nullcontext
from typing import Any, NamedTuple

import pymc as pm
from xarray import DataTree

from pymc_nrm.common.checks import check_flag
from pymc_nrm.common.progress import elapsed
from pymc_nrm.common.pymc_internals import warn_divergences, warn_treedepth
from pymc_nrm.kernels.compilation import same_bits_in_every_process, without_announcements
from pymc_nrm.models.missing_entries import missing_variables
from pymc_nrm.models.rvs import n_items, names_in_chunks, partitions_of
from pymc_nrm.partitions.chunked import Chunked
from pymc_nrm.run.chains.client import sample_remotely
from pymc_nrm.run.chains.label_file import LabelFile
from pymc_nrm.run.chains.local import (
    interrupts_before_draws,
    on_usable_cores,
    one_after_the_other,
    run_chains,
    run_pymc,
)
from pymc_nrm.run.chains.progress_log import watched
from pymc_nrm.run.chains.trace import Storage
from pymc_nrm.run.checkpoints.step import Checkpoints
from pymc_nrm.run.choose_steps import learned_variables, with_learned_gibbs, with_slot_nuts
from pymc_nrm.run.compile_gradient import with_gradient_beside
from pymc_nrm.run.convergence_report import convergence
from pymc_nrm.run.result.label_dependence import changed_by_renaming, slot_parameters
from pymc_nrm.run.result.to_datatree import (
    add_flat_columns,
    add_log_likelihood,
    mark_variables,
    to_datatree,
    without_log_likelihood,
)
from pymc_nrm.stats.diagnostics import attach, diagnose, reported_quantities

_log = logging.getLogger(__name__)
# A child of PyMC's logger, which shows messages of level INFO.
_information = logging.getLogger("pymc.nrm_chains")
# Arguments of ``pm.sample`` that mean nothing where a client runs the chains.
_OF_THIS_MACHINE = ("cores", "mp_ctx", "callback", "progressbar_theme")


class Examined(NamedTuple):
    """The result of a run, its convergence, None if it was not checked, and variables that it leaves out."""

    idata: Any
    convergence: Any = None
    left_out: Any = ()


class Report(NamedTuple):
    """What a user wants to know about a run."""

    compute_convergence_checks: bool
    partition_diagnostics: bool
    quiet: bool
    # Whether to tell how long the run is likely to take.
    expected_time: bool = True

    def checked(self):
        """Check that all are True or False."""
        for name, value in self._asdict().items():
            check_flag(name, value)
        return self

    @property
    def check(self):
        """Whether to report on convergence."""
        return self.compute_convergence_checks and not self.quiet


def run_and_check(model, arguments, *, client, folder, seconds, report):
    """Sample, diagnose partitions, and log what a user must know."""
    found = examined_run(model, arguments, client, folder, seconds, report, report.check)
    return log_report(found, report)


@same_bits_in_every_process()
def examined_run(model, arguments, client, folder, seconds, report, check):
    """Sample, diagnose partitions, and check convergence; only what happens meanwhile is logged."""
    kinds, kwargs = partitions_of(model), with_slot_nuts(model, dict(arguments))
    draws, label_storage, thin = (kwargs.pop(name) for name in ("draws", "label_storage", "thin"))
    labels = kwargs.pop("labels", None)
    for name in ("log_likelihood", "log_prior"):
        if label_storage == "none" and (kwargs.get("idata_kwargs") or {}).get(name):
            raise ValueError(f"{name} of idata_kwargs must be False with label_storage='none': it needs labels")
    likelihoods, quiet, learned = [], report.quiet, learned_variables(model, kwargs)
    if kinds:
        kwargs, likelihoods = without_log_likelihood(model, kwargs)
    if kinds and not quiet:
        sizes = ", ".join(f"{partition.name} ({n_items(partition):,} items)" for partition in kinds)
        _information.info(f"Preparing to sample {sizes}.")
    if client is None and report.expected_time and not quiet:
        kwargs["callback"] = watched(model, draws, kwargs)
    if check or report.partition_diagnostics:
        # This takes a second, which somebody who interrupts a run should not wait for.
        import arviz_stats  # noqa: F401
    if in_chunks := names_in_chunks(model):
        kwargs = one_after_the_other(kwargs, in_chunks, client)
    beside = shown = nullcontext()
    has_bar = not quiet and kwargs.get("progressbar") is not False
    if client is None:
        if not in_chunks:
            beside, kwargs = with_gradient_beside(model, kwargs, learned), on_usable_cores(kwargs)
        # The first step of a partition that is made ends the line.
        shown = elapsed("Preparing") if kinds and has_bar and kwargs.get("step") is None else shown
    with without_announcements(quiet, has_bar), interrupts_before_draws(_path_to_resume(folder)), beside, shown:
        kwargs = with_learned_gibbs(model, kwargs, learned)
        idata = _sample(model, draws, label_storage, thin, labels, client, folder, seconds, quiet, kwargs)
    posterior = idata["posterior"] if isinstance(idata, DataTree) and "posterior" in idata.children else None
    if posterior is None or posterior.sizes.get("draw", 0) == 0:
        return Examined(idata)
    slots = slot_parameters(model, posterior)
    renamed = changed_by_renaming(model, slots)
    mark_variables(idata, kinds, slots, renamed, missing_variables(model))
    names = [*(partition.name for partition in kinds), *add_flat_columns(idata, kinds)]
    if likelihoods:
        add_log_likelihood(idata, model, likelihoods, has_bar)
    diagnostics = {}
    if check or report.partition_diagnostics:
        # Draws of a variable are not kept if the argument var_names leaves it out.
        kept = [name for name in names if name in posterior]
        if label_storage == "none":
            kept += [name for name in names if reported_quantities(idata, name) is not None]
        diagnostics = {name: diagnose(idata, name) for name in kept}
        if label_storage == "none" and not quiet:
            _information.info("Labels were not kept: whether chains agree about pairs of items is not checked.")
    if report.partition_diagnostics:
        attach(idata, diagnostics, replace_all=True)
    if not check:
        return Examined(idata)
    nuts = [warning.message for warning in (*warn_divergences(idata), *warn_treedepth(idata))]
    left_out = [name for name in renamed if name in posterior]
    return Examined(idata, convergence(idata, diagnostics, nuts), left_out)


def _path_to_resume(folder):
    """The folder that a user may resume, or None."""
    return None if folder is None or folder.is_temporary else folder.path


def log_report(found, report):
    """Log what is wrong with an examined run, or that it is fine, if a user wants to know; return its result."""
    if not report.check:
        return found.idata
    if found.left_out:
        what = "it may change" if len(found.left_out) == 1 else "they may change"
        names = ", ".join(found.left_out)
        _information.info(f"Convergence of {names} is not judged: {what} when clusters are renamed.")
    if found.convergence is not None and found.convergence.report:
        _log.warning(found.convergence.report)
    elif found.convergence is not None:
        sizes = found.idata["posterior"].sizes
        _information.info(f"Convergence of {sizes['chain']} chains with {sizes['draw']} draws each: fine.")
    for text in found.convergence.many_clusters if found.convergence is not None else ():
        _information.info(text)
    return found.idata


def _is_left_to_pymc(partitions, label_storage, thin, client, folder, kwargs):
    """Whether PyMC keeps the draws itself: those of models without labels, and what it returns in another form."""
    if not partitions:
        asked = {f"{label_storage=}": label_storage != "full", "client": client, "checkpoint": folder}
        for what in (name for name, value in asked.items() if value):
            raise ValueError(f"{what} is for models with a free partition; this model has none")
    reason = "a client" if client is not None else "checkpoint" if folder is not None else f"{label_storage=}, {thin=}"
    changed = client is not None or folder is not None or (label_storage, thin) != ("full", 1)
    allowed = {"trace": None, "return_inferencedata": True}
    allowed |= {} if client is None else dict.fromkeys(_OF_THIS_MACHINE)
    allowed |= {} if folder is None else {"nuts_sampler_kwargs": None}
    given = [name for name, default in allowed.items() if kwargs.get(name, default) is not default]
    if given and changed:
        raise ValueError(f"{given[0]} must be {allowed[given[0]]}, its default, with {reason}")
    return bool(given) or not (partitions or changed)


def _sample(model, draws, label_storage, thin, labels, client, folder, seconds, quiet, kwargs):
    """Draw, and keep what was asked for."""
    partitions = [partition.name for partition in partitions_of(model)]
    if _is_left_to_pymc(partitions, label_storage, thin, client, folder, kwargs):
        return run_pymc(draws, model, quiet=quiet, **kwargs)
    for name in ("trace", "return_inferencedata", *(() if client is None else _OF_THIS_MACHINE)):
        kwargs.pop(name, None)
    idata_kwargs = dict(kwargs.pop("idata_kwargs", None) or {})
    save_warmup = idata_kwargs.pop("save_warmup", True)
    keep_warmup = not kwargs.pop("discard_tuned_samples", True) and save_warmup
    keep_warning_stat = kwargs.pop("keep_warning_stat", False)
    densities = {name: idata_kwargs.pop(name, False) for name in ("log_likelihood", "log_prior")}
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
        storage = Storage(model, **options)
        if labels is not None:
            [kind] = partitions_of(model, Chunked).values()
            storage.label_file = LabelFile(labels, kwargs["chains"], draws // thin, kind.rows.n)
        record = run_chains(storage, quiet=quiet, **kwargs)
    else:
        record = sample_remotely(client, model, options, quiet=quiet, **kwargs)
    path = _path_to_resume(folder)
    is_cut = path is not None and (record.n_draw_rows < draws // thin or len(record.stats) < kwargs["chains"])
    if is_cut and not quiet:
        _information.info(f"The run was interrupted; nrm.resume({str(path)!r}) goes on with it.")
    kept = {name: options[name] for name in ("label_storage", "var_names", "thin")}
    idata = to_datatree(record, model, keep_warning_stat=keep_warning_stat, **kept, **idata_kwargs)
    for name, wanted in densities.items():
        if wanted:
            names = None if wanted is True else wanted
            getattr(pm.stats, f"compute_{name}")(idata, var_names=names, model=model, progressbar=False)
    return idata
