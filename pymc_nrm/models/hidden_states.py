"""Hidden states of time series as a PyMC random variable."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.tensor.variable import TensorVariable

from pymc_nrm.measures import DirichletProcess, PitmanYorProcess
from pymc_nrm.measures.base import check_measure_hyperparameters
from pymc_nrm.models.partition import (
    PartitionRV,
    add_deterministics,
    check_options,
    items_and_labels,
    measure_in_model,
)
from pymc_nrm.partitions.hidden_states import States
from pymc_nrm.partitions.state_prior import Transitions

# Options of a Partition, and why hidden states have none of them.
_REFUSED = {
    "max_clusters": "labels of hidden states are not indices of parameters",
    "together": "items that are together would not follow each other in time",
    "known": "known states are only supported for all items: use observed",
    "only_known": "known states are only supported for all items: use observed",
    "rows": "rows in chunks have no order of time",
}


class HiddenStates(pm.Discrete):
    """States of a hidden Markov chain with an unknown number of states, for time series."""

    rv_type = PartitionRV

    def __new__(
        cls,
        name: str,
        measure: tuple[Any, ...],
        transitions: Transitions,
        *,
        n: Any = None,
        dims: Any = None,
        sequences: Any = None,
        initval: Any = None,
        observed: Any = None,
        **kwargs: Any,
    ) -> TensorVariable:
        title = f"HiddenStates {name!r}"
        for option, reason in _REFUSED.items():
            if kwargs.pop(option, None) is not None:
                raise ValueError(f"{option} is no argument of {title}: {reason}")
        check_options("HiddenStates", kwargs)
        dims = (dims,) if isinstance(dims, str) else dims
        model = pm.modelcontext(None)
        kind = States(sequences, f"sequences of {title}")
        measure, transitions = _checked(title, measure, transitions)
        n, starts = items_and_labels(kind, name, n, dims, model, initval=initval, observed=observed)
        options = {"n": n, "dims": dims, "sequences": sequences, **starts}
        labels = super().__new__(cls, name, measure, transitions, **options, **kwargs)
        add_deterministics(name, kind, labels)
        return labels

    @classmethod
    def dist(
        cls,
        measure: tuple[Any, ...],
        transitions: Transitions,
        *,
        n: Any = None,
        sequences: Any = None,
        shape: Any = None,
        rng: Any = None,
        return_next_rng: bool = False,
    ) -> Any:
        """Create labels outside a model, for example for ``pm.draw``; arguments as in :class:`HiddenStates`."""
        measure, transitions = _checked("HiddenStates", measure, transitions)
        kind = States(sequences)
        values = [value if isinstance(value, Variable) else np.float64(value) for value in (*measure, *transitions)]
        fields = [pt.as_tensor(value).astype("float64") for value in values]
        return PartitionRV.make(type(measure), n, kind, fields, rng, return_next_rng)


def _checked(title, measure, transitions):
    """The measure and the transitions of hidden states, after checking them."""
    measure = measure_in_model(measure)
    if type(measure) not in (DirichletProcess, PitmanYorProcess):
        raise TypeError(
            f"measure of {title} must be DirichletProcess(...) or PitmanYorProcess(...), given whose weights labels "
            f"have a probability in closed form; got {measure!r}"
        )
    if not isinstance(transitions, Transitions):
        raise TypeError(f"transitions of {title} must be Transitions(alpha, kappa); got {transitions!r}")
    return check_measure_hyperparameters(measure), check_measure_hyperparameters(transitions)
