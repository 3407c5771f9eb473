"""The joint law of partitions and missing entries, against enumeration of the former and quadrature over the latter."""

import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from tests.exact.missing_cases import MEASURE, chains, check, exact, make_model
from tests.helpers import label_counts

pytestmark = pytest.mark.slow

STEPS = {
    "tree": [nrm.steps.TreeGuided],
    "gibbs": [nrm.steps.MarginalGibbs],
    "split": [nrm.steps.SplitMerge, nrm.steps.TreeGuided],
    "alone": [],
}


@pytest.mark.parametrize(
    ("gaps", "others"),
    [
        ("every item", "alone"),
        *((gaps, others) for gaps in ("two items", "an empty row") for others in ("tree", "gibbs")),
        ("a third at random", "split"),
    ],
)
def test_partitions_and_missing_entries_have_their_joint_law(gaps, others):
    model = make_model(gaps)
    with model:
        steps = [cls([model["z"]], rng=1) for cls in STEPS[others]] + [
            nrm.steps.MissingGibbs(model["x_missing"], rng=1)
        ]
    check(*chains(steps, model, [[0, 0, 0, 0], [0, 1, 2, 3]]), *exact(gaps))


def test_labels_of_complete_items_stay():
    """Given that items 0 and 2 share their cluster, or do not, the step alone has the conditional law."""
    model = make_model("two items")
    with model:
        steps = [nrm.steps.MissingGibbs(model["x_missing"], rng=1)]
    partitions, p, means = exact("two items")
    for start in ([0, 0, 0, 0], [0, 1, 2, 3]):
        kept = (partitions[:, 0] == partitions[:, 2]) == (start[0] == start[2])
        check(*chains(steps, model, [start]), partitions[kept], p[kept] / p[kept].sum(), means[kept])


def test_labels_know_the_other_mixtures():
    model = make_model("two items", counts=True)
    with model:
        steps = [nrm.steps.MarginalGibbs([model["z"]], rng=1), nrm.steps.MissingGibbs(model["x_missing"], rng=1)]
    check(*chains(steps, model, [[0, 0, 0, 0], [0, 1, 2, 3]]), *exact("two items", counts=True))


@pytest.mark.parametrize("option", [{"together": [0, 0, 1, 2]}, {"known": [5, -1, -1, 7]}])
def test_labels_that_the_step_leaves_alone(option):
    """Entries are drawn given labels, which the step of the partition draws."""
    with make_model("two items", **option) as model:
        steps = [nrm.steps.MarginalGibbs([model["z"]], rng=1), nrm.steps.MissingGibbs(model["x_missing"], rng=1)]
    partitions, p, means = exact("two items")
    if "together" in option:
        kept = partitions[:, 0] == partitions[:, 1]
        sizes = [np.bincount(labels[[0, 2, 3]]) for labels in partitions[kept]]
        log_p = np.log(p[kept]) + [log_eppf(MEASURE, one) for one in sizes]
        log_p -= [log_eppf(MEASURE, label_counts(labels)) for labels in partitions[kept]]
    else:
        kept = partitions[:, 0] != partitions[:, 3]
        log_p = np.log(p[kept])
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    start = partitions[kept][0]
    labels, entries = chains(steps, model, [start])
    check(labels, entries, partitions[kept], p, means[kept])
