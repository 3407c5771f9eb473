"""The published tree-guided sampler, which these tests must find wrong, and its canonical form, which is exact."""

import functools
import warnings

import numpy as np
import pytest

import pymc_nrm as nrm
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.measures.base import Weights
from pymc_nrm.moves.guide_trees.tree import build_tree
from pymc_nrm.partitions.labels import rename_in_order
from pymc_nrm.published import PublishedTreeGuided
from pymc_nrm.published.steps.lee_choi import canonical_moves
from pymc_nrm.testing import exact_posterior, kernel_inputs
from tests.cases import MEASURES, SMALL, Data
from tests.exact.laws import CHAINS, draw_tables
from tests.exact.models import make_model, run
from tests.helpers import assert_law, distance_to_law, mixture_of, random_merges, refused, seeded

# Kernels compile for half a minute per family, so test two sizes of one family, and another one.
CASES = {
    "4 items": SMALL["PoissonGamma"],
    "5 items": Data(nrm.PoissonGamma([1.2, 0.8], 0.4), np.array([[1, 4], [3, 2], [5, 4], [2, 0], [0, 1]])),
    "NormalWishart": SMALL["NormalWishart"],
}
DRAWS, N_TREES = 5_000, 12


@functools.cache
def posterior(measure, case):
    return exact_posterior(MEASURES[measure], *CASES[case])


@pytest.fixture(params=CASES)
def case(request):
    return request.param


def draw(measure, case, **options):
    """Labels of a step from four starts, without those of the first draws, and the statistics of all draws."""
    family, X = CASES[case]
    n = len(X)
    with mixture_of(family, X, MEASURES[measure]) as model, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step = PublishedTreeGuided([model["z"]], rng=1, **options)
    warned = any("does not leave the posterior invariant" in str(warning.message) for warning in caught)
    assert warned != ("canonical" in options)
    starts = (np.zeros(n, dtype=np.int64), np.arange(n), np.arange(n) % 2, np.arange(n) // 2)
    labels, statistics = run(step, n, seeded(measure, case, *options.values()), DRAWS, starts)
    np.testing.assert_array_equal([stats["n_clusters"] for stats in statistics], labels.max(axis=-1).ravel() + 1)
    assert all(set(stats) == set(PublishedTreeGuided.stats_dtypes_shapes) for stats in statistics)
    return labels[:, 20:]


@pytest.mark.slow
def test_published_step_is_found_wrong(case, measure):
    """The check that correct samplers pass has power: the published sampler fails it."""
    found, largest = distance_to_law(draw(measure, case), *posterior(measure, case))
    assert found > 0.03 and largest > 1.5


@pytest.mark.slow
@pytest.mark.parametrize("n_global, n_levels", [(5, 2), (1, 1)])
def test_canonical_step_has_the_posterior_law(case, measure, n_global, n_levels):
    labels = draw(measure, case, n_global=n_global, n_levels=n_levels, canonical=True)
    assert_law(labels, *posterior(measure, case))


@kernel
def move_once(rng, starts, tables, family, data, tree):
    """Labels after one global move from each row of ``starts``, and numbers of merges and splits by outcome."""
    ends, outcomes = np.empty_like(starts), np.zeros((2, 2))
    for t in range(starts.shape[0]):
        k = starts[t].max()
        table = Weights(tables.join[k, t], tables.moment[k, t])
        ends[t], tally = canonical_moves(rng, starts[t], table, family, data, tree, 1)
        rename_in_order(ends[t], starts.shape[1])
        outcomes[0] += tally.accepted
        outcomes[1] += tally.proposed - tally.accepted
    return ends, outcomes


@pytest.mark.slow
def test_canonical_move_leaves_the_posterior_invariant(case, measure):
    """With trees of random shape, some of whose nodes have d > 1, and a new u for each row."""
    partitions, probabilities = posterior(measure, case)
    n, rng = partitions.shape[1], seeded(case, measure)
    tables = [draw_tables(one, MEASURES[measure], n, DRAWS) for one in rng.spawn(CHAINS)]
    ends, outcomes = [], np.zeros((2, 2))
    for k in range(N_TREES):
        rows = partitions[rng.choice(len(partitions), size=DRAWS, p=probabilities)]
        tree = build_tree(random_merges(rng, n), rng.normal(size=n - 1))
        labels, counts = move_once(rng, rows, tables[k % CHAINS], *kernel_inputs(*CASES[case]), tree)
        ends.append(labels)
        outcomes += counts
    assert (outcomes > 0.02 * outcomes.sum()).all()
    assert_law(np.array(ends), partitions, probabilities)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PublishedTreeGuided does not leave")
def test_labels_that_something_else_has_changed_are_taken():
    with make_model("NGG", "PoissonGamma") as model:
        step = PublishedTreeGuided([model["z"]], rng=1)
    for row in posterior("NGG", "4 items")[0]:
        _, [stats] = step.step({"z": row})
        assert stats["n_splits_proposed"] + stats["n_merges_proposed"] == 20


def wrong_step(**options):
    with make_model("NGG", "PoissonGamma") as model:
        PublishedTreeGuided([model["z"]], canonical=True, **options)


test_wrong_numbers_of_moves_are_refused = refused(
    lambda options: wrong_step(**options),
    ({"n_global": -1}, "n_global"),
    ({"n_levels": 1.5}, "n_levels"),
)
