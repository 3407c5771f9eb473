"""Estimates whose clusters are fused components."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.fused_estimate import cut_fusions, fuse
from tests.helpers import canonical_labels
from tests.predictions.prediction_cases import line_model, skewed_group


def test_by_default_clusters_are_fused_and_compared_with_fused_draws():
    X, components, idata = skewed_group()
    model = line_model(X)
    description = nrm.describe(idata, model)
    assert str(description).startswith(
        "120 rows in 2 clusters (in all draws; 3 components, joined where they overlap)\n"
    )
    own = description.table["cluster"]
    assert own["size"].tolist() == [80, 40]
    # Items change between components that are one cluster: in components, their certainty is below that.
    assert own["certainty"].tolist() == [1.0, 1.0]
    xr.testing.assert_identical(description.estimate, nrm.fused_estimate(idata, model, random_seed=0))
    of_components = nrm.describe(idata, model, components=True)
    assert "in 3 clusters (in all draws), the components of the point estimate" in str(of_components)
    assert of_components.table["cluster"]["certainty"].max() == 1.0 > of_components.table["cluster"]["certainty"].min()
    again = nrm.describe(idata, model, description.estimate)
    assert again.table.equals(description.table) and again.title == description.title
    with pytest.raises(ValueError, match="give either components=True or an estimate, not both"):
        nrm.describe(idata, model, components, components=True)


def test_draws_are_fused_as_the_estimate_is():
    X, components, idata = skewed_group()
    fused = nrm.fused_estimate(idata, line_model(X), components, random_seed=1)
    draws = idata["z"].values[0]
    labels = np.take_along_axis(fused.draw_fusion.values[0], draws, axis=1)
    np.testing.assert_array_equal(labels, np.tile(np.repeat([0, 1], [80, 40]), (40, 1)))
    assert (fused.draw_fusion.values[0] >= 0).sum(axis=1).tolist() == (draws.max(axis=1) + 1).tolist()
    # A draw of one cluster more has its own tree.
    more = xr.concat([idata, idata.where(np.arange(120) < 119, 3).astype(int)], dim="chain")
    fused = nrm.fused_estimate(more, line_model(X), components, random_seed=1)
    assert (fused.draw_fusion.values[0] >= 0).sum(axis=1).max() == 3
    assert (fused.draw_fusion.values[1] >= 0).sum(axis=1).min() == 4


def test_a_skewed_group_is_fused_and_a_group_apart_is_not():
    X, components, idata = skewed_group()
    model = line_model(X)
    fused = nrm.fused_estimate(idata, model, components, random_seed=1)
    np.testing.assert_array_equal(fused.labels, np.repeat([0, 1], [80, 40]))
    np.testing.assert_array_equal(fused.component_labels, components)
    assert (fused.n_clusters, fused.n_fusions) == (2, 1)
    assert fused.component_cluster.values.tolist() == [0, 0, 1]
    assert fused.fusion_closeness[0] > fused.threshold > fused.fusion_closeness[1]
    assert fused.fusion_closeness[1] < 1e-3
    loss = nrm.stats.expected_loss(idata, fused.labels)
    assert float(fused.expected_loss) == pytest.approx(float(loss.expected_loss))
    assert fused.threshold == pytest.approx(1 / (1 + fused.attrs["omega"]))
    # Other names of labels, and the ends of omega.
    again = nrm.fused_estimate(idata, model, 7 - components, random_seed=1)
    xr.testing.assert_identical(again, fused)
    assert nrm.fused_estimate(idata, model, components, omega=1e-9).n_clusters == 3
    assert nrm.fused_estimate(idata, model, components, omega=1e9).n_clusters == 1
    assert nrm.fused_estimate(idata, model, components, n_clusters=1, max_draws=3).attrs["n_draws_used"] == 3


def test_closeness_of_two_gaussians_is_that_of_their_means():
    """At r standard deviations, exp(-3 r^2 / 32); a posterior draw of r has the error sqrt(2 / 400)."""
    X = np.concatenate([stats.norm.ppf((np.arange(400) + 0.5) / 400) + shift for shift in (0.0, 3.0)])
    components = np.repeat([0, 1], 400)
    idata = xr.Dataset({"z": (("chain", "draw", "item"), np.tile(components, (1, 40, 1)))})
    fused = nrm.fused_estimate(idata, line_model(X), components, random_seed=1)
    expected = np.exp(-27 / 32)
    error = expected * 3 * 3 / 16 * np.sqrt(2 / 400 / (40 * 20))
    # The prior shrinks variances by less than 0.001, and the quantiles have a variance of 0.996.
    assert fused.component_closeness[0, 1] == pytest.approx(expected, abs=4 * error + 0.005)
    assert fused.threshold == pytest.approx((399 + 400 * float(fused.component_closeness[0, 1])) / 799)


def random_case(seed, n=14, m=6):
    """Closeness of items, components, and sums over their pairs."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    closeness = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    components = canonical_labels(np.concatenate([np.arange(m), rng.integers(m, size=n - m)]))
    members = np.eye(m)[components]
    return closeness, components, members.T @ closeness @ members


def fold_loss(closeness, labels, omega):
    together = labels[:, None] == labels
    return np.where(together, 1 - closeness, omega * closeness)[np.triu_indices(len(labels), 1)].sum()


@pytest.mark.parametrize("seed", range(5))
def test_every_fusion_joins_the_closest_pair(seed):
    closeness, components, sums = random_case(seed)
    fusions, found = fuse(sums, np.bincount(components))
    m = len(sums)
    for t in range(m - 1):
        before, after = (cut_fusions(fusions, k)[components] for k in (t, t + 1))
        means = {(a, b): closeness[np.ix_(before == a, before == b)].mean() for b in range(m - t) for a in range(b)}
        assert found[t] == pytest.approx(max(means.values()), abs=1e-12)
        a, b = max(means, key=means.get)
        assert len(np.unique(after[(before == a) | (before == b)])) == 1
    assert (np.diff(found) <= 1e-12).all()


@pytest.mark.parametrize("omega", [0.3, 1.0, 4.0, 30.0])
def test_the_cut_has_the_least_loss_along_the_tree(omega):
    for seed in range(5):
        closeness, components, sums = random_case(seed)
        fusions, found = fuse(sums, np.bincount(components))
        losses = [fold_loss(closeness, cut_fusions(fusions, k)[components], omega) for k in range(len(sums))]
        assert losses[(found > 1 / (1 + omega)).sum()] == pytest.approx(min(losses), abs=1e-12)


def test_parameters_of_clusters_are_means_of_single_draws():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=5)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.1), observed=[10, 12, 14, 90, 88])
    draws = draws_of(xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0, 1, 1]]])}), model, "z")
    [draw] = draws
    mean, rng = draws.cluster_parameters(draw, "x", np.random.default_rng(1), 3), np.random.default_rng(1)
    single = [draws.cluster_parameters(draw, "x", rng) for _ in range(3)]
    np.testing.assert_allclose(mean, np.mean(single, axis=0), rtol=1e-14)


def test_a_fused_estimate_is_of_its_draws():
    """Fusions of draws are found by place: those of other draws gave wrong certainties."""
    x = np.r_[np.linspace(-1, 1, 4), np.linspace(-0.9, 1.1, 4), np.linspace(29, 31, 4)]
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=12)
        nrm.Mixture("x", z, nrm.NormalGamma(10.0, 0.01, 2.0, 2.0), observed=x)
    labels = [[0] * 4 + [1] * 4 + [2] * 4] * 200 + [[0] * 8 + [1, 2, 1, 2]] * 200
    posterior = xr.Dataset({"z": (("chain", "draw", "item"), [labels])})
    fused = nrm.fused_estimate(posterior, model, random_seed=1, progressbar=False)
    certainty = nrm.describe(posterior, model, fused).table["cluster", "certainty"]
    assert certainty.tolist() == [1.0, 1.0]
    for other in (posterior.isel(draw=slice(200, None)), posterior.isel(draw=slice(None, None, -1))):
        with pytest.raises(ValueError, match=r"clusters of other draws.*fused_estimate\(idata, model\) fuses"):
            nrm.describe(other, model, fused)
        nrm.describe(other, model, fused["labels"])
