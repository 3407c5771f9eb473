"""What every kind of partition promises, whatever its values look like."""

import itertools
import pickle

import numpy as np
import pymc as pm
import pytensor
import pytest

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from pymc_nrm.models.rvs import kind_of
from pymc_nrm.testing import all_partitions, largest_z
from tests.tools.wings import rows_of_wings

MEASURE = nrm.PitmanYorProcess(0.3, 1.2)


# Variables of every kind, each with candidates for values, some of which are none.
ANY_LABELS = np.array(list(itertools.product(range(-1, 5), repeat=4)))
LOG_WEIGHTS = np.log([[0.5, 0.2, 0.3], [0.1, 0.9, 0.0001], [2.0, 1.0, 1.0], [0.4, 0.4, 0.2]])
KINDS = {
    "ordered": (lambda: nrm.Partition.dist(MEASURE, 4), ANY_LABELS),
    "slots": (lambda: nrm.Partition.dist(MEASURE, 4, max_clusters=3), ANY_LABELS),
    "weights": (lambda: nrm.Partition.dist(log_weights=LOG_WEIGHTS), ANY_LABELS),
    "together": (lambda: nrm.Partition.dist(MEASURE, 4, together=["a", "b", "a", "c"]), ANY_LABELS),
    "partly known": (
        lambda: nrm.Partition.dist(MEASURE, 5, known=["a", None, "b", "a", -1]),
        np.vstack([all_partitions(5), 4 - all_partitions(5)]),
    ),
    "only known": (
        lambda: nrm.Partition.dist(MEASURE, 5, known=["a", None, "b", "a", -1], only_known=True),
        np.vstack([all_partitions(5), 4 - all_partitions(5)]),
    ),
} | rows_of_wings("KINDS")


# Known labels are data, whose probability the density includes; fewer slots than items leave partitions out.
LOG_TOTALS = {
    "partly known": log_eppf(MEASURE, np.array([2, 1])),
    # Two more items are in the clusters of the two labels.
    "only known": np.logaddexp.reduce(
        [log_eppf(MEASURE, np.array(sizes)) for sizes in ([4, 1], [3, 2], [3, 2], [2, 3])]
    ),
    "slots": np.log1p(-np.exp(log_eppf(MEASURE, np.array([1, 1, 1, 1])))),
}


def values_of(kind):
    return KINDS[kind][1]


@pytest.fixture(scope="module")
def density():
    functions = {}

    def of(kind, values):
        if kind not in functions:
            variable = KINDS[kind][0]()
            value = variable.type("value")
            functions[kind] = pytensor.function([value], pm.logp(variable, value), mode="FAST_COMPILE")
        return np.array([float(functions[kind](value)) for value in values])

    return of


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_all_values_sum_to_one(kind, density):
    """Labels out of range and those that are not canonical have none."""
    total = np.exp(LOG_TOTALS.get(kind, 0.0))
    assert np.exp(density(kind, values_of(kind))).sum() == pytest.approx(total, rel=1e-10)


@pytest.mark.quick("ordered", "slots")
@pytest.mark.parametrize("kind", KINDS)
def test_forward_draws_have_this_law(kind, density):
    values = values_of(kind)
    probabilities = np.exp(density(kind, values) - LOG_TOTALS.get(kind, 0.0))
    values, probabilities = values[probabilities > 0], probabilities[probabilities > 0]
    draws = pm.draw(KINDS[kind][0](), 4_000, random_seed=4)
    frequencies = np.array([(draws == value).reshape(len(draws), -1).all(axis=1).mean() for value in values])
    assert frequencies.sum() == pytest.approx(1.0)
    scores = (frequencies - probabilities) / np.sqrt(probabilities * (1.0 - probabilities) / len(draws))
    assert np.abs(scores).max() < largest_z((1, len(draws)), len(scores))


@pytest.mark.quick("ordered")
@pytest.mark.parametrize("kind", KINDS)
def test_python_draws_what_numba_draws(kind):
    variable = KINDS[kind][0]()
    drawn = [pm.draw(variable, 5, random_seed=2, mode=mode) for mode in ("NUMBA", "FAST_COMPILE")]
    np.testing.assert_array_equal(*drawn)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_read_in_canonical_form(kind, density):
    variable = KINDS[kind][0]()
    own = kind_of(variable).named("z")
    for value in values_of(kind)[:: max(len(values_of(kind)) // 40, 1)]:
        if np.isfinite(density(kind, [value])[0]):
            np.testing.assert_array_equal(own.renamed(value, len(value), "value"), value)
            np.testing.assert_array_equal(own.of_items(own.read({"z": value})), value)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_equal_by_what_they_say_in_every_process(kind):
    first, second = (kind_of(KINDS[kind][0]()) for _ in range(2))
    copied = pickle.loads(pickle.dumps(first))
    assert first == second == copied
    assert hash(first) == hash(second) == hash(copied)
    others = [kind_of(KINDS[other][0]()) for other in KINDS if other != kind]
    assert first not in others


def test_kinds_with_other_options_differ():
    assert kind_of(nrm.Partition.dist(MEASURE, 4, max_clusters=2)) != kind_of(KINDS["slots"][0]())
    assert kind_of(nrm.Partition.dist(MEASURE, 4, together=[1, 2, 3, 3])) != kind_of(KINDS["together"][0]())
    assert kind_of(nrm.Partition.dist(MEASURE, 5, known=[7, -1, 8, 7, 9])) != kind_of(KINDS["partly known"][0]())
    assert kind_of(KINDS["only known"][0]()) != kind_of(KINDS["partly known"][0]())
    for first, second in rows_of_wings("OTHER_OPTIONS").values():
        assert kind_of(first()) != kind_of(second())
    assert kind_of(pm.Normal.dist()) is None
