"""Runs of a default number of draws: chains that agree, but are too short, are extended until they are long enough."""

import logging
import tempfile

from pymc_nrm.models.rvs import n_items, names_in_chunks, partitions_of
from pymc_nrm.run.arguments import settled, with_generator
from pymc_nrm.run.chains.progress_log import duration
from pymc_nrm.run.checkpoints.run_folder import RunFolder
from pymc_nrm.run.convergence_report import rounded_up
from pymc_nrm.run.kept_draws import DEFAULT_FORM_WITH_CHECKPOINTS, without_defaults
from pymc_nrm.run.one_run import one_run
from pymc_nrm.stats.point_estimate import MANY_ITEMS

_log = logging.getLogger(__name__)
# A child of PyMC's logger, which shows messages of level INFO.
_information = logging.getLogger("pymc.nrm_runs")

# The largest number of draws, as a multiple of the default, and the largest number of labels of a chain.
_MOST_TIMES, _MOST_LABELS = 10, 50_000_000
# Effective sample sizes are estimates: draw 15 % more than they ask for.
_MARGIN = 1.15


def can_extend(model, kwargs):
    """Whether chains of a model can be extended: partitions of ordinary size, whose draws this package keeps."""
    partitions = partitions_of(model)
    sizes = [n_items(partition) for partition in partitions]
    by_pymc = without_defaults(kwargs, DEFAULT_FORM_WITH_CHECKPOINTS)
    return bool(sizes) and max(sizes) <= MANY_ITEMS and not names_in_chunks(model) and not by_pymc


def extended_run(model, arguments, report):
    """Run chains, and extend them while more draws alone are needed.

    The draws equal the draws of a run of the final length.  If an extension fails, the draws before it are kept.
    """
    arguments, report = settled(arguments), report._replace(may_extend=True)
    draws, n_largest = arguments["draws"], max(map(n_items, partitions_of(model)))
    most = max(draws, min(_MOST_TIMES * draws, _MOST_LABELS // n_largest))
    try:
        temporary = tempfile.TemporaryDirectory(prefix="pymc_nrm_", ignore_cleanup_errors=True)
    except OSError:
        # There is no place for the states of chains.
        return one_run(model, with_generator(arguments), report)
    with temporary as path:
        folder = RunFolder(path, is_temporary=True)
        result = one_run(model, with_generator(arguments), report, folder=folder)
        while (more := _more_draws(result, draws, most, arguments["thin"])) and folder.knows_steps:
            if draws == arguments["draws"]:
                seconds_per_draw = result.idata["posterior"].attrs["sampling_time"] / (arguments["tune"] + draws)
            if not report.quiet:
                _information.info(
                    f"The chains agree, but {draws:,} draws of each are too few: extending them to {more:,} draws,\n"
                    f"about {duration(seconds_per_draw * (more - draws))}. Pass draws={draws} to stop here."
                )
            longer = with_generator(arguments | {"draws": more})
            try:
                extension = one_run(model, longer, report._replace(expected_time=False), folder=folder)
            except KeyboardInterrupt:
                break
            except Exception as error:
                _log.warning(
                    f"Chains could not be extended, and their first draws are kept: {type(error).__name__}: {error}"
                )
                break
            if not _is_longer(extension, result):
                break
            result, draws = extension, more
    return result


def _more_draws(result, draws, most, thin):
    """The number of draws with which a run would be long enough, None if there is none up to ``most``."""
    if result.convergence is None or result.convergence.needed is None:
        return None
    needed, was_cut = thin * result.convergence.needed, result.idata["posterior"].sizes["draw"] < draws // thin
    if was_cut or needed > most or draws == most:
        return None
    return min(max(rounded_up(int(_MARGIN * needed)), draws + thin), most)


def _is_longer(extension, result):
    """Whether an extension, which an interrupt may have cut, has as many chains and draws as the run before it."""
    if not extension.convergence:
        return False
    sizes, before = (run.idata["posterior"].sizes for run in (extension, result))
    return sizes["chain"] >= before["chain"] and sizes["draw"] >= before["draw"]
