"""What ``nrm.sample`` adds to a result and says about it; what changes when clusters are renamed is left out."""

import logging
import re
import sys
import warnings

import arviz_plots
import arviz_stats
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.common.marks import partition_number
from pymc_nrm.posterior.label_dependence import changed_by_renaming, mark_variables
from pymc_nrm.run.convergence_report import convergence_report, pair_findings
from pymc_nrm.stats import partition_names, partition_quantities
from pymc_nrm.stats.diagnostics import diagnose
from tests.helpers import result_of
from tests.tools.wings import rows_of_wings

DATA = {"z": np.array([0, 1, 9, 8, 30, 28]), "w": np.array([2, 3, 40, 38])}
ALPHA, SHAPE, RATE = 0.7, 1.0, 0.1


def sample(draws=200, *, chains=2, tune=20, **kwargs):
    """Draws of two partitions, whose steps run in the order w, z."""
    with pm.Model(coords={"site": list("abcdef")}):
        z = nrm.Partition("z", nrm.DirichletProcess(ALPHA), dims="site")
        w = nrm.Partition("w", nrm.DirichletProcess(ALPHA), n=4)
        pm.Normal("x")
        for name, partition in (("z", z), ("w", w)):
            nrm.Mixture(f"data_{name}", partition, nrm.PoissonGamma(SHAPE, RATE), observed=DATA[name])
        steps = [nrm.steps.SplitMerge([w]), nrm.steps.SplitMerge([z])]
        settings = {"step": steps, "random_seed": 1, "cores": 1, "progressbar": False}
        return nrm.sample(draws, chains=chains, tune=tune, **(settings | kwargs))


@pytest.fixture(scope="module")
def idata():
    return sample()


def test_marks_are_in_the_result(idata):
    assert {name: array.attrs.get("partition") for name, array in idata["posterior"].data_vars.items()} == {
        "x": None,
        "z": "z",
        "z_n_clusters": None,
        "w": "w",
        "w_n_clusters": None,
    }
    stats = idata["sample_stats"]
    assert stats["partition"].values.tolist() == ["w", "z"]
    for name in "zw":
        expected = idata["posterior"][name].max(idata["posterior"][name].dims[2]) + 1
        np.testing.assert_array_equal(stats["n_clusters"].sel(partition=name), expected)
    assert stats["n_splits_proposed"].dims == ("chain", "draw", "partition")
    assert stats["tree_depth"].dims == ("chain", "draw")


def test_statistics_of_different_steps_have_the_partitions_of_those_that_report_them():
    """A step that does not report a statistic has NaN, and acceptance rates are of the step that proposed."""
    with pm.Model():
        steps = []
        for name, cls in (("z", nrm.steps.MarginalGibbs), ("w", nrm.steps.SplitMerge), ("v", nrm.steps.MarginalGibbs)):
            partition = nrm.Partition(name, nrm.DirichletProcess(ALPHA), n=4)
            nrm.Mixture(f"data_{name}", partition, nrm.PoissonGamma(SHAPE, RATE), observed=DATA["w"])
            steps.append(cls([partition]))
        settings = {"tune": 4, "chains": 2, "cores": 1, "random_seed": 1, "quiet": True}
        idata = nrm.sample(12, step=steps, discard_tuned_samples=False, **settings)
    for group in ("sample_stats", "warmup_sample_stats"):
        stats = idata[group]
        assert {array.dims for array in stats.data_vars.values()} == {("chain", "draw", "partition")}
        assert stats["partition"].values.tolist() == ["z", "w", "v"]
        missing = {name: array.isnull().any(("chain", "draw")).values.tolist() for name, array in stats.items()}
        assert missing["n_clusters"] == missing["log_joint"] == [False, False, False]
        assert missing["n_splits_proposed"] == [True, False, True]
    for name, kinds in (("z", 0), ("w", 2), ("v", 0)):
        acceptance = idata[f"partition_stats/{name}/acceptance"]
        assert acceptance.sizes.get("kind", 0) == kinds and acceptance.attrs["left_out"] == ""
        assert "log_joint" in idata[f"partition_stats/{name}"]
    expected = idata["sample_stats"]["n_splits_proposed"].sel(partition="w").sum("draw")
    proposed = idata["partition_stats/w/acceptance"]["n_proposed"].sel(kind="split")
    assert proposed.dtype == np.int64 and proposed.values.tolist() == expected.values.tolist()


@pytest.mark.slow
def test_plain_pymc_results_tell_whose_statistics_are_whose():
    """A variable that is always zero looks like a partition, but no step of this package has moved it."""
    with pm.Model():
        for name in ("w", "z"):
            nrm.Partition(name, nrm.DirichletProcess(1.0), n=4)
        pm.Poisson("fake", 1e-12, shape=4)
        result = pm.sample(30, tune=5, chains=1, cores=1, random_seed=1, quiet=True, compute_convergence_checks=False)
    assert sorted(partition_names(result)) == ["w", "z"]
    for name in "wz":
        quantities = partition_quantities(result, name)
        column = result["sample_stats"]["partition_number"].values[0, 0].tolist().index(partition_number(name))
        expected = result["sample_stats"]["log_joint"].values[:, :, column]
        np.testing.assert_array_equal(quantities["log_joint"], expected)


def test_groups(idata):
    assert set(idata["partition_stats"].children) == {"z", "w"}
    for name in "zw":
        group = idata[f"partition_stats/{name}"]
        assert "log_joint" in group["convergence"]["quantity"]
        assert group["acceptance"]["kind"].values.tolist() == ["merge", "split"]
        rate = group["acceptance"]["acceptance_rate"]
        assert ((rate > 0) & (rate <= 1)).all()
        assert group["acceptance"]["n_proposed"].sum() == 2 * 200 * 5
    assert idata["partition_stats/z/pairs"]["item_name"].values[0] == "a"


def test_arviz_works_as_before(idata):
    without = idata.copy()
    del without["partition_stats"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the label of the first item is always 0
        assert arviz_stats.summary(idata).equals(arviz_stats.summary(without))
        assert arviz_stats.ess(idata).equals(arviz_stats.ess(without))
        arviz_plots.plot_trace_dist(idata, var_names=["x", "z_n_clusters"], backend="none")
    group = idata["partition_stats/z"].to_dataset()
    table = arviz_stats.summary(group, var_names=["n_clusters", "log_joint"])
    assert table.index.tolist() == ["n_clusters", "log_joint"]
    arviz_plots.plot_trace_dist(group, var_names=["n_clusters", "log_joint"], backend="none")


@pytest.mark.slow
def test_options():
    few = sample(3, chains=1, compute_convergence_checks=False)
    assert np.isnan(few["partition_stats/z/convergence"]["rhat"]).all()
    assert "z[n_clusters]" in nrm.summary(few).index
    without = sample(3, partition_diagnostics=False)
    assert "partition_stats" not in without.children and "z[n_clusters]" in nrm.summary(without).index
    with pytest.warns(FutureWarning, match="return_inferencedata"):
        trace = sample(3, return_inferencedata=False)
    assert trace["z"].shape == (6, 6)
    tuned = sample(4, tune=6, discard_tuned_samples=False)
    assert tuned["warmup_posterior"].sizes["draw"] == 6
    assert tuned["partition_stats/z"].sizes["draw"] == 4
    np.testing.assert_array_equal(tuned["partition_stats/z/n_clusters"], tuned["posterior"]["z_n_clusters"])
    some = sample(3, var_names=["z", "x"])
    assert set(some["partition_stats"].children) == {"z"}


def test_report_about_pairs_that_chains_disagree_about(rng):
    """Chains that agree on numbers and sizes of clusters, but not on which items belong together."""
    first = rng.integers(2, size=(2, 400))
    labels = np.zeros((2, 400, 4), dtype=int)
    labels[0, :, 2:] = 1
    labels[1, :, 1] = labels[1, :, 3] = 1
    labels[:, :, 3] = np.where(first, labels[:, :, 3], labels[:, :, 2])
    pairs = nrm.stats.partition_convergence(result_of(z=labels))
    [finding] = pair_findings(pairs, "z", 2)
    assert finding.quantity == "items 0, 1 of z" and finding.disagree
    assert finding.diagnosis.startswith("together in 0.00 to 1.00 ")
    assert "z-score" in finding.diagnosis


def test_report_about_pairs_that_are_known_too_little(rng):
    first = rng.integers(2, size=(2, 20)).repeat(20, axis=1)
    labels = np.stack([np.zeros_like(first), first], axis=2)
    [finding] = pair_findings(nrm.stats.partition_convergence(result_of(z=labels)), "z", 2)
    assert not finding.disagree and finding.needed > 1
    assert finding.diagnosis.startswith("probability to be together has standard error")


OFFSETS = np.array([[0.0], [9.0]])
module = sys.modules[convergence_report.__module__]


def report_about(values, nuts=()):
    return module.convergence(result_of(**values), {}, nuts).report


def test_report_puts_the_worst_first(rng):
    good = rng.normal(size=(2, 400))
    slow = np.repeat(rng.normal(size=(2, 50)), 8, axis=1)
    lines = report_about({"slow": slow, "good": good, "apart": good + OFFSETS, "still": 0 * good}).splitlines()
    start = "Convergence of 2 chains with 400 draws each: the chains disagree; "
    assert lines[0] == start + "2 of 3 quantities failed."
    assert lines[1].startswith("  apart  R-hat 1.") and lines[2].startswith("  slow   ")
    assert lines[2].endswith(" of at least 200")
    assert lines[3] == "These draws are not from the posterior yet."
    assert '"When chains disagree"' in lines[-1]


def test_report_says_how_many_draws_short_chains_need(rng):
    lines = report_about({"x": np.repeat(rng.normal(size=(4, 100)), 4, axis=1)}).splitlines()
    ess = int(lines[1].split(" of at least 400")[0].split()[-1])
    assert lines[0].endswith("nearly fine; 1 of 1 quantities fall short.") and len(lines) == 3
    draws = int(lines[2].removeprefix("About ").removesuffix(" draws for each chain would do."))
    assert 400 * 400 / (ess + 1) <= draws <= 1.5 * 400 * 400 / (ess - 1)


@pytest.mark.parametrize(
    ("rhat", "n_draws", "grade"),
    [
        (1.0149, 400, None),
        (1.0151, 400, "nearly fine"),
        (1.049, 400, "nearly fine"),
        (1.06, 400, "chains disagree"),
        (1.0149, 150, None),
        (1.13, 150, "too few draws"),
        (1.14, 150, "chains disagree"),
    ],
)
def test_grades(monkeypatch, rhat, n_draws, grade):
    row = {"rhat": rhat, "ess_bulk": 500.0, "ess_tail": 500.0, "constant": False}
    table = xr.Dataset({key: ("quantity", [value]) for key, value in row.items()}, coords={"quantity": ["x"]})
    monkeypatch.setattr(module, "convergence_table", lambda arrays: table)
    report = report_about({"x": np.zeros((2, n_draws))})
    assert (report == "") == (grade is None)
    assert grade is None or grade in report.splitlines()[0]
    assert ("draws for each chain would do" in report) == (grade in ("nearly fine", "too few draws"))


def test_report_is_cut_and_names_nuts_first(rng):
    stuck = rng.normal(size=(2, 400)) + OFFSETS
    lines = report_about({f"x{k}": stuck + k for k in range(11)}, ["There were 3 divergences."]).splitlines()
    assert lines[0] == "There were 3 divergences." and "11 of 11" in lines[1]
    assert sum(line.startswith("  x") for line in lines) == 5
    assert "  and 6 more, see nrm.summary(idata)" in lines
    assert max(map(len, lines)) <= 100
    report = report_about({"x": rng.normal(size=(2, 400))}, ["There was 1 divergence."])
    assert report == "There was 1 divergence.\nConvergence of 2 chains with 400 draws each: fine but for this."


def test_the_log_has_a_sentence_and_at_most_five_rows(rng):
    """The sentence says how good the run is and what would do; the rows are the worst, in lines of 100 characters."""
    good, apart = rng.normal(size=(2, 400)), rng.normal(size=(2, 400)) + OFFSETS
    short = np.repeat(rng.normal(size=(4, 100)), 4, axis=1)

    def brief(nuts=(), **values):
        return module.convergence(result_of(**values), {}, nuts).brief().splitlines()

    start = "Convergence of 2 chains with 400 draws each: "
    assert brief(x=good) == [f"{start}fine."]
    sentence, row = brief(x=short)
    assert ": nearly fine; about " in sentence and row.startswith("  x  ") and "effective sample size " in row
    lines = brief(["There were 3 divergences. Increase x.", "Chain 0 is slow. Decrease y."], x=good)
    assert lines[:2] == [f"{start}fine but for this.", "  There were 3 divergences. Chain 0 is slow."]
    sentence, after, *rows = brief(["There was 1 divergence."], **{f"{'x' * k}": apart for k in range(1, 90, 9)})
    assert sentence + " " + after == (
        f"{start}the chains disagree about 10 of 10 quantities; these draws are not from the posterior yet."
    )
    starts = [row for row in rows if not row.startswith("    ")]
    assert len(starts) == 5 and starts[0] == "  There was 1 divergence."
    assert starts[-1] == "  full report: print(nrm.convergence_report(idata))"
    assert max(map(len, (sentence, after, *rows))) <= 100


def test_all_that_was_checked_can_be_asked_for(rng):
    """From the result alone, with its diagnostics or without them."""
    labels = rng.integers(2, size=(2, 400, 5))
    labels[:, :, 0] = labels[1] = 0
    labels = np.where(labels == labels[..., :1], 0, 1)
    idata = result_of(z=labels)
    report = nrm.convergence_report(idata)
    assert report == convergence_report(idata, {"z": diagnose(idata, "z")}, ()) and "chains disagree" in report
    assert nrm.convergence_report(nrm.stats.add_diagnostics(idata)) == report
    idata["sample_stats"] = xr.DataTree(xr.Dataset({"diverging": (("chain", "draw"), np.ones((2, 400)))}))
    assert nrm.convergence_report(idata).startswith("There were 800 divergences after tuning. Increase")
    assert nrm.convergence_report(result_of(x=rng.normal(size=(2, 400)))).endswith(" draws each: fine.")
    with pytest.raises(TypeError, match="idata must be a DataTree with the group posterior; got Dataset"):
        nrm.convergence_report(xr.Dataset())


def test_values_that_are_not_finite_hide_nothing(rng):
    """Entries that are finite in every draw are judged, and a line says what is not; padding is no quantity."""
    y = rng.normal(size=(2, 400, 3))
    y[:, :, 1] += OFFSETS
    y[1, 7, 0], y[:, :, 2] = np.nan, np.nan
    report = nrm.convergence_report(result_of(y=y))
    assert "the chains disagree; 1 of 1 quantities failed." in report
    assert report.endswith("y is judged without 1 of 3 entries, which are not finite in some draws.")
    x = rng.normal(size=(2, 400))
    x[0, 3] = np.inf
    said = module.convergence(result_of(x=x, y=y[:, :, 1:2]), {}, ())
    assert "1 of 1 quantities failed." in said.report
    assert said.remarks == ("x is not judged: it is not finite in some draws.",)
    assert nrm.convergence_report(result_of(y=y[:, :, 2])).endswith(" draws each: fine.")


def test_nothing_is_reported_about_good_chains(rng):
    assert report_about({"x": rng.normal(size=(2, 400))}) == ""
    assert report_about({"x": rng.normal(size=(1, 400))}).startswith("Only one chain was sampled")
    assert report_about({"x": rng.normal(size=(2, 40))}).startswith("Only 40 draws per chain")


def test_fine_is_said_in_a_line(caplog):
    with pm.Model(), caplog.at_level(logging.INFO):
        pm.Normal("x")
        nrm.sample(500, tune=300, chains=2, cores=1, random_seed=1, progressbar=False)
    assert "Convergence of 2 chains with 500 draws each: fine." in caplog.messages


@pytest.mark.parametrize(("n", "is_told"), [(19, False), (20, True)])
def test_many_clusters_are_told_where_to_go(n, is_told):
    result = result_of(z=np.tile(np.arange(n), (2, 100, 1)))
    found = module.convergence(result, {"z": diagnose(result, "z")}, ())
    assert [text.split(";")[0] for text in found.remarks] == is_told * [f"z has {n} clusters on average"]
    assert ("z has 20 clusters on average" in found.brief()) == is_told


def test_clusters_without_overlap_are_not_told_to_be_fused():
    """fused_estimate compares densities of clusters, which not all families have."""
    t = np.tile(np.arange(3.0), (20, 1))
    families = [("nrm.fused_estimate", nrm.NormalGamma(np.zeros(3), 1.0, 2.0, np.ones(3)))]
    families += [("nrm.point_estimate(idata, max_clusters=6)", make(t)) for make in rows_of_wings("NOT_FUSED").values()]
    for function, family in families:
        with pm.Model() as model:
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=20)
            nrm.Mixture("x", z, family, observed=t)
        result = result_of(z=np.tile(np.arange(20), (2, 100, 1)))
        mark_variables(result, model)
        [remark] = module.convergence(result, {"z": diagnose(result, "z")}, ()).remarks
        assert function in remark


def test_one_report_is_logged_about_all_partitions(caplog):
    """One item of the first partition is moved at each draw, so that it mixes slowly; the second one mixes well."""
    with pm.Model():
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
        w = nrm.Partition("w", nrm.DirichletProcess(1.0), n=4)
        for name, partition in (("z", z), ("w", w)):
            nrm.Mixture(f"data_{name}", partition, nrm.PoissonGamma(SHAPE, RATE), observed=DATA[name] // 10)
        steps = [nrm.steps.SplitMerge([z], n_moves=0, n_items=1), nrm.steps.SplitMerge([w])]
        with caplog.at_level(logging.WARNING, logger="pymc_nrm"):
            nrm.sample(500, tune=0, chains=2, cores=1, random_seed=2, step=steps, progressbar=False)
    [record] = caplog.records
    assert " of z  " in record.message
    assert not [line for line in record.message.splitlines() if line.startswith("  items") and " of w" in line]


def test_nothing_is_said_about_independent_draws(rng):
    labels = rng.integers(2, size=(4, 1000, 5))
    labels = np.where(labels == labels[..., :1], 0, 1)
    tree = diagnose(result_of(z=labels), "z")
    assert pair_findings(tree["pairs"].to_dataset(), "z", 4) == []
    assert partition_quantities(result_of(z=labels)).sizes["rank"] == 2


ROWS = np.array([0, 0, 1, 2, 2, 3])
INVARIANT = {
    "of_items": lambda z, b, c, u: b[z],
    "of_rows": lambda z, b, c, u: b[z][ROWS],
    "of_rows_at_once": lambda z, b, c, u: pt.exp(b[z[ROWS]]) + u,
    "one_item": lambda z, b, c, u: b[z[0]],
    "one_item_from_all": lambda z, b, c, u: b[z][0],
    "column": lambda z, b, c, u: c[z, 1],
    "columns": lambda z, b, c, u: c[z],
    "transformed": lambda z, b, c, u: (u * b + 1)[z],
    "matrix": lambda z, b, c, u: (c * b[:, None])[z, 0],
    "sum_of_slots": lambda z, b, c, u: b.sum() + c.max(axis=0)[0],
    "together": lambda z, b, c, u: pt.eq(z[:, None], z[None, :]),
    "two_items": lambda z, b, c, u: pt.eq(z[0], z[1]),
    "share": lambda z, b, c, u: pt.eq(z, z[0]).mean(),
    "no_labels": lambda z, b, c, u: 2 * u,
    "number_of_items": lambda z, b, c, u: z.shape[0] * u,
}
CHANGED = {
    "labels": lambda z, b, c, u: z + 1,
    "same_labels": lambda z, b, c, u: z,
    "label": lambda z, b, c, u: z[0],
    "is_first": lambda z, b, c, u: pt.eq(z, 0),
    "mean_label": lambda z, b, c, u: z.mean(),
    "first": lambda z, b, c, u: b[0],
    "later": lambda z, b, c, u: b[1:] * 1.0,
    "difference": lambda z, b, c, u: b[1] - b[0],
    "ordered_slots": lambda z, b, c, u: (b * np.arange(3.0))[z],
    "constants": lambda z, b, c, u: pt.as_tensor(np.arange(3.0))[z],
    "entry": lambda z, b, c, u: c[0, 1],
    "slots_of_rows": lambda z, b, c, u: c[ROWS % 3, 0][z[:1]],
    "cumulative": lambda z, b, c, u: pt.cumsum(b)[1],
    "dot": lambda z, b, c, u: pt.dot(b, np.array([1.0, 2.0, 3.0])),
    "transposed": lambda z, b, c, u: c.T[0] + b,
    "with_labels": lambda z, b, c, u: b[z] * z,
}


def model_with(functions):
    with pm.Model(coords={"item": range(4)}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="item", max_clusters=3)
        u = pm.Normal("u")
        b = pm.Normal("b", u, 1, shape=3)
        c = pm.Normal("c", 0, 1, shape=(3, 2))
        for name, function in functions.items():
            pm.Deterministic(name, function(z, b, c, u))
        pm.Normal("y", b[z] + c[z, 0] * c[z, 1], 1, observed=np.arange(4.0))
    return model


def test_roles():
    model = model_with(INVARIANT | CHANGED)
    found = changed_by_renaming(model, {"z": ["b", "c"]})
    assert found == dict.fromkeys(CHANGED, "z")


def test_values_agree_with_roles():
    """What is free of names has the same values after slots were renamed; everything else changes."""
    model = model_with(INVARIANT | CHANGED)
    rng = np.random.default_rng(1)
    names = [*INVARIANT, *CHANGED]
    variables = [model[name] for name in names]
    inputs = [model["z"], model["b"], model["c"], model["u"]]
    z, b, c, u = np.array([0, 2, 2, 1]), rng.normal(size=3), rng.normal(size=(3, 2)), 0.7
    rename = np.array([1, 2, 0])
    b2, c2 = np.empty(3), np.empty((3, 2))
    b2[rename], c2[rename] = b, c

    def values(z, b, c):
        given = dict(zip(inputs, (z, b, c, u), strict=True))
        return [one.eval(given, on_unused_input="ignore") for one in variables]

    for name, before, after in zip(names, values(z, b, c), values(rename[z], b2, c2), strict=True):
        assert np.allclose(before, after) == (name in INVARIANT), name


def test_labels_without_slots():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
        w = nrm.Partition("w", nrm.DirichletProcess(1.0), n=4)
        pm.Deterministic("number", z.max() + 1)
        pm.Deterministic("both", pt.eq(z, w))
        pm.Deterministic("zz", z + 1)
    assert changed_by_renaming(model, {}) == {"both": "z", "zz": "z"}


@pytest.mark.quick("full")
@pytest.mark.parametrize("label_storage", ["full", "none"])
def test_left_out_and_said(caplog, label_storage):
    model = model_with({"zz": CHANGED["labels"], "first": CHANGED["first"], "of_items": INVARIANT["of_items"]})
    options = {"tune": 10, "chains": 2, "cores": 1, "random_seed": 1, "nuts": {"max_treedepth": 3}}
    with caplog.at_level(logging.INFO):
        idata = nrm.sample(110, model=model, label_storage=label_storage, progressbar=False, **options)
    said = nrm.convergence_report(idata).splitlines()[-1]
    assert said == "zz, first are not judged: they may change when clusters are renamed."
    assert any(message.startswith("Convergence of 2 chains with 110 draws each: ") for message in caplog.messages)
    assert not any(line.startswith(("  zz", "  first")) for line in caplog.text.splitlines())
    if label_storage == "full":
        rows = {row.split("[")[0] for row in nrm.summary(idata).index}
        assert rows == {"z", "u", "of_items"}
        assert {"zz", "first"}.isdisjoint(nrm.stats.without_labels(idata)["posterior"].data_vars)
        assert "first" in nrm.summary(idata, ["first"]).index


def thinned(values, divergences=0):
    """A result that keeps 1 draw in 10 of a variable; NUTS counted divergences, none of them at a draw that is kept."""
    n_chains, n_draws = values.shape
    counts = np.linspace(0.0, 1.0, n_draws) * np.broadcast_to(divergences, n_chains)[:, None]
    stats = {
        name: (("chain", "draw"), counts.astype(int) * factor)
        for name, factor in (("divergences", 1), ("diverging", 0))
    }
    posterior = xr.Dataset({"mu": (("chain", "draw"), values)}).assign_attrs(thin=10)
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": xr.Dataset(stats)})


def test_divergences_between_draws_that_are_kept():
    values = np.random.default_rng(1).normal(size=(2, 500))
    assert "There were 17 divergences after tuning" in convergence_report(thinned(values, (8, 9)))
    assert "divergence" not in convergence_report(thinned(values))


def test_draws_that_would_do_are_those_of_the_argument():
    values = np.repeat(np.random.default_rng(1).normal(size=(4, 80)), 5, axis=1)
    report = " ".join(convergence_report(thinned(values)).split())
    [enough] = re.findall(r"About ([0-9]+) draws for each chain would do, of which 1 in 10 is kept", report)
    assert int(enough) > 4000


def test_partitions_that_are_not_kept_are_judged_by_their_step(caplog):
    with caplog.at_level(logging.INFO):
        idata = sample(50, var_names=["x"])
    assert list(idata["posterior"].data_vars) == ["x"] and set(idata["partition_stats"].children) == {"w", "z"}
    assert idata["partition_stats"]["z"]["n_clusters"].shape == (2, 50)
    assert "whether chains agree about pairs of items is not checked" in caplog.text
