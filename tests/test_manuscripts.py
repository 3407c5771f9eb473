"""Figures of the manuscripts are printed by their scripts or stored by their benchmarks."""

import importlib
import pathlib
import re
import runpy

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PAPER = ROOT / "docs" / "paper"
# Scripts that a letter names, by letter.
SCRIPTS = {
    "lee-choi": ("lee_choi", "lee_choi_ablation"),
    "huang": ("huang", "huang_singletons"),
    "sub-clusters": ("sub_clusters",),
}


def text(name):
    return (PAPER / f"{name}.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def printed():
    """Figures with four decimals that a script prints."""
    found = {}

    def figures(name, capsys):
        if name not in found:
            runpy.run_path(str(PAPER / "reproducers" / f"{name}.py"), run_name="__main__")
            found[name] = re.findall(r"\d+\.\d{4}", capsys.readouterr().out)
        return found[name]

    return figures


@pytest.fixture
def manuscripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # scripts set these, which must not affect later tests
    return importlib.import_module("manuscripts")


@pytest.mark.parametrize("name", [name for names in SCRIPTS.values() for name in names])
def test_figures_of_a_reproducer_are_in_the_text(name, printed, capsys):
    figures = printed(name, capsys)
    assert len(figures) > 1 and f"docs/paper/reproducers/{name}.py" in text("published-samplers")
    for figure in figures:
        assert re.search(rf"(?<![\d.]){re.escape(figure.removeprefix('0'))}(?!\d)", text("published-samplers")), figure


@pytest.mark.parametrize("letter", SCRIPTS)
def test_figures_of_a_letter_are_those_of_its_scripts(letter, printed, capsys):
    figures = {figure for name in SCRIPTS[letter] for figure in printed(name, capsys)}
    said = re.findall(r"\d\.\d+", text(f"letters/{letter}"))
    assert len(said) > 1 and set(said) <= figures
    for name in SCRIPTS[letter]:
        assert f"python docs/paper/reproducers/{name}.py" in text(f"letters/{letter}")


def test_reproducers_need_numpy_alone():
    for path in (PAPER / "reproducers").glob("*.py"):
        imported = re.findall(r"^(?:import|from) (\w+)", path.read_text(), re.MULTILINE)
        assert set(imported) <= {"functools", "itertools", "math", "numpy"}, path.name


PAGES = (
    *("paper/published-samplers", "paper/hidden-state-labels"),
    *("explanation/sub-clusters", "explanation/nested-partitions"),
)


@pytest.mark.parametrize("page", PAGES)
def test_tables_of_a_manuscript_are_those_of_the_results(page, manuscripts):
    """A benchmark that is run again changes the text too: ``python benchmarks/manuscripts.py`` prints its tables."""
    assert set(manuscripts.TABLES) == set(PAGES)
    for name, table in manuscripts.TABLES[page].items():
        assert table() in text(f"../{page}"), name
    assert "{{" not in text(f"../{page}")


def test_figures_between_tables_are_those_of_the_results(manuscripts):
    said = re.sub(r"\s+", " ", text("published-samplers"))
    for sentence in manuscripts.sentences():
        assert sentence in said
