"""Pictures of data with an estimate: clusters, credible balls, densities."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import multivariate_normal

import pymc_nrm as nrm
from pymc_nrm.plots import (
    cluster_points,
    plot_category_shares,
    plot_clusters,
    plot_credible_ball,
    plot_density,
    plot_distance,
    plot_point_estimates,
)
from pymc_nrm.plots.clusters import component_moments, ellipse, empirical_moments
from pymc_nrm.plots.side_by_side import PALE
from pymc_nrm.plots.visuals import CLUSTER_COLORS
from tests.plots.plot_cases import TRUE, N, make_ball, make_categories, make_data, make_estimates, normal_density

pytest.importorskip("arviz_plots")


class TestEstimates:
    def test_matching_keeps_most_items(self, rng):
        for _ in range(20):
            a, b = (np.unique(rng.integers(5, size=30), return_inverse=True)[1] for _ in range(2))
            matched = cluster_points.matched_labels(a, b)
            assert len(np.unique(matched)) == len(np.unique(a))
            assert all(len(np.unique(matched[a == k])) == 1 for k in np.unique(a))
            assert (matched == b).sum() >= (a == b).sum()


class TestGroups:
    def test_features(self):
        frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
        assert cluster_points.feature_matrix(frame, 2)[1] == ["a", "b"]
        values, names = cluster_points.feature_matrix(frame, 2, ["b", 0])
        assert names == ["b", "a"] and values.tolist() == [[3.0, 1.0], [4.0, 2.0]]
        named = xr.DataArray(np.ones((2, 1)), dims=("item", "f"), coords={"f": ["height"]})
        assert cluster_points.feature_matrix(named, 2)[1] == ["height"]
        assert cluster_points.feature_matrix(frame["a"], 2)[1] == ["a"]
        mixed = frame.assign(sex=["f", None], size=pd.Categorical(["s", "l"])).astype({"b": object})
        assert cluster_points.feature_matrix(mixed, 2)[1] == ["a", "b"]
        assert cluster_points.feature_matrix(mixed, 2, ["b"])[0].tolist() == [[3.0], [4.0]]
        with pytest.raises(ValueError, match=r"numeric columns; got \['sex', 'size'\] of text"):
            cluster_points.feature_matrix(mixed[["sex", "size"]], 2)
        dated = mixed.assign(day=pd.to_datetime(["2026-01-01", "2026-01-11"]), text=["1.5", "2"])
        values, names = cluster_points.feature_matrix(dated, 2)
        assert names == ["a", "b", "day (days since 2026-01-01)", "text"]
        np.testing.assert_array_equal(values[:, 2:], [[0.0, 1.5], [10.0, 2.0]])
        assert cluster_points.columns_of_text(dated) == ["sex", "size"]
        with pytest.raises(TypeError, match=r"got text or categories in \['sex'\]"):
            cluster_points.feature_matrix(mixed, 2, ["sex"])
        for wrong, message in [(np.ones((3, 2)), "one row for each of the 2"), (["u", "v"], "X must be real numbers")]:
            with pytest.raises((TypeError, ValueError), match=message):
                cluster_points.feature_matrix(wrong, 2)
        with pytest.raises(ValueError, match=r"columns of X \(a, b\); got 2"):
            cluster_points.feature_matrix(frame, 2, [2])

    @pytest.mark.parametrize("data", ["array", "frame"])
    @pytest.mark.parametrize("features", [np.int8(1), True, "x_0", [], [True], [2], [np.zeros(2)], xr.Dataset()])
    def test_wrong_features(self, features, data):
        X = np.ones((3, 2)) if data == "array" else pd.DataFrame(np.ones((3, 2)), columns=["x_0", "x_1"])
        with pytest.raises(ValueError, match=r"^features must be a list of .* of X \(x_0, x_1\); got"):
            cluster_points.feature_matrix(X, 3, features)


class TestEllipses:
    def test_ellipse_has_its_probability(self, rng):
        mean, root = rng.normal(size=2), rng.normal(size=(2, 2))
        covariance = root @ root.T + 0.1 * np.eye(2)
        x, y = ellipse(mean, covariance, 0.8)
        density = multivariate_normal(mean, covariance).logpdf(np.stack([x, y], axis=1))
        assert np.ptp(density) < 1e-9
        draws = rng.multivariate_normal(mean, covariance, size=40_000)
        inside = (multivariate_normal(mean, covariance).logpdf(draws) > density[0]).mean()
        assert abs(inside - 0.8) < 5 * np.sqrt(0.8 * 0.2 / 40_000)

    def test_empirical_moments(self):
        values = make_data(2)
        means, covariances = empirical_moments(values, TRUE, 4)
        np.testing.assert_allclose(means[1], values[TRUE == 1].mean(axis=0))
        np.testing.assert_allclose(covariances[1], np.cov(values[TRUE == 1].T))
        assert np.isnan(covariances[3]).all()  # of one item

    @pytest.mark.parametrize("full", [True, False])
    def test_component_moments(self, rng, full):
        mean = rng.normal(size=(2, 3, N, 2))
        spread = rng.gamma(2.0, size=(2, 3, N, 2, 2) if full else (2, 3, N, 2))
        dims = ("chain", "draw", "item", "feature", "feature_other")
        name = "item_covariance" if full else "item_variance"
        components = xr.Dataset({"item_mean": (dims[:4], mean), name: (dims[: spread.ndim], spread)})
        means, covariances, together = component_moments(components, TRUE, 4, 2)
        assert together == (2 if full else 1)
        np.testing.assert_allclose(means[2], mean[:, :, TRUE == 2].mean(axis=(0, 1, 2)))
        expected = spread[:, :, TRUE == 2].mean(axis=(0, 1, 2))
        np.testing.assert_allclose(covariances[2], expected if full else np.diag(expected))
        with pytest.raises(ValueError, match="27 items and 3 features"):
            component_moments(components, TRUE, 4, 3)
        with pytest.raises(ValueError, match="item_mean and item_covariance"):
            component_moments(components.drop_vars("item_mean"), TRUE, 4, 2)


class TestClusters:
    @pytest.mark.parametrize("d", [1, 2])
    def test_points(self, d):
        X, labels = make_data(d), TRUE
        pc = plot_clusters(None, X if d > 1 else X[:, 0], estimate=TRUE, uncertainty=False, backend="none")
        points = pc.viz["points"]["X"].values
        assert len(points) == 4
        for k, drawn in enumerate(points[:3]):
            np.testing.assert_array_equal(drawn["x"], X[labels == k, 0])
            assert drawn["facecolor"] == CLUSTER_COLORS[k] and "alpha" not in drawn
        assert points[3]["marker"] == "x" and points[3]["edgecolor"] == cluster_points.OTHERS_COLOR
        lines = pc.viz["components"]["X"].values
        assert [line["color"] for line in lines] == list(CLUSTER_COLORS[:3])
        legend = pc.viz["legend"]["entries"].item()
        assert legend["labels"] == [
            "0: 12 items",
            "1: 8 items",
            "2: 6 items",
            "1 cluster of 1 item",
            "90 % of a normal\ndistribution",
        ]

    def test_ellipses_of_clusters_with_few_items_and_gaps(self):
        X = make_data(4)
        X[TRUE == 2, 3] = np.nan
        X[TRUE == 1, 0] = np.where(np.arange(8) < 4, X[TRUE == 1, 0], np.nan)
        lines = plot_clusters(None, X, estimate=TRUE, uncertainty=False, backend="none").viz["components"]["X"]
        pair = lines.sel(row=1, column=0).values
        np.testing.assert_allclose(pair[1]["x"].mean(), X[TRUE == 1, 0][:4].mean(), atol=0.1)
        assert pair[2] is not None and lines.sel(row=2, column=0).values[2] is None
        X[np.flatnonzero(TRUE == 1)[3], 0] = np.nan
        lines = plot_clusters(None, X, estimate=TRUE, uncertainty=False, backend="none").viz["components"]["X"]
        assert lines.sel(row=1, column=0).values[1] is None

    def test_categories_have_no_ellipses(self, rng):
        X = make_data(3)
        X[:, 1] = rng.integers(0, 2, len(X))
        lines = plot_clusters(None, X, estimate=TRUE, uncertainty=False, backend="none").viz["components"]["X"]
        drawn = [[line is not None for line in lines.values[place]] for place in ((0, 0), (1, 0), (1, 1))]
        assert [any(lines) for lines in drawn] == [False, True, False]
        X[:, 1] += 0.5
        lines = plot_clusters(None, X, estimate=TRUE, uncertainty=False, backend="none").viz["components"]["X"]
        assert any(line is not None for line in lines.values[0, 0])

    @pytest.mark.parametrize(("d", "full", "least"), [(1, None, 3), (4, None, 4), (6, True, 8), (6, False, 3)])
    def test_ellipses_are_of_enough_items_to_determine_them(self, rng, d, full, least):
        sizes = np.array([20, least, least - 1])
        labels, X = np.repeat([0, 1, 2], sizes), rng.normal(size=(sizes.sum(), d))
        components = None
        if full is not None:
            spread = np.broadcast_to(np.eye(d), (1, 1, len(X), d, d)) if full else np.ones((1, 1, len(X), d))
            dims = ("chain", "draw", "item", "feature", "feature_other")
            name = "item_covariance" if full else "item_variance"
            components = xr.Dataset({"item_mean": (dims[:4], X[None, None]), name: (dims[: spread.ndim], spread)})
        options = {"components": components, "uncertainty": False, "min_size": 1, "backend": "none"}
        for k, says in ((3, True), (2, False)):
            own = labels < k
            part = options | {"components": None if components is None else components.isel(item=own)}
            pc = plot_clusters(None, X[own], estimate=labels[own], **part)
            lines = pc.viz["components"]["X"]
            lines = lines.isel(row=0, column=0) if "row" in lines.dims else lines
            assert [line is not None for line in lines.values] == [True, True, False][:k]
            text = "90 % of a normal\ndistribution"
            expected = f"{text},\nfrom {least} items on" if says else text
            assert pc.viz["legend"]["entries"].item()["labels"][-1] == expected

    @pytest.mark.parametrize("named", [True, False])
    def test_ellipses_follow_the_features(self, rng, named):
        df = pd.DataFrame(rng.normal([0.0, 50.0, 100.0], size=(30, 3)), columns=["a", "b", "c"])
        dims = ("chain", "draw", "item", "feature")
        order = ["c", "a", "b"] if named else ["a", "b", "c"]
        coords = {"feature": order} if named else {}
        means = np.broadcast_to(df[order].mean(), (1, 1, 30, 3))
        components = xr.Dataset(
            {"item_mean": (dims, means), "item_variance": (dims, np.ones((1, 1, 30, 3)))}, coords=coords
        )
        options = {"estimate": np.zeros(30, dtype=int), "components": components, "uncertainty": False}
        pc = plot_clusters(None, df, features=["c", "a"], backend="none", **options)
        [line] = pc.viz["components"]["X"].values.ravel()
        assert abs(np.mean(line["x"]) - 100.0) < 1.0 and abs(np.mean(line["y"])) < 1.0

    def test_pairs(self):
        X = make_data(4)
        pc = plot_clusters(None, X, estimate=TRUE, uncertainty=False, backend="none")
        points = pc.viz["points"]["X"]
        assert points.sizes == {"row": 3, "column": 3, "group": 4}
        for i in range(3):
            for j in range(3):
                drawn = points.isel(row=i, column=j, group=1).item()
                if j > i:
                    assert drawn is None
                    functions = [element["function"] for element in pc.viz["plot"].isel(row=i, column=j).item()]
                    assert functions == ["remove_axis"]
                else:
                    np.testing.assert_array_equal(drawn["x"], X[TRUE == 1, j])
                    np.testing.assert_array_equal(drawn["y"], X[TRUE == 1, i + 1])
        labels = [drawn["string"] for drawn in pc.viz["xlabel"]["X"].isel(row=2).values]
        assert labels == ["x_0", "x_1", "x_2"]
        assert pc.viz["ylabel"]["X"].isel(row=1, column=0).item()["string"] == "x_2"

    def test_the_legend_has_the_labels_of_the_estimate_and_columns_that_are_not_shown(self):
        X = pd.DataFrame(make_data(2), columns=["a", "b"]).assign(sex="f", island="x")
        labels = np.array([7, 2, 9, 0])[TRUE]
        for estimate in (labels, xr.Dataset({"labels": ("item", labels)})):
            pc = plot_clusters(None, X, estimate=estimate, uncertainty=False, min_size=1, backend="none")
            legend = pc.viz["legend"]["entries"].item()
            assert legend["labels"][:4] == ["7: 12 items", "2: 8 items", "9: 6 items", "0: 1 item"]
            np.testing.assert_array_equal(pc.viz["points"]["X"].values[1]["x"], X["a"][labels == 2])
            assert legend["title"] == "clusters\n(no numbers, not shown:\nsex,\nisland)"
        pc = plot_clusters(None, X, estimate=labels, uncertainty=False, features=["a", "b"], backend="none")
        assert pc.viz["legend"]["entries"].item()["title"] == "clusters"

    def test_of_many_features_those_are_shown_of_which_clusters_explain_most(self, rng):
        labels = np.repeat([0, 1], 20)
        X = rng.normal(size=(40, 9)) + 1e6
        X[0, 4] = np.nan
        X[:, [1, 2, 4, 5, 7, 8]] += np.array([3.0, -3.0, 9.0, 3.0, 3.0, 3.0]) * labels[:, None]
        X[:, 0] = 1.0
        df = pd.DataFrame(X, columns=list("abcdefghi"))
        pc = plot_clusters(None, df, estimate=labels, uncertainty=False, backend="none")
        names = [drawn["string"] for drawn in pc.viz["xlabel"]["X"].isel(row=4).values]
        assert [*names, pc.viz["ylabel"]["X"].isel(row=4, column=0).item()["string"]] == ["b", "c", "e", "f", "h", "i"]
        title = pc.viz["legend"]["entries"].item()["title"]
        assert title == "clusters\n(differ less, not shown:\na,\nd,\ng)"

    def test_uncertainty_of_draws(self, draws):
        pc = plot_clusters(draws, make_data(2), estimate=TRUE, backend="none")
        labels = draws.values.reshape(-1, N)
        together = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
        alpha = np.concatenate([drawn["alpha"] for drawn in pc.viz["points"]["X"].values])
        assert 0.2 <= alpha.min() < alpha.max() <= 1.0
        others = together[TRUE == 0][:, TRUE == 0].mean(axis=1)
        drawn = pc.viz["points"]["X"].values[0]["alpha"]
        np.testing.assert_array_equal(np.argsort(drawn, kind="stable"), np.argsort(others, kind="stable"))


class TestCredibleBall:
    def test_matrices_have_one_order(self):
        images = plot_credible_ball(make_ball(), backend="none").viz["image"]["ball"]
        assert images.partition.values.tolist()[0] == "estimate"
        tables = {key: images.sel(partition=key).item()["image"] for key in images.partition.values}
        np.testing.assert_array_equal(tables["estimate"], TRUE[:, None] == TRUE)
        np.testing.assert_array_equal(tables["upper vertical bound"], (TRUE > 0)[:, None] == (TRUE > 0))
        np.testing.assert_array_equal(tables["lower vertical bound"], np.eye(N))
        np.testing.assert_array_equal(tables["horizontal bound"], np.eye(N))  # the first of the ties

    def test_of_draws(self, draws):
        ball = nrm.credible_ball(draws, TRUE)
        titles = [title["string"] for title in plot_credible_ball(ball, backend="none").viz["title"]["ball"].values]
        assert titles[1].endswith(f"distance {float(ball.horizontal_distance[0]):.3g} bits")
        radius = plot_distance(draws, TRUE, backend="none").viz["radius"]["z"].item()["x"]
        assert radius == float(ball.radius)


class TestDensity:
    def test_mean_and_band(self):
        density = normal_density(1)
        shuffled = density.isel(point=np.random.default_rng(1).permutation(81))
        pc = plot_density(shuffled, ci_prob=0.5, backend="none")
        values = density["density"].values.reshape(50, -1)
        mean, band = (pc.viz[name]["density"].item() for name in ("mean", "band"))
        np.testing.assert_allclose(mean["x"], density["point"])
        np.testing.assert_allclose(mean["y"], values.mean(axis=0))
        np.testing.assert_allclose([band["y_bottom"], band["y_top"]], np.quantile(values, [0.25, 0.75], axis=0))

    def test_contours_enclose_their_mass(self):
        pc = plot_density(normal_density(2, n_draws=2).isel(draw=[0]), backend="none")
        element = next(e for e in pc.viz["plot"].item() if e["function"] == "contour")
        # The region with mass m of a standard normal in two dimensions ends at density (1 - m) / (2 pi).
        expected = (1 - np.array([0.95, 0.75, 0.5, 0.25])) / (2 * np.pi)
        np.testing.assert_allclose(element["levels"], expected, rtol=0.05)
        assert element["density"].shape == (61, 71)

    def test_probabilities_of_counts(self):
        values = np.tile([0.5, 0.3, 0.2], (1, 4, 1))
        density = xr.Dataset(
            {"density": (("chain", "draw", "point"), values)}, coords={"point": [0.0, 1.0, 2.0]}
        ).assign_attrs(kind="probability", variable="count")
        pc = plot_density(density, data=[0, 0, 1, 2], backend="none")
        np.testing.assert_allclose(pc.viz["histogram"]["density"].item()["y"], [0.5, 0.25, 0.25])
        assert pc.viz["mean"]["density"].item()["function"] == "scatter"
        assert pc.viz["xlabel"]["density"].item()["string"] == "count"


class TestPointEstimates:
    def test_items_that_move(self):
        estimates, X = make_estimates(), make_data(2)
        pc = plot_point_estimates(estimates.isel(clustering=[0, 1]), X, backend="none")
        assert [title["string"] for title in pc.viz["title"]["labels"].values] == [
            "70 % of draws\n4 clusters",
            "30 % of draws\n4 clusters, 1 item elsewhere",
        ]
        for key, cluster in ((1, 0), (2, 1)):
            points = pc.viz["points"]["labels"].sel(partition=key).values
            # The one item that moves is not pale, in the colour of its cluster.
            moved = [group for group in points if 1.0 in group["alpha"]]
            assert len(moved) == 1 and moved[0]["facecolor"] == CLUSTER_COLORS[cluster]
            assert sorted(np.concatenate([group["alpha"] for group in points])) == [PALE] * (N - 1) + [1.0]

    def test_wrong_estimates(self):
        for wrong in (xr.Dataset({"labels": ("item", TRUE)}), make_ball(), TRUE):
            with pytest.raises(ValueError, match="estimates must be a Dataset from point_estimates"):
                plot_point_estimates(wrong, backend="none")


class TestCategoryShares:
    def test_shares_and_categories(self):
        df = make_categories()
        pc = plot_category_shares(None, df, estimate=TRUE, backend="none")
        points = pc.viz["shares"]["share"].sel(column="kind").values
        sizes = np.bincount(TRUE[df["kind"].notna()])[:3]
        for group in range(3):
            own = df["kind"][group == TRUE].value_counts()
            np.testing.assert_allclose(points[group]["x"][:2], [own["a"] / sizes[group], own["b"] / sizes[group]])
        few = pc.viz["shares"]["share"].sel(column="level").values[0]["x"]
        assert len(few) == 8
        assert few.sum() == pytest.approx(1.0)
        assert pc.viz["legend"]["entries"].item()["labels"][-1] == "1 cluster of 1 item"

    @pytest.mark.parametrize("dtype", ["int64", "float64", "bool", "boolean", "Int64"])
    def test_columns_of_zeros_and_ones_share_a_plot(self, dtype, rng):
        df = pd.DataFrame(rng.integers(0, 2, (N, 3)), columns=list("ABC")).astype(dtype)
        if dtype not in ("int64", "bool"):
            df.loc[3, "B"] = np.nan if dtype == "float64" else pd.NA
        pc = plot_category_shares(None, df.assign(kind=make_categories()["kind"]), estimate=TRUE, backend="none")
        shares = pc.viz["shares"]["share"].sel(column="share of ones").values
        for group in range(3):
            expected = df.astype("float64")[group == TRUE].mean()
            np.testing.assert_allclose(shares[group]["x"], expected)
        assert pc.viz["shares"]["share"]["column"].values.tolist() == ["kind", "share of ones"]
        again = plot_category_shares(None, df, estimate=TRUE, backend="none", features=["C", "A"])
        np.testing.assert_allclose(again.viz["shares"]["share"].values.ravel()[0]["x"], shares[0]["x"][[2, 0]])

    @pytest.mark.parametrize(
        ("X", "options", "kind", "message"),
        [
            (np.ones((N, 1)), {}, TypeError, "X must be a DataFrame; got ndarray"),
            (pd.DataFrame({"a": 2.0 * np.ones(N)}), {}, ValueError, "X must have a column of text.* got numbers in a"),
            (make_categories(), {"features": ["size"]}, ValueError, r"features must be .* columns of X \(kind.*'size'"),
            (make_categories(), {"features": [["kind"]]}, ValueError, r"features must be .* got \['kind'\]"),
            (make_categories()[:5], {}, ValueError, r"estimate must have shape \(5,\)"),
            (pd.DataFrame({"a": [None] * N}), {"features": ["a"]}, ValueError, "'a' has none"),
        ],
    )
    def test_wrong_data(self, X, options, kind, message):
        with pytest.raises(kind, match=message):
            plot_category_shares(None, X, estimate=TRUE, backend="none", **options)
