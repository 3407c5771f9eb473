"""Steps of PyMC cannot move a partition, and are refused where they are made."""

import pymc as pm
import pytest

import pymc_nrm as nrm


def model_of(kind):
    with pm.Model() as model:
        if kind == "nested":
            nrm.NestedPartition("z", nrm.DirichletProcess(1.0), n=4, depth=2)
        else:
            nrm.Partition("z", nrm.DirichletProcess(1.0), n=4, max_clusters=3 if kind == "slots" else None)
        pm.Normal("x")
    return model


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
@pytest.mark.parametrize("step", [pm.Metropolis, pm.DEMetropolis, pm.Slice])
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
