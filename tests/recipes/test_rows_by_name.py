"""Labels, groups and counts of rows that are Series are matched by their index, as pandas does."""

import numpy as np
import pandas as pd
import pytest

import pymc_nrm as nrm
from pymc_nrm.models.rvs import counts_of

N = 12
NAMES = list("pqrstuvwxyzo")
TABLE = pd.DataFrame({"a": np.random.default_rng(1).normal(size=N), "b": ["u", "v"] * 6}, index=NAMES)
KNOWN = pd.Series([None] * 4 + ["ill"] * 4 + ["well"] * 4, index=NAMES, dtype=object)


def known_of(model):
    kind = model["z"].owner.op.kind
    return [None if code < 0 else kind.names[code] for code in kind.known]


@pytest.mark.parametrize("make", [nrm.mixture_model, lambda df, **options: nrm.gaussian_mixture(df[["a"]], **options)])
def test_series_in_another_order(make):
    expected = known_of(make(TABLE, known=KNOWN))
    assert expected == KNOWN.tolist()
    further = pd.concat([KNOWN[::-1], pd.Series(["other"], index=["another row"])])
    for known in (KNOWN[::-1], further, KNOWN.to_numpy(), KNOWN.reset_index(drop=True)):
        assert known_of(make(TABLE, known=known)) == expected
    shuffled = TABLE.reset_index(drop=True).sample(frac=1.0, random_state=1)
    by_number = KNOWN.reset_index(drop=True)
    assert known_of(make(shuffled, known=by_number)) == by_number[shuffled.index].tolist()
    groups = pd.Series(np.repeat([0, 1, 2], 4), index=NAMES)
    first, second = (make(TABLE, together=values)["z"].owner.op.kind.groups for values in (groups, groups[::-1]))
    np.testing.assert_array_equal(first, second)
    for bad in (KNOWN.rename({"t": "T"}), pd.concat([KNOWN, KNOWN[:1]])):
        with pytest.raises(
            ValueError, match="known must have the index of the table if it is a Series; it has not one"
        ):
            make(TABLE, known=bad)


def test_counts_in_another_order():
    counts = pd.Series(np.arange(1, N + 1), index=NAMES)
    models = [nrm.mixture_model(TABLE, counts=values, jitter_ties=False) for values in (counts, counts[::-1])]
    first, second = (counts_of(model["numeric"]) for model in models)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b", -1, "a", -1]),
        np.array(["a", "b", np.nan, "a", np.nan]),
        np.array(["a", "b", None, "a", None], dtype=object),
        pd.Series(["a", "b", "", "a", " "]),
        ["a", "b", "-1", "a", -1],
    ],
)
def test_labels_that_are_unknown_in_text(labels):
    model = nrm.gaussian_mixture(np.arange(5.0), known=labels)
    assert known_of(model) == ["a", "b", None, "a", None]


def test_nan_is_a_name_where_labels_are_objects():
    assert known_of(nrm.gaussian_mixture(np.arange(3.0), known=["nan", "b", None])) == ["nan", "b", None]
