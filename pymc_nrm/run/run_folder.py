"""The folder of a run with checkpoints: what the run began with, and the files of its chains."""

import contextlib
import json
import os
import pathlib
import shutil
import tempfile

import cloudpickle

from pymc_nrm.common.checks import check_path
from pymc_nrm.run.checkpoint_files import ChainFiles, frame_bytes, frame_of, write_file
from pymc_nrm.run.fingerprint import describe_model, first_difference, versions

RUN, _ARGUMENTS, _STEPS = "run.json", "arguments", "steps"


@contextlib.contextmanager
def removed_if_nothing_was_drawn(folder):
    """Remove the folder of a new run if an error, such as a wrong argument, stops it before its first checkpoint."""
    try:
        yield
    except Exception:
        if folder is not None and not any(folder.path.glob("chain_*/position_*")):
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


def write_folder(path, files):
    """Make a folder with files of given contents, under another name until all are there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = pathlib.Path(tempfile.mkdtemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent))
    try:
        for name, content in files.items():
            write_file(new / name, content)
        os.rename(new, path)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def pickled(content, what):
    """Pickle an object; ``what`` says in the error why it must be possible."""
    try:
        return cloudpickle.dumps(content, protocol=-1)
    except Exception as error:
        raise ValueError(f"{what}: {error}") from error


def read_file(path, lost):
    """Unpickle the content of a file of a folder; ``lost(name, how)`` is what errors say."""
    if not path.is_file():
        raise FileNotFoundError(lost(path.name, "missing"))
    frame = frame_of(path)
    if frame is None:
        raise ValueError(lost(path.name, "damaged"))
    return frame.load()


def read_about(path, names, lost):
    """Read entries of a file in JSON."""
    try:
        about = json.loads(path.read_bytes())
        return [about[name] for name in names]
    except (ValueError, KeyError) as error:
        raise ValueError(lost(path.name, "damaged")) from error


class RunFolder:
    """The folder of a run, which :meth:`create` has made."""

    def __init__(self, path):
        check_path("checkpoint", path)
        self.path = pathlib.Path(path).resolve()

    @classmethod
    def create(cls, path, model, arguments):
        """Make the folder."""
        folder = cls(path)
        if folder.path.exists() and (not folder.path.is_dir() or any(folder.path.iterdir())):
            raise FileExistsError(
                f"checkpoint={str(path)!r} is there already: nrm.resume({str(path)!r}) goes on with its run; delete "
                "it, or name another folder, to begin a new one"
            )
        content = frame_bytes(0, 0, pickled(arguments, "the arguments of a run with checkpoints must be picklable"))
        about = {"versions": versions(), "model": describe_model(model)}
        write_folder(folder.path, {_ARGUMENTS: content, RUN: json.dumps(about, indent=1).encode()})
        return folder

    def check(self, model):
        """Check that a model and the software are those with which the run began."""
        if not (self.path / RUN).is_file():
            raise FileNotFoundError(
                f"{str(self.path)!r} holds no run; it is made by nrm.sample(..., checkpoint={str(self.path)!r})"
            )
        expected = read_about(self.path / RUN, ("versions", "model"), self._lost)
        found = versions(), describe_model(model)
        for what, then, now in zip(("software", "model or data"), expected, found, strict=True):
            difference = first_difference(then, now)
            if difference is not None:
                raise ValueError(self._difference(what, *difference))

    def arguments(self):
        """Load the arguments with which the run began."""
        return cloudpickle.loads(read_file(self.path / _ARGUMENTS, self._lost))

    def check_steps(self, description, state):
        """Check that the steps are those with which the run began; the first call stores them. Returns the state passed
        to the first call.
        """
        path = self.path / _STEPS
        if not path.exists():
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
        found = []
        for chain in range(n_chains):
            with contextlib.closing(ChainFiles(self.path, chain)) as files:
                position, n_damaged = files.recover()
            found.append((position.n_iterations, n_damaged))
        return found

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
