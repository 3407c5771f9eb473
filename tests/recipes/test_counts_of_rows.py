"""Tables whose rows stand for several observations: how they are read, described and predicted from."""

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm
from tests.helpers import refused, result_of

TABLE = pd.DataFrame(
    {
        "class": [1, 1, 2, 2, 3, 3],
        "sex": ["man", "woman", "man", "woman", "man", "woman"],
        "saved": [True, True, False, True, False, False],
        "n": [20, 60, 30, 25, 90, 40],
    }
)
LABELS = np.array([0, 0, 1, 0, 1, 1])
MEASURE = nrm.PitmanYorProcess(0.2, 1.0)


def test_the_model_is_that_of_repeated_rows_together():
    counted = nrm.mixture_model(TABLE, counts="n", measure=MEASURE)
    groups = np.repeat(np.arange(6), TABLE["n"])
    long = TABLE.drop(columns="n").iloc[groups].reset_index(drop=True)
    repeated = nrm.mixture_model(long, together=groups, measure=MEASURE)
    assert {*counted.named_vars} == {*repeated.named_vars}
    # Read as codes, since there are many observations of each.
    assert counted.coords["categorical_feature"] == repeated.coords["categorical_feature"] == ("class", "sex")
    point = counted.initial_point() | {"z": LABELS}
    values = [
        model.compile_logp(mode="FAST_COMPILE")(point | {"z": labels})
        for model, labels in ((counted, LABELS), (repeated, LABELS[groups]))
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-11)


def test_numbers_are_a_column_or_an_array():
    one = nrm.mixture_model(TABLE, counts="n")
    other = nrm.mixture_model(TABLE.drop(columns="n"), counts=TABLE["n"])
    assert {*one.named_vars} == {*other.named_vars} and "n" not in one.coords["categorical_feature"]
    assert one.coords["item"] == tuple(range(6))


def test_descriptions_count_observations():
    model = nrm.mixture_model(TABLE, counts="n")
    text = str(nrm.describe(result_of(z=[[LABELS] * 2]), model, LABELS))
    assert text.startswith("6 rows of 265 observations in 2 clusters")
    description = nrm.describe(result_of(z=[[LABELS] * 2]), model, LABELS)
    assert description.table["cluster"].loc[[0, 1], "observations"].tolist() == [105, 160]
    assert description.table["cluster"].loc[[0, 1], "size"].tolist() == [3, 3]
    assert description.cells["observations"].loc[1] == "160 60 %"
    women = TABLE["n"][LABELS == 0] @ (TABLE["sex"][LABELS == 0] == "woman") / 105
    assert description.table.loc[0, ("sex", "woman")] == pytest.approx(women)
    assert "per cent: shares of observations" in text and "all other observations" in text
    of_table = nrm.describe(result_of(z=[[LABELS] * 2]), model, LABELS, data=TABLE[["sex"]])
    assert of_table.table.loc[0, ("sex", "woman")] == pytest.approx(women)


def test_new_rows_are_single_observations():
    """The density of a row follows from the sums of the observations of clusters, and from their numbers of rows."""
    model = nrm.mixture_model(TABLE[["saved", "n"]], counts="n", measure=nrm.DirichletProcess(1.0))
    [learned] = [rv for rv in model.free_RVs if rv.name != "z"]
    draws = result_of(z=[[LABELS]], **{learned.name: [[[1.0]]]})
    found = nrm.log_predictive_density(draws, model, [[1.0]], progressbar=False)
    family = model["binary"].owner.op.family(model["binary"].owner)
    alpha, beta = (float(np.ravel(field.eval({learned: [1.0]}))[0]) for field in family)
    yes, no = np.array([105, 0]), np.array([0, 160])
    probabilities = np.append((alpha + yes) / (alpha + beta + yes + no), alpha / (alpha + beta))
    assert float(found[0]) == pytest.approx(np.log(probabilities @ [3 / 7, 3 / 7, 1 / 7]), rel=1e-10)


def test_measurements_are_exact_equals():
    df = pd.DataFrame({"price": [1.99, 2.49, 3.05, 4.75, 6.5], "sold": [10, 200, 35, 8, 120]})
    with pytest.warns(UserWarning, match="observations of a row are exactly equal"):
        model = nrm.mixture_model(df, counts="sold", kinds={"price": "numeric"})
    assert [rv.name for rv in model.observed_RVs] == ["numeric"]


def test_missing_measurements_make_columns_independent():
    rng = np.random.default_rng(1)
    df = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    df.iloc[3, 1] = np.nan
    with pytest.warns(UserWarning, match="Missing values of rows with counts are left out"):
        model = nrm.mixture_model(df, counts=np.full(30, 2))
    assert model["numeric"].owner.op.family_class is nrm.NormalGamma


test_bad_counts = refused(
    lambda counts: nrm.mixture_model(TABLE, counts=counts),
    ("weight", "counts must be numbers or the name of a column"),
    ("sex", TypeError, "counts must be real numbers"),
    ([1, 2], "a number for each of the 6 rows"),
    ([0.5] * 6, "counts must be whole numbers.* survey"),
    ([1, 2, 3, 0, 1, 1], "counts must be at least 1; got 0 in row 3"),
    ([1_000_000] * 6, "at most 5,000,000.*got 6,000,000"),
)
