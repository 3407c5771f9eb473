"""Imports point downwards only, so that the order of reading is the order of importing; old names say the new ones."""

import ast
import pathlib
import subprocess
import sys

import pytest

import pymc_nrm
import pymc_nrm as nrm
from pymc_nrm.kernels.layers import IMPORTS, WINGS, WITHOUT_KERNELS, may_import, place
from pymc_nrm.kernels.reached_files import fingerprint_of_files, reached_modules

ROOT = pathlib.Path(pymc_nrm.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))

INTERNALS = ROOT / "common" / "pymc_internals.py"
# Hyperpriors import PyMC when they are made.
HYPERPRIORS = ROOT / "families" / "learned" / "hyperpriors.py"
# The mathematics is tested without PyMC.
WITHOUT_PYMC = {*list(IMPORTS)[: list(IMPORTS).index("models")], "stats", "datasets"}


def layer(path):
    return place(path.relative_to(ROOT).parts)


def imported_modules(path):
    """Full names of all modules that a file imports, in functions as well."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def place_of(module):
    package, *parts = module.split(".")
    return place(parts) if package == "pymc_nrm" and parts else ("", None)


def layers_imported(path):
    names = [name.split(".") for name in imported_modules(path)]
    # ``from pymc_nrm import plots`` is an import of the room; so is the import of a wing, of its ``__init__``.
    return {place(parts) for package, *parts in names if package == "pymc_nrm" and parts}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file(path):
    """Imports point downwards; those from PyMC and PyTensor are public ones, except in one file."""
    own, modules = layer(path), list(imported_modules(path))
    assert len(path.read_text().splitlines()) <= 500
    if own != ("", "__init__"):
        above = {other for other in layers_imported(path) if not may_import(own, other)}
        assert not above, f"{own} must not import {sorted(above)}"
    if path == INTERNALS:
        return
    if own[1] in WITHOUT_PYMC and path != HYPERPRIORS:
        assert not [name for name in modules if name.split(".")[0] == "pymc" or name.endswith(".pymc_internals")]
    for name in modules:
        parts = name.split(".")
        assert parts[0] not in ("pymc", "pytensor") or not any(part.startswith("_") for part in parts), name
        assert parts[0] != "pymc" or len(parts) <= 3, name


def test_each_part_imports_earlier_ones():
    names = list(IMPORTS)
    for k, name in enumerate(names):
        assert set(IMPORTS[name]) <= set(names[:k])
    wings = list(WINGS)
    for k, name in enumerate(wings):
        assert set(WINGS[name]) <= set(wings[:k]) and name not in IMPORTS


def test_machine_code_is_keyed_on_all_files_with_kernels_that_its_file_imports():
    """Files of all rooms and wings, but those that have no kernels."""
    named = {path: ".".join(("pymc_nrm", *path.relative_to(ROOT).with_suffix("").parts)) for path in SOURCES}
    named = {path: name.removesuffix(".__init__") for path, name in named.items()}
    for path, module in named.items():
        imported = {name for name in imported_modules(path) if name in named.values() and name != "pymc_nrm"}
        # ``from package import name`` names a module or something in the package.
        imported -= {name for name in imported if any(other.startswith(f"{name}.") for other in imported)}
        missing = {name for name in imported if place_of(name)[1] not in WITHOUT_KERNELS} - reached_modules([module])
        assert not missing, (module, missing)


def test_machine_code_is_not_keyed_on_the_table_of_rooms():
    """Another wing compiles nothing of the core again."""
    modules = reached_modules(["pymc_nrm.moves.gibbs"])
    layers = "pymc_nrm.kernels.layers"
    assert layers in modules
    assert fingerprint_of_files(modules) == fingerprint_of_files(modules - {layers})
    assert fingerprint_of_files(modules) != fingerprint_of_files(modules - {"pymc_nrm.kernels.generic"})


def test_kernels_use_nothing_that_machine_code_is_not_keyed_on():
    """What is imported from parts outside of the key stays out of functions made with ``kernel``."""
    for tree in (ast.parse(path.read_text()) for path in SOURCES):
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and place_of(node.module)[1] in WITHOUT_KERNELS
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and "kernel" in {ast.unparse(line) for line in node.decorator_list}:
                used = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
                assert not used & imported, node.name


@pytest.mark.parametrize("folder", ["measures", "families/definitions", "families/derived"])
def test_members_of_a_kind_do_not_import_each_other(folder):
    """What several of them share lies in a file that defines none of them: base classes, quadrature, products.

    Families that are made of others stand in a folder of their own, ``families/derived``.
    """
    public = {
        path.stem
        for path in (ROOT / folder).glob("*.py")
        if any(isinstance(n, ast.ClassDef) and n.name in dir(pymc_nrm) for n in ast.parse(path.read_text()).body)
    }
    assert len(public) >= 3
    prefix = f"pymc_nrm.{folder}.".replace("/", ".")
    for name in public:
        modules = {
            module.removeprefix(prefix).split(".")[0]
            for module in imported_modules(ROOT / folder / f"{name}.py")
            if module.startswith(prefix)
        }
        assert not modules & public - {name}


def loaded_by(statement):
    """Names of all modules that a statement loads in a new process."""
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    return set(done.stdout.split())


def test_mathematics_does_not_load_pymc():
    # The __init__ of the package and those of wings import everything: here they are replaced by empty ones.
    places = {"pymc_nrm": ROOT, **{f"pymc_nrm.{wing}": ROOT / wing for wing in WINGS}}
    stubs = [
        f"sys.modules[{name!r}] = p = types.ModuleType({name!r}); p.__path__ = [{str(path)!r}]"
        for name, path in places.items()
    ]
    rooms = ("measures", "families", "partitions", "moves", "stats")
    of_wings = [f"{wing}.{room}" for wing in WINGS for room in rooms if (ROOT / wing / room).exists()]
    modules = ["kernels.generic", "kernels.special", *rooms, *of_wings]
    loaded = loaded_by("; ".join(["import types", *stubs, *[f"import pymc_nrm.{name}" for name in modules]]))
    assert "pymc" not in loaded
    assert "numba" not in loaded - loaded_by("import pytensor.tensor")


def test_import_loads_nothing_slow():
    """Numba and SciPy take longer to import than this package; they wait for the first model or kernel."""
    added = loaded_by("import pymc_nrm") - loaded_by("import pymc")
    tops = {name.split(".")[0] for name in added}
    assert not tops & {"numba", "scipy", "arviz_stats", "arviz_plots", "matplotlib", "sklearn"}
    assert "pytensor.sparse" not in added
    assert not {"pymc_nrm.plots", "pymc_nrm.published", "pymc_nrm.trees"} & added
    plots = {name.split(".")[0] for name in loaded_by("import pymc_nrm.plots") - loaded_by("import pymc")}
    assert not plots & {"arviz_plots", "matplotlib"}


def test_parts_that_are_imported_on_demand_look_like_all_others():
    assert set(pymc_nrm.__all__) <= set(dir(pymc_nrm))
    assert "pymc_nrm.trees" in loaded_by("import pymc_nrm; pymc_nrm.trees.bhc")
    for name in pymc_nrm.__all__:
        assert getattr(pymc_nrm, name) is not None


def test_at_most_sixty_names_at_the_top():
    assert len(pymc_nrm.__all__) <= 60
    with pytest.raises(AttributeError, match="module 'pymc_nrm' has no attribute 'unknown'"):
        getattr(nrm, "unknown")  # noqa: B009
