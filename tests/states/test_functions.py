"""Every function of draws of partitions works for hidden states, or says why not."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_nrm as nrm
from pymc_nrm import plots, stats
from pymc_nrm.common.wrapping import percent
from tests.states import state_cases

LABELS = np.array([[[0, 0, 1, 2], [0, 0, 1, 1], [0, 1, 2, 2], [0, 0, 1, 0]], [[0, 0, 1, 2]] * 4])
ESTIMATE, GRID = np.array([0, 0, 1, 2]), np.arange(12)


WORKS = {
    # Draws alone.
    "summary": lambda idata, model: nrm.summary(idata),
    "point_estimate": lambda idata, model: nrm.point_estimate(idata, random_seed=1),
    "point_estimates": lambda idata, model: nrm.point_estimates(idata, random_seed=1),
    "similarity": lambda idata, model: nrm.similarity(idata),
    "partition_convergence": lambda idata, model: nrm.stats.partition_convergence(idata),
    "credible_ball": lambda idata, model: nrm.credible_ball(idata, ESTIMATE),
    "expected_loss": lambda idata, model: nrm.stats.expected_loss(idata, ESTIMATE),
    "assignment_uncertainty": lambda idata, model: nrm.stats.assignment_uncertainty(idata, ESTIMATE),
    "without_labels": lambda idata, model: nrm.stats.without_labels(idata),
    "partition_quantities": lambda idata, model: stats.partition_quantities(idata),
    "state_durations": lambda idata, model: nrm.states.state_durations(idata, ESTIMATE),
    # Draws and the model.
    "describe": nrm.describe,
    "fused_estimate": lambda idata, model: nrm.fused_estimate(idata, model, ESTIMATE, random_seed=1),
    "sample_cluster_parameters": nrm.sample_cluster_parameters,
    "predictive_density": lambda idata, model: nrm.predictive_density(idata, model, GRID),
    "log_predictive_density": lambda idata, model: nrm.log_predictive_density(idata, model, [0, 9]),
    "cluster_probabilities": lambda idata, model: nrm.cluster_probabilities(idata, model, [0, 9], ESTIMATE),
    "compute_log_likelihood": nrm.compute_log_likelihood,
    "sample_posterior_predictive": lambda idata, model: nrm.sample_posterior_predictive(idata, model, new_items=2),
    "state_probabilities": nrm.states.state_probabilities,
    "transition_matrix": nrm.states.transition_matrix,
    "forecast_density": lambda idata, model: nrm.states.forecast_density(idata, model, GRID, [1, 3]),
    # Pictures.
    "plot_n_clusters": lambda idata, model: plots.plot_n_clusters(idata, backend="none"),
    "plot_cluster_sizes": lambda idata, model: plots.plot_cluster_sizes(idata, backend="none"),
    "plot_partition_trace": lambda idata, model: plots.plot_partition_trace(idata, backend="none"),
    "plot_similarity": lambda idata, model: plots.plot_similarity(idata, backend="none"),
    "plot_distance": lambda idata, model: plots.plot_distance(idata, ESTIMATE, backend="none"),
    "plot_clusters": lambda idata, model: plots.plot_clusters(idata, state_cases.X, model=model, backend="none"),
    "plot_state_sequence": lambda idata, model: nrm.states.plots.plot_state_sequence(
        idata, data=state_cases.X, backend="none"
    ),
}
REFUSED = {
    "sample_random_measure": (
        nrm.random_measure.sample_random_measure,
        "there is no random measure: the states of 'z' have transition probabilities",
    ),
    "label_rows": (nrm.label_rows, "must name a partition of rows in chunks, and 'z' is not one"),
    "draw_labels": (nrm.draw_labels, "model must have a Partition with log_weights; got one with"),
    "sample_new_labels": (nrm.sample_new_labels, "with max_clusters or HiddenStates with max_states; 'z' has no slots"),
    "cluster_parameters": (
        lambda idata, model: nrm.stats.cluster_parameters(idata),
        "no variable .* parameters of slots",
    ),
    "levels": (lambda idata, model: nrm.stats.levels(idata), "has no nested partition"),
    "sequence": (
        lambda idata, model: nrm.predictive_density(idata, model, GRID, sequence="c"),
        "sequence must be one of the sequences of 'z', .*; got 'c'",
    ),
    "sequence without items": (
        lambda idata, model: nrm.sample_posterior_predictive(idata, model, sequence="new"),
        "sequence must be None unless there are new_items; got 'new'",
    ),
    "steps": (
        lambda idata, model: nrm.states.forecast_density(idata, model, GRID, [1, 0]),
        "steps must be a whole number of at least 1; got 0",
    ),
}


@pytest.fixture
def idata():
    return result_of(LABELS)


def result_of(values):
    labels = xr.DataArray(values, dims=("chain", "draw", "item"), attrs={"partition": "z", "sequence_starts": [0]})
    n_clusters = xr.DataArray(LABELS.max(axis=2) + 1, dims=("chain", "draw"))
    posterior = xr.Dataset({"z": labels, "z_n_clusters": n_clusters})
    return xr.DataTree.from_dict({"posterior": posterior})


@pytest.mark.quick("describe", "cluster_probabilities", "plot_state_sequence", "without_labels")
@pytest.mark.parametrize("name", WORKS)
@pytest.mark.filterwarnings("ignore")
def test_function_works(name, idata):
    assert WORKS[name](idata, state_cases.make_model()) is not None


@pytest.mark.quick("describe", "cluster_probabilities")
@pytest.mark.parametrize("name", WORKS)
@pytest.mark.filterwarnings("ignore")
def test_function_works_with_slots(name):
    """All functions of a mixture work if labels are slots as well."""
    with pm.Model() as model:
        z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.3), nrm.states.Transitions(0.8, 2.0), n=4, max_states=4)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=state_cases.X)
    assert WORKS[name](result_of(3 - LABELS), model) is not None


@pytest.mark.parametrize("name", REFUSED)
def test_function_says_why_not(name, idata):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call(idata, state_cases.make_model())


def test_all_functions_are_listed():
    """Functions of draws that a user finds in the package; others are of trees, of samplers or of measures alone."""
    others = {"add_diagnostics", "component_draws", "consensus_tree", "nested_point_estimate", "conditional_quantiles"}
    others |= {"measure_cdf", "measure_density", "measure_mean"}
    functions = {name for room in (nrm.stats, nrm.posterior) for name in room.__all__ if name in nrm.__all__}
    assert functions - others <= set(WORKS) | set(REFUSED)


def test_several_sequences_need_a_name(idata):
    model = state_cases.make_model("two sequences")
    with pytest.raises(
        ValueError, match="sequence must be given, since 'z' has 2 sequences: one of 'a', 'b', or 'new'"
    ):
        nrm.predictive_density(idata, model, GRID)
    both = [nrm.predictive_density(idata, model, GRID, sequence=name).density.values for name in ("a", "b", "new")]
    assert not np.allclose(both[0], both[1]) and not np.allclose(both[1], both[2])
    with pytest.raises(ValueError, match="sequence must be None, since 'z' is not HiddenStates; got 'a'"):
        nrm.predictive_density(idata, plain_model(), GRID, sequence="a")
    with pytest.raises(ValueError, match="must name a mixture over HiddenStates"):
        nrm.states.forecast_density(idata, plain_model(), GRID)
    with pytest.raises(ValueError, match="must name HiddenStates; 'z' is a Partition"):
        nrm.states.transition_matrix(idata, plain_model())


def plain_model():
    with pm.Model() as model:
        z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
        nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=state_cases.X)
    return model


SHARES = {
    0.0: "0 %",
    0.0004: "0.04 %",
    0.0016: "0.2 %",
    0.6: "60 %",
    0.994: "99 %",
    0.9984: "99.8 %",
    0.9996: "99.96 %",
    1.0 - 1e-15: "100 %",
    1.0: "100 %",
}


@pytest.mark.parametrize(("share", "text"), SHARES.items())
def test_shares_are_rounded_neither_to_nothing_nor_to_all(share, text):
    assert percent(share) == text
