"""Descriptions of clusters against numbers worked out with pandas."""

import cloudpickle
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.posterior.describe_clusters import _numbers_in_draws
from pymc_nrm.posterior.described_columns import _main_levels

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
    return df, nrm.describe_clusters(draws_of(LABELS, LABELS, np.minimum(LABELS, 1)), model, LABELS, ci_prob=0.5)


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


def test_items_of_the_cluster_with_most_of_them():
    labels = np.array([0, 0, 0, 1, 1, 2])
    draws = np.array([[0, 0, 1, 1, 1, 1], [0, 1, 2, 0, 3, 3], [0, 0, 0, 0, 0, 0]])
    # In the second draw, three clusters have one item each of the first one: one of the smallest is taken.
    together, others = _numbers_in_draws(labels, draws)
    assert together.tolist() == [[2, 2, 1], [1, 1, 1], [3, 2, 1]]
    assert others.tolist() == [[0, 2, 3], [0, 1, 1], [3, 4, 5]]


def test_what_sets_clusters_apart(described):
    df, description = described
    apart = description.table["cluster"]["apart"]
    for k in (0, 2):
        entries = apart[k].split("; ")
        inside, rest = df["mass"][k == LABELS].mean(), df["mass"][k != LABELS].mean()
        how = "low" if k == 0 else "high"
        assert f"mass {how}: {inside:.0f} against {rest:.0f}" in entries
        colour = ["red", "blue", "grey"][k]
        assert f"colour {colour}: 100 % against 0 %" in entries
        # Differences in standard deviations are in decreasing order, of columns and of indicators alike.
        indicator = (df["colour"] == colour)[df["colour"].notna()]
        sizes = {"mass": abs(inside - rest) / df["mass"].std(ddof=0), "colour": 1 / indicator.std(ddof=0)}
        assert [entry.split()[0] for entry in entries[:2]] == sorted(sizes, key=sizes.get, reverse=True)


def test_text_and_html(described):
    df, description = described
    text = str(description)
    assert text.startswith("24 items in 3 clusters, the largest first\n")
    assert max(map(len, text.splitlines())) <= 120
    mean, sd = df["mass"][LABELS == 1].mean(), df["mass"][LABELS == 1].std()
    assert f"{mean:.0f} ± {sd:.0f}" in text and "missing)" in text
    assert "in 50 % of 3 draws, each a clustering" in " ".join(text.split())
    html = description.to_html()
    assert "<table" in html and "colour blue: 100 % against 0 %" in html and description._repr_html_() == html


def test_labels_are_those_of_the_picture():
    pytest.importorskip("arviz_plots")
    X = np.random.default_rng(2).normal(size=(N, 2)) + 5.0 * LABELS[:, None]
    estimate, draws = np.array([7, 3, 5])[LABELS], draws_of(LABELS, LABELS, np.minimum(LABELS, 1))
    description = nrm.describe_clusters(draws, nrm.gaussian_mixture(X), estimate)
    pc = nrm.plots.plot_clusters(None, X, estimate=estimate, uncertainty=False, backend="none")
    legend = pc.viz["legend"]["entries"].item()["labels"]
    assert [f"{k}: {size} items" for k, size in description.table["cluster"]["size"].items()] == legend[:3]
    by_default = nrm.describe_clusters(draws, nrm.gaussian_mixture(X))
    assert by_default.table["cluster"]["size"].tolist() == [12, 6, 6]


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
    table = nrm.describe_clusters(draws_of([0, 0, 1], [0, 0, 0]), model, [0, 0, 1]).table
    names = ["cluster", "x u", "x v", "y", "c_0", "c_1", "b_0", "w u", "w v"]
    assert table.columns.get_level_values(0).unique().tolist() == names
    assert table["y"]["mean"].tolist() == [1.5, 9.0] and np.isnan(table["y"]["sd"][1])
    assert table["x v"]["missing"].tolist() == [1, 0]
    assert table["c_0"]["low"].tolist() == [1.0, 0.0] and table["b_0"]["yes"].tolist() == [0.0, 1.0]
    # A single item is certain of its cluster where it is alone.
    assert table["cluster"]["certainty"].tolist() == [1.0, 0.5]


def test_columns_of_a_table_in_place_of_those_of_the_model():
    df = a_table().assign(place=pd.Categorical(np.array(["sea", "land", "sea"])[LABELS], ["sea", "land", "air"]))
    df["code"], df["items"] = LABELS + 1, 1.0
    modelled = df[["mass", "wings", "code"]].assign(mass=df["mass"].round(-2))
    model = nrm.mixture_model(modelled, kinds={"code": "categorical", "mass": "numeric"})
    table = nrm.describe_clusters(draws_of(LABELS), model, LABELS, data=df.drop(columns="gaps")).table
    names = ["cluster", "mass", "colour", "wings", "visits", "place", "code", "data items"]
    assert table.columns.get_level_values(0).unique().tolist() == names
    # Values are as recorded, where the model has spread those that are equal.
    np.testing.assert_allclose(table["mass"]["mean"].sort_index(), df["mass"].groupby(LABELS).mean())
    assert table["place"].columns.tolist() == ["sea", "land"] and table["place"]["land"][1] == 1.0
    assert table["code"]["2"].tolist() == [1.0, 0.0, 0.0] and table["wings"].columns.tolist() == ["yes"]
    with pytest.raises(ValueError, match="data must have a row for each of the 24 items, .* got 23 rows"):
        nrm.describe_clusters(draws_of(LABELS), model, LABELS, data=df.head(23))
    named = draws_of(LABELS).assign_coords(item=np.arange(N))
    with pytest.raises(ValueError, match="with the names and in the order of the draws"):
        nrm.describe_clusters(named, model, LABELS, data=df.iloc[::-1])
    with pytest.raises(TypeError, match="data must be a pandas DataFrame; got ndarray"):
        nrm.describe_clusters(draws_of(LABELS), model, LABELS, data=df.to_numpy())


def test_many_columns_and_clusters():
    X = np.random.default_rng(3).normal(size=(N, 25))
    X[:, 22] += 9.0 * LABELS
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N)
        nrm.Mixture("x", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), observed=X)
        nrm.Mixture("items", z, nrm.PoissonGamma(1.0, 1.0), observed=LABELS)
    description = nrm.describe_clusters(draws_of(LABELS), model, LABELS)
    assert len(description.table.columns.get_level_values(0).unique()) == 27
    columns = [name for name in description.cells if name.startswith("x_")]
    assert len(columns) == 19 and "x_22" in columns and description.cells["items items"].iloc[0] == "1.0 ± 0.0"
    assert columns == sorted(columns, key=lambda name: int(name[2:]))
    assert "columns: the 20 of 26 that differ most" in str(description)
    many = nrm.describe_clusters(draws_of(np.arange(N) // 2), model, np.arange(N) // 2)
    assert max(map(len, str(many).split("What")[0].splitlines())) <= 120


@pytest.mark.parametrize(
    ("draws", "options", "message"),
    [
        ([0, 0, 1, 1], {"estimate": [0, 0, 1]}, r"estimate must have shape \(4,\); got shape \(3,\)"),
        ([0, 0, 1, 1], {"ci_prob": 2}, "ci_prob must be between 0 and 1; got 2"),
        ([0, 0, 1], {}, "Mixture 'x' has 4 rows of data, and its partition 3 items in the draws"),
    ],
)
def test_wrong_arguments(draws, options, message):
    with pytest.raises(ValueError, match=message):
        nrm.describe_clusters(draws_of(draws), nrm.gaussian_mixture(np.arange(4.0) ** 2), **options)


def test_many_clusters_of_one_item_are_left_out_of_texts():
    model = nrm.mixture_model(a_table()[["mass"]], jitter_ties=False)
    for n_single, shown in ((3, 5), (4, 2)):
        labels = np.minimum(np.arange(N), n_single + 1)
        labels[-8:] = 0
        description = nrm.describe_clusters(draws_of(labels, labels), model, labels)
        assert len(description.cells) == len(description.table) == n_single + 2
        left_out = f"not shown: {n_single} clusters of one item each, of certainty 1.00 to 1.00; .cells"
        assert (left_out in str(description)) == (left_out in description.to_html()) == (shown == 2)
        assert description.to_html().count("<tr") == shown + 1


def test_levels_in_cells():
    shares = {"ab": [0.96, 0.04], "abc": [0.5, 0.45, 0.05], "abcde": [0.4, 0.3, 0.2, 0.06, 0.04], "abcd": [0.25] * 4}
    shares |= {"a": [0.0], "abcdefghijklmnopqrst": [0.05] * 20}
    texts = [_main_levels(tuple(levels), np.array(of_levels)) for levels, of_levels in shares.items()]
    assert texts == [
        "a 96 %, b 4 %",
        "a 50 %, b 45 %, c 5 %",
        "a 40 %, b 30 %, c 20 %, others 10 %",
        "a 25 %, b 25 %, c 25 %, d 25 %",
        "a 0 %",
        "a 5 %, others 95 %",
    ]


def test_clusters_far_below_the_spread_of_a_column_have_digits():
    weights = pd.DataFrame({"weight": np.r_[0.012, 0.018, 0.021, 5e-3, 3000.0, 4000.0]})
    model = nrm.mixture_model(weights, jitter_ties=False)
    labels = np.array([0, 0, 0, 1, 2, 2])
    description = nrm.describe_clusters(draws_of(labels, labels), model, labels)
    assert description.cells["weight"].tolist() == ["0.0170 ± 0.0046", "3500 ± 707", "0.0050"]


def test_values_are_described_as_they_were_recorded():
    labels = np.repeat([0, 1], 12)
    df = pd.DataFrame({"shelf": 2.0 * labels, "length": np.random.default_rng(1).normal(size=24).round(1)})
    df.loc[3, "length"] = np.nan
    model = cloudpickle.loads(cloudpickle.dumps(nrm.mixture_model(df, kinds={"shelf": "numeric"})))
    description = nrm.describe_clusters(draws_of(labels, labels), model, labels)
    assert description.cells["shelf"].tolist() == ["0.0 ± 0.0", "2.0 ± 0.0"]
    expected = df.groupby(labels)["length"].agg(["mean", "std"])
    np.testing.assert_allclose(description.table["length"][["mean", "sd"]], expected)
