"""A disk cache of machine code that is never out of date and survives a full, read-only or damaged disk."""

import functools
import hashlib
import pickle
import warnings

from pymc_nrm.kernels.fingerprints import class_fingerprint, function_fingerprint, layer_of, source_fingerprint
from pymc_nrm.kernels.numba_internals import CACHE, lacking_names
from pymc_nrm.kernels.part_compiler import compilers


def attach_cache(dispatcher, suffix):
    """Give a numba dispatcher a cache on disk, or warn if there is no folder for it."""
    if _cache_class() is None:
        return
    try:
        dispatcher._cache = _cache_class()(dispatcher.py_func, suffix)
    except (OSError, RuntimeError) as error:
        _warn_once(
            "cannot be written",
            f"Compiled kernels cannot be kept ({error}), so every process compiles them again, which may take "
            "minutes. Set the environment variable NUMBA_CACHE_DIR to a folder that can be written",
        )


def _warn_once(what, message):
    # A problem of one kernel is a problem of all, but each has a different message.
    if what not in _said:
        _said.add(what)
        warnings.warn(message, RuntimeWarning, stacklevel=2)


_said = set()


@functools.cache
def _cache_class():
    if lacking_names(CACHE):
        return None
    from numba.core.caching import FunctionCache, IndexDataCacheFile

    class Files(IndexDataCacheFile):
        """An index of keys, and one file per key with a hash, the key and its machine code.

        Numba itself writes the index first, and reuses the file numbers of an outdated index.  After a full disk, or
        with two processes writing at once, its index could name machine code of something else.
        """

        def save(self, key, data):
            overloads = self._load_index()
            names = set(overloads.values())
            number = next(k for k in range(1, len(names) + 2) if self._data_name(k) not in names)
            name = overloads.setdefault(key, self._data_name(number))
            self._save_data(name, (self._source_stamp, key, data))
            if name not in names:
                self._save_index(overloads)

        def load(self, key):
            name = self._load_index().get(key)
            if name is None:
                return None
            try:
                stamp, stored_key, data = self._load_data(name)
            except FileNotFoundError:
                return None
            return data if (stamp, stored_key) == (self._source_stamp, key) else None

        def _load_index(self):
            try:
                return super()._load_index()
            except (ImportError, AttributeError):  # another version of this package, whose classes were elsewhere
                return {}
            except Exception as error:  # unpickling of a damaged file may raise anything
                _warn_of_damage(self._index_path, error)
                return {}

        def _load_data(self, name):
            with open(self._data_path(name), "rb") as file:
                digest, content = file.read(32), file.read()
            if hashlib.sha256(content).digest() != digest:
                raise ValueError(f"{name} is damaged")
            return pickle.loads(content)

        def _save_data(self, name, data):
            content = self._dump(data)
            with self._open_for_write(self._data_path(name)) as file:
                file.write(hashlib.sha256(content).digest())
                file.write(content)

    class KernelCache(FunctionCache):
        def __init__(self, function, suffix):
            if suffix == ".part":
                # Numba's constructor makes one of these.
                self._impl_class = compilers().PartCacheImplementation
            super().__init__(function)
            self._suffix = suffix
            self._layer = layer_of(function.__code__.co_filename)

        def _index_key(self, sig, codegen):
            key = (*super()._index_key(sig, codegen), source_fingerprint(self._layer), *_foreign_fingerprints(sig))
            return key if self._layer else (*key, function_fingerprint(self._py_func))

        def load_overload(self, sig, target_context):
            try:
                self._choose_file(sig)
                return super().load_overload(sig, target_context)
            except Exception as error:  # whatever it is, the kernel can still be compiled
                _warn_of_damage(self._cache_path, error)
                return None

        def save_overload(self, sig, data):
            try:
                self._choose_file(sig)
                super().save_overload(sig, data)
            except Exception as error:
                _warn_once(
                    "cannot be written",
                    f"Compiled kernels cannot be kept in {self._cache_path} ({error}), so every process compiles "
                    "them again, which may take minutes. Make room there, or set the environment variable "
                    "NUMBA_CACHE_DIR to another folder",
                )

        def _choose_file(self, sig):
            # An index is unpickled as a whole, with the types of all its signatures.  Types of a script or a notebook
            # cannot be imported elsewhere, so they must not be in the index that every process reads.
            foreign = "".join(_foreign_fingerprints(getattr(sig, "args", sig)))
            digest = f".{hashlib.sha256(foreign.encode()).hexdigest()[:16]}" if foreign else ""
            stamp = self._impl.locator.get_source_stamp()
            self._cache_file = Files(self._cache_path, self._impl.filename_base + self._suffix + digest, stamp)

    return KernelCache


def _warn_of_damage(path, error):
    _warn_once(
        "is damaged",
        f"A file of compiled kernels cannot be read ({path}: {error!r}); the kernel is compiled and written again. If "
        "this happens again, delete the folder, or set the environment variable NUMBA_CACHE_DIR to another one",
    )


def _foreign_fingerprints(signature):
    """Hashes of the types in a signature that are defined outside this package."""
    nested = [numba_type for argument in signature for numba_type in _nested(argument)]
    classes = [numba_type.instance_class for numba_type in nested if hasattr(numba_type, "instance_class")]
    return [class_fingerprint(cls) for cls in classes if not cls.__module__.startswith("pymc_nrm.")]


def _nested(numba_type):
    yield numba_type
    for element in getattr(numba_type, "types", ()):
        yield from _nested(element)
