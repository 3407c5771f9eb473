"""Runs of a default number of draws: chains that agree, but are too short, go on until they are long enough."""

import logging
import tempfile

from pymc_nrm.models.rvs import n_items, names_in_chunks, partitions_of
from pymc_nrm.run.chains.progress_log import duration
from pymc_nrm.run.checkpoints.run_folder import RunFolder
from pymc_nrm.run.convergence_report import rounded_up
from pymc_nrm.run.one_run import examined_run, log_report
from pymc_nrm.run.resume import settled, with_generator
from pymc_nrm.stats.point_estimate import MANY_ITEMS

_log = logging.getLogger(__name__)
# A child of PyMC's logger, which shows messages of level INFO.
_information = logging.getLogger("pymc.nrm_chains")

# At most so many times as many draws as by default, and labels of a chain: nobody said how much they may take.
_MOST_TIMES, _MOST_LABELS = 10, 50_000_000
# Effective sample sizes are estimates: take some more draws than they say.
_MARGIN = 1.15
# Arguments of results that a run cannot go on from.
_KEPT_BY_PYMC = {"trace": None, "return_inferencedata": True, "nuts_sampler_kwargs": None}


def can_go_on(model, kwargs):
    """Whether chains of a model could go on: those of partitions of ordinary size, whose draws this package keeps."""
    partitions = partitions_of(model)
    sizes = [n_items(partition) for partition in partitions]
    by_pymc = any(kwargs.get(name, default) is not default for name, default in _KEPT_BY_PYMC.items())
    return bool(sizes) and max(sizes) <= MANY_ITEMS and not names_in_chunks(model) and not by_pymc


def run_until_enough(model, arguments, report):
    """Sample, and let chains go on while more draws alone are needed.

    The draws are those of a run that was that long from the beginning.  Whatever stops chains that go on, the draws
    before it are kept.
    """
    arguments = settled(arguments)

    def run(draws, folder, report=report):
        return examined_run(model, with_generator(arguments) | {"draws": draws}, None, folder, None, report, check=True)

    draws, n_largest = arguments["draws"], max(map(n_items, partitions_of(model)))
    most = max(draws, min(_MOST_TIMES * draws, _MOST_LABELS // n_largest))
    try:
        temporary = tempfile.TemporaryDirectory(prefix="pymc_nrm_", ignore_cleanup_errors=True)
    except OSError:
        # There is no place for the states of chains.
        return log_report(run(draws, None), report)
    with temporary as path:
        folder = RunFolder(path, is_temporary=True)
        found = run(draws, folder)
        while (more := _more_draws(found, draws, most, arguments["thin"])) and folder.knows_steps:
            if draws == arguments["draws"]:
                pace = found.idata["posterior"].attrs["sampling_time"] / (arguments["tune"] + draws)
            if not report.quiet:
                _information.info(
                    f"The chains agree, but {draws:,} draws of each are not enough: they go on to {more:,}, for about "
                    f"{duration(pace * (more - draws))}. draws={draws} would stop here."
                )
            try:
                further = run(more, folder, report._replace(expected_time=False))
            except KeyboardInterrupt:
                break
            except Exception as error:
                _log.warning(f"Chains could not go on, and their first draws are kept: {type(error).__name__}: {error}")
                break
            if not _is_longer(further, found):
                break
            found, draws = further, more
    return log_report(found, report)


def _more_draws(found, draws, most, thin):
    """The number of draws with which an examined run would be fine, None if there is none up to ``most``."""
    if found.convergence is None or found.convergence.needed is None:
        return None
    needed, was_cut = thin * found.convergence.needed, found.idata["posterior"].sizes["draw"] < draws // thin
    if was_cut or needed > most or draws == most:
        return None
    return min(max(rounded_up(int(_MARGIN * needed)), draws + thin), most)


def _is_longer(further, found):
    sizes, before = (one.idata["posterior"].sizes if one.convergence else {} for one in (further, found))
    return sizes.get("chain", 0) >= before["chain"] and sizes.get("draw", 0) >= before["draw"]
