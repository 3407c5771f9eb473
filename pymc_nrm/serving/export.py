"""A file of what predictions of new rows need, to be read without PyMC."""

import importlib.metadata
import logging
import math
import os
import pathlib
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.wrapping import wrapped
from pymc_nrm.models.rvs import checked_model, find_partition
from pymc_nrm.posterior.any_draws import draws_class
from pymc_nrm.recipes.table_models import readings_of
from pymc_nrm.serving.clusters_of_draws import ClustersOfDraws, check_exportable
from pymc_nrm.serving.thinning import LARGEST_SHARE, of_kept_draws, thinned
from pymc_nrm_predictor.contents import contents_of
from pymc_nrm_predictor.file_format import write_file

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_results")

# Rows of the data by which draws are chosen.
_N_ROWS = 100


class Exported(NamedTuple):
    """What :func:`export` has written: numbers of draws and bytes, and errors of predictions of rows of the data.

    Errors are root mean squares over at most 100 rows: ``monte_carlo_error`` of the predictions of all draws, and
    ``thinning_error``, by which the predictions of the kept draws differ from these; both have a value for the log
    density, in nats, and one for the probabilities of clusters.
    """

    n_draws: int
    n_draws_of_run: int
    n_bytes: int
    monte_carlo_error: tuple[float, float]
    thinning_error: tuple[float, float]


def export(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    path: str | os.PathLike,
    *,
    n_draws: int | str | None = None,
    estimate: Any = None,
    var_name: str | None = None,
    progressbar: bool = True,
) -> Exported:
    """Write what predictions of new rows need to a file, which ``Predictor`` reads with NumPy and SciPy alone.

    Parameters
    ----------
    idata : DataTree or Dataset
        Posterior draws.
    model : pymc.Model
        The sampled model, whose mixtures have families of this package without covariates.
    path : path
        A new file.
    n_draws : int or "all", optional
        Number of draws that are kept, evenly spaced.  By default the fewest of 25, 50, 100 and so on whose predictions
        of rows of the data differ from predictions of all draws by at most half of their Monte Carlo error.
    estimate : array_like of int, DataArray, or Dataset with the variable ``labels``, shape (n,), optional
        Labels of the items, whose clusters get probabilities; by default from
        :func:`~pymc_nrm.stats.point_estimate` of all draws with seed 0, or the partition itself if it is observed.
    var_name : str, optional
        Name of the partition; by default the only one of the model.
    progressbar : bool
        Whether to show progress.

    Returns
    -------
    Exported
        Numbers of draws and bytes, and the errors of the predictions, which a line in the log says too.

    Raises
    ------
    NotImplementedError
        If the partition is not flat, its data are not all mixtures of families of this package, or weights or
        hyperparameters depend on covariates.
    FileExistsError
        If ``path`` already exists.
    ValueError
        If the draws do not belong to the model, or ``n_draws`` is not a number of at least 1 or "all".

    See Also
    --------
    pymc_nrm.serving.Predictor : Reads the file.
    pymc_nrm.save : Keeps draws and model, for everything else and for one version of PyMC.

    Notes
    -----
    For each draw the file has the clusters and a new one: the probability that an item joins it, its shares of the
    clusters of the estimate, and the parameters of its predictive distribution, with cluster parameters integrated
    out.  The file holds arrays and JSON, no Python objects; its format is documented and versioned, and later versions
    read it.  It has means of clusters and names of columns, but no row of the data.

    Predictions of the file equal the results of :func:`~pymc_nrm.log_predictive_density`,
    :func:`~pymc_nrm.cluster_probabilities` and :func:`~pymc_nrm.conditional_quantiles` of the kept draws to ten digits.

    Examples
    --------
    >>> import os, tempfile
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "counts.nrm")
    ...     exported = nrm.serving.export(posterior, model, path, estimate=[0, 0, 1])
    ...     predictor = nrm.serving.Predictor(path)
    >>> exported.n_draws
    2
    >>> predictor.log_density([0, 10]).round(2).tolist()
    [-1.45, -4.6]
    >>> predictor.cluster_probabilities([0, 10]).labels.tolist()
    [0, 1]
    """
    model, path = checked_model(model), _new_file(path)
    if n_draws != "all":
        if isinstance(n_draws, str):
            raise ValueError(f"n_draws must be a whole number of at least 1, or 'all'; got {n_draws!r}")
        check_count("n_draws", n_draws, 1, optional=True)
    partition = find_partition(model, var_name, nested=True)
    draws = draws_class(partition)(idata, model, partition)
    check_exportable(draws)
    labels, names, kept = _estimate(draws, estimate)
    clusters = ClustersOfDraws(draws, labels, kept, len(names), readings_of(model, partition), progressbar)
    clusters.arrays["clusters"] = np.asarray(names, dtype=np.int64)
    clusters.shared.add("clusters")
    about = {
        "written_by": f"pymc_nrm {importlib.metadata.version('pymc-nrm')}",
        "partition": partition.name,
        "mixtures": clusters.mixtures,
    }
    contents = contents_of(path, about, clusters.arrays)
    n_rows = min(_N_ROWS, draws.n_old_items)
    items = np.linspace(0, draws.n_old_items - 1, n_rows).round().astype(int)
    thinning = thinned(contents, draws.rows_of_items(items), draws.posterior.sizes["chain"], n_draws)
    about["draws"] = {
        "kept": len(thinning.kept),
        "of": len(draws),
        "errors": "root mean squares over rows of the data: of log densities in nats, of probabilities of clusters",
        "monte_carlo_error": [error if math.isfinite(error) else None for error in thinning.monte_carlo_error],
        "thinning_error": list(thinning.thinning_error),
    }
    arrays = of_kept_draws(clusters.arrays, thinning.kept, clusters.shared)
    n_bytes = write_file(path, about, arrays)
    exported = Exported(len(thinning.kept), len(draws), n_bytes, thinning.monte_carlo_error, thinning.thinning_error)
    _tell(path, exported)
    return exported


def _estimate(draws, estimate):
    """Labels 0, 1, ... of the items in the estimate, names of its clusters, and which items it has."""
    estimate = draws.default_estimate() if estimate is None else estimate
    return draws.labels_of(estimate)


def _tell(path, exported):
    size = exported.n_bytes
    size = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    text = f"{path.name}: {exported.n_draws} of {exported.n_draws_of_run} draws, {size}."
    if exported.n_draws < exported.n_draws_of_run:
        (density, probability), (of_density, of_probability) = exported.thinning_error, exported.monte_carlo_error
        text += (
            f" Leaving out the others changes log densities of rows of the data by {density:.2g} nats (Monte Carlo "
            f"error {of_density:.2g}) and probabilities of clusters by {probability:.2g} ({of_probability:.2g})."
        )
        if density > LARGEST_SHARE * of_density or probability > LARGEST_SHARE * of_probability:
            text += " By default export keeps more draws, so that it is at most half of the error."
    _log.info(wrapped(text))


def _new_file(path):
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise TypeError(f"path must be the path of a file; got {path!r}")
    path = pathlib.Path(path).resolve()
    if path.exists():
        raise FileExistsError(f"path={os.fspath(path)!r} already exists: name another file, or delete it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of path={os.fspath(path)!r} does not exist")
    return path
