"""A result and its model in a folder, for predictions in another process."""

import json
import os
import pathlib

import cloudpickle
import pymc as pm
import xarray as xr

from pymc_nrm.common.checks import check_flag, check_path
from pymc_nrm.models.rvs import checked_model, partitions_of
from pymc_nrm.posterior.draws import check_same_model
from pymc_nrm.run.checkpoints.atomic_files import frame_bytes, pickled, read_about, read_file, write_folder
from pymc_nrm.run.checkpoints.fingerprint import first_difference, versions
from pymc_nrm.run.checkpoints.run_folder import RUN
from pymc_nrm.stats.result import posterior_of

_ABOUT, _DRAWS, _MODEL = "saved.json", "draws", "model"
# What pickled models depend on; of Python, the version without its last number.
_PACKAGES = ("Python", "pymc", "pytensor", "source of pymc_nrm")


def save(idata: xr.DataTree | xr.Dataset, model: pm.Model, path: str | os.PathLike) -> None:
    """Save a result with its model in a folder, from which :func:`~pymc_nrm.load` reads both in another process.

    Parameters
    ----------
    idata : DataTree or Dataset
        Result of sampling with all its groups, or the posterior draws alone.
    model : pymc.Model
        The model that was sampled, with its data as they are.
    path : path
        A new folder.

    Raises
    ------
    TypeError
        If ``idata`` is neither a DataTree nor a Dataset, the model is not a model, or ``path`` is not a path.
    ValueError
        If the draws do not belong to the model, or the model cannot be pickled.
    FileExistsError
        If ``path`` already exists.

    See Also
    --------
    pymc_nrm.load : Reads the folder.
    pymc_nrm.resume : Resumes a run that was stopped; its folder is another one.

    Notes
    -----
    The model is pickled by ``cloudpickle``: functions and classes of a script or a notebook go into the file,
    modules must be importable where it is read.  Reading needs the same versions of PyMC, PyTensor and this package.
    For draws that are to be read for years, or by other programs, use ``idata.to_zarr`` or ``idata.to_netcdf``, and
    keep the code of the model.

    The folder is written under another name and then renamed, so that it is there as a whole or not at all.

    Examples
    --------
    >>> import os, tempfile
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     nrm.save(posterior, model, os.path.join(parent, "counts"))
    ...     draws, same = nrm.load(os.path.join(parent, "counts"))
    >>> nrm.cluster_probabilities(draws, same, [0, 10], estimate=[0, 0, 1]).labels.values.tolist()
    [0, 1]
    """
    model, folder = checked_model(model), _folder(path)
    posterior_of(idata)
    for partition in partitions_of(model):
        check_same_model(idata, model, partition.name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"path={str(path)!r} already exists: name another folder, or delete it")
    tree = xr.DataTree.from_dict({"posterior": idata}) if isinstance(idata, xr.Dataset) else idata
    groups = {node.path: node.to_dataset(inherit=False).to_dict(data="array") for node in tree.subtree}
    model = pickled(model, "the model must be picklable to be saved")
    about = json.dumps({"versions": _versions()}, indent=1).encode()
    write_folder(folder, {_DRAWS: frame_bytes(0, 0, groups), _MODEL: frame_bytes(0, 0, model), _ABOUT: about})


def load(path: str | os.PathLike, *, check_versions: bool = True) -> tuple[xr.DataTree, pm.Model]:
    """Load a result and its model from a folder that :func:`~pymc_nrm.save` has written.

    Parameters
    ----------
    path : path
        The folder.  Load only folders that you trust: a model is made of Python objects, and reading them may run code.
    check_versions : bool
        Whether to refuse a folder that was written with other versions of Python (but for its last number), PyMC,
        PyTensor or this package.  Without the check, reading may fail, or a model may mean something else.

    Returns
    -------
    idata : DataTree
        The result with all its groups, in memory.
    model : pymc.Model
        The model, as all functions of draws and a model take it.

    Raises
    ------
    TypeError
        If ``path`` is not a path, or ``check_versions`` is not a bool.
    FileNotFoundError
        If the folder is not one that :func:`~pymc_nrm.save` has written, or a file of it is missing.
    ValueError
        If versions differ, or a file is damaged or cannot be read with the versions at hand.

    Examples
    --------
    >>> import os, tempfile
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     nrm.save(posterior, model, os.path.join(parent, "partition"))
    ...     idata, same = nrm.load(os.path.join(parent, "partition"))
    >>> idata["posterior"]["z"].values.tolist(), [variable.name for variable in same.free_RVs]
    ([[[0, 0, 0], [0, 0, 1]]], ['z'])
    """
    check_flag("check_versions", check_versions)
    folder = _folder(path)
    if not (folder / _ABOUT).is_file():
        run = f"; nrm.resume({str(path)!r}) reads the run that is there" if (folder / RUN).is_file() else ""
        raise FileNotFoundError(f"{str(folder)!r} holds nothing that nrm.save has written{run}")

    def lost(name, how):
        return f"the file {name!r} of {str(folder)!r}, which nrm.save has written, is {how}"

    [then] = read_about(folder / _ABOUT, ["versions"], lost)
    difference = first_difference(then, _versions())
    if difference is not None and check_versions:
        name, before, now = difference
        raise ValueError(
            f"{str(folder)!r} was saved with another version of {name}: {before} then, {now} now. Load it with the "
            "former, build the model again, or try check_versions=False"
        )
    try:
        groups = read_file(folder / _DRAWS, lost)
        model = cloudpickle.loads(read_file(folder / _MODEL, lost))
    except OSError:
        raise
    except Exception as error:
        if difference is None:
            raise
        raise ValueError(
            f"{str(folder)!r} cannot be read with other versions than it was saved with: {difference[0]} was "
            f"{difference[1]} then and is {difference[2]} now: {type(error).__name__}: {error}"
        ) from error
    return xr.DataTree.from_dict({name: xr.Dataset.from_dict(group) for name, group in groups.items()}), model


def _folder(path):
    check_path("path", path)
    return pathlib.Path(path).resolve()


def _versions():
    installed = versions()
    return {name: installed[name].rpartition(".")[0] if name == "Python" else installed[name] for name in _PACKAGES}
