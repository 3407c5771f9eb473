"""Pictures of prior laws: exact numbers of clusters, sizes of drawn partitions."""

import numpy as np
import pymc as pm
import pytest
from plot_cases import PRIORS
from scipy import integrate, stats

from pymc_nrm.measures import DirichletProcess, NormalizedGeneralizedGamma
from pymc_nrm.plots.prior_partition import plot_prior_partition
from pymc_nrm.recipes.elicitation import elicit
from pymc_nrm.recipes.elicitation.laws import drawn_measures, mean_pmf, n_clusters_pmf, sorted_sizes

pytest.importorskip("arviz_plots")


def test_numbers_are_exact():
    pc = plot_prior_partition(PRIORS, 9, n_draws=20, random_seed=1, backend="none")
    for name in ("DP", "NIG"):
        bars = pc.viz["bars"]["prior"].sel(measure=name).values
        measure = PRIORS[name]._replace(alpha=float(PRIORS[name].alpha))
        law = n_clusters_pmf(measure, 9)
        numbers = [int((bar["l_e"][0] + bar["r_e"][0]) / 2) for bar in bars]
        np.testing.assert_allclose([bar["y"][0] for bar in bars], law[np.array(numbers) - 1])
        mean = pc.viz["mean"]["prior"].sel(measure=name).item()
        assert mean["x"] == pytest.approx(law @ np.arange(1, 10))
    title = pc.viz["title"]["prior"].sel(measure="DP").item()["string"]
    assert title == "DP\nmean 2.83, sd 1.14"
    own = plot_prior_partition(PRIORS, 9, n_draws=10, backend="none", visuals={"title": {"text": "mine"}})
    assert {drawn["string"] for drawn in own.viz["title"]["prior"].values} == {"mine"}


def test_medians_are_those_of_partitions_of_the_prior():
    """Among three items, the largest cluster has 1, 2 or 3 of them with probabilities 1/6, 1/2, 1/3 if alpha is 1."""
    sizes = sorted_sizes([DirichletProcess(1.0)] * 4000, 3, 3, np.random.default_rng(1))
    found = [(sizes[:, 0] == size).mean() for size in (1, 2, 3)]
    np.testing.assert_allclose(found, [1 / 6, 1 / 2, 1 / 3], atol=4 * np.sqrt(0.25 / 4000))
    assert (sizes.sum(axis=1) == 3).all() and (np.diff(sizes, axis=1) <= 0).all()
    pc = plot_prior_partition(DirichletProcess(1), 3, max_rank=2, random_seed=1, backend="none")
    dots = pc.viz["median"]["prior"].sel(measure="DirichletProcess").item()
    assert dots["x"].tolist() == [1, 2] and dots["y"].tolist() == [2, 1]


def test_distributions_are_integrated_out():
    rng = np.random.default_rng(1)
    measures = drawn_measures(NormalizedGeneralizedGamma(pm.Gamma.dist(2, 1), 0.0), 400, rng)
    assert {measure.sigma for measure in measures} == {0.0}
    law = mean_pmf(measures, 5)
    density = stats.gamma(2).pdf
    expected = integrate.quad(lambda a: density(a) * n_clusters_pmf(DirichletProcess(a), 5)[1], 0, np.inf)[0]
    spread = np.std([n_clusters_pmf(measure, 5)[1] for measure in measures]) / 20
    assert abs(law[1] - expected) < 4 * spread
    with pm.Model():
        alpha = pm.Gamma("alpha", 2, 1)
    again = drawn_measures(DirichletProcess(alpha), 3, np.random.default_rng(2))
    assert len({measure.alpha for measure in again}) == 3
    with pytest.raises(ValueError, match="alpha of DirichletProcess must be finite and above 0"):
        drawn_measures(DirichletProcess(pm.Normal.dist(-9, 1)), 3, rng)


def test_elicited_priors_have_their_own_law():
    prior = elicit(DirichletProcess, 9, 3, sd=2, hyperprior="alpha")
    pc = plot_prior_partition({"elicited": prior}, 9, n_draws=20, random_seed=1, backend="none")
    bars = pc.viz["bars"]["prior"].sel(measure="elicited").values
    np.testing.assert_allclose([bar["y"][0] for bar in bars], prior.pmf[: len(bars)])
    assert pc.viz["title"]["prior"].item()["string"] == "elicited\nmean 3, sd 2"
    alone = plot_prior_partition(prior, 9, n_draws=20, random_seed=1, backend="none")
    assert alone.viz["measure"].values.tolist() == ["DirichletProcess"]
