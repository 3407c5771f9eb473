"""Groups that must and must not be fused, and fusions against means computed afresh."""

import numpy as np
import pytest
import xarray as xr
from helpers import mixture_of
from scipy import stats

import pymc_nrm as nrm
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.posterior.fused_estimate import cut_fusions, fuse, fused_estimate
from pymc_nrm.stats import expected_loss


def line_model(X):
    return mixture_of(nrm.NormalGamma(mu=0.0, kappa=0.01, alpha=2.0, beta=0.1), X)


def skewed_group():
    """A skewed group of a narrow and a wide component that exchange items, and a group apart."""
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(0, 1, 40), rng.normal(1.5, 2, 40), np.linspace(20, 22, 40)])
    components = np.repeat([0, 1, 2], 40)
    flipped = (rng.random((40, 120)) < 0.1) & (components < 2)
    labels = np.stack([canonical_labels(row) for row in np.where(flipped, 1 - components, components)])
    return X, components, xr.Dataset({"z": (("chain", "draw", "item"), labels[None])})


def test_a_skewed_group_is_fused_and_a_group_apart_is_not():
    X, components, idata = skewed_group()
    model = line_model(X)
    fused = fused_estimate(idata, model, components, random_seed=1)
    np.testing.assert_array_equal(fused.labels, np.repeat([0, 1], [80, 40]))
    np.testing.assert_array_equal(fused.component_labels, components)
    assert (fused.n_clusters, fused.n_fusions) == (2, 1)
    assert fused.component_cluster.values.tolist() == [0, 0, 1]
    assert fused.fusion_closeness[0] > fused.threshold > fused.fusion_closeness[1]
    assert fused.fusion_closeness[1] < 1e-3
    loss = expected_loss(fused.labels, idata)
    assert float(fused.expected_loss) == pytest.approx(float(loss.expected_loss))
    assert fused.threshold == pytest.approx(1 / (1 + fused.attrs["omega"]))
    # Other names of labels, and the ends of omega.
    again = fused_estimate(idata, model, 7 - components, random_seed=1)
    xr.testing.assert_identical(again, fused)
    assert fused_estimate(idata, model, components, omega=1e-9).n_clusters == 3
    assert fused_estimate(idata, model, components, omega=1e9).n_clusters == 1
    assert fused_estimate(idata, model, components, n_clusters=1, max_draws=3).attrs["n_draws_used"] == 3


def test_closeness_of_two_gaussians_is_that_of_their_means():
    """At r standard deviations, exp(-3 r^2 / 32); a posterior draw of r has the error sqrt(2 / 400)."""
    X = np.concatenate([stats.norm.ppf((np.arange(400) + 0.5) / 400) + shift for shift in (0.0, 3.0)])
    components = np.repeat([0, 1], 400)
    idata = xr.Dataset({"z": (("chain", "draw", "item"), np.tile(components, (1, 40, 1)))})
    fused = fused_estimate(idata, line_model(X), components, random_seed=1)
    expected = np.exp(-27 / 32)
    error = expected * 3 * 3 / 16 * np.sqrt(2 / 400 / (40 * 20))
    # The prior shrinks variances by less than 0.001, and the quantiles have a variance of 0.996.
    assert fused.component_closeness[0, 1] == pytest.approx(expected, abs=4 * error + 0.005)
    assert fused.threshold == pytest.approx((399 + 400 * float(fused.component_closeness[0, 1])) / 799)


def test_what_is_refused():
    model = line_model(np.array([0.0, 1.0, 5.0, 6.0]))
    idata = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1]] * 2])})
    for arguments, message in [
        ({"omega": 0.0}, "omega must be positive and finite; got 0"),
        ({"omega": 1.0, "n_clusters": 2}, "give either omega or n_clusters, not both; got 1.0 and 2"),
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1; got 0"),
        ({"n_clusters": 3}, "n_clusters must be at most 2, the number of components of the estimate; got 3"),
        ({"max_draws": 0}, "max_draws must be a whole number of at least 1; got 0"),
        ({"estimate": [0, 1]}, r"estimate must have shape \(4,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            fused_estimate(idata, model, **({"estimate": [0, 0, 1, 1]} | arguments))
    fusions, closeness = fuse([[9.0]], [3])
    assert len(closeness) == 0 and cut_fusions(fusions, 0).tolist() == [0]
    words = mixture_of(nrm.MultinomialDirichlet([1.0, 1.0]), np.array([[1, 2], [3, 4], [0, 1], [5, 0]]))
    with pytest.raises(NotImplementedError, match="MultinomialDirichlet has no affinity in closed form"):
        fused_estimate(idata, words, [0, 0, 1, 1])


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
