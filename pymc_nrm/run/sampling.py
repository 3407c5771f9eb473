"""``pm.sample`` with convergence checks for partitions."""

import os
from typing import Any

import pymc as pm
from xarray import DataTree

from pymc_nrm.common.checks import check_count
from pymc_nrm.models.rvs import checked_model, names_in_chunks
from pymc_nrm.run.arguments import check_sampling, with_canonical_labels, with_numbers_of_draws
from pymc_nrm.run.chains.label_file import check_label_path
from pymc_nrm.run.checkpoints.run_folder import removed_if_nothing_was_drawn
from pymc_nrm.run.extend import can_extend, extended_run
from pymc_nrm.run.one_run import Report, log_report, one_run
from pymc_nrm.run.possible_labels import with_possible_labels
from pymc_nrm.run.resume import begin_run


def sample(
    draws: int | None = None,
    *,
    label_storage: str = "full",
    thin: int = 1,
    label_path: str | os.PathLike | None = None,
    client: Any = None,
    checkpoint: str | os.PathLike | None = None,
    seconds_between_checkpoints: float | None = None,
    model: pm.Model | None = None,
    initvals: Any = None,
    compute_convergence_checks: bool = True,
    partition_diagnostics: bool = True,
    quiet: bool = False,
    **kwargs: Any,
) -> DataTree:
    """Draw from the posterior like ``pm.sample``, and check the convergence of label-invariant quantities.

    Labels are only names, so R-hat and effective sample sizes of labels say nothing.  The checks cover instead, for
    every partition, the number of clusters, the entropy, the size of the largest cluster, the log joint density, and
    whether chains agree about which items share a cluster; and every other variable.

    Parameters
    ----------
    draws : int, optional
        Number of draws per chain, after ``tune`` draws of tuning, by default as many.  By default 1000, extended up to
        10,000 while the report would say that chains agree but need more draws; fewer if a chain would hold more than
        50 million labels.  Chains are not extended with ``compute_convergence_checks=False``, ``checkpoint`` or
        ``client``.  If a partition has more than 20,000 items, or rows in chunks, 250.
    label_storage : {"full", "compact", "none"}
        How labels of partitions are kept: as 64-bit integers; in the smallest unsigned integers that hold them, one
        byte each for up to 256 clusters, while sampling and in the result; or not at all.  Without labels the result
        still has the statistics of the steps and all deterministics of labels, and shows whether chains agree about
        numbers of clusters, but not about items.  The draws are the same in any case.  For rows in chunks, the labels
        are labels of the followed rows; the group ``clusters`` is kept unless ``var_names`` leaves out the partition.
    thin : int
        Keep every ``thin``-th draw of all variables and statistics: ``draws // thin`` draws.  The group ``posterior``
        gets the attribute ``thin``.
    label_path : path, optional
        A new folder for a Zarr group with the labels of all rows in chunks in every draw that is kept: ``labels``, with
        dimensions chain, draw and row, and -1 where no draw was made.  Label k is cluster k of the draw in the group
        ``clusters``.  They take up to 4 bytes for each row and draw, fewer as Zarr compresses them.  If they cannot be
        written, for example since the disk is full, the run stops with an error in the log, and draws so far are kept.
    client : dask.distributed.Client or concurrent.futures.Executor, optional
        Samples each chain as a separate task, on a worker that must have this package; 4 chains by default.  It needs
        ``submit``, whose futures need ``done``, ``result`` and ``cancel``; ``scatter`` is used if it has one.  Draws
        are the same as without a client and with the same seed.  A line is logged for every finished chain.
    checkpoint : path, optional
        A new folder in which every chain regularly saves its draws and its state, so that :func:`~pymc_nrm.resume`
        can resume a run that was stopped.  Draws are the same with and without it.
    seconds_between_checkpoints : float, optional
        Shortest time between checkpoints of a chain: by default 10, or longer if checkpoints would take over 2 % of the
        time.  With 0 there is one after every draw.
    model : pymc.Model, optional
        Taken from the context by default.
    initvals : dict or sequence of dict, optional
        As in ``pm.sample``; labels of a partition may be of any kind and are renamed in order of appearance.  Those of
        rows in chunks, one for each, are kept with ``tune=0``; chains that tune first improve them on random rows.
        Labels that index parameters start by default as the likeliest ones that the terms of the model allow, if the
        default initial labels have probability zero; a line in the log says so.
    compute_convergence_checks : bool
        Whether to check convergence, and log a sentence about it with the worst quantities; see
        :func:`~pymc_nrm.convergence_report`.
    partition_diagnostics : bool
        Whether to put diagnostics of every partition into the result, as :func:`~pymc_nrm.stats.add_diagnostics` does;
        with 10,000 items and 4000 draws this takes about a second.
    quiet : bool
        Whether to log nothing and show no progress.
    **kwargs
        All other arguments of ``pm.sample``; options of a step under its name, as in ``tree_guided={"n_trees": 1}``.
        Where a chain starts, every step compares a few of its moves with the log-probability of the model, in .02 to
        .4 s; ``tree_guided={"check_moves": False}`` skips this for one step.
        Without ``cores``, chains run on all processors that this process may use; ``pm.sample`` takes half of them.
        With ``idata_kwargs={"log_likelihood": True}``, data of items get the values of
        :func:`~pymc_nrm.compute_log_likelihood`, which leave out an item with its label, instead of PyMC's.
        ``log_likelihood`` and ``log_prior`` of ``idata_kwargs`` need stored labels: with ``label_storage="none"`` they
        raise a ValueError.

    Returns
    -------
    DataTree
        As from ``pm.sample``; the attribute ``partition`` of a partition in ``posterior`` is its name, the attribute
        ``nested_partition`` of a nested partition its depth.  The components of a nested partition with weights are a
        partition of their own, ``<name>_components``.
        ``sample_stats`` has ``n_clusters``, ``log_joint`` (log density of data, partition and u given everything else),
        ``u`` and ``entropy`` (nats) of each draw, with the dimension ``partition`` if there are several.
        ``partition_stats`` has a group for each partition with diagnostics that do not depend on labels.  For ArviZ see
        :func:`~pymc_nrm.stats.without_labels`.  With ``return_inferencedata=False``, the result is the result of
        ``pm.sample``, unchecked.

    Raises
    ------
    ValueError
        If another NUTS implementation is requested for a model with a partition; if ``label_storage`` or ``thin`` is
        not allowed, or an argument cannot be combined with them, with ``client`` or with ``checkpoint``; and whenever
        ``pm.sample`` raises one.
    TypeError
        If ``client`` cannot take tasks.
    FileExistsError
        If ``checkpoint`` already exists.
    OSError
        If labels of the first draw cannot be written.
    pymc.sampling.parallel.ParallelSamplingError
        If a chain fails in another process, or its process or ``client`` is gone; the message names the chain.

    Notes
    -----
    Ctrl-C keeps the draws made so far, except with a client; ``pm.sample`` sometimes loses them if Ctrl-C comes while
    NUTS runs.  A run that has no draws yet, since it still tunes, ends in a KeyboardInterrupt.  Chains that have not
    begun are left out, unlike in ``pm.sample`` on one core; if chains have different lengths, the result has the chains
    that leave the most draws.

    Missing entries of a likelihood of your own, for which PyMC makes a free variable ``<name>_unobserved``, are
    integrated out of the model that is sampled, and drawn given the rest for each draw that is kept.  This needs a
    proof from the graph that no other term reads them and that their density integrates to one; otherwise, and with
    ``step``, they are sampled like other variables.  The log says which.

    Averages over the draws of a run that stops when its effective sample sizes are large enough are consistent (Vats,
    Flegal & Jones 2019); give ``draws`` where the length of a run must not depend on them.

    If a run with a partition takes more than half a minute after its first seconds of draws, one line in the log gives
    the expected time.  With more than 20,000 items, the log also describes the initial clusters, and always gives the
    times of a draw and of the run; without a terminal or notebook for a progress bar, a line every half minute gives
    the number of draws so far.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 8, 9])
    ...     idata = nrm.sample(100, tune=10, chains=2, cores=1, random_seed=1, quiet=True)
    >>> idata.posterior["z"].shape
    (2, 100, 4)

    Labels of one byte each, and every second draw:

    >>> idata = nrm.sample(
    ...     100, label_storage="compact", thin=2, model=model, tune=10, chains=2, cores=1, random_seed=1, quiet=True
    ... )
    >>> idata.posterior["z"].dtype.name, idata.posterior["z"].shape
    ('uint8', (2, 50, 4))
    """
    model = checked_model(model)
    report = Report(compute_convergence_checks, partition_diagnostics, quiet).checked()
    may_extend = draws is None and compute_convergence_checks and checkpoint is None and client is None
    draws, kwargs = with_numbers_of_draws(model, draws, kwargs)
    check_sampling(model, label_storage, kwargs)
    check_count("thin", thin, 1, max(draws, 1))
    initvals = with_possible_labels(with_canonical_labels(initvals, model), model, quiet)
    label_path = check_label_path(label_path, names_in_chunks(model))
    arguments = {"draws": draws, "label_storage": label_storage, "thin": thin, "initvals": initvals, **kwargs}
    arguments |= {} if label_path is None else {"label_path": label_path}
    if may_extend and seconds_between_checkpoints is None and can_extend(model, kwargs):
        return log_report(extended_run(model, arguments, report), report)
    folder, arguments = begin_run(checkpoint, seconds_between_checkpoints, model, client, arguments)
    with removed_if_nothing_was_drawn(folder):
        result = one_run(model, arguments, report, client=client, folder=folder, seconds=seconds_between_checkpoints)
    return log_report(result, report)
