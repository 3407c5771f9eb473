"""Known paths from the labels of groups that users give."""

import numpy as np
import pandas as pd
import pytensor.tensor as pt
import pytest

from pymc_nrm.partitions.nested_laws.known_paths import canonical_paths


def test_labels_of_groups():
    names = [["b", 7], ["a", 7], ["b", 3], ["a", 7]]
    expected = [[0, 0], [1, 1], [0, 2], [1, 1]]
    table = pd.DataFrame(names, columns=["site", "plot"]).astype({"site": "category"})
    for labels in (names, np.array(names), table):
        paths, nodes = canonical_paths("paths", labels)
        assert paths.tolist() == expected
        assert [[parent for parent, _ in level] for level in nodes] == [[0, 0], [0, 1, 0]]
    one, nodes = canonical_paths("paths", table["site"])
    assert one.tolist() == [[0], [1], [0], [1]]
    assert nodes == (((0, "b"), (0, "a")),)
    assert canonical_paths("paths", [True, False, True])[0].tolist() == [[0], [1], [0]]
    assert canonical_paths("paths", np.array([2.0, 5.0]))[0].tolist() == [[0], [1]]
    assert canonical_paths("new_paths", ["c", "a", "c"], nodes)[0].tolist() == [[2], [1], [2]]


@pytest.mark.parametrize(
    ("labels", "kind", "message"),
    [
        (["a", None], ValueError, "paths must have no missing labels; 1 of 2 are missing"),
        ([0.0, np.nan], ValueError, "1 of 2 are missing"),
        (pd.array([1, None], dtype="Int64"), ValueError, "1 of 2 are missing"),
        (np.ma.masked_array([1, 2], [False, True]), ValueError, "1 of 2 are missing"),
        ([0.5, 1.0], TypeError, "paths must be whole numbers or strings; got 0.5 of type float"),
        ([[0, 1], [0]], TypeError, r"got \[0, 1\] of type list"),
        ("abc", ValueError, r"paths must have shape \(n,\) or \(n, depth\), with at least one item; got shape \(\)"),
        ([], ValueError, "at least one item"),
        (np.zeros((2, 2, 2), dtype=int), ValueError, r"got shape \(2, 2, 2\)"),
        (pt.lvector("groups"), TypeError, "paths must be an array of labels, which are known; got groups"),
    ],
)
def test_wrong_labels_of_groups(labels, kind, message):
    with pytest.raises(kind, match=message):
        canonical_paths("paths", labels)


@pytest.mark.parametrize("labels", [["a", "b"], [["a", "b", "c"]]])
def test_further_labels_have_as_many_levels(labels):
    _, nodes = canonical_paths("paths", [["a", "b"]])
    with pytest.raises(ValueError, match=r"new_paths must have shape \(n, 2\)"):
        canonical_paths("new_paths", labels, nodes)
