"""Steps, draws, and everything that follows from draws, as in a user's analysis."""

import tempfile
from typing import assert_type

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from arviz_plots.plot_collection import PlotCollection

import pymc_nrm as nrm
from pymc_nrm.posterior import Description

X = np.array([0.1, 0.3, -0.2, 7.1, 6.9, 7.4])
family = nrm.NormalGamma(mu=X.mean(), kappa=0.1, alpha=2, beta=0.5)

with pm.Model() as model:
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
    nrm.Mixture("x", z, family, observed=X)
    idata = nrm.sample(200, tune=50, chains=2, cores=1, step=[nrm.steps.MarginalGibbs([z])], random_seed=1, quiet=True)
    options = {"tune": 0, "chains": 1, "cores": 1, "progressbar": False, "compute_convergence_checks": False}
    pm.sample(1, step=[nrm.steps.SplitMerge([z], n_moves=2, proposal="sequential", n_items=3)], **options)
    pm.sample(1, step=[nrm.steps.SliceSampler([z])], **options)
    pm.sample(1, step=[nrm.steps.TreeGuided([z], moves={"tree_split_merge": 3}, n_trees=1)], **options)
    pm.sample(1, step=[nrm.published.PublishedTreeGuided([z], n_global=2, canonical=True)], **options)

assert_type(idata, xr.DataTree)
labels = idata.posterior["z"].values
print(labels.shape, idata["posterior"]["z_n_clusters"].mean().item())

table = nrm.summary(idata, n_sizes=2)
assert_type(table, pd.DataFrame)
print(table.loc["z[n_clusters]", "mean"], table.index.tolist())

assert_type(nrm.stats.without_labels(idata), xr.DataTree)
posterior: xr.Dataset = idata.posterior.to_dataset()
assert_type(nrm.stats.without_labels(posterior), xr.Dataset)

estimate = nrm.point_estimate(idata, loss="binder_loss", max_draws=500, progressbar=False, random_seed=1)
assert_type(estimate, xr.Dataset)
print(estimate["labels"].values, float(estimate["expected_loss"]))
modes = nrm.point_estimates(idata, 2, min_share=0.1, random_seed=1, progressbar=False)
assert_type(modes, xr.Dataset)
assert_type(nrm.stats.expected_loss(idata, estimate), xr.Dataset)
assert_type(nrm.stats.assignment_uncertainty(idata, estimate), xr.DataArray)
together = nrm.similarity(idata)
assert_type(together, xr.DataArray)
print(together.values[0, 1])
for rows in nrm.stats.similarity_rows(idata, block_size=2):
    assert_type(rows, xr.DataArray)
ball = nrm.credible_ball(idata, estimate, ci_prob=0.9)
assert_type(ball, xr.Dataset)
assert_type(nrm.stats.partition_convergence(idata, n_pairs=5), xr.Dataset)
assert_type(nrm.stats.add_diagnostics(idata), xr.DataTree)
assert_type(nrm.convergence_report(idata), str)
assert_type(nrm.stats.partition_names(idata), list[str])
assert_type(nrm.stats.partition_quantities(idata, "z"), xr.Dataset)
assert_type(nrm.stats.stack_draws(nrm.stats.partition_draws(idata)), np.ndarray)
print(nrm.stats.variation_of_information(labels[0], labels[0, 0]).max(), nrm.stats.adjusted_rand([0, 0, 1], [0, 1, 1]))

paths = xr.DataArray(np.stack([labels, labels], axis=3), dims=("chain", "draw", "item", "level"), name="h")
assert_type(nrm.stats.levels(paths), xr.DataArray)
weighted = paths.isel(level=[0, 0, 0]).assign_coords(level=["level_1", "table_1", "table_0"])
assert_type(nrm.stats.component_draws(weighted), xr.DataArray)
tree = nrm.nested.consensus_tree(paths)
assert_type(tree, nrm.nested.ItemTree)
assert_type(
    nrm.nested.nested_point_estimate(paths, n_restarts=2, random_seed=1, progressbar=False), nrm.nested.ItemTree
)
assert_type(nrm.nested.maximum_clade_credibility(paths, score="product"), nrm.nested.ItemTree)
assert_type(nrm.nested.clade_probability(paths, [0, 1]), xr.Dataset)
assert_type(tree.to_newick(probabilities=False), str)
assert_type(nrm.nested.ItemTree.from_dataset(tree.to_dataset()), nrm.nested.ItemTree)
assert_type(tree.edges(), list[tuple[int, int]])
assert_type(tree.pruned(2), nrm.nested.ItemTree)
assert_type(tree.path(0), np.ndarray)
print(tree, tree.parent[0], tree.labels(1), tree.items(0), tree.nodes())
assert_type(nrm.stats.common_depth(paths), xr.DataArray)
assert_type(nrm.stats.common_depth_linkage(nrm.stats.common_depth(paths), 2), np.ndarray)
assert_type(nrm.stats.partition_quantities(paths), xr.Dataset)
assert_type(nrm.stats.partition_convergence(paths, n_pairs=5), xr.Dataset)
truth = nrm.nested.ItemTree.from_levels([[0, 0, 0, 1, 1, 1]])
assert_type(nrm.nested.level_agreement(paths, truth), xr.Dataset)
assert_type(nrm.nested.dendrogram_purity(tree, [0, 0, 0, 1, 1, 1]), float)
assert_type(nrm.nested.triplet_accuracy(tree, truth), float)
print(nrm.nested.purity(labels[0], labels[0, 0]).max(), nrm.nested.f_measure([0, 0, 1], [0, 1, 1]))
assert_type(nrm.nested.plots.plot_tree(tree, composition=[0, 0, 0, 1, 1, 1], collapse=True), PlotCollection)
assert_type(nrm.plots.plot_nodes_by_level(paths), PlotCollection)
assert_type(nrm.plots.plot_similarity(paths, level=1), PlotCollection)

density = nrm.predictive_density(idata, model, np.linspace(-2, 9, 50))
assert_type(density, xr.Dataset)
print(density["density"].mean(("chain", "draw")).values.max())
parameters = nrm.sample_cluster_parameters(idata, model, random_seed=1)
assert_type(parameters, xr.Dataset)
assert_type(nrm.cluster_probabilities(idata, model, [0.0, 7.0], estimate), xr.Dataset)
description = nrm.describe(idata, model, estimate, ci_prob=0.9)
assert_type(description, Description)
assert_type(description.table, pd.DataFrame)
print(description, description.to_html(), description.cells["items"].tolist(), description.title, description.notes)
assert_type(nrm.fused_estimate(idata, model, estimate, omega=2.0), xr.Dataset)
assert_type(nrm.log_predictive_density(idata, model, [0.0, 7.0]), xr.DataArray)
assert_type(nrm.sample_posterior_predictive(idata, model, new_items=2, random_seed=1), xr.DataTree)
random_measure = nrm.random_measure.sample_random_measure(idata, model, random_seed=1)
assert_type(random_measure, xr.Dataset)
assert_type(nrm.random_measure.measure_density(random_measure, model, np.linspace(-2, 9, 50)), xr.Dataset)
assert_type(nrm.random_measure.measure_cdf(random_measure, model, np.linspace(-2, 9, 50)), xr.Dataset)
assert_type(nrm.random_measure.measure_mean(random_measure, model), xr.Dataset)

with pm.Model() as lines:
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
    w = nrm.Mixture("w", z, family, observed=X)
    nrm.Mixture("y", z, nrm.NormalRegression(w[:, None], 0.0, np.eye(1), 2.0, 1.0), observed=2.0 * X)
curves = nrm.conditional_quantiles(idata, lines, {"w": [0.0, 7.0]}, probabilities=[0.5])
nrm.conditional_quantiles(idata, lines, {"w": [0.0, 7.0]}, average=True)
assert_type(curves, xr.Dataset)
assert_type(nrm.plots.plot_conditional_density(curves, backend="none"), PlotCollection)
assert_type(nrm.predictive_density(idata, lines, [0.0, 9.0], given={"w": [7.0]}), xr.Dataset)
assert_type(nrm.log_predictive_density(idata, lines, [14.0], given={"w": [7.0]}), xr.DataArray)
with pm.Model() as trajectories:
    z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
    when = pm.Data("when", np.tile([0.0, 1.0], (6, 1)))
    responses = np.column_stack([X, X + 1.0])
    trajectory = nrm.growth.NormalTrajectory(pt.stack([when], axis=-1), 1.0, 0.0, np.eye(1), 2.0, 1.0)
    nrm.Mixture("trajectory", z, trajectory, observed=responses)
groups = nrm.describe(idata, trajectories, estimate, ci_prob=0.9)
assert_type(groups, Description)
assert_type(groups.tables["members"], pd.DataFrame)
assert_type(
    nrm.growth.plots.plot_trajectories(idata, trajectories, estimate, max_lines=3, backend="none"), PlotCollection
)
log_likelihood: xr.DataTree = nrm.compute_log_likelihood(idata, model)

picture = nrm.plots.plot_similarity(idata, estimate=estimate, backend="none")
assert_type(picture, PlotCollection)
print(picture.viz)
assert_type(nrm.plots.plot_n_clusters(idata, backend="none", visuals={"xlabel": False}), PlotCollection)
assert_type(nrm.plots.plot_cluster_sizes(idata, backend="none"), PlotCollection)
slopes = {"z": idata["posterior"]["z"], "slope": (("chain", "draw", "slot"), np.zeros((2, 200, 6)), {"slots_of": "z"})}
assert_type(nrm.stats.cluster_parameters(xr.Dataset(slopes), estimate), xr.Dataset)
assert_type(nrm.plots.plot_cluster_parameters(xr.Dataset(slopes), backend="none"), PlotCollection)
assert_type(nrm.plots.plot_prior_partition({"DP": nrm.DirichletProcess(1.0)}, 10, backend="none"), PlotCollection)
held_out = xr.DataArray(np.zeros((2, 3)), dims=("n_directions", "item"), coords={"n_directions": [1, 2]})
assert_type(nrm.plots.plot_held_out_density(held_out, backend="none"), PlotCollection)
assert_type(nrm.plots.plot_partition_trace(idata, backend="none"), PlotCollection)
assert_type(nrm.plots.plot_clusters(idata, X, backend="none"), PlotCollection)
categories = pd.DataFrame({"kind": list("aabbab")})
assert_type(nrm.plots.plot_category_shares(idata, categories, model=None, backend="none"), PlotCollection)
assert_type(nrm.plots.plot_credible_ball(ball, X, backend="none"), PlotCollection)
assert_type(nrm.plots.plot_point_estimates(modes, X, backend="none"), PlotCollection)
assert_type(nrm.plots.plot_density(density, data=X, backend="none"), PlotCollection)
assert_type(nrm.plots.plot_distance(idata, estimate, backend="none"), PlotCollection)

with tempfile.TemporaryDirectory() as parent:
    nrm.save(idata, model, f"{parent}/saved")
    again, model_again = nrm.load(f"{parent}/saved", check_versions=True)
assert_type(again, xr.DataTree)
assert_type(model_again, pm.Model)

estimator = nrm.MixtureEstimator(draws=20, tune=20, chains=1, cores=1, sample_options={"quiet": True}, random_state=1)
assert_type(estimator.fit(X[:, None], np.full(len(X), -1)), nrm.MixtureEstimator)
assert_type(estimator.fit_predict(X[:, None]), np.ndarray)
assert_type(estimator.predict_proba([[0.0], [7.0]]), np.ndarray)
assert_type(estimator.predict_column([[0.0]], 0, interval=0.5), pd.DataFrame)
assert_type(estimator.score(X[:, None]), float)
assert_type(estimator.set_params(loss="binder_loss"), nrm.MixtureEstimator)
print(estimator.labels_, estimator.n_clusters_, estimator.classes_, estimator.get_params()["draws"])
print(estimator.idata_.posterior["z"].shape, estimator.model_.observed_RVs, estimator.predict([[0.0]]))


def several_fits(table: pd.DataFrame) -> None:
    """Typed, not run."""
    assert_type(nrm.recipes.held_out_density(table, [1, 2], n_folds=3, draws=500, random_seed=1), xr.DataArray)
