"""Parameters of the prior of hidden states besides the measure: transitions, and where sequences start."""

from typing import Any, NamedTuple

from pymc_nrm.common.supports import Hyperparameter
from pymc_nrm.kernels.generic import describe_fields


@describe_fields({"alpha": Hyperparameter((), "positive"), "kappa": Hyperparameter((), "non-negative")})
class Transitions(NamedTuple):
    """Transition probabilities of hidden states: one row for each state, centred at the common weights of the states.

    Parameters
    ----------
    alpha : positive float, scalar tensor or random variable
        Concentration of the rows: the larger, the more similar the rows are to each other.
    kappa : non-negative float, scalar tensor or random variable
        Additional mass of self-transitions.  A state of common weight b follows itself with probability
        ``(alpha b + kappa) / (alpha + kappa)`` on average; at 0 the rows do not favour self-transitions.

    Notes
    -----
    Given the common weights beta, row j is a Dirichlet process with concentration ``alpha + kappa`` and base
    ``(alpha beta + kappa delta_j) / (alpha + kappa)`` (Fox, Sudderth, Jordan & Willsky 2011, "A sticky HDP-HMM with
    application to speaker diarization", equation 13).  The distribution of the first state of a sequence has
    ``kappa = 0``.

    Examples
    --------
    >>> import pymc_nrm as nrm
    >>> nrm.states.Transitions(alpha=2.0, kappa=40.0)
    Transitions(alpha=2.0, kappa=40.0)
    """

    alpha: Any
    kappa: Any = 0.0


class Starts(NamedTuple):
    """Where sequences start: an input of the random variable."""

    # Int64 of shape (n,), 1 for the first item of a sequence and 0 for all others.
    starts: Any


class StatePrior(NamedTuple):
    """Prior of hidden states in the form of kernels.

    ``gamma`` and ``discount`` are the concentration and discount of the common weights, a Dirichlet process at discount
    0 and else a Pitman-Yor process.
    """

    # Float64, and bool of shape (n,).
    gamma: Any
    discount: Any
    alpha: Any
    kappa: Any
    starts: Any
