"""One run, from its arguments to a result that is checked: choose steps, run chains, make the result, check it."""

import logging
from contextlib import nullcontext
from typing import Any, NamedTuple

from xarray import DataTree

from pymc_nrm.common.checks import check_flag
from pymc_nrm.common.marks import WITHOUT_BARS
from pymc_nrm.common.progress import elapsed
from pymc_nrm.kernels.compilation import same_bits_in_every_process, without_announcements
from pymc_nrm.models.rvs import names_in_chunks, partitions_of
from pymc_nrm.posterior.label_dependence import mark_variables
from pymc_nrm.run.arguments import in_sequence, on_usable_cores, with_possible_bar
from pymc_nrm.run.chains import local
from pymc_nrm.run.chains.client import run_on_client
from pymc_nrm.run.chains.interrupts import interrupts_before_draws
from pymc_nrm.run.chains.label_file import label_file
from pymc_nrm.run.chains.progress_log import tell_of_run, watched
from pymc_nrm.run.chains.trace import Storage
from pymc_nrm.run.checkpoints.step import checkpoints_of
from pymc_nrm.run.choose_model import model_to_sample
from pymc_nrm.run.choose_steps import learned_variables, with_learned_gibbs, with_missing_gibbs, with_own_nuts
from pymc_nrm.run.compile_gradient import with_gradient_beside
from pymc_nrm.run.compile_moves import with_moves_beside
from pymc_nrm.run.convergence_report import convergence, nuts_messages
from pymc_nrm.run.kept_draws import kept_draws
from pymc_nrm.run.result.to_datatree import add_densities, add_flat_columns, to_datatree
from pymc_nrm.stats.diagnostics import attach, diagnose, reported_quantities
from pymc_nrm.stats.result import Result

_log = logging.getLogger(__name__)
# A child of PyMC's logger, which shows messages of level INFO.
_information = logging.getLogger("pymc.nrm_runs")


class Report(NamedTuple):
    """What a user wants to know about a run."""

    compute_convergence_checks: bool
    partition_diagnostics: bool
    quiet: bool
    # Whether to check convergence even if nothing is logged, since the run may be extended.
    may_extend: bool = False
    # Whether to log how long chains are, and how long the run is likely to take.
    expected_time: bool = True

    def checked(self):
        """Check that all are True or False."""
        for name, value in self._asdict().items():
            check_flag(name, value)
        return self

    @property
    def checks(self):
        """Whether to check convergence."""
        return self.compute_convergence_checks and (self.may_extend or not self.quiet)


class RunResult(NamedTuple):
    """The result of a run and its convergence, None if it was not checked."""

    idata: Any
    convergence: Any = None


@same_bits_in_every_process()
def one_run(model, arguments, report, *, client=None, folder=None, seconds=None):
    """Run the chains of a model, make their result and check it; :func:`log_report` logs what is wrong.

    Chains run on the workers of ``client``, if there is one, and keep checkpoints in ``folder``, at least ``seconds``
    apart.
    """
    partitions, in_chunks, quiet = partitions_of(model), names_in_chunks(model), report.quiet
    arguments = arguments if client is not None else with_possible_bar(arguments, quiet)
    has_bar = not quiet and arguments.get("progressbar") is not False
    if in_chunks:
        arguments = in_sequence(arguments, in_chunks, client)
    kept, kwargs, is_kept_by_pymc = kept_draws(model, arguments, client, folder)
    log_model = report.expected_time and not quiet
    sampled, kwargs = model_to_sample(model, kwargs, is_kept_by_pymc=is_kept_by_pymc, log=log_model)
    storage = None if is_kept_by_pymc else Storage(sampled, kept, kwargs.get("random_seed"))
    checkpoints = None if folder is None else checkpoints_of(folder, kwargs["random_seed"], seconds, model, kept)

    # Steps of continuous variables that PyMC would not choose.  LearnedGibbs compiles when it is made, below.
    kwargs = with_own_nuts(sampled, kwargs)
    learned = learned_variables(sampled, kwargs)

    if log_model:
        tell_of_run(model, kept.draws, kwargs, client)
        if client is None:
            kwargs["callback"] = watched(model, kept.draws, kwargs)
    if report.checks or report.partition_diagnostics:
        # This takes a second, which somebody who interrupts a run should not wait for.
        import arviz_stats  # noqa: F401

    compiles_beside = seconds_shown = nullcontext()
    if client is None and not in_chunks:
        # One process beside this one: chains wait for the gradient, and for nothing else.
        compiles_beside = with_gradient_beside(sampled, kwargs, learned) or with_moves_beside(kwargs)
        kwargs = on_usable_cores(kwargs)
    if client is None and partitions and has_bar and kwargs.get("step") is None:
        # The first step of a partition that is made ends the line.
        seconds_shown = elapsed("Preparing")
    with without_announcements(quiet, has_bar), interrupts_before_draws(folder), compiles_beside, seconds_shown:
        kwargs = with_learned_gibbs(sampled, with_missing_gibbs(sampled, kwargs), learned)
        if is_kept_by_pymc:
            idata = local.run_as_pymc(sampled, kept.draws, quiet=quiet, **kwargs)
        elif client is None:
            storage.label_file = label_file(model, arguments.get("label_path"), kwargs.get("chains"), kept)
            record = local.run(storage, checkpoints, quiet=quiet, **kwargs)
        else:
            record = run_on_client(client, storage, checkpoints, quiet=quiet, **kwargs)
    if not is_kept_by_pymc:
        _report_interrupt(folder, record, kept, kwargs.get("chains"), quiet)
        idata = to_datatree(record, model, kept)

    posterior = idata["posterior"] if isinstance(idata, DataTree) and "posterior" in idata.children else None
    if posterior is None or posterior.sizes.get("draw", 0) == 0:
        return RunResult(idata)
    mark_variables(idata, model)
    if not has_bar:
        posterior.attrs[WITHOUT_BARS] = 1
    names = [*(partition.name for partition in partitions), *add_flat_columns(idata, partitions)]
    add_densities(idata, model, kept, has_bar)

    diagnostics = {}
    if report.checks or report.partition_diagnostics:
        diagnostics = _diagnostics(Result(idata), names, kept, quiet)
    if report.partition_diagnostics:
        attach(idata, diagnostics, replace_all=True)
    if not report.checks:
        return RunResult(idata)
    return RunResult(idata, convergence(idata, diagnostics, nuts_messages(idata)))


def _report_interrupt(folder, record, kept, n_chains, quiet):
    """Log how to resume a run that an interrupt has cut."""
    if folder is None or folder.is_temporary or quiet:
        return
    if record.n_draw_rows < kept.draws // kept.thin or len(record.stats) < n_chains:
        _information.info(f"The run was interrupted; nrm.resume({str(folder.path)!r}) resumes it.")


def _diagnostics(result, names, kept, quiet):
    """Diagnostics of the partitions of these names whose draws or statistics were kept."""
    of_draws = [name for name in names if name in result.posterior]
    reported = [name for name in names if name not in of_draws and reported_quantities(result, name) is not None]
    if reported and not quiet:
        _information.info("Labels were not kept: whether chains agree about pairs of items is not checked.")
    return {name: diagnose(result, name) for name in (*of_draws, *reported)}


def log_report(result, report):
    """Log whether a run has converged, if a user wants to know; return its DataTree."""
    if report.compute_convergence_checks and not report.quiet and result.convergence is not None:
        log = _log.warning if result.convergence.report else _information.info
        log(result.convergence.brief())
    return result.idata
