"""Every way to use labels as an index: the same items by rules and by the model, and the same sums."""

import itertools

import numpy as np
import pymc as pm
import pytest
from distribution_cases import DISTRIBUTIONS
from itemwise_cases import CHEAP, EXAMPLES, SUBJECT, K, N, random_point

import pymc_nrm as nrm
from pymc_nrm.models.itemwise.item_table import ItemTable


def rows_of(name):
    return {"y_observed" if "missing" in name else "y": SUBJECT if name == "non_centred" else range(N)}


BUILDS = EXAMPLES | {name: (build, rows_of(name)) for name, build in DISTRIBUTIONS.items()}


@pytest.mark.parametrize("name", [*EXAMPLES, *(pytest.param(name, marks=pytest.mark.slow) for name in DISTRIBUTIONS)])
def test_table(name, rng):
    build, expected = BUILDS[name]
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=N, max_clusters=K)
        build(z)
    point = random_point(model, rng)
    table_of_items = ItemTable(model, z, K, point, CHEAP)
    assert set(table_of_items.names) == set(expected)
    for term, items in expected.items():
        np.testing.assert_array_equal(table_of_items.items(term), list(items))

    # The model itself, with the label of one item changed.
    terms = [variable for variable in (*model.basic_RVs, *model.potentials) if variable.name in expected]
    log_probability = pm.pytensorf.compile(
        model.value_vars, model.logp(vars=terms, jacobian=False), on_unused_input="ignore", **CHEAP
    )

    def at(labels):
        return float(log_probability(**(point | {"z": labels})))

    labels = rng.integers(0, K, N)
    slots = rng.permutation(K)
    table = np.full((N, K + 1), 7.0)
    table_of_items.fill(point, slots, slots + 1, table)
    assert (table[:, 0] == 7.0).all()
    assert np.isfinite(table).all()
    present = at(labels)
    for i, slot in itertools.product(range(N), range(K)):
        changed = labels.copy()
        changed[i] = slot
        difference = table[i, slot + 1] - table[i, labels[i] + 1]
        np.testing.assert_allclose(difference, at(changed) - present, rtol=1e-9, atol=1e-9)
    own = table[np.arange(N), labels + 1]
    np.testing.assert_allclose(table_of_items.values(point, labels), own, rtol=1e-12)
    parts = table_of_items.values(point, labels, by_term=True)
    assert list(parts) == table_of_items.names
