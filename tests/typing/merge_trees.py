"""Bayesian hierarchical clustering, data sets and checks of exactness, without sampling."""

from typing import assert_type

import numpy as np
from arviz_plots.plot_collection import PlotCollection

import pymc_nrm as nrm
from pymc_nrm import testing

velocities = nrm.datasets.galaxies() / 1000
X = np.sort(velocities)[::16]
family = nrm.NormalGamma.from_data(X[:, None])
measure = nrm.DirichletProcess(1.0)

dendrogram = nrm.trees.bhc(X, family, measure, random_seed=1)
assert_type(dendrogram, nrm.trees.Dendrogram)
assert_type(dendrogram.tree, nrm.trees.Tree)
assert_type(dendrogram.n_clusters, int)
assert_type(dendrogram.log_evidence, float)
assert_type(dendrogram.to_linkage(), np.ndarray)
print(dendrogram.labels, dendrogram.tree.size)
assert_type(nrm.trees.ibhc(X, family, measure, random_seed=1), nrm.trees.Dendrogram)
assert_type(nrm.trees.bayes_kmeans_bhc(X, family, measure, n_clusters=2, random_seed=1), nrm.trees.Dendrogram)
assert_type(nrm.trees.log_evidence_lower_bound(dendrogram.tree, X, family, measure), float)
gains = nrm.trees.alternative_trees(dendrogram, X, family, measure)
assert_type(gains.log_gain, float)
assert_type(nrm.trees.predictive_log_density(dendrogram, X, [0.0, 1.0], family, measure), np.ndarray)
fitted = nrm.trees.optimize_hyperparameters(X, family, measure, n_rounds=1, random_seed=1)
assert_type(fitted, nrm.trees.OptimizedHyperparameters)
print(fitted.family.beta, fitted.measure.alpha)
stream = nrm.trees.IncrementalClustering(family, measure, random_seed=1).partial_fit(X[:4, None])
assert_type(stream.partial_fit(X[4:, None]).dendrogram(), nrm.trees.Dendrogram)
assert_type(nrm.plots.plot_dendrogram(dendrogram, backend="none"), PlotCollection)

partitions, probabilities = testing.exact_posterior(measure, family, X)
assert_type(testing.total_variation(probabilities, probabilities), float)
assert_type(testing.log_evidence(X, family, measure), float)
print(partitions.shape, testing.largest_z((4, 1000), 10))
