"""Mistakes of users: each gets an error that names the argument, before anything is compiled or sampled."""

import importlib.util

import arviz_base
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from scipy import sparse

import pymc_nrm as nrm
from pymc_nrm import plots, stats, testing, trees
from pymc_nrm.common.checks import plain_values
from pymc_nrm.testing import all_partitions
from tests.helpers import learned_dirichlet_process, mixture_of, refused

X = np.random.default_rng(1).normal(size=(4, 2))
FAMILY = nrm.NormalGamma(mu=0.0, kappa=1.0, alpha=2.0, beta=1.0)
MEASURE = nrm.DirichletProcess(1.0)
DRAWS = np.array([[[0, 0, 1, 1], [0, 1, 1, 0]], [[0, 0, 0, 0], [0, 1, 2, 0]]])
POSTERIOR = xr.Dataset({"z": (("chain", "draw", "item"), DRAWS), "alpha": (("chain", "draw"), np.ones((2, 2)))})
IDATA = xr.DataTree.from_dict({"posterior": POSTERIOR})


@pytest.fixture(scope="module")
def model():
    return mixture_of(FAMILY, X, learned_dirichlet_process)


OF_DRAWS = [
    stats.partition_draws,
    stats.partition_quantities,
    nrm.stats.partition_convergence,
    nrm.similarity,
    nrm.point_estimate,
    nrm.point_estimates,
    nrm.credible_ball,
    nrm.stats.assignment_uncertainty,
    plots.plot_cluster_sizes,
    plots.plot_n_clusters,
    plots.plot_partition_trace,
    plots.plot_similarity,
    plots.plot_distance,
]
OF_MODELS = [
    nrm.sample_cluster_parameters,
    nrm.fused_estimate,
    nrm.describe,
    nrm.sample_posterior_predictive,
    nrm.random_measure.sample_random_measure,
    lambda idata, model, **arguments: nrm.predictive_density(idata, model, X, **arguments),
    lambda idata, model, **arguments: nrm.cluster_probabilities(idata, model, X, **arguments),
]
BAD_RESULTS = [
    (None, TypeError, "idata must be a DataTree.* got NoneType"),
    ("results.nc", TypeError, "idata must be a DataTree.* got str"),
    (xr.DataTree.from_dict({"prior": POSTERIOR}), ValueError, "idata must have .*group posterior.*prior"),
    (xr.DataTree(), ValueError, "idata must have .*group posterior"),
    (POSTERIOR.isel(chain=slice(0)), ValueError, "idata must have .*'chain': 0"),
    (POSTERIOR.isel(draw=slice(0)), ValueError, "idata must have .*'draw': 0"),
]


OF_RESULTS = [nrm.summary, nrm.stats.cluster_parameters, plots.plot_cluster_parameters]


@pytest.mark.parametrize("function", [*OF_DRAWS, *OF_RESULTS, *OF_MODELS])
@pytest.mark.parametrize(("idata", "kind", "message"), BAD_RESULTS)
def test_results(function, idata, kind, message, model):
    with pytest.raises(kind, match=message):
        function(idata, *[model] * (function in OF_MODELS))


@pytest.mark.parametrize("function", OF_MODELS)
@pytest.mark.parametrize("bad", [None, "model"])
def test_models(function, bad):
    with pytest.raises(TypeError, match="model must be a pymc.Model: pass model=.*; got"):
        function(IDATA, bad)


@pytest.mark.parametrize("function", OF_DRAWS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", [["z"], 3, ("z",)])
def test_name_of_a_partition(function, name):
    with pytest.raises(TypeError, match="var_name must be a string, the name of one partition; got"):
        function(IDATA, var_name=name)


@pytest.mark.parametrize("function", [f for f in OF_MODELS if f is not nrm.sample_posterior_predictive])
@pytest.mark.parametrize("name", [["z"], 3])
def test_name_of_a_variable_of_a_model(function, name, model):
    with pytest.raises(TypeError, match="var_name must be a string, the name of a (Mixture|Partition)"):
        function(IDATA, model, var_name=name)


# Functions with a seed, and their other arguments.
SEEDED = [
    *((f, (IDATA,)) for f in (nrm.point_estimate, nrm.point_estimates, nrm.credible_ball, nrm.summary)),
    *((f, (IDATA,)) for f in (nrm.stats.partition_convergence, nrm.stats.add_diagnostics)),
    *((f, (IDATA, "model")) for f in (nrm.sample_cluster_parameters, nrm.sample_posterior_predictive)),
    (nrm.random_measure.sample_random_measure, (IDATA, "model")),
    *(
        (f, (X, FAMILY, MEASURE))
        for f in (trees.bhc, trees.ibhc, trees.bayes_kmeans_bhc, trees.optimize_hyperparameters)
    ),
    (trees.IncrementalClustering, (FAMILY, MEASURE)),
    (testing.geweke, ("model",)),
    (lambda model, random_seed: nrm.sample(model=model, random_seed=random_seed), ("model",)),
]


@pytest.mark.parametrize(("function", "arguments"), SEEDED)
@pytest.mark.parametrize("seed", ["auto", -1, True])
def test_seed(function, arguments, seed, model):
    message = "random_seed must be None, a whole number of at least 0, a sequence of such numbers or a Generator; got"
    with pytest.raises((TypeError, ValueError), match=message):
        function(*(model if isinstance(one, str) else one for one in arguments), random_seed=seed)


test_argument = refused(
    lambda call: call(),
    (lambda: nrm.summary(IDATA, [["z"]]), r"var_names must be a string, .* got \['z'\]"),
    (lambda: nrm.summary(IDATA, []), "var_names must be a string or a list of at least one"),
    (lambda: nrm.point_estimate(IDATA, loss=["binder"]), "loss must be one of"),
    (lambda: nrm.credible_ball(IDATA, ci_prob=True), "ci_prob must be between 0 and 1; got True"),
    (lambda: nrm.stats.expected_loss(IDATA, ["a"] * 4), "estimate must be real numbers"),
    (lambda: stats.adjusted_rand(["a", "b"], [0, 1]), "a must be real numbers; got text"),
    (lambda: stats.stack_draws(DRAWS), "draws must be a DataArray .* got ndarray"),
    (lambda: plots.plot_distance(IDATA, costs=3), "costs must be a mapping"),
    (lambda: plots.plot_n_clusters(IDATA, backend=["x"]), "backend must be one of matplotlib, .*; got .'x'"),
    (lambda: plots.plot_clusters(IDATA, X, probability=None, backend="none"), "probability must be between 0"),
    (lambda: plots.plot_cluster_sizes(IDATA, log=np.zeros((2, 2)), backend="none"), "log must be True or False"),
    (lambda: plots.plot_n_clusters(IDATA, by_chain="no", backend="none"), "by_chain must be True or False; got 'n"),
    (lambda: nrm.summary(POSTERIOR.astype(str)), "var_names must be of numbers; 'alpha' holds <U"),
    (
        lambda: nrm.summary(POSTERIOR.assign(alpha=POSTERIOR["alpha"].expand_dims(k=0)).isel(item=[])),
        r"idata must have variables to summarise; got \['alpha', 'z'\] of no entries",
    ),
    *(
        (lambda make=make, n=n: make(n), "must be a whole number between 1 and 1000000000; got")
        for make in (lambda n: nrm.Partition.dist(MEASURE, n), lambda n: nrm.Partition("z", MEASURE, n=n))
        for n in (0, 10**12, "a", 2.0, True)
    ),
    (lambda: trees.bhc(np.nan, FAMILY, MEASURE), r"X must have shape \(n, d\) or \(n,\); got shape \(\)"),
    (lambda: trees.bhc(X, FAMILY, MEASURE, u=2**1025), "u must be a finite number above 0; got 3"),
    (lambda: trees.bhc(X, nrm.NormalGamma(0, 1, 1e9, 1), MEASURE), "alpha of NormalGamma must be at most 1e.08"),
    (lambda: trees.bhc(X * 1e155, FAMILY, MEASURE), "X: item .* overflow.  Give the data in larger units"),
    (lambda: trees.bhc(np.full((3, 2), 1e154), FAMILY, MEASURE), "X: feature 0 has the median 1e.154; squares"),
    (lambda: trees.ibhc(X, FAMILY._replace(mu=1e300), MEASURE), "mu of NormalGamma must be within 1e.140 .*got"),
    (lambda: trees.ibhc(X, FAMILY, MEASURE, n_passes=2**63), "n_passes must be a whole number between 1 and"),
    (lambda: trees.bhc([[10**10]], nrm.PoissonGamma(1.0, 1.0), MEASURE), "^X: data of PoissonGamma .* at most"),
    (lambda: nrm.NormalGamma.from_data(X * 1e155), "X must have variances from .* Give the data in other units"),
    (lambda: nrm.similarity(IDATA, items=[True, False, True, False]), "items must be values of 'item'; got"),
    (lambda: plots.plot_n_clusters(IDATA, visuals=["a"]), "visuals must be a mapping"),
    (lambda: plots.plot_n_clusters(IDATA, plot_collection=3), "plot_collection must be a PlotCollection; got 3"),
    (lambda: plots.plot_dendrogram(None), "dendrogram must be a Dendrogram, .* got NoneType"),
    (lambda: plots.plot_clusters(IDATA, X + 1j, estimate=[0, 0, 1, 1]), "X must be real numbers; got complex"),
    (
        lambda: plots.plot_clusters(None, X, estimate=[0, 0, 1, 1], uncertainty=False, components=3),
        "components must be a Dataset from sample_cluster_parameters; got int",
    ),
    (lambda: trees.bhc(X, [FAMILY, FAMILY], MEASURE), "X must be a list of 2 data sets, .*; got ndarray"),
    (lambda: trees.bhc([X, X[:2]], [FAMILY, FAMILY], MEASURE), r"X must have the same items; got \[4, 2\] rows"),
    (lambda: trees.IncrementalClustering(None, MEASURE), "family must be a family .*; got None"),
    (lambda: trees.optimize_hyperparameters(X, FAMILY, MEASURE, tolerance="a"), "tolerance must be a finite"),
    (lambda: trees.optimize_hyperparameters(X, FAMILY, MEASURE, algorithm="bhc"), "algorithm must be a function"),
    (lambda: trees.optimize_hyperparameters(X, FAMILY, MEASURE, family_names="kappa"), "family_names must be a"),
    (lambda: trees.optimize_hyperparameters(X, FAMILY, MEASURE, measure_names=["q"]), "measure_names must be"),
    (lambda: testing.log_evidence(np.zeros((12, 1)), FAMILY, MEASURE), "X must have at most 10 items; got 12"),
    (lambda: testing.exact_posterior(None, FAMILY, X), "measure must be a measure"),
    (lambda: testing.geweke(None), "model must be a pymc.Model; got None"),
    (lambda: testing.total_variation([1.0], [0.5, 0.5]), r"p and q must have the same shape .* \(1,\) and \(2,\)"),
    (lambda: testing.mean_and_error(3), r"values must have shape \(chains, draws, ...\), .* got shape \(\)"),
    (lambda: testing.z_scores(DRAWS, [[0, 0]], [1.0]), r"labels must have shape \(..., n\) with n = 2"),
    (lambda: testing.z_scores(DRAWS, 3, [1.0]), r"partitions must have shape .* got shape \(\)"),
    (lambda: testing.z_scores(DRAWS, all_partitions(4), [1.0]), "probabilities must be 15 numbers .* shape"),
    error=(TypeError, ValueError),
    within=pm.Model,
)


INFINITE = np.full((1, 2), np.inf)
OF_SAMPLE = [
    ({"var_names": "q"}, "var_names must be variables of the model: .*; got 'q'$"),
    ({"var_names": "absent"}, "var_names must be variables of the model: .*; got 'absent'$"),
    ({"draws": 1.5}, "draws must be a whole number of at least 0; got 1.5"),
    ({"tune": -1}, "tune must be a whole number of at least 0; got -1"),
    ({"chains": 0}, "chains must be a whole number of at least 1; got 0"),
    ({"cores": 0}, "cores must be a whole number of at least 1; got 0"),
    ({"label_storage": ["full"]}, "label_storage must be one of"),
    ({"quiet": "no"}, "quiet must be True or False; got 'no'"),
    ({"partition_diagnostics": 1}, "partition_diagnostics must be True or False; got 1"),
    ({"compute_convergence_checks": np.ones(2)}, r"compute_convergence_checks must be True or False; got array"),
    ({"initvals": 3}, "initvals must be a dict of values, or a list"),
    ({"initvals": {"q": 1}}, r"initvals must be of free variables of the model, .*; got 'q'"),
    ({"initvals": {"z": ["a"] * 4}}, r"initvals\['z'\] must be whole numbers; got text"),
    ({"initvals": {"z": [0, 1]}}, r"initvals\['z'\] must hold one label for each of 4 items; got 2"),
]


test_argument_with_a_model = refused(
    lambda model, call: call(model),
    (lambda m: nrm.sample_posterior_predictive(IDATA, m, var_names=[["x"]]), "var_names must be a string"),
    (lambda m: nrm.random_measure.sample_random_measure(IDATA, m, tail_mass="a"), "tail_mass must be between 0 and 1"),
    (lambda m: nrm.sample_cluster_parameters(IDATA, m, to_items=None), "to_items must be True or False; got None"),
    (lambda m: nrm.compute_log_likelihood(IDATA, m, extend_inferencedata="x"), "extend_inferencedata"),
    (lambda m: nrm.predictive_density(IDATA, m, INFINITE), "^grid: data of NormalGamma"),
    (lambda m: nrm.predictive_density(IDATA, m, [["a", "b"]]), "^grid must be real numbers; got text"),
    (lambda m: nrm.cluster_probabilities(IDATA, m, INFINITE, [0, 0, 1, 1]), "^X_new of 'x':"),
    (lambda m: nrm.cluster_probabilities(IDATA, m, X, ["a"] * 4), "estimate must be real numbers; got text"),
    (lambda m: nrm.cluster_probabilities(IDATA, m, xr.Dataset()), "X_new"),
    (lambda m: nrm.cluster_probabilities(POSTERIOR.isel(item=[]), m, X), "draws of 'z' must be"),
    (lambda m: nrm.steps.TreeGuided(m["z"], moves=[1], model=m), "moves must be a mapping"),
    (lambda m: nrm.steps.SplitMerge([m["z"]], proposal=np.zeros((2, 2)), model=m), "proposal must be"),
    (lambda m: nrm.steps.MarginalGibbs(model=m), r"vars must be a free Partition .* got None"),
    (lambda m: nrm.steps.MarginalGibbs(["z"], model=m), r"vars must be a free Partition .* got \['z'\]"),
    (lambda m: nrm.steps.MarginalGibbs([m["x"]], model=m), r"vars must be a free Partition .* got \[x\]"),
    (lambda m: nrm.steps.MarginalGibbs([m["alpha"]], model=m), "vars must be partitions; 'alpha' is not"),
    (lambda m: nrm.steps.MarginalGibbs([m["z"]], model=3), "model must be a pymc.Model: .* got 3"),
    (lambda m: nrm.steps.MarginalGibbs([m["z"]], model=m, rng=1.5), "rng must be None, a whole number"),
    *((lambda m, one=one: nrm.sample(**({"model": m, "quiet": True} | one)), message) for one, message in OF_SAMPLE),
    error=(TypeError, ValueError),
)


def with_dims(observed, dims):
    z = nrm.Partition("z", MEASURE, dims="item")
    nrm.Mixture("x", z, FAMILY, observed=observed if observed is None else pm.Data("X", observed), dims=dims)


test_dimensions_of_a_mixture = refused(
    with_dims,
    (None, ("item", "absent"), r"dims of Mixture 'x' must be dimensions of the model, \['feature', 'item'\]"),
    (None, (), "dims of Mixture 'x' must be one name for a vector, two for a matrix; got"),
    (np.zeros((4, 0)), None, r"observed data of Mixture 'x': .* at least one column; got shape \(4, 0\)"),
    (X, "item", r"dims of Mixture 'x' must be one name .* got 'item' for shape \(4, 2\)"),
    (X, ("item", 3), "dims of Mixture 'x' must be a name, or a tuple of names; got"),
    (X, ("feature", "item"), r"dims of Mixture 'x' must be of lengths \(4, 2\); got 'feature', which has length 2"),
    error=(TypeError, ValueError),
    within=lambda: pm.Model(coords={"item": range(4), "feature": range(2)}),
)


def test_whole_numbers_beyond_doubles():
    assert plain_values(nrm.PoissonGamma([2**70], 1.0)).alpha == plain_values(nrm.PoissonGamma(2**70, 1.0)).alpha
    for alpha in (2**1025, [2**1025], [2**1025, 1.0]):
        with pytest.raises(ValueError, match="alpha of PoissonGamma must be at most 1.8e308"):
            plain_values(nrm.PoissonGamma(alpha, 1.0))


@pytest.mark.slow
def test_covariances_beyond_doubles():
    # The mean of the prior is 1e9 away from the data, so that a covariance is 1e17 times as long in one direction.
    model = mixture_of(nrm.NormalWishart(0.0, 0.5, 30.0 * np.eye(2), 6.0), np.full((4, 2), 1e9), MEASURE)
    with pytest.raises(ValueError, match="data of 'x' cannot be drawn: .* Choose mu nearer to the data"):
        nrm.sample_posterior_predictive(IDATA, model, random_seed=1)
    measures = nrm.random_measure.sample_random_measure(IDATA, model, random_seed=1)
    with pytest.raises(ValueError, match="density of 'x' cannot be computed: .*mu nearer"):
        nrm.random_measure.measure_density(measures, model, np.full((1, 2), 1e9))


@pytest.mark.parametrize(
    "function",
    [
        lambda measures, model: nrm.random_measure.measure_density(measures, model, X),
        lambda measures, model: nrm.random_measure.measure_cdf(measures, model, [0.0]),
        nrm.random_measure.measure_mean,
    ],
)
def test_random_measures_without_atoms(function, model):
    measures = nrm.random_measure.sample_random_measure(IDATA, model, random_seed=1)
    message = "measure_draws must have an atom of weight above 0 in every draw; "
    with pytest.raises(ValueError, match=message + "4 of 4 draws have none"):
        function(measures.isel(atom=[]), model)
    # Draws with fewer atoms than others end in atoms of weight 0.
    with pytest.raises(ValueError, match=message + "[123] of 4 draws have none"):
        function(measures.isel(atom=[-1]), model)


OF_LIKELIHOODS = [
    lambda *given: nrm.predictive_density(*given, X),
    nrm.sample_posterior_predictive,
    nrm.compute_log_likelihood,
]


@pytest.mark.parametrize("function", OF_LIKELIHOODS)
@pytest.mark.parametrize("is_constant", [True, False])
def test_prior_mean_too_far_for_squares(function, is_constant):
    model = mixture_of(lambda: FAMILY._replace(mu=1e300 if is_constant else pm.Normal("mu", 0.0, 1.0)), X, MEASURE)
    draws = xr.DataTree.from_dict({"posterior": POSTERIOR.assign(mu=1e300 * POSTERIOR.alpha)})
    with pytest.raises(ValueError, match="mu of NormalGamma must be within 1e.140 .*got 1e.300"):
        function(draws, model)


@pytest.mark.parametrize("function", OF_LIKELIHOODS)
def test_data_too_large_for_squares(function):
    model = mixture_of(FAMILY, X * 1e155, MEASURE)
    with pytest.raises(ValueError, match="data of 'x': item .* overflow.*larger units"):
        function(IDATA, model)


def test_a_plot_without_matplotlib_says_how_to_install_it(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "matplotlib" else found(name))
    message = r'requires matplotlib, which is not installed\. Install it with `pip install "pymc-nrm\[plots\]"`'
    with pytest.raises(ImportError, match=message):
        plots.plot_n_clusters(IDATA, backend="matplotlib")
    # What arviz-base falls back on.
    monkeypatch.setitem(arviz_base.rcParams, "plot.backend", "none")
    with pytest.raises(ImportError, match=f'{message} or give backend="none"'):
        plots.plot_n_clusters(IDATA)
    plots.plot_n_clusters(IDATA, backend="none")


THREE = np.array([[0.0, 0.4], [1.1, 1.9], [0.7, 0.6]])
WORDS = sparse.csr_array([[0, 1], [2, 1], [0, -3]])
BETWEEN_1_AND_3 = "n_items must be a whole number between 1 and 3"


def mixture(z, family, observed):
    return nrm.Mixture("x", z, family, observed=observed)


def sample(**kwargs):
    return pm.sample(5, tune=5, chains=1, cores=1, progressbar=False, quiet=True, **kwargs)


test_arguments_of_variables_and_steps = refused(
    lambda call: call(nrm.Partition("z", MEASURE, n=3)),
    (lambda z: mixture(z, FAMILY, THREE[:2]), ValueError, r"one row for each of the 3 items.*\(2, 2\)"),
    (lambda z: mixture(z, FAMILY, THREE[None]), ValueError, r"shape \(n, d\).*\(1, 3, 2\)"),
    (lambda z: mixture(z, FAMILY, sparse.csr_array(THREE)), ValueError, "NormalGamma.*dense"),
    (lambda z: mixture(z, nrm.CategoricalDirichlet(1.0, 2), [0, 1, 2]), ValueError, "CategoricalDirichlet.*2"),
    (lambda z: mixture(z, nrm.MultinomialDirichlet(1.0), WORDS), ValueError, "MultinomialDirichlet.*-3"),
    (lambda z: nrm.Mixture("x", z, nrm.CategoricalDirichlet(1.0), shape=(3, 2)), ValueError, "n_levels"),
    (lambda z: nrm.Partition("w", 1.0, n=3), TypeError, "measure must be a measure"),
    (lambda z: mixture(z, pm.Normal.dist(), THREE), TypeError, "family must be a family"),
    (lambda z: mixture(np.zeros(3, dtype=int), FAMILY, THREE), TypeError, "partition must be a Partition"),
    *[
        (lambda z, step=step, n_items=n_items: step([z], n_items=n_items), ValueError, BETWEEN_1_AND_3)
        for step in (nrm.steps.MarginalGibbs, nrm.steps.SplitMerge)
        for n_items in (0, 4, 1.5, True)
    ],
    (
        lambda z: nrm.steps.SplitMerge([z], n_moves=-1),
        ValueError,
        "n_moves must be a whole number of at least 0; got -1",
    ),
    (lambda z: nrm.steps.SplitMerge([z], n_scans=0.5), ValueError, "n_scans must be a whole number"),
    (lambda z: nrm.steps.SplitMerge([z], proposal="random"), ValueError, "proposal must be .*'sequential'.*'random'"),
    (lambda z: nrm.steps.SplitMerge([z], n_movs=3), TypeError, "n_movs"),
    (lambda z: sample(tree_guided={"n_movs": 3}), TypeError, "n_movs"),
    *(
        (lambda z, step=step: step([pm.Poisson("y", 2.0)]), TypeError, "'y' is not a Partition")
        for step in (nrm.steps.MarginalGibbs, nrm.steps.SplitMerge, nrm.steps.TreeGuided)
    ),
    within=pm.Model,
)


test_partition = refused(
    lambda arguments: nrm.Partition("z", MEASURE, **arguments),
    ({}, "number of items"),
    ({"dims": "absent"}, "number of items"),
    ({"n": 4, "dims": "obs"}, "n of .* must be 3, the length of dims .*; got 4"),
    ({"dims": ("obs", "feature")}, "one name"),
    ({"n": 3, "initval": [0, 1]}, "for each of 3 items"),
    ({"n": 3, "observed": [0, 1, 0, 1]}, "for each of 3 items"),
    ({"n": 3, "shape": 3}, "does not take shape"),
    within=lambda: pm.Model(coords={"obs": range(3), "feature": range(2)}),
)


test_uses_of_labels_other_than_by_a_mixture = refused(
    lambda use: (use(nrm.Partition("z", MEASURE, n=3)), sample()),
    (lambda z: pm.Normal("y", pm.Normal("mu", shape=3)[z], 1.0, observed=[0.0, 1.0, 2.0]), "y"),
    (lambda z: pm.Potential("bonus", pt.eq(z[0], z[1]).astype("float64")), "bonus"),
    (lambda z: pm.Normal("effect", z.max(), 1.0), "effect"),
    (lambda z: nrm.Mixture("x", z, FAMILY._replace(beta=1.0 + z.max()), observed=THREE), "x"),
    (lambda z: pm.Poisson("y", pm.Deterministic("k", z.max() + 1.0), observed=2), "y"),
    match="'{}' must not depend on the labels of partition 'z'",
    within=pm.Model,
)


def test_external_samplers():
    model = mixture_of(FAMILY, THREE, learned_dirichlet_process)
    with model, pytest.raises(ValueError, match="nutpie.*not assigned to another step"):
        sample(nuts_sampler="nutpie")


@pytest.mark.parametrize(
    ("initvals", "message"),
    [
        ({"alpha": -1.0}, "alpha of DirichletProcess .* above 0; got nan"),
        ({"rate": -2.0}, "alpha of PoissonGamma must be finite and above 0 where the sampling of 'x' starts; got"),
    ],
)
def test_start_outside_a_support(initvals, message):
    model = mixture_of(lambda: nrm.PoissonGamma(pm.HalfNormal("rate"), 1.0), [0, 1, 8], learned_dirichlet_process)
    with pytest.raises(ValueError, match=message), np.errstate(invalid="ignore"):
        nrm.sample(2, tune=0, chains=1, cores=1, model=model, initvals=initvals, quiet=True)
