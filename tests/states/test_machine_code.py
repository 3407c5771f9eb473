"""Machine code follows edits of the files that define what kernels of hidden states read."""

import numba
import numpy as np
from numba.core.registry import cpu_target
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify

import pymc_nrm as nrm
from pymc_nrm.families.learned.draws import slice_sample
from pymc_nrm.kernels import kernel_cache
from pymc_nrm.states.moves.hyperparameters import ConcentrationsTarget
from pymc_nrm.states.partitions.prior import StatePrior
from pymc_nrm.states.partitions.totals import Totals


def test_machine_code_follows_edits_of_parts_that_define_its_types(monkeypatch):
    """A slice draw of families runs the density of a target that a part above defines."""
    transitions, starts = np.ones((2, 1), dtype=np.int64), np.ones(1, dtype=bool)
    prior, totals = StatePrior(1.0, 0.0, 1.0, 1.0, starts), Totals(np.ones(1), np.ones(1), 1, 0.0, 0.0)
    target = numba.typeof(ConcentrationsTarget(transitions, prior, totals, 0, 1.0, 1.0))
    signature = (numba.typeof(np.random.default_rng(1)), target, numba.float64, numba.float64)
    keys = []
    for edited in (
        None,
        "states.moves.hyperparameters",
        "states.partitions.prior",
        "moves.tree_guided",
        "models.mixture",
    ):
        monkeypatch.setattr(
            kernel_cache, "fingerprint_of_files", lambda reached, name=edited: f"pymc_nrm.{name}" in reached
        )
        keys.append(slice_sample.dispatcher._cache._index_key(signature, cpu_target.target_context.codegen()))
    assert keys[0] == keys[3] == keys[4] and keys[1] != keys[0] != keys[2]


def test_forward_draws_follow_edits_of_the_wing(monkeypatch):
    """PyTensor keeps draws under a key that covers the kernel of the kind, not the room of models alone."""
    states = nrm.states.HiddenStates.dist(nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, 1.0), n=4)
    keys = []
    for edited in (None, "states.partitions.weights", "states.posterior.draws", "nested.partitions.nested_draws"):
        monkeypatch.setattr(
            kernel_cache, "fingerprint_of_files", lambda reached, name=edited: str(f"pymc_nrm.{name}" in reached)
        )
        keys.append(numba_core_rv_funcify(states.owner.op, states.owner)[1])
    assert keys[0] == keys[2] == keys[3] != keys[1]
