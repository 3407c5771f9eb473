"""Pictures of nested partitions: what is drawn where, on the backend that draws nothing."""

import numpy as np
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm.nested import ItemTree
from pymc_nrm.nested.plots import plot_tree
from pymc_nrm.nested.plots.tree import LEAST_AREA, MAX_NAMES, ROOT_AREA, tree_layout
from tests.plots.plot_cases import TRUE, N, make_nested_draws

pytest.importorskip("arviz_plots")


def artist(pc, name):
    return pc.viz[name]["tree"].values.ravel()


@pytest.fixture(scope="module")
def tree():
    return nrm.nested.nested_point_estimate(make_nested_draws(), random_seed=1)


def test_layout(tree):
    layout = tree_layout(tree)
    order = np.concatenate(layout.rows)
    assert sorted(order.tolist()) == list(range(N)) and len(layout.rows) == N
    row = np.argsort(order)
    for node in range(tree.n_nodes):
        rows = np.sort(row[tree.positions(node)])
        assert (np.diff(rows) == 1).all(), "items of a node are together"
        assert rows[0] <= layout.y[node] <= rows[-1] and layout.x[node] == tree.level[node]
        children = tree.children(node)
        inside = children[np.argsort(layout.y[children])]
        assert (np.diff(tree.size[inside]) <= 0).all(), "the largest child is at the top"
    # Every item has a line from its node to the right end.
    ends = layout.items.T.reshape(-1, 3, 2)
    assert ends[:, 1, 0].tolist() == [layout.bottom] * N
    assert sorted(ends[:, 1, 1].tolist()) == list(range(N))
    node = tree.node_of_item[order[ends[:, 0, 1].astype(int)]]
    np.testing.assert_array_equal(ends[:, 0, 0], layout.x[node])


def test_tree_layout(tree, collapse=True):
    layout = tree_layout(tree, collapse=True)
    owners = [node for node in range(tree.n_nodes) if len(tree.own_items(node))]
    assert len(layout.rows) == len(owners) < N
    assert sorted(np.concatenate(layout.rows).tolist()) == list(range(N))
    ends = layout.items.T.reshape(-1, 3, 2)
    assert len(ends) == len(owners)
    for (x, place), (bottom, _), _ in ends:
        [node] = set(tree.node_of_item[layout.rows[int(place)]].tolist())
        assert x == tree.level[node] and bottom == layout.bottom
        np.testing.assert_array_equal(layout.rows[int(place)], tree.own_items(node))
    last = [node for node in range(tree.n_nodes) if not len(tree.children(node))]
    assert sorted(layout.y[last]) == sorted(layout.y[last].astype(int)), "nodes without children are in a row"


def test_rows_of_several_items_say_what_they_hold():
    tree = ItemTree.from_levels([[0, 0, 0, 1, 1, 2, 3], [0, 0, 1, 2, 2, 3, 4]], names=list("aabccde"))
    pc = plot_tree(tree, collapse=True, backend="none")
    assert artist(pc, "names")[0]["labels"] == ["a (2)", "b", "c (2)", "d", "e"]
    tree = ItemTree.from_levels([np.arange(300) // 100], names=np.arange(300))
    pc = plot_tree(tree, names=[f"{i % 7}" for i in range(300)], collapse=True, backend="none")
    assert artist(pc, "names")[0]["labels"][0] == "0 (15), 1 (15), 2 (14) and 56 more"


def test_nodes_and_names(tree):
    pc = plot_tree(tree, backend="none")
    nodes, layout = artist(pc, "nodes")[0], tree_layout(tree)
    np.testing.assert_array_equal(nodes["x"], layout.x)
    np.testing.assert_array_equal(nodes["y"], layout.y)
    np.testing.assert_allclose(nodes["size"], np.maximum(ROOT_AREA * tree.size / N, LEAST_AREA))
    assert artist(pc, "names")[0]["labels"] == [f"item {i}" for [i] in layout.rows]
    shown = np.flatnonzero(tree.size > 1)[1:]
    assert [text["string"] for text in artist(pc, "probabilities")] == [f"{p:.2f}" for p in tree.probability[shown]]
    named = plot_tree(tree, names=[f"n{i}" for i in range(N)], backend="none")
    assert artist(named, "names")[0]["labels"] == [f"n{i}" for [i] in layout.rows]
    many = ItemTree.from_levels([np.arange(MAX_NAMES + 1) % 3])
    pc = plot_tree(many, backend="none")
    assert artist(pc, "names")[0]["labels"] == [] and "probabilities" not in pc.viz.children


def test_composition(tree):
    pies = artist(plot_tree(tree, composition=TRUE, backend="none"), "composition")
    for node, pie in enumerate(pies):
        np.testing.assert_allclose(pie["shares"], np.bincount(TRUE[tree.positions(node)], None, 4) / tree.size[node])
    shares = xr.DataArray(np.eye(4)[TRUE], dims=("item", "class"), coords={"class": list("abcd")})
    pc = plot_tree(tree, composition=shares, backend="none")
    assert [pie["shares"].tolist() for pie in artist(pc, "composition")] == [pie["shares"].tolist() for pie in pies]
    assert pc.viz["legend"]["entries"].item()["labels"] == list("abcd")


def test_images(tree):
    images = np.random.default_rng(1).random((N, 2, 3))
    pc = plot_tree(tree, images=images, backend="none")
    drawn = artist(pc, "images")
    inner = np.flatnonzero(tree.size > 1)
    assert len(drawn) == len(inner)
    for node, one in zip(inner, drawn, strict=True):
        np.testing.assert_allclose(one["image"], images[tree.positions(node)].mean(axis=0))
        assert one["x"] == tree.level[node]
    assert len(artist(pc, "nodes")[0]["x"]) == tree.n_nodes - len(inner)
