"""Files of this package that a module reaches by its imports: a kernel calls nothing else, besides methods of types."""

import functools
import hashlib
import pathlib
import re

from pymc_nrm.kernels.layers import WITHOUT_KERNELS, place

ROOT = pathlib.Path(__file__).parents[1]
_PACKAGE = ROOT.name
# It says where code is optimised, not what it computes: another wing compiles nothing again.
_TABLE_OF_ROOMS = f"{_PACKAGE}.kernels.layers"
_OWN = rf"({_PACKAGE}[\w.]*)"
_IMPORT = re.compile(rf"^[ \t]*(?:from {_OWN} import (\([^)]*\)|[^\n]*)|import {_OWN})", re.MULTILINE)


@functools.cache
def _path_of(module):
    """File of a module of this package; None if there is none."""
    package, *inner = module.split(".")
    if package != _PACKAGE:
        return None
    base = ROOT.joinpath(*inner)
    return next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)


@functools.cache
def _content(module):
    return _path_of(module).read_bytes()


@functools.cache
def _imported(module):
    """Modules of this package with kernels that a module imports, anywhere in its file."""
    imported = set()
    for package, names, alone in _IMPORT.findall(_content(module).decode()):
        for name in re.findall(r"\w+(?=\s*(?:,|\)|$|#|as\b))", names):
            inner = f"{package}.{name}"
            imported.add(inner if _path_of(inner) else package)
        if alone:
            imported.add(alone)
    return {name for name in imported if "." in name and place(name.split(".")[1:])[1] not in WITHOUT_KERNELS}


def reached_modules(modules):
    """Names of modules of this package, and of all that they import, directly or through others."""
    reached, waiting = set(), list(modules)
    while waiting:
        name = waiting.pop()
        if name not in reached and _path_of(name):
            reached.add(name)
            waiting.extend(_imported(name))
    return frozenset(reached)


@functools.cache
def fingerprint_of_files(modules):
    """Hash of the files of some modules of this package, a frozenset."""
    digest = hashlib.sha256()
    for name in sorted(modules - {_TABLE_OF_ROOMS}):
        content = _content(name)
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()
