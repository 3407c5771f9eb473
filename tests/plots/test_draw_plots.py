"""Pictures of draws and of prior laws."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import integrate, stats

import pymc_nrm as nrm
from pymc_nrm.plots import (
    plot_cluster_parameters,
    plot_cluster_sizes,
    plot_distance,
    plot_held_out_density,
    plot_n_clusters,
    plot_nodes_by_level,
    plot_partition_trace,
    plot_prior_partition,
    plot_similarity,
)
from pymc_nrm.plots.visuals import CLUSTER_COLORS
from pymc_nrm.recipes.elicitation_distributions import drawn_measures, mean_pmf, n_clusters_pmf, sorted_sizes
from pymc_nrm.stats import partition_quantities
from tests.plots.plot_cases import PRIORS, TRUE, N, make_draws, make_nested_draws, make_slot_draws, result

pytest.importorskip("arviz_plots")


def artist(pc, visual, name="z"):
    return pc.viz[visual][name].item()


class TestNClusters:
    def test_heights_are_relative_frequencies(self, draws):
        bars = plot_n_clusters(draws, backend="none").viz["bars"]["z"].values
        counts = draws.values.max(axis=2).ravel() + 1
        for bar in bars:
            k = (bar["l_e"][0] + bar["r_e"][0]) / 2
            assert bar["y"][0] == pytest.approx((counts == k).mean())
        assert sum(bar["y"][0] for bar in bars) == pytest.approx(1.0)

    def test_errors_are_two_standard_errors_of_independent_draws(self):
        draws = make_draws(n_chains=4, n_draws=1000)
        pc = plot_n_clusters(draws, backend="none")
        p = np.array([bar["y"][0] for bar in pc.viz["bars"]["z"].values])
        y = artist(pc, "error")["y"].reshape(-1, 3)
        common = p > 0.05
        assert common.sum() >= 2
        half = (y[:, 1] - y[:, 0])[common] / 2
        np.testing.assert_allclose(half, 2 * np.sqrt(p * (1 - p) / 4000)[common], rtol=0.25)
        assert np.isnan(y[:, 2]).all()

    @pytest.mark.parametrize("group", ["prior", "posterior", None])
    def test_prior_probabilities_and_draws(self, draws, group):
        before = make_draws(n_chains=1, seed=7)
        law = np.bincount(before.values.max(axis=2).ravel() + 1, minlength=N + 1) / before.sizes["draw"]
        prior = law[1:] if group is None else xr.DataTree.from_dict({group: xr.Dataset({"z": before})})
        points = artist(plot_n_clusters(result(draws), prior=prior, backend="none"), "prior")
        np.testing.assert_allclose(points["y"], law[points["x"].astype(int)])


def test_held_out_density_is_compared_row_by_row():
    values = np.random.default_rng(1).normal(size=(3, 30)).cumsum(axis=0)
    held_out = xr.DataArray(values, dims=("n_directions", "item"), coords={"n_directions": [5, 1, 2]})
    pc = plot_held_out_density(held_out, backend="none")
    points, bars = artist(pc, "mean", "difference"), artist(pc, "error", "difference")
    assert points["x"].tolist() == [1, 2, 5]
    difference = values[[1, 2, 0]] - values[0]
    np.testing.assert_allclose(points["y"], difference.mean(axis=1))
    ends = bars["y"].reshape(-1, 3)
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], 4 * difference.std(axis=1, ddof=1) / np.sqrt(30))
    assert "relative to 5 directions" in artist(pc, "ylabel", "difference")["string"]


class TestClusterParameters:
    def test_quantiles(self):
        pc = plot_cluster_parameters(make_slot_draws(), estimate=TRUE, ci_prob=0.8, backend="none")
        assert pc.viz["median"]["parameter"].values.tolist() == ["slope", "effect[age]", "effect[dose]"]
        values = nrm.stats.cluster_parameters(make_slot_draws(), TRUE)
        panels = {"slope": values["slope"], "effect[dose]": values["effect"].sel(covariate="dose")}
        for name, array in panels.items():
            array = array.values.reshape(80, 4)
            medians = pc.viz["median"]["value"].sel(parameter=name).values
            np.testing.assert_allclose([point["y"].item() for point in medians], np.median(array, axis=0))
            assert [point["x"].item() for point in medians] == [0, 1, 2, 3]
            for visual, tail in (("interval", 0.1), ("inner_interval", 0.25)):
                lines = pc.viz[visual]["value"].sel(parameter=name).values
                expected = np.quantile(array, [tail, 1 - tail], axis=0).T
                np.testing.assert_allclose([line["y"] for line in lines], expected)
        assert [t["string"] for t in pc.viz["ylabel"]["value"].values] == list(pc.viz["median"]["parameter"].values)

    def test_small_clusters(self):
        pc = plot_cluster_parameters(make_slot_draws(), estimate=TRUE, var_names="slope", min_size=8, backend="none")
        assert len(pc.viz["median"]["value"].values.ravel()) == 2
        text = pc.viz["xlabel"]["value"].item()["string"]
        assert text == "label and size of the cluster\nnot shown: 2 clusters of 1 to 6 items"


class TestClusterSizes:
    def test_quantiles(self, draws):
        pc = plot_cluster_sizes(draws, ci_prob=0.8, backend="none")
        sizes = np.zeros((80, N))
        for row, labels in zip(sizes, draws.values.reshape(80, N), strict=True):
            counts = np.sort(np.bincount(labels))[::-1]
            row[: len(counts)] = counts
        ranks = artist(pc, "median")["x"].astype(int) - 1
        quantile = lambda p: np.quantile(sizes, p, axis=0, method="inverted_cdf")[ranks]  # noqa: E731
        np.testing.assert_array_equal(artist(pc, "median")["y"], quantile(0.5))
        ends = artist(pc, "interval")["y"].reshape(-1, 3)[:, :2]
        np.testing.assert_array_equal(ends.T, [quantile(0.1), quantile(0.9)])
        assert quantile(0.5)[-1] > 0

    def test_ranks_that_most_draws_lack_are_counted(self):
        labels = np.zeros((1, 10, 8), dtype=int)
        labels[:, :, 4:] = 1
        labels[0, :2, 6], labels[0, :2, 7] = 2, 3
        draws = result(xr.DataArray(labels, dims=("chain", "draw", "item"), name="z"))
        pc = plot_cluster_sizes(draws, backend="none")
        assert artist(pc, "median")["x"].tolist() == [1, 2]
        assert artist(pc, "xlabel")["string"].endswith("\n2 more ranks, not shown, hold 5 % of the items")
        every = plot_cluster_sizes(draws, max_rank=9, ci_prob=0.95, backend="none")
        assert artist(every, "median")["x"].tolist() == [1, 2, 3, 4]
        assert artist(every, "xlabel")["string"] == "rank of the cluster by size"


class TestPartitionTrace:
    def test_lines_of_chains(self, draws):
        pc = plot_partition_trace(draws, backend="none")
        assert set(pc.viz["trace"].data_vars) == {"n_clusters", "entropy", "largest_cluster"}
        for chain in range(2):
            line = pc.viz["trace"]["n_clusters"].sel(chain=chain).item()
            np.testing.assert_array_equal(line["y"], draws.values[chain].max(axis=1) + 1)
            assert line["color"] == CLUSTER_COLORS[chain]
            outline = pc.viz["distribution"]["n_clusters"].sel(chain=chain).item()
            assert outline["color"] == CLUSTER_COLORS[chain]

    def test_log_joint_of_stored_diagnostics(self, draws):
        tree = result(draws)
        values = np.random.default_rng(1).normal(size=draws.shape[:2])
        counts = draws.values.max(axis=2) + 1
        stats = {"n_clusters": (("chain", "draw"), counts), "log_joint": (("chain", "draw"), values)}
        tree["partition_stats/z"] = xr.DataTree(xr.Dataset(stats))
        pc = plot_partition_trace(tree, backend="none")
        np.testing.assert_array_equal(pc.viz["trace"]["log_joint"].sel(chain=1).item()["y"], values[1])
        # Those of other draws are left out.
        tree["partition_stats/z"] = xr.DataTree(xr.Dataset(stats | {"n_clusters": (("chain", "draw"), counts + 1)}))
        assert "log_joint" not in plot_partition_trace(tree, backend="none").viz["trace"]


class TestSimilarity:
    def test_image_in_order_of_the_estimate(self, draws):
        pc = plot_similarity(draws, estimate=TRUE, backend="none")
        image = artist(pc, "image")["image"]
        names = artist(pc, "xticks")["labels"]
        place = [int(name.split()[1]) for name in names]
        assert TRUE[place].tolist() == sorted(TRUE)  # clusters are largest first already
        labels = draws.values.reshape(-1, N)[:, place]
        np.testing.assert_allclose(image, (labels[:, :, None] == labels[:, None, :]).mean(axis=0))
        within = [image[start:stop, start:stop].mean(axis=1) for start, stop in [(0, 12), (12, 20), (20, 26)]]
        assert all((np.diff(rows) <= 1e-12).all() for rows in within)


class TestDistance:
    def test_radius_and_mean(self, draws):
        pc = plot_distance(draws, TRUE, loss="binder_loss", ci_prob=0.9, backend="none")
        pairs = np.triu_indices(N, 1)
        same = lambda labels: (labels[:, None] == labels)[pairs]  # noqa: E731
        distance = np.array([(same(labels) != same(TRUE)).sum() for labels in draws.values.reshape(-1, N)])
        mean, radius = artist(pc, "mean")["x"], artist(pc, "radius")["x"]
        distance = distance / len(pairs[0])
        assert mean == pytest.approx(distance.mean())
        assert (distance <= radius + 1e-12).mean() >= 0.9 > (distance < radius - 1e-12).mean()

    def test_loss_of_the_estimate(self, draws):
        estimate = xr.Dataset({"labels": ("item", TRUE)}, attrs={"loss": "variation_of_information", "base": np.e})
        nats = artist(plot_distance(draws, estimate, backend="none"), "mean")["x"]
        pc = plot_distance(draws, TRUE, backend="none")
        assert nats == pytest.approx(np.log(2) * artist(pc, "mean")["x"])
        assert artist(pc, "xlabel")["string"].endswith("(bits)")
        estimate.attrs = {"loss": "one_minus_adjusted_rand"}
        assert "Rand" in artist(plot_distance(draws, estimate, backend="none"), "xlabel")["string"]


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
    sizes = sorted_sizes([nrm.DirichletProcess(1.0)] * 4000, 3, 3, np.random.default_rng(1))
    found = [(sizes[:, 0] == size).mean() for size in (1, 2, 3)]
    np.testing.assert_allclose(found, [1 / 6, 1 / 2, 1 / 3], atol=4 * np.sqrt(0.25 / 4000))
    assert (sizes.sum(axis=1) == 3).all() and (np.diff(sizes, axis=1) <= 0).all()
    pc = plot_prior_partition(nrm.DirichletProcess(1), 3, max_rank=2, random_seed=1, backend="none")
    dots = pc.viz["median"]["prior"].sel(measure="DirichletProcess").item()
    assert dots["x"].tolist() == [1, 2] and dots["y"].tolist() == [2, 1]


def test_distributions_are_integrated_out():
    rng = np.random.default_rng(1)
    measures = drawn_measures(nrm.NormalizedGeneralizedGamma(pm.Gamma.dist(2, 1), 0.0), 400, rng)
    assert {measure.sigma for measure in measures} == {0.0}
    law = mean_pmf(measures, 5)
    density = stats.gamma(2).pdf
    expected = integrate.quad(lambda a: density(a) * n_clusters_pmf(nrm.DirichletProcess(a), 5)[1], 0, np.inf)[0]
    spread = np.std([n_clusters_pmf(measure, 5)[1] for measure in measures]) / 20
    assert abs(law[1] - expected) < 4 * spread
    with pm.Model():
        alpha = pm.Gamma("alpha", 2, 1)
    again = drawn_measures(nrm.DirichletProcess(alpha), 3, np.random.default_rng(2))
    assert len({measure.alpha for measure in again}) == 3
    with pytest.raises(ValueError, match="alpha of DirichletProcess must be finite and above 0"):
        drawn_measures(nrm.DirichletProcess(pm.Normal.dist(-9, 1)), 3, rng)


def test_elicited_priors_have_their_own_law():
    prior = nrm.elicit(nrm.DirichletProcess, 9, 3, sd=2, hyperprior="alpha")
    pc = plot_prior_partition({"elicited": prior}, 9, n_draws=20, random_seed=1, backend="none")
    bars = pc.viz["bars"]["prior"].sel(measure="elicited").values
    np.testing.assert_allclose([bar["y"][0] for bar in bars], prior.pmf[: len(bars)])
    assert pc.viz["title"]["prior"].item()["string"] == "elicited\nmean 3, sd 2"
    alone = plot_prior_partition(prior, 9, n_draws=20, random_seed=1, backend="none")
    assert alone.viz["measure"].values.tolist() == ["DirichletProcess"]


def test_nodes_by_level():
    draws, prior = make_nested_draws(), make_nested_draws(seed=3)
    pc = plot_nodes_by_level(draws, prior=prior, by_chain=True, ci_prob=0.9, backend="none")
    n_nodes = partition_quantities(draws).n_nodes
    median = pc.viz["median"]["h"].item()
    np.testing.assert_array_equal(median["y"], np.quantile(n_nodes, 0.5, axis=(0, 1), method="inverted_cdf"))
    chains = pc.viz["chains"]["h"].item()
    np.testing.assert_allclose(chains["y"], n_nodes.mean("draw").values.ravel())
    line = pc.viz["interval"]["h"].item()["y"].reshape(-1, 3)
    for column, tail in ((0, 0.05), (1, 0.95)):
        expected = np.quantile(n_nodes, tail, axis=(0, 1), method="inverted_cdf")
        np.testing.assert_array_equal(line[:, column], expected)
    median = pc.viz["prior_median"]["h"].item()
    expected = np.quantile(partition_quantities(prior).n_nodes, 0.5, axis=(0, 1), method="inverted_cdf")
    np.testing.assert_array_equal(median["y"], expected)
