"""Issue forms, metadata and logo agree with the code and with each other."""

import ast
import json
import pathlib
import re
import tomllib

import pytest

import pymc_nrm as nrm

yaml = pytest.importorskip("yaml")

ROOT = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
FORMS = {
    path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")
}


@pytest.mark.parametrize("name", ["bug", "feature", "question"])
def test_issue_form(name):
    form = FORMS[name]
    assert form["name"] and form["description"]
    ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert len(set(ids)) == len(ids) > 0
    for part in form["body"]:
        assert set(part) <= {"type", "id", "attributes", "validations"}
        assert part["attributes"].get("value" if part["type"] == "markdown" else "label")
    assert any(part.get("validations", {}).get("required") for part in form["body"])


def test_reports_of_bugs_ask_for_an_example_and_versions():
    parts = {part.get("id"): part for part in FORMS["bug"]["body"]}
    for name in ("what", "example", "versions"):
        assert parts[name]["validations"]["required"]
    assert "nrm.show_versions()" in parts["versions"]["attributes"]["description"]
    names = {
        n.attr for n in ast.walk(ast.parse(parts["example"]["attributes"]["value"])) if isinstance(n, ast.Attribute)
    }
    assert {"Partition", "DirichletProcess", "Mixture", "NormalWishart", "sample"} <= names & set(dir(nrm))


@pytest.mark.parametrize(
    "name", ["CODE_OF_CONDUCT.md", "SECURITY.md", "CONTRIBUTING.md", ".github/pull_request_template.md"]
)
def test_links_of_files_at_the_top_lead_somewhere(name):
    links = re.findall(r"\]\(([^)\s#]+)", (ROOT / name).read_text())
    assert not [
        link for link in links if not link.startswith("https://") and not (ROOT / name).parent.joinpath(link).exists()
    ]
    folders = re.findall(r"`(pymc_nrm/[\w/.]+)`", (ROOT / name).read_text())
    assert not [folder for folder in folders if not (ROOT / folder).exists()]
    ours = [link for link in links if "pymc-nrm/pymc-nrm" in link]
    assert all(link.startswith(PROJECT["urls"]["Source"]) for link in ours)


def test_environment_has_what_the_project_needs():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["channels"] == ["conda-forge"]
    needs = dict(
        line.split(" ", 1) for line in environment["dependencies"] if " " in str(line) and isinstance(line, str)
    )
    declared = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["plots"]]
    bounds = {re.match(r"[\w-]+", line).group(): re.search(r"[<>=].*", line).group() for line in declared}
    assert needs == {"python": PROJECT["requires-python"], **bounds}


def test_archive_says_what_the_citation_says():
    archive = json.loads((ROOT / ".zenodo.json").read_text())
    assert archive["title"] == CITATION["title"] and archive["description"] == CITATION["abstract"]
    assert archive["creators"] == [{"name": author["name"]} for author in CITATION["authors"]]
    assert archive["license"] == CITATION["license"] == PROJECT["license"]
    assert archive["keywords"] == CITATION["keywords"]
    assert [other["identifier"] for other in archive["related_identifiers"]] == [PROJECT["urls"]["Documentation"]]


def luminance(colour):
    """Relative luminance of a colour such as "#2a78c2", as in the Web Content Accessibility Guidelines."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_logo_is_seen_on_white_and_on_black():
    colours = re.findall(r"color: (#[0-9a-f]{6})", (ROOT / "docs" / "_static" / "logo.svg").read_text())
    assert len(colours) == 8  # four parts, light and dark
    for colour in colours:
        assert 1.05 / (luminance(colour) + 0.05) > 3 and (luminance(colour) + 0.05) / 0.05 > 3, colour
