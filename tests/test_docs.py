"""The documentation builds without a warning, and describes every name that the package exports."""

import ast
import builtins
import importlib
import pathlib
import re
import subprocess
import sys

import pytest

DOCS = pathlib.Path(__file__).parents[1] / "docs"


@pytest.mark.slow
def test_documentation_builds_without_warnings(tmp_path):
    # The build checks that every exported name has a page, see docs/_extensions/coverage_check.py.
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_nb")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", DOCS, tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html" / "index.html").exists()


def test_functions_of_families_that_the_page_on_adding_one_names_exist():
    text = (DOCS / "how-to" / "add-a-family.md").read_text()
    rooms = [importlib.import_module(f"pymc_nrm.families.{n}") for n in ("base", "conjugate", "components", "fast")]
    methods = set(re.findall(r"^    def ([a-z_]+)\(", text, re.MULTILINE))
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", text)) - {"missing_allowed"}
    assert len(methods) > 8
    assert len(named) > 10
    for name in methods | named:
        assert any(hasattr(room, name) for room in rooms), name


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "benchmarks/NOTES.md", "benchmarks/README.md"])
def test_files_that_pages_name_exist(page):
    root = DOCS.parent
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", (root / page).read_text()))
    assert named
    for name in {name for name in named if not name.endswith("/name.py")}:
        assert any((root / folder).rglob(name) for folder in ("pymc_nrm", "tests", "benchmarks")), name


@pytest.mark.parametrize("folder", [".", "explanation", "how-to", "tutorial"])
def test_code_fits_into_its_column(folder):
    text = "".join(page.read_text() for page in (DOCS / folder).glob("*.md"))
    blocks = re.findall(r"^```(?:python|\{code-cell\}[^\n]*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks
    assert not [line for block in blocks for line in block.splitlines() if len(line) > 85]


def test_the_page_on_tables_defines_every_name_that_it_uses():
    """Blocks of a page that Sphinx does not run included."""
    text = (DOCS / "how-to" / "cluster-a-table.md").read_text()
    code = "\n".join(re.findall(r"```(?:python|\{code-cell\} ipython3)\n(?::tags:[^\n]*\n)?(.*?)```", text, re.DOTALL))
    names = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    defined = {name.id for name in names if isinstance(name.ctx, ast.Store)} | {"nrm", "np", "pd", "pm", "error"}
    assert not {name.id for name in names} - defined - set(dir(builtins))
