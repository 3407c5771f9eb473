"""Structure of the dendrogram on the backend that draws nothing."""

import sys

import numpy as np
import pytest

from pymc_nrm.plots import plot_dendrogram
from pymc_nrm.plots.dendrogram import ABOVE_COLOR, CLASS_WIDTHS, GAIN_AREA, MAX_NAMES, branch_coordinates, merge_nodes
from pymc_nrm.plots.visuals import CLUSTER_COLORS
from tests.helpers import random_merges
from tests.plots.plot_cases import clustered, dendrogram_of

azp = pytest.importorskip("arviz_plots")


def caterpillar(n, log_d):
    return dendrogram_of([[0, 1]] + [[n + k, k + 2] for k in range(n - 2)], log_d)


def random_dendrogram(n, rng):
    return dendrogram_of(random_merges(rng, n), rng.normal(-1.0, 3.0, n - 1))


def lines_of(pc):
    return list(pc.viz["branches"]["dendrogram"].values)


@pytest.mark.parametrize("seed", range(5))
def test_coordinates(seed):
    rng = np.random.default_rng(seed)
    n = 60
    dendrogram = random_dendrogram(n, rng)
    corners, cluster = branch_coordinates(dendrogram)
    linkage = dendrogram.to_linkage()
    (x0, x1, x2, x3), (y0, top, other_top, y3) = corners.transpose(1, 2, 0)
    np.testing.assert_array_equal(x0, x1)
    np.testing.assert_array_equal(x2, x3)
    np.testing.assert_array_equal(top, other_top)
    np.testing.assert_array_equal(top, linkage[:, 2])
    assert (x1 < x2).all()
    assert (top >= np.maximum(y0, y3)).all()
    # Feet at height 0 are the leaves, each exactly once.
    feet = np.concatenate([x0[y0 == 0], x3[y3 == 0]])
    assert sorted(feet) == list(range(n))
    # Every other foot stands on the middle of the merge below it, each exactly once.
    standing = sorted([*zip(x0[y0 > 0], y0[y0 > 0], strict=True), *zip(x3[y3 > 0], y3[y3 > 0], strict=True)])
    assert standing == sorted(zip((x1 + x2)[:-1] / 2, top[:-1], strict=True))
    np.testing.assert_array_equal(cluster >= 0, top <= dendrogram.cut_height)


def test_one_line_for_each_colour():
    dendrogram = clustered(3)
    assert dendrogram.n_clusters == 3
    pc = plot_dendrogram(dendrogram, backend="none")
    assert isinstance(pc, azp.PlotCollection)
    lines = lines_of(pc)
    assert [line["color"] for line in lines] == [ABOVE_COLOR, *CLUSTER_COLORS[:3]]
    n = len(dendrogram.labels)
    assert sum(np.isnan(line["x"]).sum() for line in lines) == n - 1  # one gap after every bracket
    place = dendrogram.tree.order
    for k, line in enumerate(lines[1:]):
        feet = line["x"][line["y"] == 0].astype("int64")
        assert sorted(place[feet]) == np.flatnonzero(dendrogram.labels == k).tolist()
        assert np.nanmax(line["y"]) <= dendrogram.cut_height
    assert pc.viz["cut"]["dendrogram"].item()["y"] == dendrogram.cut_height
    assert "asinh(log d)" in pc.viz["ylabel"]["dendrogram"].item()["string"]


def test_names():
    dendrogram = clustered(3)
    names = [f"item {i}" for i in range(12)]
    many = caterpillar(MAX_NAMES + 1, np.linspace(-2.0, 2.0, MAX_NAMES))
    drawn = [(dendrogram, names), (dendrogram, None), (many, range(MAX_NAMES + 1)), (dendrogram_of([], None), ["a"])]
    ticks = [plot_dendrogram(one, names=own, backend="none").viz["leaves"]["dendrogram"].item() for one, own in drawn]
    assert ticks[0]["labels"] == [names[i] for i in dendrogram.tree.order]
    np.testing.assert_array_equal(ticks[0]["ticks"], np.arange(12))
    assert len(ticks[1]["ticks"]) == len(ticks[1]["labels"]) == len(ticks[2]["labels"]) == 0
    assert ticks[3]["labels"] == ["a"]


def test_without_arviz_plots(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_plots", None)
    with pytest.raises(ImportError, match=r"requires arviz-plots.*pymc-nrm\[plots\]"):
        plot_dendrogram(caterpillar(3, [-1.0, 1.0]), backend="none")


def test_widths_show_merge_probabilities():
    log_d = np.array([-5.0, -1.0, 1.0, 5.0])  # 1 / (1 + d) of 0.993, 0.73, 0.27, 0.007
    pc = plot_dendrogram(caterpillar(5, log_d), probabilities=True, backend="none")
    widths = {line["width"]: (line["color"], np.isnan(line["x"]).sum()) for line in lines_of(pc)}
    below, above = CLUSTER_COLORS[0], ABOVE_COLOR
    assert widths == dict(zip(CLASS_WIDTHS, [(above, 1), (above, 1), (below, 1), (below, 1)], strict=True))
    legend = pc.viz["legend"]["entries"].item()
    assert [entry["width"] for entry in legend["properties"]] == list(CLASS_WIDTHS[::-1])
    assert legend["labels"][0] == "merge probability 0.95 and above"
    assert "legend" not in plot_dendrogram(caterpillar(5, log_d), backend="none").viz.children
    wider = plot_dendrogram(
        caterpillar(5, log_d), probabilities=True, backend="none", visuals={"branches": {"widths": (1, 2, 3, 4)}}
    )
    assert sorted(line["width"] for line in lines_of(wider)) == [1, 2, 3, 4]


def test_gains_mark_their_merges():
    dendrogram = random_dendrogram(12, np.random.default_rng(9))
    gains = np.zeros(23)
    gains[[12 + 3, 12 + 10]] = 1.0, 4.0
    marks = plot_dendrogram(dendrogram, gains=gains, backend="none").viz["gains"]["dendrogram"].item()
    assert sorted(marks["size"]) == [GAIN_AREA / 4, GAIN_AREA]
    root = np.argmax(marks["size"])
    corners, _ = branch_coordinates(dendrogram)
    top = np.argmax(merge_nodes(dendrogram) == 22)
    assert marks["y"][root] == corners[top, 1, 1]
    assert corners[top, 0, 0] < marks["x"][root] < corners[top, 0, 3]
    assert "gains" not in plot_dendrogram(dendrogram, gains=np.zeros(23), backend="none").viz.children
