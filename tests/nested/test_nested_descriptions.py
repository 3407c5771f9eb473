"""Nodes and components of a tree where clusters are described, and what nested partitions have not."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm


def nested_model(X, **options):
    """A nested partition of depth 2, and its draws: four nodes of two items, in pairs; components are singletons."""
    paths = np.repeat([[0, 0], [0, 1], [1, 2], [1, 3]], 2, axis=0)
    with pm.Model(coords={"item": list("abcdefgh"), "feature": ["size"]}) as model:
        t = nrm.nested.NestedPartition("t", nrm.DirichletProcess(1.0), 2, dims="item", **options)
        family = nrm.NormalGamma(0.0, 1.0, 1.0, 1.0) if options else nrm.nested.NormalDiffusion.learned("x", X, depth=2)
        nrm.Mixture("x", t, family, observed=X, dims=("item", "feature"))
    columns = ["level_1", "level_2"]
    if options:
        paths, columns = np.column_stack([paths, *[np.arange(8)] * 3]), [*columns, "table_2", "table_1", "table_0"]
    coords = {"column": columns, "item": list("abcdefgh")}
    dims, attrs = ("chain", "draw", "item", "column"), {"nested_partition": 2}
    return model, xr.Dataset({"t": xr.DataArray([[paths] * 3], dims=dims, coords=coords, attrs=attrs)})


def test_nodes_and_components_of_a_tree():
    X = np.array([0, 1, 10, 11, 100, 101, 110, 111.0])[:, None]
    model, draws = nested_model(X)
    description = nrm.describe(draws, model)
    assert description.title == "8 rows in 4 clusters (in all draws), the nodes of level 2 of 2"
    assert description.table["size"]["mean"].tolist() == [0.5, 10.5, 100.5, 110.5]
    assert description.table["cluster"]["certainty"].tolist() == [1.0] * 4
    above = nrm.describe(draws, model, level=1)
    assert above.title == "8 rows in 2 clusters (in all draws), the nodes of level 1 of 2"
    assert nrm.describe(draws, model, [0] * 4 + [1] * 4).table["cluster"]["certainty"].tolist() == pytest.approx(
        [1 / 3] * 2
    )
    with pytest.raises(ValueError, match="level must be a whole number between 1 and 2; got 3"):
        nrm.describe(draws, model, level=3)
    with pytest.raises(ValueError, match="components must be False for 't', a nested partition"):
        nrm.describe(draws, model, components=True)
    weighted, draws = nested_model(X, weights=nrm.nested.HierarchicalDirichletProcess(1.0, 1.0))
    assert nrm.describe(draws, weighted).title == "8 rows in 8 clusters (in all draws), the components of the tree"
    assert nrm.describe(draws, weighted, level=1).table["size"]["mean"].tolist() == [5.5, 105.5]


def test_nested_partitions_have_no_rows():
    with pm.Model():
        t = nrm.nested.NestedPartition(
            "t", nrm.DirichletProcess(1.0), 1, nrm.nested.HierarchicalDirichletProcess(1.0, 1.0), n=4
        )
        with pytest.raises(ValueError, match="rows of Mixture 'x' must be None, since 't' is not"):
            nrm.Mixture("x", t, nrm.PoissonGamma(1.0, 1.0), observed=[0, 1, 2, 3, 4], rows=[0, 1, 2, 3, 0])
