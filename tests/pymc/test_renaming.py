"""Deterministics that change when clusters are renamed are found in the graph, and left out of every verdict."""

import logging

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_nrm as nrm
from pymc_nrm.run.renaming import changed_by_renaming

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
        h = nrm.NestedPartition("h", nrm.DirichletProcess(1.0), depth=2, n=4)
        pm.Deterministic("number", z.max() + 1)
        pm.Deterministic("both", pt.eq(z, w))
        pm.Deterministic("level", h[:, 0])
        pm.Deterministic("zz", z + 1)
    assert changed_by_renaming(model, {}) == {"both": "z", "level": "h", "zz": "z"}


@pytest.mark.quick("full")
@pytest.mark.parametrize("label_storage", ["full", "none"])
def test_left_out_and_said(caplog, label_storage):
    model = model_with({"zz": CHANGED["labels"], "first": CHANGED["first"], "of_items": INVARIANT["of_items"]})
    options = {"tune": 10, "chains": 2, "cores": 1, "random_seed": 1, "nuts": {"max_treedepth": 3}}
    with caplog.at_level(logging.INFO):
        idata = nrm.sample(110, model=model, label_storage=label_storage, progressbar=False, **options)
    said = [message for message in caplog.messages if "is not judged" in message]
    assert said == ["Convergence of zz, first is not judged: they may change when clusters are renamed."]
    assert not any(line.startswith(("  zz", "  first")) for line in caplog.text.splitlines())
    if label_storage == "full":
        rows = {row.split("[")[0] for row in nrm.summary(idata).index}
        assert rows == {"z", "u", "of_items"}
        assert {"zz", "first"}.isdisjoint(nrm.without_labels(idata)["posterior"].data_vars)
        assert "first" in nrm.summary(idata, ["first"]).index
