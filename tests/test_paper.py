"""The paper has the form that the Journal of Open Source Software asks, and figures of the report."""

import datetime
import pathlib
import re
import shutil
import subprocess

import pytest

yaml = pytest.importorskip("yaml")

ROOT = pathlib.Path(__file__).parents[1]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
PAPER = (ROOT / "paper" / "paper.md").read_text()
SECTIONS = (
    *("Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"),
    *("AI usage disclosure", "Acknowledgements", "References"),
)


def test_paper_has_the_header_of_the_journal():
    header = yaml.safe_load(PAPER.split("---\n")[1])
    assert set(header) == {"title", "tags", "authors", "affiliations", "date", "bibliography"}
    assert header["title"] == CITATION["title"] and "`" not in header["title"]
    assert len(header["tags"]) >= 3 and "Python" in header["tags"]
    assert [author["name"] for author in header["authors"]] == [author["name"] for author in CITATION["authors"]]
    indices = {str(affiliation["index"]) for affiliation in header["affiliations"]}
    assert all(affiliation["name"] for affiliation in header["affiliations"])
    assert {index.strip() for a in header["authors"] for index in str(a["affiliation"]).split(",")} == indices
    datetime.datetime.strptime(str(header["date"]), "%d %B %Y")
    assert (ROOT / "paper" / header["bibliography"]).exists()


def test_paper_has_the_sections_and_the_length_that_the_journal_asks():
    text = re.sub(r"<!--.*?-->", "", PAPER.split("---\n", 2)[2], flags=re.DOTALL)
    assert tuple(re.findall(r"^# (.*)$", text, re.MULTILINE)) == SECTIONS
    assert 750 <= len(text.split()) <= 1750
    parts = re.split(r"^# .*$", text, flags=re.MULTILINE)[1:-1]
    assert all(len(part.split()) >= 10 for part in parts)


def test_citations_of_the_paper_are_its_references():
    bibliography = (ROOT / "paper" / "paper.bib").read_text()
    entries = re.findall(r"^@(\w+)\{(\w+),\n(.*?)^\}$", bibliography, re.MULTILINE | re.DOTALL)
    keys = [key for _, key, _ in entries]
    assert len(keys) == bibliography.count("@") and len(set(keys)) == len(keys)
    assert set(re.findall(r"@(\w+)", PAPER)) == set(keys)
    venues = {"article": {"journal", "volume"}, "inproceedings": {"booktitle"}, "misc": {"eprint", "url"}}
    for kind, key, fields in entries:
        assert {"title", "author", "year"} | venues[kind] <= set(re.findall(r"^  (\w+) = \{", fields, re.MULTILINE)), (
            key
        )
        assert fields.count("{") == fields.count("}"), key
        doi = re.search(r"^  doi = \{(.*)\},$", fields, re.MULTILINE)
        assert doi is None or re.fullmatch(r"10\.\d{4,9}/\S+", doi[1]), key
        year = re.search(r"\d{4}$", key)
        assert year is None or f"year = {{{year.group()}}}" in fields, key


@pytest.mark.skipif(shutil.which("pandoc") is None, reason="needs pandoc")
def test_paper_compiles():
    """With its references, as the journal compiles it but for the layout."""
    call = ["pandoc", "paper.md", "--citeproc", "--standalone", "--fail-if-warnings", "--to=html"]
    html = subprocess.run(call, cwd=ROOT / "paper", capture_output=True, check=True, text=True).stdout
    assert html.count('class="csl-entry"') == (ROOT / "paper" / "paper.bib").read_text().count("@")


@pytest.mark.parametrize(
    ("said", "row"),
    [
        ("10 to 36 times", "nutpie, labels summed out, n = 1000 | 10 to 36 times"),
        ("2.6 and 5.1 s", "| TreeGuided | 0.254 | 2.56 | 1.02 | 5.12 |"),
        ("takes 20 s for either", "| nutpie, labels summed out | 8.13 | 20.5 | 6.45 | 20.5 |"),
        ("1.02 of the time", "kernels / C++ | 1.02:"),
        ("0.7 to 549", "K = 20 | 0.715 to 549 times"),
        ("-10.15", "continuous real data | -10.15; best of peers: -11.50"),
        ("0.547 and 0.545", "| 0.547; best of peers: 0.545"),
        ("(0.470)", "components on continuous real data | 0.470"),
        ("809 of 812", "in 809 of 812 sets, BIC in 625 of 666"),
        ("84 % of sets", "mean over cells, and by BIC | 0.84; 0.37"),
        ("0.509", "F1 of 24 real series of TCPDBench | 0.509 | BOCPD's 0.654"),
        ("11 of 16 real sets", "Real sets whose chains agree | 11 of 16"),
    ],
)
def test_figures_of_the_paper_are_those_of_the_report(said, row):
    """A benchmark that is run again changes the paper too."""
    assert said in re.sub(r"\s+", " ", PAPER)
    assert row in (ROOT / "benchmarks" / "results" / "REPORT.md").read_text()
