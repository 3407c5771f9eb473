"""Hidden states of time series as a PyMC random variable."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.tensor.variable import TensorVariable

from pymc_nrm.measures import DirichletProcess, PitmanYorProcess
from pymc_nrm.measures.base import check_measure_hyperparameters
from pymc_nrm.models.known_labels import tell_all_known
from pymc_nrm.models.partition import (
    PartitionRV,
    add_deterministics,
    check_options,
    items_and_labels,
    measure_in_model,
    number_of_slots,
)
from pymc_nrm.states.partitions.chain import States
from pymc_nrm.states.partitions.known_states import KnownStates
from pymc_nrm.states.partitions.prior import Transitions
from pymc_nrm.states.partitions.slots import StateSlots

# Options of a Partition, and why hidden states have none of them.
_REFUSED = {
    "max_clusters": "max_states makes labels indices of parameters",
    "together": "items that are together would not follow each other in time",
    "only_known": "states without a known item may appear",
    "chunks": "rows in chunks have no order of time",
}


class HiddenStates(pm.Discrete):
    """States of a hidden Markov chain with an unknown number of states, for items in order of time.

    The value is a vector of labels, shape (n,): the state of each item, numbered from 0 in order of appearance over all
    sequences.  A value is thus a partition of the items, which a :class:`Mixture` takes, and of which all functions of
    partitions make point estimates, similarities and summaries.  With ``max_states`` labels are slots instead, which
    index the parameters of your own likelihood, as in ``scale[z]``.  The model also gets the deterministic
    ``<name>_n_clusters``, the number of states that have items.

    Parameters
    ----------
    name : str
    measure : DirichletProcess or PitmanYorProcess
        Prior of the common weights of the states.  Its concentration says how many states there are.
    transitions : Transitions
        Concentration ``alpha`` of the transition probabilities about the common weights, and the additional mass
        ``kappa`` of self-transitions, by which states persist.
    n : int or integer tensor, optional
        Number of items; required unless ``dims`` or ``sequences`` is given.  Without ``sequences`` it may follow
        ``pm.set_data``, as for a :class:`Partition`.
    dims : str, optional
        Name of the dimension of the items.
    sequences : array_like of int or str, shape (n,), optional
        Label of the sequence of each item; by default all items are one sequence.  The items of a sequence are together
        and in order of time.  Sequences share states and transition probabilities, and each starts anew.
    known : array_like of int or str, shape (n,), optional
        Labels of the items whose state is known; -1, NaN or None for all others.  Items with equal known labels are in
        one state, items with different known labels never are.  States without a known item may appear.
    max_states : int or str, optional
        Number of states K, or the name of the dimension of the model with this length: labels are then from 0 to K - 1,
        and variables of length K hold the parameters of states.  The measure must be a Dirichlet process.
    initval : array_like of int, shape (n,), optional
        Initial labels; any integers, which are renamed in order of appearance, or slots, which are kept.  By default
        :class:`StateSampler` finds a start, and with ``max_states`` all items are in one state.
    observed : array_like of int, shape (n,), optional
        Known states of all items; labels as for ``initval``.

    Raises
    ------
    TypeError
        If ``measure`` is not one of the two, or no Dirichlet process with ``max_states``, ``transitions`` is not
        :class:`Transitions`, or labels of ``sequences`` are neither whole numbers nor strings.
    ValueError
        If neither ``n``, ``dims`` nor ``sequences`` determines the number of items or they disagree, the items of a
        sequence are not together, a hyperparameter is out of range, there is not one label for each item, labels
        disagree with known labels, ``known`` and ``max_states`` are both given, or ``max_states`` is neither a positive
        whole number nor a dimension of the model.

    Notes
    -----
    This is the hierarchical Dirichlet process hidden Markov model (Teh et al. 2006), with ``kappa`` above 0 the sticky
    one (Fox et al. 2011), in the notation of the latter::

        beta ~ GEM(gamma)                                          common weights of the states
        pi_0 ~ DP(alpha, beta)                                     first state of a sequence
        pi_j ~ DP(alpha + kappa, (alpha beta + kappa delta_j) / (alpha + kappa))   next state after state j

    The concentration of the measure is gamma.  Weights and transition probabilities are integrated out, and the number
    of states has no upper limit.  The log-probability is an exact sum over tables, as in Camerlenghi et al. (2019): see
    ``states/partitions/tables.py``: it costs ``O(n D)`` for n items, and D is mostly below 100.  It is minus infinity
    for labels that are not in order of appearance, so that the probabilities of all values sum to one.

    With ``max_states=K`` there are K states, and ``beta ~ Dirichlet(gamma / K, ..., gamma / K)``; all else is as above.
    This is a model of its own, with probabilities that sum to one for all hyperparameters, and not a truncation: states
    without items are part of it.  As K grows, partitions have the distribution of the model without ``max_states``
    (the weak limit of Fox et al.).  Labels have the same probability, with a discount of ``-gamma / K``, and
    :class:`StateGibbs` samples them; parameters that they index are sampled by NUTS.  A :class:`Mixture` may use the
    same labels.

    With ``known``, labels are data, as for a :class:`Partition`: the log-probability of a value that agrees with them
    is the log-probability of the states of all items, and minus infinity otherwise, so that hyperparameters learn from
    known labels, and probabilities of all values sum to the probability of the known labels.  There are no forward
    draws, which ``pm.sample_prior_predictive`` needs, and ``pm.model_to_graphviz`` for shapes.  If all labels are
    known, the states are observed.  With ``max_states``, a term such as
    ``pm.Bernoulli("known", allowed[np.arange(n), z], observed=1)`` says which states an item may have.

    Items without data, such as days on which nothing was measured, are items as all others: NaN for families that allow
    missing values.  The chain continues through them.

    References
    ----------
    Camerlenghi, F., Lijoi, A., Orbanz, P., & Prünster, I. (2019). Distribution theory for hierarchical processes.
    Annals of Statistics, 47, 67-92.

    Fox, E. B., Sudderth, E. B., Jordan, M. I., & Willsky, A. S. (2011). A sticky HDP-HMM with application to speaker
    diarization. Annals of Applied Statistics, 5, 1020-1056.

    Teh, Y. W., Jordan, M. I., Beal, M. J., & Blei, D. M. (2006). Hierarchical Dirichlet processes. Journal of the
    American Statistical Association, 101, 1566-1581.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model(coords={"day": range(6)}) as model:
    ...     gamma = pm.Exponential("gamma", np.log(6))
    ...     alpha, kappa = pm.Gamma("alpha", 2, 1), pm.Gamma("kappa", 2, 0.04)
    ...     transitions = nrm.states.Transitions(alpha, kappa)
    ...     z = nrm.states.HiddenStates("z", nrm.DirichletProcess(gamma), transitions, dims="day")
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[0, 1, 0, 7, 9, 8])
    >>> pm.draw(z, random_seed=1).shape
    (6,)

    Student t errors whose scale depends on the state:

    >>> with pm.Model(coords={"day": range(6), "state": range(4)}) as model:
    ...     measure, transitions = nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, kappa=10.0)
    ...     z = nrm.states.HiddenStates("z", measure, transitions, dims="day", max_states="state")
    ...     scale = pm.LogNormal("scale", 0.0, 1.0, dims="state")
    ...     x = pm.StudentT("x", nu=4, sigma=scale[z], observed=[0.1, -0.2, 0.1, 3.0, -5.0, 2.0], dims="day")
    >>> bool(pm.draw(z, random_seed=1).max() < 4)
    True

    Two patients, whose first item starts a sequence:

    >>> transitions = nrm.states.Transitions(alpha=1.0, kappa=5.0)
    >>> sequences = ["a", "a", "a", "b", "b"]
    >>> patients = nrm.states.HiddenStates.dist(nrm.DirichletProcess(1.0), transitions, sequences=sequences)
    >>> pm.draw(patients, random_seed=1)[0]
    np.int64(0)
    """

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
        known: Any = None,
        max_states: Any = None,
        initval: Any = None,
        observed: Any = None,
        **kwargs: Any,
    ) -> TensorVariable:
        title = f"HiddenStates {name!r}"
        for option, reason in _REFUSED.items():
            if kwargs.pop(option, None) is not None:
                raise ValueError(f"{option} is not an argument of {title}: {reason}")
        check_options("HiddenStates", kwargs)
        dims = (dims,) if isinstance(dims, str) else dims
        model = pm.modelcontext(None)
        max_states = number_of_slots(f"max_states of {title}", max_states, model)
        kind = _kind(sequences, known, max_states, title)
        measure, transitions = _checked(title, measure, transitions, max_states)
        n, starts = items_and_labels(kind, name, n, dims, model, initval=initval, observed=observed)
        if isinstance(kind, KnownStates):
            n = kind.n_items
            if kind.is_known.all():
                kind, known, starts = States(sequences), None, {"observed": kind.known}
                tell_all_known(title, starts["observed"], "state")
        options = {"n": n, "dims": dims, "sequences": sequences, "known": known, "max_states": max_states, **starts}
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
        known: Any = None,
        max_states: int | None = None,
        shape: Any = None,
        rng: Any = None,
        return_next_rng: bool = False,
    ) -> Any:
        """Create labels outside a model, for example for ``pm.draw``; arguments as in :class:`HiddenStates`."""
        kind = _kind(sequences, known, max_states, "HiddenStates")
        measure, transitions = _checked("HiddenStates", measure, transitions, max_states)
        values = [value if isinstance(value, Variable) else np.float64(value) for value in (*measure, *transitions)]
        fields = [pt.as_tensor(value).astype("float64") for value in values]
        return PartitionRV.make(type(measure), n, kind, fields, rng, return_next_rng)


def _kind(sequences, known, max_states, title):
    """The kind of hidden states: with slots, with known states, or neither."""
    titles = (f"max_states of {title}", f"sequences of {title}", f"known of {title}")
    if known is not None and max_states is not None:
        raise ValueError(
            f"{titles[2]} must be None with max_states; a term such as pm.Bernoulli('known', allowed[np.arange(n), z], "
            "observed=1) says which states an item may have"
        )
    if known is not None:
        return KnownStates(sequences, known, titles[1:])
    return States(sequences, titles[1]) if max_states is None else StateSlots(max_states, sequences, titles[:2])


def _checked(title, measure, transitions, max_states):
    """The measure and the transitions of hidden states, after checking them."""
    if hasattr(measure, "in_model"):
        raise TypeError(
            f"measure of {title} must be DirichletProcess(...) or PitmanYorProcess(...), since the number of states of "
            f"a chain is not the number of clusters of independent items, from which a prior is elicited; got {measure}"
        )
    measure = measure_in_model(measure)
    if type(measure) not in (DirichletProcess, PitmanYorProcess):
        raise TypeError(
            f"measure of {title} must be DirichletProcess(...) or PitmanYorProcess(...), given whose weights labels "
            f"have an exact probability; got {measure!r}"
        )
    if max_states is not None and type(measure) is not DirichletProcess:
        raise TypeError(
            f"measure of {title} must be DirichletProcess(...) with max_states, since weights of a finite number of "
            f"states are Dirichlet variables; got {measure!r}"
        )
    if isinstance(transitions, type) or not isinstance(transitions, Transitions):
        raise TypeError(f"transitions of {title} must be Transitions(alpha, kappa); got {transitions!r}")
    return check_measure_hyperparameters(measure), check_measure_hyperparameters(transitions)
