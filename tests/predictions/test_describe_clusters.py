"""Descriptions of clusters, and estimates whose clusters are fused components."""

import importlib

import cloudpickle
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.posterior.describe_values import describe_column
from pymc_nrm.posterior.described_columns import Column
from pymc_nrm.posterior.fused_estimate import cut_fusions, fuse
from tests.helpers import mixture_of, refused
from tests.predictions.prediction_cases import line_model, skewed_group

N = 24
LABELS = np.repeat([0, 1, 2], [6, 12, 6])


def draws_of(*rows):
    return xr.Dataset({"z": (("chain", "draw", "item"), np.array([rows]))})


def a_table():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "mass": 4000.0 + 1000.0 * LABELS + rng.normal(0, 100, N),
            "gaps": np.where(rng.random(N) < 0.3, np.nan, rng.normal(size=N)),
            "colour": np.where(rng.random(N) < 0.2, None, np.array(["red", "blue", "grey"])[LABELS]),
            "wings": rng.random(N) < 0.5,
            "visits": rng.poisson(3, N),
        }
    )


@pytest.fixture(scope="module")
def described():
    df = a_table()
    model = nrm.mixture_model(df, kinds={"visits": "count"}, covariance="diagonal", jitter_ties=False)
    return df, nrm.describe(draws_of(LABELS, LABELS, np.minimum(LABELS, 1)), model, LABELS, ci_prob=0.5)


@pytest.mark.parametrize("shown", [True, False])
def test_bars_are_shown_if_the_run_showed_them(shown, monkeypatch):
    asked = []
    # The package has the function in place of the module of this name.
    module = importlib.import_module("pymc_nrm.posterior.fused_estimate")
    monkeypatch.setattr(module, "tracked", lambda rows, title, progressbar: (asked.append(progressbar), rows)[1])
    model = nrm.gaussian_mixture(np.random.default_rng(2).normal(size=(12, 1)))
    with model:
        idata = nrm.sample(4, tune=4, chains=1, random_seed=1, progressbar=shown, partition_diagnostics=False)
    nrm.describe(idata, model)
    assert asked == [shown]


def describe(kind, values, labels, unit=""):
    return describe_column(Column("x", kind, None, np.asarray(values, dtype="float64"), unit=unit), np.asarray(labels))


def test_units_follow_amounts_and_not_shares():
    rain = describe("zero or positive", [0, 0, 0, 0, 3, 4, 0, 5], [0, 0, 0, 0, 1, 1, 1, 1], "mm")
    assert rain.cells == ["0 100 %", "0 25 %, else 4, 3 to 5 mm"]
    assert rain.apart == ["0: 100 % (25 %)", "above 0: 75 % (0 %)"]
    mass = describe("positive", [1, 2, 8, 9], [0, 0, 1, 1], "kg")
    assert mass.apart == ["low 1.5 kg (8.5)", "high 8.5 kg (1.5)"]


def test_a_constant_column_of_logarithms_sets_nothing_apart():
    """Differences of logarithms that are rounding errors came first."""
    constant = describe("positive", np.full(50, 0.7), np.arange(50) % 3 != 0)
    assert np.isnan(constant.differences).all() and constant.apart == ["average 0.7 (0.7)"] * 2


def test_words_agree_with_the_medians_that_are_shown():
    """A few values near zero move the mean of logarithms, and not the median."""
    labels = np.arange(40) % 2
    values = np.where(labels == 0, 6.0, np.where(np.arange(40) < 18, 0.01, 7.0))
    assert describe("positive", values, labels).apart == ["average 6 (7)", "average 7 (6)"]


def test_a_level_that_is_called_missing_and_columns_without_values():
    df = pd.DataFrame({"a": ["missing", "yes", None, "yes", "yes", None, None], "b": [None] * 7, "c": [1.0] * 7})
    model = nrm.gaussian_mixture(np.arange(7.0))
    labels = [0, 0, 0, 1, 1, 1, 1]
    table = nrm.describe(draws_of(labels), model, labels, data=df).table.loc[[0, 1]]
    assert table["a", "missing"].tolist() == [0.5, 0.0]
    assert table["a", "n_missing"].tolist() == [1, 2] and table["b", "missing"].tolist() == [3, 4]


def test_statistics_are_those_of_pandas(described):
    df, description = described
    table = description.table
    assert table.index.tolist() == [1, 0, 2] and table.index.name == "cluster"
    groups = df.groupby(LABELS)
    for name in ("mass", "gaps", "visits"):
        np.testing.assert_allclose(table[name]["mean"].sort_index(), groups[name].mean())
        np.testing.assert_allclose(table[name]["sd"].sort_index(), groups[name].std())
    np.testing.assert_allclose(table["wings"]["yes"].sort_index(), groups["wings"].mean())
    shares = pd.crosstab(LABELS, df["colour"], normalize="index")
    for level in ("red", "blue", "grey"):
        np.testing.assert_allclose(table["colour"][level].sort_index(), shares[level])
    assert table["gaps"]["missing"].sort_index().tolist() == groups["gaps"].apply(lambda x: x.isna().sum()).tolist()
    assert "missing" not in table["mass"]


def test_size_and_certainty(described):
    _, description = described
    own = description.table["cluster"]
    assert own["size"].tolist() == [12, 6, 6]
    # Two of three draws have all clusters, the third joins the last two.
    np.testing.assert_allclose(own["certainty"], [1.0, 1.0, 1.0])
    assert own["together_low"].tolist() == own["together_high"].tolist() == [12, 6, 6]
    assert own["others_low"].tolist() == [0, 0, 0] and own["others_high"].tolist() == [6, 0, 12]
    cells = description.cells[["items", "together", "others"]].to_numpy().tolist()
    assert cells == [["12", "12", "0 to 6"], ["6", "6", "0"], ["6", "6", "0 to 12"]]


def test_what_sets_clusters_apart(described):
    df, description = described
    apart = description.entries
    for k in (0, 2):
        entries = apart[k].split("; ")
        inside, rest = df["mass"][k == LABELS].mean(), df["mass"][k != LABELS].mean()
        how = "low" if k == 0 else "high"
        assert f"mass {how} {inside:.0f} ({rest:.0f})" in entries
        colour = ["red", "blue", "grey"][k]
        assert f"colour {colour}: 100 % (0 %)" in entries
        # Differences in standard deviations are in decreasing order, of columns and of indicators alike.
        indicator = (df["colour"] == colour)[df["colour"].notna()]
        sizes = {"mass": abs(inside - rest) / df["mass"].std(ddof=0), "colour": 1 / indicator.std(ddof=0)}
        assert [entry.split()[0] for entry in entries[:2]] == sorted(sizes, key=sizes.get, reverse=True)


def test_text_and_html(described):
    df, description = described
    lines = str(description).splitlines()
    assert lines[:2] == ["24 rows in 3 clusters (in 67 % of draws)", ""] and max(map(len, lines)) <= 80
    assert lines[2].split() == ["cluster", "rows", "certainty", "what", "sets", "it", "apart", "(all", "other", "rows)"]
    assert lines[3].startswith("1          12  50 %      100 %  colour blue: 100 % (0 %)")
    assert lines[-1] == "all columns: .to_text(full=True); data: .table; labels: .estimate"
    text = description.to_text(full=True)
    mean, sd = df["mass"][LABELS == 1].mean(), df["mass"][LABELS == 1].std()
    assert max(map(len, text.splitlines())) <= 118
    assert f"{mean:.0f} ± {sd:.0f}" in text and "missing)" in text
    assert "in 50 % of 3 draws, each a clustering" in " ".join(text.split())
    html = description.to_html()
    assert "<table" in html and "colour blue: 100 % (0 %)" in html and description._repr_html_() == html


def test_labels_are_those_of_the_picture():
    pytest.importorskip("arviz_plots")
    X = np.random.default_rng(2).normal(size=(N, 2)) + 5.0 * LABELS[:, None]
    estimate, draws = np.array([7, 3, 5])[LABELS], draws_of(LABELS, LABELS, np.minimum(LABELS, 1))
    description = nrm.describe(draws, nrm.gaussian_mixture(X), estimate)
    pc = nrm.plots.plot_clusters(None, X, estimate=estimate, uncertainty=False, backend="none")
    legend = pc.viz["legend"]["entries"].item()["labels"]
    assert [f"{k}: {size} items" for k, size in description.table["cluster"]["size"].items()] == legend[:3]
    by_default = nrm.describe(draws, nrm.gaussian_mixture(X), components=True)
    assert by_default.table["cluster"]["size"].tolist() == [12, 6, 6]


def test_rare_levels_set_no_cluster_apart():
    labels = np.repeat([0, 1], 100)
    kind, city = np.where(labels, "a", "b"), np.full(200, "x", dtype=object)
    kind[90:110], city[:5], city[5:9] = ["a"] * 20, "y", "z"
    model = nrm.mixture_model(pd.DataFrame({"kind": kind, "city": city}), kinds={"city": "categorical"})
    apart = nrm.describe(draws_of(labels), model, labels).entries
    assert apart.tolist() == ["kind b: 90 % (0 %)", "kind a: 100 % (10 %)"]


def test_rare_values_are_not_rounded_away():
    labels = np.repeat([0, 1], 1000)
    kind, smokes = np.where(labels, "a", "b"), (np.arange(2000) % 1000 == 0) * labels
    kind[:3] = "a"
    model = nrm.mixture_model(pd.DataFrame({"kind": kind, "smokes": smokes}))
    description = nrm.describe(draws_of(labels), model, labels)
    assert description.entries[1].startswith("kind a: 100 % (0.3 %)")
    assert description.cells["kind"].tolist() == ["b 99.7 %", "a 100 %"]
    assert description.cells["smokes"].tolist() == ["yes 0 %", "yes 0.1 %"]


def test_positive_columns_have_medians_and_shares_of_zeros():
    rng, labels = np.random.default_rng(7), np.repeat([0, 1], [40, 60])
    income = np.exp(rng.normal(size=100) + np.array([10.0, 8.0])[labels])
    rain = np.where(rng.random(100) < np.array([0.1, 0.8])[labels], 0.0, np.exp(rng.normal(size=100)))
    visits = np.where(labels == 1, 0, rng.poisson(5, 100))
    visits[99] = 2
    families = {
        "income": nrm.LogNormalGamma([1.0], 0.0, 1.0, 2.0, 1.0),
        "rain": nrm.HurdleLogNormal(1.0, 1.0, 0.0, 1.0, 2.0, 1.0),
        "visits": nrm.HurdlePoisson(1.0, 1.0, 1.0, 1.0),
    }
    data = {"income": income[:, None], "rain": rain[:, None], "visits": visits[:, None]}
    model = mixture_of(families, data)
    description = nrm.describe(draws_of(labels), model, labels)
    table = description.table
    for k in (0, 1):
        own = labels == k
        assert table["income_0"]["median"][k] == pytest.approx(np.median(income[own]))
        assert table["income_0"]["high"][k] == pytest.approx(np.quantile(income[own], 0.9))
        assert table["rain_0"]["zero"][k] == pytest.approx((rain[own] == 0).mean())
        assert table["rain_0"]["median"][k] == pytest.approx(np.median(rain[own & (rain > 0)]))
    apart = description.entries[0]
    assert f"income_0 high {np.median(income[labels == 0]):,.0f} ({np.median(income[labels == 1]):.0f})" in apart
    share, other = ((rain[labels == k] > 0).mean() for k in (0, 1))
    assert f"rain_0 above 0: {100 * share:.0f} % ({100 * other:.0f} %)" in apart
    assert description.cells["visits_0"][1] == "0 98 %, else 2, 2 to 2"
    assert "medians where all are positive" in str(description)


def test_pictures_show_the_clusters_that_are_described():
    pytest.importorskip("arviz_plots")
    X, _, idata = skewed_group()
    model = line_model(X)
    pc = nrm.plots.plot_clusters(idata, X, model=model, backend="none")
    table = nrm.describe(idata, model).table
    legend = pc.viz["legend"]["entries"].item()["labels"]
    assert legend[:2] == [f"{k}: {size} items" for k, size in table["cluster"]["size"].items()]
    # Items that change between fused components are certain of their cluster.
    opacity = [np.unique(points["alpha"]) for points in pc.viz["points"]["X"].values]
    assert [alpha.tolist() for alpha in opacity] == [[1.0], [1.0]]
    again = nrm.plots.plot_clusters(idata, X, estimate=nrm.fused_estimate(idata, model, random_seed=0), backend="none")
    assert again.viz["points"]["X"].values[0]["alpha"].min() == 1.0
    components = nrm.plots.plot_clusters(idata, X, backend="none")
    assert len(components.viz["legend"]["entries"].item()["labels"]) > len(legend)
    frame = pd.DataFrame({"side": np.where(X > 10.0, "right", "left")})
    shares = nrm.plots.plot_category_shares(idata, frame, model=model, backend="none")
    assert shares.viz["legend"]["entries"].item()["labels"] == legend[:2]


def test_pictures_find_the_data_and_take_descriptions(described):
    pytest.importorskip("arviz_plots")
    df, description = described
    draws = draws_of(LABELS, LABELS)
    options = {"uncertainty": False, "backend": "none"}
    expected = nrm.plots.plot_clusters(draws, df[["mass", "gaps", "visits"]], estimate=LABELS, **options)

    def same_points(pc):
        pairs = zip(*(one.viz["points"]["X"].values.ravel() for one in (pc, expected)), strict=True)
        return all((a is None) == (b is None) and (a is None or np.array_equal(a["x"], b["x"])) for a, b in pairs)

    model = nrm.mixture_model(df, kinds={"visits": "count"}, covariance="diagonal", jitter_ties=False)
    assert same_points(nrm.plots.plot_clusters(draws, model=model, estimate=description, **options))
    stored = {
        "numeric": (("item", "numeric_feature"), df[["mass", "gaps"]]),
        "visits": ("item", df["visits"]),
        "other": ("row", [1.0, 2.0]),
    }
    data = xr.Dataset(stored, coords={"numeric_feature": ["mass", "gaps"]})
    tree = xr.DataTree.from_dict({"posterior": draws, "observed_data": data})
    assert same_points(nrm.plots.plot_clusters(tree, estimate=description, **options))
    with pytest.raises(ValueError, match="X must be given, since idata has no numbers of the items"):
        nrm.plots.plot_clusters(draws, estimate=LABELS, **options)
    with pytest.raises(ValueError, match="X must be given without draws"):
        nrm.plots.plot_clusters(None, estimate=LABELS, **options)


def test_models_written_by_hand():
    X = np.array([[0.0, 1.0], [0.2, np.nan], [5.0, 1.5]])
    with pm.Model(coords={"item": list("abc"), "feature": ["u", "v"], "level": ["low", "high"]}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="item")
        nrm.Mixture("x", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), observed=X, dims=("item", "feature"))
        nrm.Mixture("y", z, nrm.PoissonGamma(1.0, 1.0), observed=[1, 2, 9])
        nrm.Mixture("c", z, nrm.CategoricalDirichlet(np.ones((2, 2))), observed=[[0, 1], [0, 1], [1, 1]])
        nrm.Mixture("b", z, nrm.BernoulliBeta(1.0, 1.0), observed=[[0], [0], [1]])
        nrm.Mixture("w", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), observed=X, dims=("item", "feature"))
        nrm.Mixture("latent", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0))
    table = nrm.describe(draws_of([0, 0, 1], [0, 0, 0]), model, [0, 0, 1]).table
    names = ["cluster", "x u", "x v", "y", "c_0", "c_1", "b_0", "w u", "w v"]
    assert table.columns.get_level_values(0).unique().tolist() == names
    assert table["y"]["mean"].tolist() == [1.5, 9.0] and np.isnan(table["y"]["sd"][1])
    assert table["x v"]["missing"].tolist() == [1, 0]
    assert table["c_0"]["low"].tolist() == [1.0, 0.0] and table["b_0"]["yes"].tolist() == [0.0, 1.0]
    # A single item is certain of its cluster where it is alone.
    assert table["cluster"]["certainty"].tolist() == [1.0, 0.5]
    title = nrm.describe(draws_of([0, 0, 1], [0, 0, 0]), model).title
    assert title.endswith("of the point estimate (not joined: the draws have no 'latent')")


def test_columns_of_a_table_in_place_of_those_of_the_model():
    df = a_table().assign(place=pd.Categorical(np.array(["sea", "land", "sea"])[LABELS], ["sea", "land", "air"]))
    df["code"], df["items"] = LABELS + 1, 1.0
    modelled = df[["mass", "wings", "code"]].assign(mass=df["mass"].round(-2))
    model = nrm.mixture_model(modelled, kinds={"code": "categorical", "mass": "numeric"})
    table = nrm.describe(draws_of(LABELS), model, LABELS, data=df.drop(columns="gaps")).table
    names = ["cluster", "mass", "colour", "wings", "visits", "place", "code", "data items"]
    assert table.columns.get_level_values(0).unique().tolist() == names
    # Values are as recorded, where the model has spread those that are equal.
    np.testing.assert_allclose(table["mass"]["mean"].sort_index(), df["mass"].groupby(LABELS).mean())
    assert table["place"].columns.tolist() == ["sea", "land"] and table["place"]["land"][1] == 1.0
    assert table["code"]["2"].tolist() == [1.0, 0.0, 0.0] and table["wings"].columns.tolist() == ["yes"]
    with pytest.raises(ValueError, match="data must have a row .*24 items, .* got 23 rows"):
        nrm.describe(draws_of(LABELS), model, LABELS, data=df.head(23))
    named = draws_of(LABELS).assign_coords(item=np.arange(N))
    with pytest.raises(ValueError, match="with the names and in the order of the draws"):
        nrm.describe(named, model, LABELS, data=df.iloc[::-1])
    with pytest.raises(TypeError, match="data must be a pandas DataFrame; got ndarray"):
        nrm.describe(draws_of(LABELS), model, LABELS, data=df.to_numpy())


def test_many_columns_and_clusters():
    X = np.random.default_rng(3).normal(size=(N, 25))
    X[:, 22] += 9.0 * LABELS
    families = {"x": nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), "items": nrm.PoissonGamma(1.0, 1.0)}
    model = mixture_of(families, {"x": X, "items": LABELS})
    description = nrm.describe(draws_of(LABELS), model, LABELS)
    assert len(description.table.columns.get_level_values(0).unique()) == 27
    columns = [name for name in description.cells if name.startswith("x_")]
    assert len(columns) == 25 and description.cells["items items"].iloc[0] == "1.0 ± 0.0"
    assert columns == sorted(columns, key=lambda name: int(name[2:]))
    assert all(name in description.to_text(full=True) for name in columns)
    assert description.entries[[0, 2]].str.contains("x_22").all()


test_wrong_arguments = refused(
    lambda draws, options: nrm.describe(draws_of(draws), nrm.gaussian_mixture(np.arange(4.0) ** 2), **options),
    ([0, 0, 1, 1], {"estimate": [0, 0, 1]}, r"estimate must have shape \(4,\); got shape \(3,\)"),
    ([0, 0, 1, 1], {"ci_prob": 2}, "ci_prob must be between 0 and 1; got 2"),
    ([0, 0, 1], {}, "Mixture 'x' has 4 rows of data, and its partition 3 items in the draws"),
)


def test_twenty_clusters_of_twelve_columns_fit_in_a_terminal():
    labels = np.repeat(np.arange(25), [*([100] * 18), 30, 20, 19, 2, 1, 1, 1])
    X = pd.DataFrame(np.random.default_rng(4).normal(size=(len(labels), 12)) + labels[:, None])
    X.columns = [f"a_long_name_of_column_{k}" for k in range(12)]
    model = nrm.gaussian_mixture(X)
    description = nrm.describe(draws_of(labels, labels), model, labels)
    lines = str(description).splitlines()
    assert len(lines) <= 30 and max(map(len, lines)) <= 80
    # The largest clusters that hold 1 %; the others are one line, in the text as in HTML.
    assert [line.split()[0] for line in lines[3:23]] == list(map(str, range(20)))
    folded = "5 more clusters of 1 to 19 rows: 24 rows (1.3 %)"
    assert lines[23] == folded and folded in description.to_html()
    assert description.to_html().count("<tr") == 22 and len(description.table) == 25
    assert len(description.to_text(full=True).splitlines()) > 60


def test_small_clusters_are_shown_where_there_are_no_others():
    labels = np.arange(240) // 2
    model = nrm.gaussian_mixture(np.random.default_rng(5).normal(size=240))
    lines = str(nrm.describe(draws_of(labels), model, labels)).splitlines()
    assert lines[3].startswith("0           2  1 %") and lines[23] == "100 more clusters of 2 rows: 200 rows (83 %)"
    labels = np.repeat([0, 1], [239, 1])
    lines = str(nrm.describe(draws_of(labels), model, labels)).splitlines()
    assert lines[4] == "1 more cluster of 1 row"
    # What a single cluster is like, since there are no others.
    assert " x " in str(nrm.describe(draws_of(0 * labels), model, 0 * labels)).splitlines()[3]


@pytest.mark.slow
def test_parameters_of_slots_and_regressions():
    rng, labels = np.random.default_rng(6), np.repeat([0, 1], [10, 20])
    rows = np.repeat(np.arange(30), 4)
    t = np.tile(np.arange(4.0), 30)
    y = np.array([0.5, -0.5])[labels][rows] * t + np.array([5.0, 1.0])[labels][rows] + 0.1 * rng.normal(size=120)
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=30)
        W = pm.math.stack([np.ones(120), pm.Data("t", t)], axis=1)
        family = nrm.NormalRegression(W, 0.0, 1e-4 * np.eye(2), 2.0, 0.01)
        nrm.Mixture("y", z, family, observed=y, rows=rows)
    description = nrm.describe(draws_of(*([labels] * 40)), model, ci_prob=0.9)
    assert "of the point estimate (not joined: NormalRegression has no affinity" in description.title
    table = description.table
    for k, (slope, intercept) in enumerate([(0.5, 5.0), (-0.5, 1.0)]):
        for name, value in (("y slope of t", slope), ("y intercept", intercept)):
            own = table[name].loc[k]
            least_squares_error = 0.1 * (1 if "inter" in name else 0.5) / np.sqrt(10 * (k + 1))
            assert own["mean"] == pytest.approx(value, abs=4 * least_squares_error)
            assert own["low"] < own["mean"] < own["high"] < own["low"] + 8 * least_squares_error
        np.testing.assert_allclose(table["y"]["mean"][k], y[labels[rows] == k].mean())
    assert "y slope of t high 0.49" in description.entries[0]
    # Draws with half of the first cluster among the second, whose intercept is then (5 * 5 + 20 * 1) / 25: a mean over
    # items, with the error of draws, of standard deviation 0.35 in the mixed cluster.
    mixed = np.repeat([0, 1], [5, 25])
    table = nrm.describe(draws_of(*([labels] * 40), *([mixed] * 40)), model, labels).table
    assert table["y intercept"]["mean"][0] == pytest.approx((5.0 + (5.0 + 1.8) / 2) / 2, abs=0.15)
    with pm.Model(coords={"slot": range(4), "side": ["left", "right"]}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3, max_clusters="slot")
        mu = pm.Normal("mu", 0, 5, dims=("slot", "side"))
        pm.Normal("y", mu[z], 1, observed=np.zeros((3, 2)))
    slots = np.array([[[2, 2, 0], [0, 0, 1]]])
    values = np.arange(16.0).reshape(1, 2, 4, 2)
    posterior = xr.Dataset(
        {
            "z": (("chain", "draw", "item"), slots, {"partition": "z"}),
            "mu": (("chain", "draw", "slot", "side"), values, {"slots_of": "z"}),
        },
        coords={"side": ["left", "right"]},
    )
    description = nrm.describe(posterior, model, [7, 7, 3])
    assert description.table["mu[right]"]["mean"].tolist() == [(5.0 + 9.0) / 2, (1.0 + 11.0) / 2]
    assert "not joined" not in description.title and "3 items in 2 clusters" in description.title
    assert "labels index parameters" in nrm.describe(posterior, model).title


def test_clusters_far_below_the_spread_of_a_column_have_digits():
    weights = pd.DataFrame({"weight": np.r_[0.012, 0.018, 0.021, 5e-3, 3000.0, 4000.0]})
    model = nrm.mixture_model(weights, jitter_ties=False)
    labels = np.array([0, 0, 0, 1, 2, 2])
    description = nrm.describe(draws_of(labels, labels), model, labels)
    assert description.cells["weight"].tolist() == ["0.0170 ± 0.0046", "3500 ± 707", "0.0050"]


def test_values_are_described_as_they_were_recorded():
    labels = np.repeat([0, 1], 12)
    # Sums of zeros less the mean of the column have rounding errors.
    iron = np.where(labels, np.arange(24) / 30.0, 0.0)
    df = pd.DataFrame(
        {"shelf": 2.0 * labels, "iron": iron, "length": np.random.default_rng(1).normal(size=24).round(1)}
    )
    df.loc[3, "length"] = np.nan
    kinds = {"shelf": "numeric", "iron": "numeric"}
    model = cloudpickle.loads(cloudpickle.dumps(nrm.mixture_model(df, kinds=kinds)))
    description = nrm.describe(draws_of(labels, labels), model, labels)
    assert description.cells["shelf"].tolist() == ["0.0 ± 0.0", "2.0 ± 0.0"]
    assert description.cells["iron"].tolist()[0] == "0.00 ± 0.00"
    expected = df.groupby(labels)["length"].agg(["mean", "std"])
    np.testing.assert_allclose(description.table["length"][["mean", "sd"]], expected)


def test_what_is_refused():
    model = line_model(np.array([0.0, 1.0, 5.0, 6.0]))
    with pytest.raises(ValueError, match="level must be None, since 'z' is not nested; got 1"):
        nrm.describe(draws_of([0, 0, 1, 1]), model, level=1)
    idata = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1]] * 2])})
    for arguments, message in [
        ({"omega": 0.0}, "omega must be positive and finite; got 0"),
        ({"omega": 1.0, "n_clusters": 2}, "give either omega or n_clusters, not both; got 1.0 and 2"),
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1; got 0"),
        ({"n_clusters": 3}, "n_clusters must be at most 2, the number of components of the estimate; got 3"),
        ({"max_draws": 0}, "max_draws must be a whole number of at least 1; got 0"),
        ({"estimate": [0, 1]}, r"estimate must have shape \(4,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            nrm.fused_estimate(idata, model, **({"estimate": [0, 0, 1, 1]} | arguments))
    fusions, closeness = fuse([[9.0]], [3])
    assert len(closeness) == 0 and cut_fusions(fusions, 0).tolist() == [0]
    words = mixture_of(nrm.MultinomialDirichlet([1.0, 1.0]), np.array([[1, 2], [3, 4], [0, 1], [5, 0]]))
    with pytest.raises(NotImplementedError, match="MultinomialDirichlet has no affinity in closed form"):
        nrm.fused_estimate(idata, words, [0, 0, 1, 1])


def test_columns_of_data_are_read_as_those_of_the_model():
    """Numbers in text, dates since the first one of the model, levels of few numbers, other columns."""
    n = 40
    rng = np.random.default_rng(1)
    days = pd.date_range("2026-01-01", periods=n)
    df = pd.DataFrame(
        {
            "price": [f"{value:.2f}".replace(".", ",") for value in rng.normal(50, 9, n)],
            "day": days,
            "rating": np.resize([1.0, 2.0, 3.0], n),
            "name": [f"p{k}" for k in range(n)],
        }
    )
    model = nrm.mixture_model(df, covariance="diagonal")
    draws = xr.Dataset({"z": (("chain", "draw", "item"), np.zeros((1, 2, n), dtype=int))})
    new = df.assign(day=days + pd.Timedelta(days=10), town=np.resize(["Ayr", None], n))
    table = nrm.describe(draws, model, np.zeros(n, dtype=int), data=new[["price", "day", "rating", "town"]]).table
    assert table["price", "mean"][0] == pytest.approx(df["price"].str.replace(",", ".").astype(float).mean())
    assert table["day", "mean"][0] == pytest.approx(10 + (n - 1) / 2)
    assert table["rating", "1"][0] == pytest.approx(14 / 40) and table["town", "Ayr"][0] == 1.0
