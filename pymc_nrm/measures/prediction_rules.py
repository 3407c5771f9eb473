"""Measures whose next item follows a rule with two parameters, as kernels and graphs read it."""

from typing import Any, NamedTuple

from pymc_nrm.kernels.generic import generic
from pymc_nrm.measures import DirichletProcess, PitmanYorProcess
from pymc_nrm.measures.base import log_eppf, symbolic_log_eppf


class Levels(NamedTuple):
    """Prediction rules of the levels of a nested partition; entry l is the rule for children of a node of level l.

    With N items in m children, of which one has N_c, the next item follows this child with probability
    ``(N_c - sigma) / (N + alpha)`` and a new one with probability ``(alpha + m sigma) / (N + alpha)`` (Pitman 1995,
    proposition 9).  With sigma = 0 this is the nested Chinese restaurant process of Blei, Griffiths & Jordan (2010).
    """

    # alpha, sigma: ndarray of float64 or vector tensor, shape (depth,).
    alpha: Any
    sigma: Any


@generic(agrees_with=[symbolic_log_eppf, log_eppf])
def levels_of(measure):
    """Prediction rules of all levels, from a measure whose fields have one entry for each level.

    A measure is suitable if the probability of the next item's cluster depends on the sizes and the number of clusters
    as in :class:`Levels`.  Known paths have no such rules, and are returned unchanged.
    """
    raise NotImplementedError


@levels_of.register(DirichletProcess)
def _levels_of_dirichlet(measure):
    return Levels(measure.alpha, 0.0 * measure.alpha)


@levels_of.register(PitmanYorProcess)
def _levels_of_pitman_yor(measure):
    return Levels(measure.concentration, measure.discount)


def symbolic_levels_of(measure):
    """Prediction rules as in :func:`levels_of`, with None for a sigma that the measure fixes at 0."""
    levels = levels_of(measure)
    # A subclass may have other rules.
    return levels._replace(sigma=None) if type(measure) is DirichletProcess else levels
