"""The benchmarks can be imported, and their report says what was measured; no test measures time."""

import importlib
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
# Every file that makes a part.
NAMES = [path.stem for path in sorted(FOLDER.glob("*.py")) if "\nPART = " in path.read_text(encoding="utf-8")]


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # scripts set these, which must not affect later tests
    return importlib.import_module


@pytest.fixture
def report(module):
    return module("report")


@pytest.mark.parametrize("name", NAMES)
def test_script_defines_a_part(name, module):
    part = module(name).PART
    assert part.name == name
    for function in (part.measure, part.table, part.pictures or print, part.headline or print):
        assert callable(function)
    assert part.meaning.endswith(".")


def test_all_parts_are_run(module):
    assert sorted(module("run").NAMES) == NAMES
    assert callable(module("tree_bounds").main)
    assert callable(module("published_subclusters").main)


def test_stored_report_says_what_was_measured(report):
    results = report.read_results(report.RESULTS)
    if not results:
        pytest.skip("no results are stored")
    assert not any(result.found["quick"] for result in results)
    stored = (report.RESULTS / "REPORT.md").read_text(encoding="utf-8")
    assert stored.startswith(f"{report.head(results)}## {results[0].part.name}\n")
    for part, found in results:
        assert f"\n{part.table(found['rows'])}\n{part.meaning}\n" in stored, part.name
    assert not re.search(r"\b(None|nan)\b", stored)


@pytest.mark.parametrize(("page", "most"), [("NOTES.md", 56_000), ("results/REPORT.md", 60_000)])
def test_page_is_short_enough_to_be_read(page, most):
    """Details are in the JSON files, and what was tried has one line."""
    assert (FOLDER / page).stat().st_size <= most


@pytest.fixture
def segmentations(module):
    return module("common.segmentations")


def test_scores_of_a_segmentation_by_hand(segmentations):
    """Two annotators of ten times; predicted changes at 0 and 4, where 2 is close to 4 and 9 is not."""
    annotations = [[2], [4, 9]]
    # 0 and 4 each pair with an annotated time; recall is 2 of 2 and 2 of 3.
    assert segmentations.f1_score([4], annotations, margin=2) == pytest.approx(2 * (5 / 6) / (1 + 5 / 6))
    # Two predictions cannot both pair with 2, and both pair with a time of the second annotator.
    assert segmentations.f1_score([1, 3], [[2]], margin=1) == pytest.approx(2 * (2 / 3) / (1 + 2 / 3))
    # Segments 0-1 and 2-9 overlap 0-3 by 2 / 4 and 4-9 by 6 / 8; 0-3, 4-8 and 9 by 1, 5 / 6 and 1 / 6.
    covers = (2 * 2 / 4 + 8 * 6 / 8) / 10, (4 + 5 * 5 / 6 + 1 / 6) / 10
    assert segmentations.cover_score([4], annotations, 10) == pytest.approx(sum(covers) / 2)


@pytest.mark.parametrize(
    ("change", "f1", "cover"),
    [
        (107, 0.5441941074523396, 0.5264935144387437),
        (106, 0.5441941074523396, 0.5267191888742934),
        (166, 0.5441941074523396, 0.44361770347727864),
        (45, 0.3057851239669422, 0.39569904240766074),
    ],
)
def test_scores_of_a_segmentation_as_published(segmentations, change, f1, cover):
    """AMOC on the emissions of Canada: ``summary_co2_canada.json`` of TCPDBench."""
    [series] = [series for series in segmentations.load_series(print) if series.name == "co2_canada"]
    assert segmentations.f1_score([change], series.annotations) == pytest.approx(f1, rel=1e-12)
    assert segmentations.cover_score([change], series.annotations, len(series.values)) == pytest.approx(
        cover, rel=1e-12
    )


def test_scores_without_change_points_are_the_published_ones(segmentations):
    """The method ``zero`` of TCPDBench, on every series that is there; its scores are stored with six digits."""
    published, notes = segmentations.published_scores(), []
    found = segmentations.load_series(notes.append)
    assert len(found) >= 28
    for series in found:
        scores = (
            segmentations.f1_score([], series.annotations),
            segmentations.cover_score([], series.annotations, len(series.values)),
        )
        assert scores == pytest.approx(published[series.name]["zero"], abs=1e-6), series.name


def test_published_averages_of_segmentations(module, segmentations):
    """Over the 32 real series without gaps, as ``aggregate_scores_wide.tex`` of TCPDBench has them."""
    published = segmentations.published_scores()
    real = [scores for name, scores in published.items() if "quality_control" not in name and scores["bocpd"][0]]
    part = module("segmentation")
    assert len(real) == part.N_PUBLISHED
    for k, score in enumerate(part.SCORES):
        assert sum(scores["bocpd"][k] for scores in real) / len(real) == pytest.approx(part.PUBLISHED[score], abs=5e-4)
