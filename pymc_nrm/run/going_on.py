"""Runs of a default number of draws: chains that agree, but are too short, go on until they are long enough."""

import logging
import tempfile

from pymc_nrm.models.rvs import n_items, names_in_chunks, partitions_of
from pymc_nrm.run.checked_run import examined_run, log_report
from pymc_nrm.run.convergence_report import rounded_up
from pymc_nrm.run.resuming import settled, with_generator
from pymc_nrm.run.run_folder import RunFolder
from pymc_nrm.stats.point_estimate import MANY_ITEMS

_log = logging.getLogger(__name__)
# A child of PyMC's logger, which shows messages of level INFO.
_information = logging.getLogger("pymc.nrm_chains")

# At most so many times as many draws as by default, since nobody asked how long the run may take.
MOST_TIMES = 4
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
    """Sample, and let chains go on while more draws alone are needed, at most :data:`MOST_TIMES` as many.

    The draws are those of a run that was that long from the beginning.  Whatever stops chains that go on, the draws
    before it are kept.
    """
    draws, most, thin = arguments["draws"], MOST_TIMES * arguments["draws"], arguments["thin"]
    arguments, found = settled(arguments), None
    with tempfile.TemporaryDirectory(prefix="pymc_nrm_", ignore_cleanup_errors=True) as path:
        folder = RunFolder(path, is_temporary=True)
        while True:
            run = with_generator(arguments) | {"draws": draws}
            try:
                further = examined_run(model, run, None, folder, None, report, check=True)
            except KeyboardInterrupt:
                if found is None:
                    raise
                break
            except Exception as error:
                if found is None:
                    raise
                _log.warning(f"Chains could not go on, and their first draws are kept: {type(error).__name__}: {error}")
                break
            if found is not None and not _is_longer(further, found):
                break
            found = further
            needed = thin * (found.convergence.needed or 0) if found.convergence is not None else 0
            if not 0 < needed <= most or _n_draws(found) < draws // thin or not folder.knows_steps:
                break
            before, draws = draws, min(max(rounded_up(int(_MARGIN * needed)), draws + thin), most)
            if draws == before:
                break
            if not report.quiet:
                _information.info(
                    f"The chains agree, but {before:,} draws of each are too few for their effective sample sizes: "
                    f"they go on to {draws:,}. draws={before} would stop here."
                )
    return log_report(found) if report.check else found.idata


def _n_draws(found):
    return found.idata["posterior"].sizes["draw"]


def _is_longer(further, found):
    sizes, before = (one.idata["posterior"].sizes if one.convergence else {} for one in (further, found))
    return sizes.get("chain", 0) >= before["chain"] and sizes.get("draw", 0) >= before["draw"]
