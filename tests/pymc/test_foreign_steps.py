"""Steps of PyMC cannot move a partition, and are refused where they are made; others are found out in results."""

import warnings

import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pymc.step_methods.arraystep import BlockedStep
from pytensor.link.numba.dispatch.basic import numba_funcify_and_cache_key

import pymc_nrm as nrm
from pymc_nrm.models import marked_labels


def model_of(kind):
    with pm.Model() as model:
        if kind == "nested":
            nrm.NestedPartition("z", nrm.DirichletProcess(1.0), n=4, depth=2)
        else:
            nrm.Partition("z", nrm.DirichletProcess(1.0), n=4, max_clusters=3 if kind == "slots" else None)
        pm.Normal("x")
    return model


@pytest.mark.parametrize(
    ("step", "mode"),
    [(pm.Metropolis, "NUMBA"), *((step, "FAST_COMPILE") for step in (pm.Metropolis, pm.DEMetropolis, pm.Slice))],
)
@pytest.mark.parametrize("kind", ["flat", "slots", "nested"])
def test_generic_steps_are_refused(kind, step, mode):
    with model_of(kind) as model:
        for variables in ([model["z"]], [model["x"], model["z"]]):
            with pytest.raises(ValueError, match=r"step must not sample 'z': steps of PyMC such as Metropolis"):
                step(variables, blocked=True, compile_kwargs={"mode": mode})


def test_generic_steps_of_other_variables_are_not():
    with model_of("flat") as model:
        for step in (pm.Metropolis, pm.NUTS, pm.Slice):
            step([model["x"]], compile_kwargs={"mode": "FAST_COMPILE"})


class Still(BlockedStep):
    """A step of a user, which leaves its variable as it is."""

    stats_dtypes_shapes = {"n_steps": (int, [])}

    def __init__(self, vars, model=None, **kwargs):
        self.vars = [pm.modelcontext(model).rvs_to_values.get(variable, variable) for variable in vars]

    def step(self, point):
        return point, [{"n_steps": 0}]

    def setup_chain(self, rng, tune, draws):
        pass


@pytest.mark.quick("without_labels")
@pytest.mark.parametrize("function", [nrm.summary, nrm.add_diagnostics, nrm.without_labels])
def test_other_steps_are_found_out_in_results(function):
    with model_of("flat") as model:
        nrm.Mixture("y", model["z"], nrm.PoissonGamma(1.0, 0.1), observed=[0, 9, 0, 9])
        options = {"tune": 5, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False, "quiet": True}
        options["compute_convergence_checks"] = False
        foreign = pm.sample(20, step=[Still([model["z"]])], **options)
        own = pm.sample(20, step=[nrm.MarginalGibbs([model["z"]])], **options)
        prior = pm.sample_prior_predictive(20, random_seed=1)
    with pytest.warns(UserWarning, match="no step of this package has sampled 'z'"):
        function(foreign)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "no step of this package")
        function(own)
        function(xr.DataTree.from_dict({"posterior": prior["prior"].to_dataset()}))


def test_sequential_monte_carlo_is_refused():
    with model_of("flat"), pytest.raises(ValueError, match="cannot move a partition"):
        pm.sample_smc(10, chains=1, cores=1, progressbar=False)


def test_machine_code_of_labels_follows_the_sources(monkeypatch):
    """PyTensor keeps it on disk, where it names a module that another version may not have."""
    op, keys = marked_labels.OfOwnStep("z"), []
    node = op(pt.lvector("z")).owner
    for sources in ("one", "another"):
        monkeypatch.setattr(marked_labels, "source_fingerprint", lambda layer, sources=sources: sources)
        keys.append(numba_funcify_and_cache_key(op, node)[1])
    assert keys[0] != keys[1]
