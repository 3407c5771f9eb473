"""Dimensions and coordinates of the user with names that results use: values stay, and names stay apart."""

import functools

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm import plots, stats
from pymc_nrm.common.result_names import added_dim, added_names, result_dataset
from tests.tools.four_items import COUNTS, ESTIMATE, LABELS, QUIET, THINGS, draws_of, new_items, tree_of
from tests.tools.wings import rows_of_wings

NEUTRAL = "thing"

# Names that every function is tried with, besides all that its own result has.
NAMES = ["state", "next_state", "component", "fusion", "restart", "cluster", "point", "step", "level", "item", "column"]


# Names of the draws, of data, and of results that are arrays, which may share those of a coordinate.
OF_USERS = {"chain", "draw", "z", "h", "x", "w", "y", "f", "slope", "further"}
OF_USERS |= {"assignment_uncertainty", "similarity", "common_depth", "log_predictive_density"}


def names_to_try(expected, dim):
    """Names of a result, without the user's, and common ones."""
    own = {*expected.dims, *expected.coords, *expected.data_vars} - OF_USERS
    own = {name for name in own if not any(user in name for user in (NEUTRAL, "feature", "new_one"))}
    return sorted(own | {f"{dim}_other", f"new_{dim}", *NAMES})


@functools.cache
def flat(items, features="feature"):
    """A model of counts, whose items and features have these dimensions."""
    with pm.Model(coords={items: THINGS, features: ["a", "b"]}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims=items)
        nrm.Mixture("x", z, nrm.NormalGamma(1.0, 0.5, 2.0, 2.0), observed=COUNTS, dims=(items, features))
        nrm.Mixture("w", z, nrm.PoissonGamma(1.0, 0.5), observed=COUNTS[:, 0], dims=items)
        nrm.Mixture("y", z, nrm.NormalGamma(1.0, 0.5, 2.0, 2.0), observed=COUNTS[:, 1], dims=items)
    return model


@functools.cache
def categories(items, features="feature"):
    with pm.Model(coords={items: THINGS, features: ["a", "b"]}) as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims=items)
        family = nrm.CategoricalDirichlet(np.full((2, 3), 0.5))
        nrm.Mixture("x", z, family, observed=np.minimum(COUNTS, 2), dims=(items, features))
    return model


def quantiles_given(items, further=None, **options):
    given = {"w": new_items(items, further)}
    options |= {"var_name": "y", "progressbar": False}
    return nrm.conditional_quantiles(draws_of(NEUTRAL), flat(NEUTRAL), given, [0.2, 0.5], **options)


def slots_of(dim):
    """Draws of a partition with a parameter of slots that has a further dimension."""
    slopes = np.arange(64.0).reshape(2, 4, 4, 2)
    return (
        draws_of(NEUTRAL)
        .assign(slope=(("chain", "draw", "slot", dim), slopes, {"slots_of": "z"}))
        .assign_coords({dim: ["a", "b"]})
    )


# Results by the dimension of the items and a further coordinate of these.
OF_ITEMS = {
    "point_estimate": lambda *at: nrm.point_estimate(draws_of(*at), **QUIET),
    "point_estimates": lambda *at: nrm.point_estimates(draws_of(*at), 2, **QUIET),
    "credible_ball": lambda *at: nrm.credible_ball(draws_of(*at), ESTIMATE, **QUIET),
    "assignment_uncertainty": lambda *at: nrm.stats.assignment_uncertainty(draws_of(*at), ESTIMATE).to_dataset(),
    "similarity": lambda *at: nrm.similarity(draws_of(*at)).to_dataset(),
    "expected_loss": lambda *at: nrm.stats.expected_loss(draws_of(*at), ESTIMATE),
    "partition_quantities": lambda *at: stats.partition_quantities(draws_of(*at)),
    "fused_estimate": lambda *at: nrm.fused_estimate(draws_of(*at), flat(at[0]), ESTIMATE, **QUIET),
    "sample_cluster_parameters": lambda *at: nrm.sample_cluster_parameters(
        draws_of(*at), flat(at[0]), var_name="x", to_items=True, **QUIET
    ),
    "sample_cluster_parameters, categories": lambda *at: nrm.sample_cluster_parameters(
        draws_of(*at), categories(at[0]), to_items=True, **QUIET
    ),
    "sample_random_measure": lambda *at: nrm.random_measure.sample_random_measure(
        draws_of(*at), flat(at[0]), var_name="x", **QUIET
    ),
    "levels": lambda *at: stats.levels(tree_of(*at)).to_dataset(),
    "common_depth": lambda *at: stats.common_depth(tree_of(*at), progressbar=False).to_dataset(),
    "partition_quantities, nested": lambda *at: stats.partition_quantities(tree_of(*at)),
    "compute_log_likelihood": lambda *at: nrm.compute_log_likelihood(
        draws_of(*at), flat(at[0]), extend_inferencedata=False, progressbar=False
    ),
} | rows_of_wings("OF_ITEMS", "result_names")
# Results by the dimension of new items and a further coordinate of these.
OF_NEW_ITEMS = {
    "cluster_probabilities": lambda *at: nrm.cluster_probabilities(
        draws_of(NEUTRAL), flat(NEUTRAL), {"w": new_items(*at)}, ESTIMATE, progressbar=False
    ),
    "predictive_density": lambda *at: nrm.predictive_density(
        draws_of(NEUTRAL), flat(NEUTRAL), COUNTS[:3], given={"w": new_items(*at)}, var_name="x", progressbar=False
    ),
    "predictive_density, one feature": lambda *at: nrm.predictive_density(
        draws_of(NEUTRAL),
        flat(NEUTRAL),
        [0, 1, 2],
        given={"x": new_items(*at).expand_dims(f=[0, 1], axis=1).astype(float)},
        var_name="w",
        progressbar=False,
    ),
    "conditional_quantiles": lambda *at: quantiles_given(*at),
    "conditional_quantiles, average": lambda *at: quantiles_given(*at, average=True),
    "log_predictive_density": lambda *at: nrm.log_predictive_density(
        draws_of(NEUTRAL), flat(NEUTRAL), {"w": new_items(*at)}, progressbar=False
    ).to_dataset(),
} | rows_of_wings("OF_NEW_ITEMS", "result_names")


def of_measure(function, *arguments):
    def result(features):
        model = flat(NEUTRAL, features)
        measures = nrm.random_measure.sample_random_measure(draws_of(NEUTRAL), model, var_name="x", **QUIET)
        return function(measures, model, *arguments)

    return result


# Results by the dimension of the features.
OF_FEATURES = {
    "sample_cluster_parameters": lambda dim: nrm.sample_cluster_parameters(
        draws_of(NEUTRAL), flat(NEUTRAL, dim), var_name="x", to_items=True, **QUIET
    ),
    "sample_random_measure": of_measure(lambda measures, model: measures),
    "sample_cluster_parameters, categories": lambda dim: nrm.sample_cluster_parameters(
        draws_of(NEUTRAL), categories(NEUTRAL, dim), **QUIET
    ),
    "measure_density": of_measure(nrm.random_measure.measure_density, COUNTS[:3]),
    "measure_cdf": of_measure(nrm.random_measure.measure_cdf, [0.0, 1.0]),
    "measure_mean": of_measure(nrm.random_measure.measure_mean),
    "cluster_parameters": lambda dim: nrm.stats.cluster_parameters(slots_of(dim), ESTIMATE),
    "sample_posterior_predictive": lambda dim: nrm.sample_posterior_predictive(
        draws_of(NEUTRAL), flat(NEUTRAL, dim), **QUIET
    )["posterior_predictive"].to_dataset(),
}


def refused(call, name, expected):
    """The result, or None if the name is that of a variable and the error says so."""
    try:
        return call()
    except ValueError as error:
        assert str(error).startswith(f"dimension {name!r} must be renamed") and name in expected.data_vars
        return None


def check_names(found, expected, name, dim, apart):
    """Assert that a result is the expected one, with a name of the user in place of ``dim``, apart from its own."""

    def renamed(one):
        if dim in str(one):
            return one.replace(dim, name)
        return f"{one}_" if one == name and apart else one

    assert set(found.data_vars) == set(expected.data_vars), name
    for key, variable in expected.variables.items():
        own = key if key in expected.data_vars else renamed(key)
        assert found[own].dims == tuple(map(renamed, variable.dims)), (name, key)
        np.testing.assert_array_equal(found[own].values, variable.values, err_msg=f"{name} {key}")


def check_function(function, dim):
    expected = function(dim)
    # Parameters of clusters, which results by item have as well, are called alike in all results.
    apart = dim in expected.dims or "atom" in expected.dims
    for name in names_to_try(expected, dim):
        found = refused(lambda name=name: function(name), name, expected)
        if found is not None:
            check_names(found, expected, name, dim, apart)


QUICK_OF_ITEMS = pytest.mark.quick(
    "point_estimates",
    "credible_ball",
    "similarity",
    *rows_of_wings("QUICK", "result_names"),
    "levels",
    "common_depth",
)


@QUICK_OF_ITEMS
@pytest.mark.parametrize("function", OF_ITEMS)
def test_dimension_of_the_items(function):
    check_function(OF_ITEMS[function], NEUTRAL)


@pytest.mark.quick("cluster_probabilities")
@pytest.mark.parametrize("function", OF_NEW_ITEMS)
def test_dimension_of_new_items(function):
    check_function(OF_NEW_ITEMS[function], "new_one")


@pytest.mark.quick("cluster_parameters", "measure_mean")
@pytest.mark.parametrize("function", OF_FEATURES)
def test_dimension_of_the_features(function):
    check_function(OF_FEATURES[function], "feature")


@QUICK_OF_ITEMS
@pytest.mark.parametrize("function", OF_ITEMS)
def test_coordinate_of_the_items(function):
    """A further coordinate stays, and gets an underscore where a variable has its name."""
    expected = OF_ITEMS[function](NEUTRAL, "further")
    kept = "further" in expected.coords
    for name in names_to_try(expected, NEUTRAL):
        found = OF_ITEMS[function](NEUTRAL, name)
        own = f"{name}_" if name in expected.data_vars else name
        if kept:
            assert found[own].dims == (NEUTRAL,) and found[own].values.tolist() == list("ABCD"), name
        assert set(found.data_vars) == set(expected.data_vars)
        for key, variable in expected.data_vars.items():
            np.testing.assert_array_equal(found[key].values, variable.values)
            names = [f"{one}_" if one == name and kept else one for one in variable.dims]
            assert list(found[key].dims) == names, (name, key)


def test_models_with_a_coordinate_of_this_name():
    """Coordinates of a model that a result does not use change nothing."""
    for name in ("cluster", "atom", "level", "point"):
        for n in (2, 3, 7):
            with pm.Model(coords={name: range(100, 100 + n)}) as model:
                z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
                nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=COUNTS[:, 0])
            draws = xr.Dataset({"z": (("chain", "draw", "z_dim_0"), LABELS)})
            parameters = nrm.sample_cluster_parameters(draws, model, **QUIET)
            assert "cluster" not in parameters.coords
            assert "atom" not in nrm.random_measure.sample_random_measure(draws, model, **QUIET).coords


@pytest.mark.parametrize("name", ["state", "cluster", "level", "clustering", "point", "row", "column", "item"])
def test_plots(name):
    draws, options = draws_of(name), {"backend": "none"}
    for plot in rows_of_wings("PLOTS", "result_names").values():
        plot(draws, options)
    plots.plot_similarity(draws, **options)
    plots.plot_point_estimates(nrm.point_estimates(draws, 2, **QUIET), COUNTS, **options)
    plots.plot_credible_ball(nrm.credible_ball(draws, ESTIMATE, **QUIET), COUNTS, **options)
    plots.plot_cluster_parameters(slots_of(name), estimate=ESTIMATE, **options)
    plots.plot_nodes_by_level(tree_of(name), **options)
    plots.plot_conditional_density(OF_NEW_ITEMS["conditional_quantiles"](name), **options)
    plots.plot_density(OF_NEW_ITEMS["predictive_density, one feature"](name).isel({name: 0}), **options)


@pytest.mark.parametrize(
    ("users", "chosen"), [([], "a"), (["b"], "a"), (["a"], "a_"), (["a_"], "a__"), (["a", "a__"], "a___"), ([1], "a")]
)
def test_one_underscore_more_than_the_user(users, chosen):
    assert added_names(users, "a") == [chosen]
    array = xr.DataArray(np.zeros([1] * (len(users) + 1)), dims=[*users, chosen])
    assert added_dim(array, "a") == chosen and added_dim(array, "other") is None


def test_chosen_names_differ():
    assert added_names(["a"], "a", "a_", "b") == ["a_", "a__", "b"]


def test_a_dimension_cannot_be_used_twice():
    with pytest.raises(ValueError, match="dimension 'a' must be renamed, since the result has a further dimension of"):
        result_dataset({"x": (("a", "a"), np.zeros((2, 2)))})
    with pytest.raises(ValueError, match="dimension 'x' must be renamed, since the result has a variable of this"):
        result_dataset({"x": (("x", "a"), np.zeros((2, 2)))})
