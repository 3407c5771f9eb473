"""Chains over a few rows in chunks, and their exact laws."""

import numpy as np

import pymc_nrm as nrm
from pymc_nrm.moves.chunks.chain import Block, Chain, Clusters, Preparation, no_changes, rounded_rows, sum_clusters
from pymc_nrm.moves.chunks.engine import Engine
from pymc_nrm.moves.chunks.sweep import draw_law
from pymc_nrm.testing import exact_posterior, kernel_inputs
from tests.cases import PrincipalNormalWishart
from tests.helpers import canonical_labels, mixture_of

FOLLOWED = {"n_followed": 50, "n_sampled": 150}
LINE = np.array([[-1.5], [-1.2], [0.2], [1.3], [1.6]])
PLANE = np.array([[-1.0, 0.3], [-0.8, -0.2], [0.1, 1.4], [0.9, 0.2], [1.2, -0.3]])
FAMILIES = {
    "wishart": (nrm.NormalWishart(mu=[0.0, 0.0], kappa=0.5, Psi=np.eye(2), nu=4.0), PLANE),
    "gamma": (nrm.NormalGamma(0.0, 0.5, 2.0, 0.5), np.array([[-1.5], [-1.2], [np.nan], [1.3], [1.6]])),
    "poisson": (nrm.PoissonGamma(1.0, 0.5), np.array([[0.0, 1.0], [1.0, 0.0], [4.0, 1.0], [6.0, 2.0], [5.0, 0.0]])),
    "bernoulli": (nrm.BernoulliBeta(0.7, 0.7), np.array([[0.0, 1, 0], [0, 1, 1], [1, 0, 1], [1, 0, 0], [1, 1, 1]])),
    "categorical": (nrm.CategoricalDirichlet(0.6, n_levels=3), np.array([[0.0, 1], [0, 2], [2, 0], [2, 1], [1, 1]])),
    "multinomial": (nrm.MultinomialDirichlet(0.5), np.array([[3.0, 0, 1], [2, 1, 0], [0, 4, 1], [0, 2, 2], [1, 1, 1]])),
}
MORE = {
    # Halves of these rows overlap, so that none of their labels is nearly certain.
    "near rows": (FAMILIES["gamma"][0], np.linspace(-0.5, 0.5, 7)[:, None]),
    "amounts": (
        nrm.HurdleLogNormal(0.7, 0.7, 0.0, 0.5, 2.0, 0.5),
        np.array([[0.0, 1.2], [0.3, 0.0], [np.nan, 4.0], [2.5, 3.0], [4.0, 0.0]]),
    ),
    "visits": (
        nrm.HurdlePoisson(0.7, 0.7, 1.0, 0.5),
        np.array([[0.0, 1.0], [1.0, 0.0], [np.nan, 1.0], [6.0, 2.0], [5.0, 0.0]]),
    ),
    "principal": (
        PrincipalNormalWishart(
            [0.0, 0.0], [1.0, 2.0], np.array([[0.6, -0.8], [0.8, 0.6]]), [0.0], 0.5, [[1.0]], 3.0, [0.5]
        ),
        PLANE,
    ),
}
MEASURES = {
    "dirichlet": nrm.DirichletProcess(1.0),
    "ngg": nrm.NormalizedGeneralizedGamma(1.0, 0.4),
    "nig": nrm.NormalizedInverseGaussian(1.0),
    "pitman_yor": nrm.PitmanYorProcess(0.3, 0.8),
}


def blocks_of(X, n_chunks, **options):
    parts, first, blocks = np.array_split(X, n_chunks), 0, []
    for part in parts:
        blocks.append(Block(first, len(part), lambda part=part: part, **options))
        first += len(part)
    return blocks


def make_chain(family, X, n_chunks=1, n_threads=1, sample=None, **options):
    family, data = kernel_inputs(family, X)
    centre = getattr(data, "center", None), getattr(data, "grid", None)
    sample = np.arange(len(X)) if sample is None else sample
    engine = Engine(blocks_of(X, n_chunks, **options), n_threads)
    return Chain(engine, Preparation(family, *centre), sample, X[sample])


def set_labels(chain, labels):
    """Give rows these labels, 0 to K - 1."""
    for block in chain.engine.blocks:
        block.labels[:] = labels[block.first : block.first + block.n]
        block.sides.fill(0)
    n_clusters = labels.max() + 1
    changes = no_changes(n_clusters)
    clusters = chain.engine.run(sum_clusters, (changes, chain.preparation, chain.quanta, n_clusters))
    chain.set(Clusters(*clusters), changes, labels[chain.sample])


def run(chain, measure, sweep, n_draws, seed):
    """Labels (n_draws / 400, 400, n) of a chain in order of appearance, u drawn before each sweep."""
    rng = np.random.default_rng(seed)
    all_sampled = len(chain.sample) == chain.n
    labels = np.empty((1, n_draws, chain.n), dtype=np.int64)
    for draw in range(n_draws):
        chain.begin_sweep(rng)
        law, _, _ = draw_law(rng, measure, chain)
        sweep(chain, rng, law)
        labels[0, draw] = canonical_labels(chain.sample_labels() if all_sampled else chain.labels())
        if draw % 1000 == 0:
            assert_sums_follow_labels(chain)
    # Segments of one chain, whose batches are short enough to be many.
    return labels.reshape(-1, min(n_draws, 400), chain.n)


def assert_sums_follow_labels(chain):
    """Counts, sums and labels of the sample are those of all labels."""
    labels, (counts, sums) = chain.labels(), chain.clusters
    assert np.array_equal(counts, np.bincount(labels))
    rounded = rounded_rows(chain.preparation, chain.sample_data, len(chain.sample), chain.quanta)
    assert np.array_equal(chain.sample_labels(), labels[chain.sample])
    if len(chain.sample) == chain.n:
        assert np.array_equal(sums, [rounded[labels == k].sum(axis=0) for k in range(len(counts))])


def posterior(measure, family):
    """All partitions and their exact probabilities, by names."""
    return exact_posterior(MEASURES[measure], *(FAMILIES | MORE)[family])


def in_four_places():
    """Values of 700 rows, shape (700, 1)."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(700, 1)) + 5.0 * rng.integers(0, 4, size=(700, 1))


def sampled(rows, family, measure, draws, n_pairs=10, n_redrawn=2, **kwargs):
    """Two chains of a mixture over rows in chunks."""
    options = {"chunked_sampler": {"n_pairs": n_pairs, "n_redrawn": n_redrawn}, **kwargs}
    return nrm.sample(draws, tune=0, chains=2, quiet=True, model=mixture_of(family, rows, measure), **options)
