"""A kernel runs whatever happens to the folder of compiled kernels, and one warning says what happened."""

import contextlib
import errno
import importlib.util
import shutil
import tempfile
import warnings
from functools import partial

import pytest

from pymc_nrm.kernels import kernel_cache

MODULE = """
from pymc_nrm.kernels.generic import kernel

@kernel
def double(x):
    return x + x

@kernel
def triple(x):
    return x + x + x
"""


class Folder:
    """A folder with a module of two kernels, which every :meth:`load` imports as a new process would."""

    def __init__(self, path):
        self.module = path / "some_kernels.py"
        self.module.write_text(MODULE)
        self.cache = path / "__pycache__"

    def load(self):
        spec = importlib.util.spec_from_file_location("some_kernels", self.module)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def run(self, module=None):
        """How many of three kernels were loaded from disk, and the warnings."""
        kernel_cache._said.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module = module or self.load()
            assert (module.double(1.5), module.double(2), module.triple(1.5)) == (3.0, 4, 4.5)
        kernels = module.double, module.triple
        hits = sum(sum(kernel.dispatcher.stats.cache_hits.values()) for kernel in kernels)
        assert all(warning.category is RuntimeWarning for warning in caught)
        return hits, [str(warning.message) for warning in caught]

    def files(self, ending):
        return sorted(self.cache.glob(f"some_kernels.*.{ending}"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", "")
    folder = Folder(tmp_path)
    assert folder.run() == (0, [])
    assert folder.run() == (3, [])
    assert (len(folder.files("nbi")), len(folder.files("nbc"))) == (2, 3)
    return folder


def cut(content, share):
    return content[: int(share * len(content))]


def with_a_wrong_byte(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    ("ending", "damage", "message"),
    [
        *((ending, partial(cut, share=share), "cannot be read") for ending in ("nbi", "nbc") for share in (0.0, 0.5)),
        ("nbc", with_a_wrong_byte, "is damaged"),
        ("nbi", lambda content: content.replace(b"numba.core.types", b"numba.gone.types"), None),
    ],
    ids=["empty index", "half an index", "no code", "half the code", "a wrong byte", "classes that have moved"],
)
def test_damaged_files_are_written_anew_and_never_run(folder, ending, damage, message):
    for file in folder.files(ending):
        content = file.read_bytes()
        file.write_bytes(damage(content))
        assert file.read_bytes() != content
    hits, warned = folder.run()
    assert hits == 0 and len(warned) == (message is not None)
    assert all(word in line for line in warned for word in (message, str(folder.cache), "NUMBA_CACHE_DIR"))
    assert folder.run() == (3, [])


def test_machine_code_of_another_signature_is_not_run(folder):
    """Files that two processes leave if they write at the same time."""
    first, second = (file for file in folder.files("nbc") if "double" in file.name)
    shutil.copy(first, second)
    assert folder.run() == (2, [])
    assert folder.run() == (3, [])


def test_a_full_disk_leaves_no_index_without_code(folder, monkeypatch):
    class Full:
        def write(self, content):
            raise OSError(errno.ENOSPC, "No space left on device")

    @contextlib.contextmanager
    def open_for_write(self, path):
        yield Full() if path.endswith(".nbc") else index

    for file in [*folder.files("nbi"), *folder.files("nbc")]:
        file.unlink()
    with monkeypatch.context() as patch, tempfile.TemporaryFile() as index:
        patch.setattr("numba.core.caching.IndexDataCacheFile._open_for_write", open_for_write)
        hits, [warning] = folder.run()
        assert index.tell() == 0
    assert hits == 0
    assert "No space left" in warning and str(folder.cache) in warning and "NUMBA_CACHE_DIR" in warning
    assert folder.run() == (0, [])
    assert folder.run() == (3, [])


def forbid_writing(patch):
    """As in a package of another user, without a home folder; root ignores the modes of files."""

    def refuse(*arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    patch.setattr("numba.core.caching.tempfile.TemporaryFile", refuse)


def test_nowhere_to_write(folder, monkeypatch):
    with monkeypatch.context() as patch:
        forbid_writing(patch)
        hits, [warning] = folder.run()
    assert hits == 0
    assert "no locator" in warning and "NUMBA_CACHE_DIR" in warning
    assert folder.run() == (3, [])


def test_a_folder_that_cannot_be_written_any_more(folder, monkeypatch):
    module = folder.load()
    assert module.double.dispatcher is not module.triple.dispatcher
    for file in folder.files("nbi"):
        file.unlink()
    with monkeypatch.context() as patch:
        forbid_writing(patch)
        hits, [warning] = folder.run(module)
    assert hits == 0
    assert "Permission denied" in warning
