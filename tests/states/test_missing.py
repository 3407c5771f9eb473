"""Missing entries of data of hidden states."""

import numpy as np
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.measures.base import log_eppf
from tests.exact.missing_cases import KAPPA, MEASURE, MU, NU, PSI, chains, check, data, exact
from tests.helpers import label_counts

pytestmark = pytest.mark.slow


def test_labels_of_hidden_states():
    """Entries are drawn given labels, which StateSampler draws."""
    prior = nrm.DirichletProcess(1.1), nrm.states.Transitions(0.7, 1.2)
    with pm.Model() as model:
        z = nrm.states.HiddenStates("z", *prior, n=4)
        nrm.Mixture("x", z, nrm.NormalWishart(MU, KAPPA, PSI, NU), observed=data("two items"))
        steps = [nrm.states.StateSampler([z], rng=1), nrm.steps.MissingGibbs(model["x_missing"], rng=1)]
    partitions, p, means = exact("two items")
    variable = nrm.states.HiddenStates.dist(*prior, n=4)
    log_p = np.log(p) - [log_eppf(MEASURE, label_counts(labels)) for labels in partitions]
    log_p += [float(pm.logp(variable, labels).eval()) for labels in partitions]
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    check(*chains(steps, model, [[0, 0, 0, 0], [0, 1, 2, 3]]), partitions, p, means)
