"""The benchmarks can be imported, and their report says what was measured; no test measures time."""

import importlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

ROOT = pathlib.Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
NAMES = (
    *("accuracy", "gibbs_sweep", "samplers", "samplers_published", "ablation", "stock_pymc", "labels_as_index"),
    *("collapsed_regressions", "regression", "held_out", "real_data", "tables", "agreement_of_chains"),
    *("documents", "trees_of_items", "nested_sweeps"),
    *("first_minutes", "latency", "memory", "scaling", "large", "chunks", "equal_time"),
)


@pytest.fixture
def module(monkeypatch):
    """Import modules of the benchmarks as their scripts do."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # scripts set these, which must not affect later tests
    return importlib.import_module


@pytest.fixture
def report(module):
    return module("report")


@pytest.fixture
def made_up(module, report):
    """Two parts with results: one with a picture and claims, one with neither, which measured nothing."""
    part = module("common.part")

    def pictures(rows, folder):
        (pathlib.Path(folder) / "first_times.png").write_bytes(b"picture")
        return {"first_times.png": "Times of the first part"}

    def headline(rows):
        value = rows[0]["value"]
        return [("Twice as fast", f"{value} (2.1 to 2.9)", "at least 2", value >= 2), ("Memory", "3 MB", None, None)]

    first = part.Part("first", print, lambda rows: part.columns(rows, {"value": "value"}), pictures, headline)
    second = part.Part("second", print, lambda rows: rows[0], headline=lambda rows: rows[0])
    common = {"quick": False, "seconds": 12.3, "cpu_seconds": 11.0}
    busy = common | {"machine": "A CPU, load 0.1; Python", "notes": ["peer skipped"], "rows": [{"value": 2.5}]}
    idle = common | {"machine": "A CPU, load 2.3; Python", "notes": [], "rows": []}
    return [report.Result(first, busy), report.Result(second, idle)]


@pytest.mark.parametrize(
    ("values", "median", "text"),
    [([3.0, 1.0, 2.0], 2.0, "2 (1 to 3)"), ([4.0, 1.0, 2.0, 3.0], 2.5, "2.5 (1 to 4)"), ([1.5], 1.5, "1.5")],
    ids=str,
)
def test_spread_is_median_and_range(module, values, median, text):
    part = module("common.part")
    found = part.spread(values)
    assert found == {"median": median, "least": min(values), "most": max(values)}
    assert part.interval(found) == text


def test_tables_of_rows(module):
    part = module("common.part")
    rows = [{"a": "x", "b": 0.12345}, {"a": "y", "b": None}, {"a": "x", "b": 12345.6}]
    text = part.columns(rows, {"name": "a", "value": "b", "length": lambda row: len(row["a"])})
    titles = "| name | value | length |\n| --- | --- | --- |\n"
    assert text == f"{titles}| x | 0.123 | 1 |\n| y | - | 1 |\n| x | 12,346 | 1 |\n"
    assert part.where(rows, a="x") == rows[::2] == part.groups(rows, "a")["x"]
    assert list(part.groups(rows, "a", "b")) == [("x", 0.12345), ("y", None), ("x", 12345.6)]


def test_rows_of_other_sets_and_methods_are_kept(module, monkeypatch, tmp_path):
    part = module("common.part")
    monkeypatch.setattr(part, "RESULTS", tmp_path)
    rows = [{"set": name, "method": method} for name in "ab" for method in "xy"]
    (tmp_path / "some.json").write_text(json.dumps({"rows": rows}))
    notes = []
    assert part.rows_to_keep("some", False, notes.append, ["a"], ["x"]) == rows[1:]
    assert part.rows_to_keep("some", False, notes.append, ["a"]) == rows[2:]
    assert len(notes) == 2 and part.rows_to_keep("some", False, notes.append, None, None) == []


def test_what_is_absent_is_skipped_with_a_note(module):
    part, notes = module("common.part"), []
    with part.skipping("set a", notes.append):
        raise FileNotFoundError("a.csv is not there")
    with part.skipping("peer", notes.append):
        importlib.import_module("no_such_package")
    assert notes == ["set a skipped: a.csv is not there", "peer skipped: no_such_package is not installed"]
    with pytest.raises(ValueError, match="other"), part.skipping("peer", notes.append):
        raise ValueError("other")


def test_report_has_claims_notes_tables_pictures(report, made_up, tmp_path):
    text = report.report(made_up, tmp_path, failed=["second"])
    assert text.index("Twice as fast") < text.index("## first") < text.index("## second")
    assert "| Twice as fast | 2.5 (2.1 to 2.9) | at least 2 | yes |" in text and "| Memory | 3 MB | - | - |" in text
    assert "Measured on A CPU; Python." in text  # the load is not a property of the machine
    assert "- peer skipped" in text and "| 2.5 |" in text and "11 CPU seconds" in text
    assert "![Times of the first part](first_times.png)" in text and (tmp_path / "first_times.png").exists()
    assert "Nothing was measured." in text.split("## second")[1]
    assert text.count("these are results of an earlier one") == 1
    assert "No results of: accuracy, gibbs_sweep" in text
    made_up[0].found["rows"][0]["value"] = 1.5
    assert "| at least 2 | **no** |" in report.headline(made_up)


def test_latency_fills_caches_before_it_finds_them(module, monkeypatch):
    latency = module("latency")
    calls = []

    def call(function, *, cache=None, **arguments):
        if function is latency.time_per_draw:
            return [[1.0, 2.0, 3.0]] * 10
        calls.append((function, cache, arguments))
        return 1.0 + len(calls), 1.0

    monkeypatch.setattr(latency, "call", call)
    rows = latency.measure(False, lambda text: None)
    firsts = [row for row in rows if row["what"] == "first draw"]
    # For Gaussians, three samplers with numbers and with NUTS; for two other families, one sampler each.
    assert sum(row["cache"] == "warm" for row in firsts) == 8 and len(latency.table(rows).splitlines()) > 30
    assert [row["sampler"] for row in firsts if row["cache"] == "cold"] == [*latency.SAMPLERS, *["TreeGuided"] * 2]
    assert [row["hyperparameters"] for row in firsts if row["cache"] == "kernels only"] == ["NUTS"]
    # Cold calls use folders that no earlier call has used, and their warm repeats use the same folders.
    drawn = [(cache["numba"], cache["pytensor"]) for function, cache, _ in calls if function is latency.first_draw]
    for place, (numba, pytensor) in enumerate(drawn):
        if place % 4 == 0 and calls[place + 7][2]["hyperparameters"] == "fixed":
            assert all(numba != other[0] and pytensor != other[1] for other in drawn[:place])
        assert drawn[place - place % 4] == (numba, pytensor)


def test_agreement_and_calibration_of_pairs(module):
    fits = module("common.real_data_fits")
    assert fits.adjusted_rand_index([0, 0, 1, 1], [5, 5, 3, 3]) == 1.0
    # Two partitions that cross: no pair in common, of 2 and 2 pairs among 6, where 2/3 are expected.
    assert fits.adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx((0 - 2 / 3) / (2 - 2 / 3))
    # Three pairs share a cluster, all of one class, which has six pairs.
    assert fits.precision_and_recall([0, 0, 0, 1, 2], [0, 0, 0, 0, 1]) == (1.0, 3 / 6)
    assert fits.precision_and_recall([0, 0, 0, 0], [0, 0, 1, 1]) == (2 / 6, 1.0)
    classes = np.array([0, 0, 1])
    similarity = np.array([[1, 0.8, 0.25], [0.8, 1, 0.25], [0.25, 0.25, 1]])
    assert fits.brier_score(similarity, classes) == pytest.approx((0.2**2 + 2 * 0.25**2) / 3)
    found = [tuple(line.values()) for line in fits.reliability(similarity, classes)]
    assert found == [(2, 0.25, 0.0), (1, 0.8, 1.0)]
    assert fits.brier_score(fits.together(classes), classes) == 0.0


def test_held_out_items_are_a_third_that_the_method_has_not_seen(module):
    fits, sets = module("common.real_data_fits"), module("common.real_data_sets")
    data = sets.load("old faithful")
    seen = []

    def method(train, seed):
        seen.append(train.X)
        return fits.Fit(None, 0.0, lambda X: seen.append(X) or np.arange(len(X), dtype=float))

    n_test = len(fits.split(272)[1])
    assert fits.held_out(data, method) == pytest.approx((n_test - 1) / 2)
    train, test = seen
    assert len(test) == n_test == 91 and len(train) == 181
    # Waiting times are whole minutes: they have lost no more than half of one.
    rounded = np.sort(np.concatenate([train["waiting"], test["waiting"]]).round())
    assert np.abs(rounded - np.sort(data.X["waiting"])).max() <= 1
    X = np.array([[0.1, 5.0], [0.3, 5.0], [0.6, 5.0]])
    np.testing.assert_allclose(sets.rounding(X), [0.2, 0.0])


def test_latent_classes_find_two_groups_and_a_normalized_density(module):
    sets, latent = module("common.real_data_sets"), module("peers.latent_classes")
    rng = np.random.default_rng(1)
    classes = np.repeat([0, 1], 60)
    values = (rng.random((120, 6)) < np.where(classes[:, None] == 0, 0.1, 0.9)).astype(int)
    data = sets.DataSet("two groups", "binary", pd.DataFrame(values), classes, ["a", "b"], "")
    found = latent.fit(data, 1)
    assert module("common.real_data_fits").adjusted_rand_index(found.labels, classes) > 0.9
    every = pd.DataFrame(list(itertools.product([0, 1], repeat=6)))
    assert np.exp(found.log_density(every)).sum() == pytest.approx(1.0)


def test_chains_agree_only_if_every_quantity_does(module):
    part = module("agreement_of_chains")
    values = np.random.default_rng(1).normal(size=(4, 1000, 5))
    assert part.agree(part.state_after(values, 1000))
    assert not part.agree(part.state_after(values, 50))
    values[..., 4] = 0.0
    assert part.agree(part.state_after(values, 1000))
    values[0, :, 3] += 0.5
    found = part.state_after(values, 1000)
    assert not part.agree(found) and found["worst pair"]["rhat"] > 1.01 > found["log joint"]["rhat"]
    values[..., 3] = np.arange(4)[:, None]
    assert not part.agree(part.state_after(values, 1000))
    [(_, measured, _, met)] = part.headline([{"seconds": 59.0}, {"seconds": 61.0}, {"seconds": None}])
    assert (measured, met) == ("1 of 3", False)


def test_simulated_trees_and_starts_of_sweeps_are_nested(module):
    trees = module("common.tree_sets")
    for data, n in ((trees.diffusion(60, 4), 60), (trees.balanced(50, 4), 50), (trees.heavy_tails(72, 4), 72)):
        assert data.X.shape == (n, 4) and data.truth.shape == (3, n)
        for above, below in itertools.pairwise(data.truth):
            assert len(set(zip(above, below, strict=True))) == len(set(below)), "a class is in one class above"
    assert np.bincount(trees.heavy_tails(72, 4).truth[-1]).tolist() == [2] * 36
    far = trees.diffusion(400, 3, steps=(1e6, 1e-6, 1e-6))
    centres = np.stack([far.X[far.truth[0] == k].mean(axis=0) for k in range(far.truth[0].max() + 1)])
    assert np.abs(far.X - centres[far.truth[0]]).max() < 6
    sweeps = module("nested_sweeps")
    for start, value in sweeps.starts_of(trees.diffusion(40, 3), np.random.default_rng(1)).items():
        if value is not None:
            assert value.shape == (40, 3) and (value[0] == 0).all(), start
            for above, below in itertools.pairwise(value.T):
                assert len(set(zip(above, below, strict=True))) == len(set(below)), start


def test_condensed_trees_are_cut_by_depth(module):
    linkages = module("common.tree_methods")
    # Item 6 leaves the root, 7, which splits into 8 (items 0 to 2) and 9 (items 3 to 5); 5 leaves 9, which splits too.
    edges = [(7, 8), (7, 9), (7, 6), (8, 0), (8, 1), (8, 2), (9, 10), (9, 11), (9, 5), (10, 3), (11, 4)]
    edges = np.array(edges, dtype=[("parent", "i8"), ("child", "i8")])
    assert linkages.condensed_levels(edges, 7, 2).tolist() == [[8, 8, 8, 9, 9, 9, 6], [8, 8, 8, 10, 11, 5, 6]]


def test_trees_of_items_are_compared_level_by_level(module):
    part, trees, methods = module("trees_of_items"), module("common.tree_sets"), module("common.tree_methods")
    truth = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2]])
    data = trees.TreeData("six", np.zeros((6, 2)), truth, "made up")
    heights = [[0, 1, 1, 2], [2, 3, 1, 2], [4, 5, 1, 2], [6, 7, 2, 4], [8, 9, 3, 6]]
    tree = methods.ItemTree.from_linkage(heights)
    binary = part.evaluated(data, "Ward", methods.TreeFit(0.5, tree, linkage=np.array(heights, dtype=float)), [2, 4])
    assert [level["adjusted_rand"] for level in binary["at_truth"]] == [1.0, 1.0]
    assert [level["n_clusters"] for level in binary["at_ours"]] == [2, 3]  # there is no cut into four
    assert binary["dendrogram_purity"] == [1.0, 1.0] and binary["triplet_accuracy"] == 1.0
    ours = part.evaluated(data, part.OURS, methods.TreeFit(1.5, tree, levels=truth[[0, 0]]), None)
    assert [level["adjusted_rand"] < 1 for level in ours["own"]] == [False, True]
    assert "| six | **1.00**, " in part.table([ours, binary])
    [(_, measured, target, met)] = part.headline([ours, binary])
    assert measured == "1 of 2 levels of 1 sets" and target is None and met is None


@pytest.mark.parametrize("name", NAMES)
def test_script_defines_a_part(name, module):
    part = module(name).PART
    assert part.name == name
    for function in (part.measure, part.table, part.pictures or print, part.headline or print):
        assert callable(function)


def test_all_parts_are_run(module):
    assert module("run").NAMES == NAMES
    assert callable(module("tree_bounds").main)
    assert callable(module("published_subclusters").main)


def test_run_goes_on_after_a_failure(tmp_path):
    # A separate folder with three parts: one fails, one is missing, one succeeds.
    copy = tmp_path / "benchmarks"
    shutil.copytree(FOLDER / "common", copy / "common")
    text = (FOLDER / "run.py").read_text()
    text = text.replace("FOLDER = Path", 'NAMES = ("broken", "missing", "sound")\nFOLDER = Path')
    (copy / "run.py").write_text(text)
    (copy / "broken.py").write_text("raise SystemExit(3)\n")
    print_arguments = "print('sound', os.environ['OMP_NUM_THREADS'], *arguments)"
    main = f"    def main(arguments):\n        {print_arguments}\n"
    (copy / "sound.py").write_text(f"import os\nclass PART:\n{main}")
    (copy / "report.py").write_text("import sys\nprint('report', *sys.argv[2:])\n")
    environment = os.environ | {"PYTHONPATH": str(copy)}

    def run(*arguments):
        command = [sys.executable, copy / "run.py", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    done = run("--quick")
    assert done.returncode == 1, done.stderr
    assert f"sound 1 --quick --output {copy / 'results-quick'}" in done.stdout
    assert "report --failed broken missing" in done.stdout
    assert "Failed: broken, missing" in done.stdout
    assert run("--only", "sound").returncode == 0
    assert "invalid choice: 'unknown'" in run("--only", "unknown").stderr


def test_stored_report_says_what_was_measured(report):
    results = report.read_results(report.RESULTS)
    if not results:
        pytest.skip("no results are stored")
    assert not any(result.found["quick"] for result in results)
    stored = (report.RESULTS / "REPORT.md").read_text(encoding="utf-8")
    assert stored.startswith(f"{report.head(results)}## {results[0].part.name}\n")
    for part, found in results:
        assert f"\n{part.table(found['rows'])}" in stored, part.name
