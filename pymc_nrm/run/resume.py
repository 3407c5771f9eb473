"""Runs with checkpoints: begin one, and resume it."""

import logging
import os
from typing import Any

import numpy as np
import pymc as pm
from xarray import DataTree

from pymc_nrm.common.checks import check_count, check_number
from pymc_nrm.models.rvs import checked_model
from pymc_nrm.run.arguments import settled, with_generator
from pymc_nrm.run.chains.client import check_client
from pymc_nrm.run.checkpoints.run_folder import RunFolder
from pymc_nrm.run.one_run import Report, log_report, one_run

_log = logging.getLogger(__name__)
_information = logging.getLogger("pymc.nrm_runs")

# Arguments that may change when a run is resumed, since draws do not depend on them.
_FREE = ("step", "cores", "blas_cores", "mp_ctx", "callback", "progressbar", "progressbar_theme")


def begin_run(checkpoint, seconds, model, client, arguments):
    """Make the folder of a new run, and settle the number of chains and the seed in its arguments."""
    if checkpoint is None:
        if seconds is not None:
            raise ValueError(f"seconds_between_checkpoints={seconds!r} needs checkpoint; got checkpoint=None")
        return None, arguments
    _check_seconds(seconds)
    arguments = settled(arguments, client)
    kept = {name: value for name, value in arguments.items() if name not in _FREE}
    return RunFolder.create(checkpoint, model, kept), with_generator(arguments)


def resume(
    checkpoint: str | os.PathLike,
    draws: int | None = None,
    *,
    model: pm.Model | None = None,
    client: Any = None,
    seconds_between_checkpoints: float | None = None,
    compute_convergence_checks: bool = True,
    partition_diagnostics: bool = True,
    quiet: bool = False,
    **kwargs: Any,
) -> DataTree:
    """Resume a run of :func:`~pymc_nrm.sample` that was stopped for any reason, and return the result of the whole run.

    On the same processor, draws and statistics are the same as if the run had never been stopped.  Finished chains are
    read, interrupted ones resume from their last checkpoint, and the others begin.  A finished run is only read, unless
    you ask for more ``draws``.

    Parameters
    ----------
    checkpoint : path
        The folder that was given to :func:`~pymc_nrm.sample`.  Read only folders that you trust: states of steps are
        Python objects, and reading them may run code.
    draws : int, optional
        Number of draws per chain of the whole run, if it is to be longer than it was.  The run remembers it, unless an
        error, such as a wrong ``step``, stops the call before its first checkpoint.
    model : pymc.Model, optional
        The model of the run, built again; taken from the context by default.
    client : dask.distributed.Client or concurrent.futures.Executor, optional
        As for :func:`~pymc_nrm.sample`; workers must see the folder.
    seconds_between_checkpoints : float, optional
        As for :func:`~pymc_nrm.sample`.
    compute_convergence_checks, partition_diagnostics, quiet : bool
        As for :func:`~pymc_nrm.sample`.
    **kwargs
        ``step``, built again, if the run was given one; ``cores``, ``blas_cores``, ``mp_ctx``, ``callback``,
        ``progressbar`` and ``progressbar_theme`` of ``pm.sample``.  All other arguments are taken from the run.

    Returns
    -------
    DataTree
        As from :func:`~pymc_nrm.sample`.

    Raises
    ------
    TypeError
        If ``checkpoint`` is not a path, or ``client`` cannot take tasks.
    FileNotFoundError
        If the folder holds no run, or a file of it is gone.
    ValueError
        If model, data, steps or versions of packages differ from those with which the run began, or an argument is
        already settled by the run; the message says which.  If ``draws`` is fewer than the run has, or the run writes
        labels of all rows to a Zarr group, which has a fixed size.
    RuntimeError
        If another process is sampling a chain of the run.

    Notes
    -----
    If a file of a chain is damaged or missing, a warning says how many iterations are drawn again; their draws are the
    same.

    Examples
    --------
    >>> import os, tempfile
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
    >>> def stop(trace, draw):
    ...     if draw.draw_idx == 60:
    ...         raise KeyboardInterrupt
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     folder = os.path.join(parent, "run")
    ...     options = {"model": model, "cores": 1, "quiet": True}
    ...     part = nrm.sample(100, tune=10, chains=1, checkpoint=folder, callback=stop, **options)
    ...     whole = nrm.resume(folder, **options)
    >>> part.posterior.sizes["draw"], whole.posterior.sizes["draw"]
    (51, 100)
    """
    model = checked_model(model)
    _check_seconds(seconds_between_checkpoints)
    report = Report(compute_convergence_checks, partition_diagnostics, quiet).checked()
    check_count("draws", draws, 0, optional=True)
    for name, value in kwargs.items():
        if name not in _FREE:
            raise ValueError(
                f"{name} must be left out, since a resumed run keeps its value; got {name}={value!r}. Arguments "
                f"that may change are {', '.join(_FREE)}"
            )
    if client is not None:
        check_client(client)
    folder = RunFolder(checkpoint)
    folder.check(model)
    arguments = folder.arguments()
    if draws is not None and draws != arguments["draws"]:
        if draws < arguments["draws"] or arguments.get("label_path") is not None:
            least = "at least" if arguments.get("label_path") is None else "None or"
            raise ValueError(f"draws must be {least} {arguments['draws']:,}, the draws of the run; got {draws:,}")
        arguments["draws"] = draws
    _report(folder, folder.recover(arguments["chains"]), quiet)
    options = with_generator(arguments) | kwargs
    with folder.with_draws(arguments["draws"]):
        result = one_run(model, options, report, client=client, folder=folder, seconds=seconds_between_checkpoints)
    return log_report(result, report)


def _report(folder, chains, quiet):
    for chain, (n_iterations, n_damaged) in enumerate(chains):
        if n_damaged:
            _log.warning(
                f"A file of chain {chain} in {str(folder.path)!r} is damaged or missing:\nthe last {n_damaged} "
                "iterations of the chain are drawn again, with the same random numbers."
            )
        if not quiet:
            _information.info(f"Chain {chain} resumes after {n_iterations} iterations of tuning and draws.")


def _check_seconds(seconds):
    if seconds is not None:
        check_number("seconds_between_checkpoints", seconds, lambda x: 0 <= x < np.inf, "a number of at least 0")
