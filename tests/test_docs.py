"""Code of the documentation, examples and typed scripts runs."""

import ast
import builtins
import importlib
import os
import pathlib
import re
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.datasets import galaxies, old_faithful, penguins

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


PAGES_WITH_OUTPUTS = [
    *(f"how-to/{name}" for name in ("cluster-a-table", "are-there-clusters", "coming-from")),
    *(
        f"how-to/coming-from/{name}"
        for name in ("hmmlearn", "markov-regression", "lcmm-and-flexmix", "stepmix-and-polca")
    ),
]


@pytest.fixture
def written_outputs(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    return importlib.import_module("written_outputs")


def test_outputs_are_written_below_cells_and_left_out_by_sphinx(written_outputs):
    page = "A\n\n```{code-cell} ipython3\nx = 2\nprint(x)\nx + 1\n```\n\n```{code-cell} ipython3\nx;\n```\n"
    plt.figure()
    text, pictures = written_outputs.with_outputs(page, "page")
    assert text.count(written_outputs.BEGIN) == 1 and "```text\n2\n3\n```" in text and pictures == {}
    assert written_outputs.without_outputs(text) == page
    for name in written_outputs.PAGES:
        text = (DOCS / f"{name}.md").read_text()
        assert written_outputs.BEGIN in text and written_outputs.BEGIN not in written_outputs.without_outputs(text)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_WITH_OUTPUTS)
def test_written_outputs_are_true(page, written_outputs, monkeypatch):
    """If not, write them again: python docs/_extensions/written_outputs.py."""
    assert set(PAGES_WITH_OUTPUTS) == set(written_outputs.PAGES)
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = (DOCS / f"{page}.md").read_text()
    assert written_outputs.with_outputs(text, page)[0] == text


def test_functions_of_families_that_the_page_on_adding_one_names_exist():
    text = (DOCS / "how-to" / "add-a-family.md").read_text()
    files = ("families.base", "families.conjugate", "families.components", "families.fast", "kernels.special")
    rooms = [importlib.import_module(f"pymc_nrm.{name}") for name in files]
    methods = set(re.findall(r"^    def ([a-z_]+)\(", text, re.MULTILINE))
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", text)) - {"missing_allowed"}
    assert len(methods) > 8
    assert len(named) > 10
    for name in methods | named:
        assert any(hasattr(room, name) for room in rooms), name


PAGES_OF_FOLDERS = sorted(str(page.relative_to(DOCS.parent)) for page in (DOCS.parent / "pymc_nrm").rglob("README.md"))


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "benchmarks/NOTES.md", "benchmarks/README.md", *PAGES_OF_FOLDERS])
def test_files_that_pages_name_exist(page):
    root = DOCS.parent
    text = (root / page).read_text()
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", text))
    assert named
    links = re.findall(r"\]\((?!https?:)([^)\s#]+)", text)
    assert not [link for link in links if not (root / page).parent.joinpath(link).exists()]
    for name in {name for name in named if not name.endswith("/name.py")}:
        folders = ("pymc_nrm", "pymc_nrm_predictor", "tests", "benchmarks")
        assert any((root / folder).rglob(name) for folder in folders), name


def test_readme_is_a_first_page(monkeypatch):
    """Short, with links that lead somewhere, in the repository as in the documentation."""
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    text = (DOCS.parent / "README.md").read_text()
    prose = re.sub(r"```.*?```|^\|.*?$|!\[[^\]]*\]\([^)]*\)", "", text, flags=re.DOTALL | re.MULTILINE)
    assert len(re.findall(r"\w\S*", re.sub(r"\]\([^)]*\)", "]", prose))) <= 500
    assert len(re.findall(r"^\|", text, re.MULTILINE)) <= 12  # ten rows
    links = re.findall(r"\]\((?!https?:)([^)\s#]+)", text)
    assert len(links) > 15
    assert not [link for link in links if not (DOCS.parent / link).exists()]
    page = importlib.import_module("first_page").links_of_pages(text, "https://host/repository")
    assert "](how-to/cluster-a-table.md)" in page and "](https://host/repository/blob/main/LICENSE)" in page
    assert "](docs/" not in page


def test_pages_agree_about_versions_and_families():
    root = DOCS.parent
    project = (root / "pyproject.toml").read_text()
    needed = re.search(r'"pymc>=([\d.]+),', project).group(1)
    pages = [root / "README.md", *DOCS.rglob("*.md")]
    told = {version for page in pages for version in re.findall(r"PyMC ([\d.]*\d) or later", page.read_text())}
    assert told == {needed}
    version = re.search(r'^version = "(.*?)"', project, re.MULTILINE).group(1)
    for file, line in (
        ("CITATION.cff", f"\nversion: {version}\n"),
        ("README.md", f"version = {{{version}}}"),
        ("packaging/conda-forge/recipe.yaml", f'version: "{version}"'),
        ("CHANGELOG.md", f"\n## {version}"),
    ):
        assert line in (root / file).read_text(), file
    # A page that says how many families there are is wrong after the next.
    assert not [page for page in pages if re.search(r"\b(six|seven|eight|nine) families", page.read_text())]
    # What the table of families marks is what they take.
    table = (DOCS / "how-to" / "choose-a-family.md").read_text().split("## ", 1)[0]
    answer = (DOCS / "how-to" / "questions.md").read_text().split("### What about missing values?")[1].split("###")[0]
    for name, mark in re.findall(r"~pymc_nrm\.(\w+)`} \| (yes|no)", table):
        assert getattr(nrm, name).missing_allowed == (mark == "yes"), name
        assert (f"`{name}`" in answer) == (mark == "yes"), name


@pytest.mark.parametrize("folder", [".", "explanation", "how-to", "how-to/coming-from", "tutorial"])
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


ROOT = pathlib.Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
LARGEST_PICTURE = 250_000  # bytes


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_runs(script, tmp_path):
    pytest.importorskip("arviz_plots")
    pytest.importorskip("matplotlib")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"MPLBACKEND": "agg", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, encoding="utf-8", env=environment, cwd=tmp_path
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "Traceback" not in output, output
    assert "divergence" not in output, output
    assert (tmp_path / f"{script.stem}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_has_title_text_and_picture(script):
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    title, text = docstring.split("\n\n", 1)
    assert "\n" not in title
    assert text.endswith(f"Run with ``python examples/{script.stem}.py [FILE.png]``.")
    picture = ROOT / "docs" / "images" / f"{script.stem}.png"
    assert picture.exists(), f"make it with: python {script} {picture}"
    assert picture.stat().st_size < LARGEST_PICTURE


@pytest.mark.parametrize(
    ("load", "shape", "mean"),
    [(galaxies, (82,), 20831.463415), (old_faithful, (272, 2), [3.487783, 70.897059])],
)
def test_datasets(load, shape, mean):
    data = load()
    assert data.shape == shape and data.dtype == np.float64 and np.isfinite(data).all()
    np.testing.assert_allclose(data.mean(axis=0), mean, rtol=1e-6)
    data[:] = 0  # a copy of its own for each caller
    assert load().all()


def test_penguins():
    table = penguins()
    assert table.shape == (344, 8) and table.isna().sum().sum() == 19
    assert table["species"].value_counts().to_dict() == {"Adelie": 152, "Gentoo": 124, "Chinstrap": 68}
    assert table["body_mass_g"].mean() == pytest.approx(4201.754386)


FOLDER = pathlib.Path(__file__).parent / "typing"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["models", "results", "merge_trees"])
def test_script_runs(name):
    done = subprocess.run([sys.executable, FOLDER / f"{name}.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
