"""A disk cache of machine code that is never out of date and survives a full, read-only or damaged disk."""

import enum
import functools
import hashlib
import inspect
import os
import pathlib
import pickle
import sys
import sysconfig
import types
import warnings

import numpy as np

from pymc_nrm.kernels.layers import place
from pymc_nrm.kernels.one_compiler import alone, compile_in_one_process, lock_of
from pymc_nrm.kernels.part_compiler import CACHE, compilers, lacking_names
from pymc_nrm.kernels.reached_files import ROOT, fingerprint_of_files, reached_modules
from pymc_nrm.kernels.shipped import shipped_folder_of, shipped_key

# All generic functions, in order of definition.
dispatchers = []

_CONSTANTS = (types.NoneType, int, float, complex, str, bytes, enum.Enum, np.generic, np.dtype)

_INSTALLED = [pathlib.Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]


@functools.cache
def _sources():
    """Room and hash of each source file of this package, in order of their names, which hashes cover."""
    sources = []
    for folder, _, names in os.walk(ROOT):
        for path in (os.path.join(folder, name) for name in names if name.endswith(".py")):
            name = os.path.relpath(path, ROOT)
            with open(path, "rb") as file:
                digest = hashlib.sha256(name.encode() + file.read()).digest()
            sources.append((name, place(pathlib.Path(name).parts)[1], digest))
    return [source[1:] for source in sorted(sources)]


@functools.cache
def package_fingerprint(rooms=None):
    """Hash of all source files of this package, or of those in some of its rooms and in these rooms of its wings."""
    return hashlib.sha256(b"".join(digest for room, digest in _sources() if rooms is None or room in rooms)).hexdigest()


def code_fingerprint(modules, cls=None):
    """Hash of the code that kernels of some modules of this package call, also with values of a class."""
    if cls is None or cls.__module__.startswith("pymc_nrm."):
        return fingerprint_of_files(_called_modules([*modules, *([] if cls is None else [cls.__module__])], ()))
    # Code of others may call any function of this package.
    return package_fingerprint() + class_fingerprint(cls)


def class_fingerprint(cls):
    """Hash of the implementations registered for a type, and of everything they reach."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    return _fingerprint([name, *(dispatcher.dispatch(cls) for dispatcher in dispatchers)], cls.__module__)


def function_fingerprint(function):
    """Hash of the code of a function and of everything it reaches by name, through any number of other functions.

    The hash covers functions, kernels, methods of classes, modules and their attributes, closures, default values and
    constants (numbers, strings, tuples, arrays, members of enumerations), and the files of modules but the script that
    runs.  For the standard library and for installed packages, except the function's own, it covers only the version.
    It omits the content of lists, dictionaries and other objects, which kernels cannot read.
    """
    return _fingerprint([function], inspect.unwrap(function).__module__)


def _fingerprint(values, module):
    """Hash of values and everything they reach; only the installed package of ``module`` is read."""
    # Code that is run from text may belong to no module.
    digest, package, seen, waiting = hashlib.sha256(), (module or "").partition(".")[0], {}, list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        if not isinstance(value, _CONSTANTS):
            # Functions may reach themselves.  Values kept here stay alive, so no other value gets their id.
            seen[id(value)] = value
        token, further = _describe(value, package)
        digest.update(len(token).to_bytes(8, "big") + token)
        waiting.extend(further)
    return digest.hexdigest()


def _describe(value, package):
    """Bytes that represent a value itself, and the values that it reaches."""
    inner = (getattr(value, "__wrapped__", None) or getattr(value, "py_func", None)) if callable(value) else None
    if isinstance(value, types.ModuleType | types.FunctionType | type) or inner is not None:
        module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
        name = f"{module}.{getattr(value, '__qualname__', '')}".encode()
        file = _file_of(value if inner is None else inspect.unwrap(inner))
        if not _is_followed(module or "", file, package):
            return name + _version(sys.modules.get((module or "").partition(".")[0])), []
        # A script is edited more often than its classes, whose code is part of the hash.
        is_read = file is not None and module != "__main__" and file.is_file()
        token = name + (file.read_bytes() if is_read else b"")
        further = [] if inner is None else [inner]
        # Implementations registered for a generic function, or with `singledispatch`, count as well.
        further += getattr(value, "registry", {}).values()
        if isinstance(value, types.FunctionType):
            token += _code_bytes(value.__code__)
            further += _reached(value)
        elif isinstance(value, type):
            further += [getattr(method, "__func__", method) for method in vars(value).values() if callable(method)]
        return token, further
    if isinstance(value, functools.partial):
        return b"partial", [value.func, value.args, *value.keywords.values()]
    if isinstance(value, tuple):
        return f"{type(value).__qualname__}, {len(value)} elements".encode(), list(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        # The constant `np.ma.masked` refuses to become bytes itself.
        arrays = np.ma.getdata(value), np.ma.getmaskarray(value) if np.ma.isMaskedArray(value) else np.empty(0)
        return f"{value.dtype.str}{value.shape}".encode() + b"".join(array.tobytes() for array in arrays), []
    if isinstance(value, _CONSTANTS):
        return f"{type(value).__name__} {value!r}".encode(), []
    return type(value).__qualname__.encode(), []


def _reached(function):
    """Values that a function refers to: globals, attributes of modules, closure and defaults."""
    names = list(dict.fromkeys(_names(function.__code__)))
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    for value in values:
        # The list grows during the loop: a module may be an attribute of another.
        if isinstance(value, types.ModuleType):
            members = [vars(value)[name] for name in names if name in vars(value)]
            values += [new for new in members if not any(new is old for old in values)]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not filled yet
            continue
    return [*values, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def _names(code):
    yield from code.co_names
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _names(constant)


def _file_of(value):
    code = getattr(value, "__code__", None)
    if code is not None:
        return pathlib.Path(code.co_filename)
    module = value if isinstance(value, types.ModuleType) else sys.modules.get(getattr(value, "__module__", None))
    file = getattr(module, "__file__", None)
    return None if file is None else pathlib.Path(file)


def _is_followed(module, file, package):
    top = module.partition(".")[0]
    if top in ("pymc_nrm", "builtins") or (file is None and top in sys.builtin_module_names):
        return False
    return top == package or file is None or not any(file.is_relative_to(folder) for folder in _INSTALLED)


@functools.cache
def _version(module):
    # Some packages read theirs from their files each time.
    return str(getattr(module, "__version__", "")).encode()


def _code_bytes(code):
    """Bytes that represent a code object."""
    constants = [_code_bytes(c) if inspect.iscode(c) else _constant_bytes(c) for c in code.co_consts]
    return b"".join([code.co_code, repr(code.co_names).encode(), *constants])


def _constant_bytes(constant):
    # The order in a set of strings differs from process to process.
    return repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant).encode()


def attach_cache(dispatcher, suffix):
    """Give a numba dispatcher a cache on disk, or warn if there is no folder for it."""
    if _cache_class() is None:
        return
    try:
        dispatcher._cache = _cache_class()(dispatcher.py_func, suffix)
        compile_in_one_process(dispatcher)
    except (OSError, RuntimeError) as error:
        _warn_once(
            "cannot be written",
            f"The cache of compiled kernels cannot be written ({error}), so every process compiles them again, which "
            "may take minutes. Set the environment variable NUMBA_CACHE_DIR to a writable folder",
        )


def cache_folder():
    """Folder of the cache of functions of this module; None if kernels are not kept on disk."""
    if _cache_class() is None:
        return None
    try:
        return _cache_class()(cache_folder, "").cache_path
    except (OSError, RuntimeError):
        return None


def _warn_once(topic, message):
    # A problem of one kernel is a problem of all kernels, but each has a different message.
    if topic not in _said:
        _said.add(topic)
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
        with two processes writing at once, its index could name the machine code of another function.
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
            except (ImportError, AttributeError):  # another version of this package, with classes in other modules
                return {}
            except Exception as error:  # unpickling of a damaged file may raise anything
                _warn_of_damage(self._index_path, error)
                return {}

        def _load_data(self, name):
            with open(self._data_path(name), "rb") as file:
                return pickle.loads(without_hash(file.read(), name))

        def _save_data(self, name, data):
            content = with_hash(self._dump(data))
            with self._open_for_write(self._data_path(name)) as file:
                file.write(content)

    class ShippedFiles(Files):
        """Files of an installed package, which are only read."""

        def load(self, key):
            return super().load(shipped_key(key))

    class KernelCache(FunctionCache):
        def __init__(self, function, suffix):
            if suffix == ".part":
                # Numba's constructor makes one of these.
                self._impl_class = compilers().PartCacheImplementation
            super().__init__(function)
            self._suffix, self.locks = suffix, None
            file = function.__code__.co_filename
            self._is_own = pathlib.Path(file).is_relative_to(ROOT)
            self._shipped = shipped_folder_of(file) if self._is_own else None

        def _index_key(self, sig, codegen):
            foreign = [*_foreign_fingerprints(sig), *_implementations_from_outside()]
            key = (*super()._index_key(sig, codegen), *foreign)
            if foreign:
                # Scripts and notebooks define their classes anew in each process; their code is part of the key.
                key = (tuple(map(_description, sig)), *key[1:])
            if not self._is_own:
                key = (*key, function_fingerprint(self._py_func))
            if foreign or not self._is_own:
                # Code of others may call any function of this package.
                return (*key, package_fingerprint())
            return (*key, fingerprint_of_files(_called_modules([self._py_func.__module__], sig)))

        def load_overload(self, sig, target_context):
            loaded = self._load_now(sig, target_context)
            if loaded is None and self.locks is not None:
                # Another process may be compiling it, or have done so meanwhile.
                self.locks.enter_context(alone(lock_of(self, self._suffix, sig)))
                loaded = self._load_now(sig, target_context)
            return loaded

        def _load_now(self, sig, target_context):
            try:
                self._choose_file(sig)
                loaded = super().load_overload(sig, target_context)
                if loaded is None and self._shipped is not None:
                    # Their times of change differ from machine to machine, so they have none.
                    self._cache_file = ShippedFiles(self._shipped, self._impl.filename_base + self._suffix, None)
                    loaded = super().load_overload(sig, target_context)
                return loaded and _with_present_classes(loaded, sig)
            except Exception as error:  # whatever the error, the kernel can still be compiled
                _warn_of_damage(self._cache_path, error)
                return None

        def save_overload(self, sig, data):
            try:
                self._choose_file(sig)
                super().save_overload(sig, data)
            except Exception as error:
                _warn_once(
                    "cannot be written",
                    f"Compiled kernels cannot be written to {self._cache_path} ({error}), so every process compiles "
                    "them again, which may take minutes. Free disk space, or set the environment variable "
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


def with_hash(content):
    """Content of a file that is checked when it is read."""
    return hashlib.sha256(content).digest() + content


def without_hash(content, name):
    """What ``with_hash`` got, or an error if the file of this name is damaged."""
    if hashlib.sha256(content[32:]).digest() != content[:32]:
        raise ValueError(f"{name} is damaged")
    return content[32:]


def _warn_of_damage(path, error):
    _warn_once(
        "is damaged",
        f"A file of compiled kernels cannot be read ({path}: {error!r}); the kernel is compiled and written again. If "
        "this happens again, delete the folder, or set the environment variable NUMBA_CACHE_DIR to another folder",
    )


def _foreign_fingerprints(signature):
    """Hashes of the types in a signature that are defined outside this package."""
    return [class_fingerprint(cls) for cls in _classes(signature) if not cls.__module__.startswith("pymc_nrm.")]


def _implementations_from_outside():
    """Hashes of implementations of generic functions that other code has registered for classes of this package."""
    return [
        function_fingerprint(implementation)
        for dispatcher in dispatchers
        for cls, implementation in dispatcher.registry.items()
        if (cls.__module__ or "").startswith("pymc_nrm.") and not implementation.__module__.startswith("pymc_nrm.")
    ]


def _description(numba_type):
    """Text that tells types apart whose classes have equal code."""
    return f"{numba_type} {[f'{cls.__module__}.{cls.__qualname__}' for cls in _classes([numba_type])]}"


def _with_present_classes(loaded, arguments):
    """A loaded kernel for arguments of these types, whose classes may be others than in the process that wrote it."""
    if loaded.signature.args == arguments:
        return loaded
    loaded.fndesc.argtypes = arguments
    return loaded._replace(signature=loaded.signature.replace(args=arguments))


def _called_modules(modules, signature):
    """Modules of this package with code that a kernel of some modules calls, given the types of its arguments."""
    modules = frozenset([*modules, *(cls.__module__ for cls in _classes(signature))])
    return _with_implementations(modules, len(sys.modules))


@functools.lru_cache(256)
def _with_implementations(modules, n_imported):
    """Modules with code that kernels of these modules call; imports may add some, and change the number of modules."""
    reached = reached_modules(modules)
    while True:
        # Implementations of generic functions may stand in other files than their class and their function.
        further = {
            implementation.__module__
            for dispatcher in dispatchers
            if dispatcher.__module__ in reached
            for cls, implementation in dispatcher.registry.items()
            if cls.__module__ in reached
        }
        for module in reached & sys.modules.keys():
            classes = [value for value in vars(sys.modules[module]).values() if isinstance(value, type)]
            further |= {vars(cls)["fast_paths"].__module__ for cls in classes if "fast_paths" in vars(cls)}
        before, reached = reached, reached_modules(reached | further)
        if reached == before:
            return reached


def _classes(signature):
    nested = [numba_type for argument in signature for numba_type in _nested(argument)]
    return [numba_type.instance_class for numba_type in nested if hasattr(numba_type, "instance_class")]


def _nested(numba_type):
    yield numba_type
    # Tuples have types; pointers and arrays have one.
    inner = getattr(numba_type, "types", None) or filter(None, [getattr(numba_type, "dtype", None)])
    for element in inner:
        yield from _nested(element)
