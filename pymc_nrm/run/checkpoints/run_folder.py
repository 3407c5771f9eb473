"""The folder of a run with checkpoints: its arguments, model, steps and software, and a folder for each chain."""

import contextlib
import json
import pathlib
import shutil

import cloudpickle

from pymc_nrm.common.checks import check_path
from pymc_nrm.run.checkpoints.atomic_files import (
    frame_bytes,
    pickled,
    read_about,
    read_file,
    write_file,
    write_folder,
)
from pymc_nrm.run.checkpoints.chain_files import ChainFiles
from pymc_nrm.run.checkpoints.fingerprint import describe_model, first_difference, versions

RUN, _ARGUMENTS, _STEPS = "run.json", "arguments", "steps"


def _arguments_bytes(arguments):
    return frame_bytes(0, 0, pickled(arguments, "the arguments of a run with checkpoints must be picklable"))


@contextlib.contextmanager
def removed_if_nothing_was_drawn(folder):
    """Remove the folder of a new run if an error, such as a wrong argument, stops it before its first checkpoint."""
    try:
        yield
    except Exception:
        if folder is not None and not any(folder.path.glob("chain_*/position_*")):
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


class RunFolder:
    """The folder of a run, made by :meth:`create`; a temporary one already exists, and has only its chains."""

    def __init__(self, path, is_temporary=False):
        check_path("checkpoint", path)
        self.path, self.is_temporary = pathlib.Path(path).resolve(), is_temporary

    @classmethod
    def create(cls, path, model, arguments):
        """Make the folder."""
        folder = cls(path)
        if folder.path.exists() and (not folder.path.is_dir() or any(folder.path.iterdir())):
            raise FileExistsError(
                f"checkpoint={str(path)!r} already exists: nrm.resume({str(path)!r}) resumes its run; delete it, or "
                "name another folder, to begin a new one"
            )
        about = {"versions": versions(), "model": describe_model(model)}
        files = {_ARGUMENTS: _arguments_bytes(arguments), RUN: json.dumps(about, indent=1).encode()}
        write_folder(folder.path, files)
        return folder

    def check(self, model):
        """Check that a model and the software are those with which the run began."""
        if not (self.path / RUN).is_file():
            raise FileNotFoundError(
                f"{str(self.path)!r} holds no run; it is made by nrm.sample(..., checkpoint={str(self.path)!r})"
            )
        expected = read_about(self.path / RUN, ("versions", "model"), self._lost)
        actual = versions(), describe_model(model)
        for what, then, now in zip(("software", "model or data"), expected, actual, strict=True):
            difference = first_difference(then, now)
            if difference is not None:
                raise ValueError(self._difference(what, *difference))

    def arguments(self):
        """Load the arguments with which the run began."""
        return cloudpickle.loads(read_file(self.path / _ARGUMENTS, self._lost))

    @contextlib.contextmanager
    def with_draws(self, draws):
        """Set the number of draws of the run, unless an error stops it before its next checkpoint."""
        before, checkpoints = self.arguments(), self._checkpoints()
        if draws != before["draws"]:
            self._set_arguments(before | {"draws": draws})
        try:
            yield
        except Exception:
            if draws != before["draws"] and self._checkpoints() == checkpoints:
                self._set_arguments(before)
            raise

    @property
    def knows_steps(self):
        """Whether steps have been stored, from which chains can be extended."""
        return (self.path / _STEPS).exists()

    def check_steps(self, description, state):
        """Check that the steps are those with which the run began; the first call stores them. Returns the state passed
        to the first call.
        """
        path = self.path / _STEPS
        if not self.knows_steps:
            write_file(path, frame_bytes(0, 0, (description, state)))
        then, state = read_file(path, self._lost)
        difference = first_difference(then, description)
        if difference is not None:
            raise ValueError(f"{self._difference('steps', *difference)}. Give the step with which the run began")
        return state

    def recover(self, n_chains):
        """Recover the files of all chains. Returns the numbers of iterations saved, and lost because a file was damaged
        or missing, of each chain.
        """
        recovered = []
        for chain in range(n_chains):
            with contextlib.closing(ChainFiles(self.path, chain)) as files:
                position, n_damaged = files.recover()
            recovered.append((position.n_iterations, n_damaged))
        return recovered

    def _set_arguments(self, arguments):
        write_file(self.path / _ARGUMENTS, _arguments_bytes(arguments))

    def _checkpoints(self):
        """Times at which the checkpoints of all chains were written."""
        return {path: path.stat().st_mtime_ns for path in self.path.glob("chain_*/position_*")}

    def _difference(self, what, name, then, now):
        return (
            f"the run in {str(self.path)!r} cannot be resumed with other {what}: {name} was {then} when it began, "
            f"and is {now} now"
        )

    def _lost(self, name, how):
        return (
            f"the run in {str(self.path)!r} cannot be resumed, since its file {name} is {how}; delete the folder and "
            "begin again"
        )
