"""The auxiliary variable given a tree: its mode, its law, and a lower bound of the evidence with it integrated out."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.guide_trees.potentials import potentials_from_marginals
from pymc_nrm.measures.base import log_u_prior_term, weights
from pymc_nrm.special import log_sum_exp

# Nodes lie at most half a standard deviation apart, for which the trapezoid rule has an error of exp(-8 pi^2) with a
# normal density, and at most 3/4: the error is exp(-2 pi^2 / spacing) where 1 + u vanishes at log u = i pi.
_LARGEST_DROP, _LARGEST_STEP = 0.12, 0.75

# Terms below exp(-30) of the largest are left out.
_NEGLIGIBLE = 30.0


class Quadrature(NamedTuple):
    """Trapezoid rule for an integral over log u.

    Parameters
    ----------
    mode : float
        Where the integrand is largest, to a fraction of its width.
    log_u : ndarray, shape (m,)
        Nodes.
    log_terms : ndarray, shape (m,)
        Logarithms of the summands.  Where these fall geometrically, the last node of a side stands for an infinite
        series, and lies at its mean: averages of functions that are linear in log u out there are right.
    """

    mode: float
    log_u: Any
    log_terms: Any

    @property
    def log_integral(self):
        """Logarithm of the integral."""
        return float(log_sum_exp(self.log_terms))

    @property
    def probabilities(self):
        """Shares of the nodes in the integral, shape (m,); 0 if the integral vanishes."""
        total = self.log_integral
        return np.exp(self.log_terms - total) if np.isfinite(total) else np.zeros(len(self.log_terms))


def integrate_log_u(log_integrand, log_u):
    """Lay the nodes of the trapezoid rule over log u.

    Parameters
    ----------
    log_integrand : callable
        From log u to the logarithm of a unimodal function of log u; -inf or nan where it vanishes.
    log_u : float
        Where to start the search for the mode.

    Returns
    -------
    Quadrature
    """
    values = {}

    def log_value(s):
        if s not in values:
            value = log_integrand(s)
            values[s] = value if np.isfinite(value) else -np.inf
        return values[s]

    mode, spacing = _mode_and_spacing(log_value, log_u)
    left, left_terms = _tail(log_value, mode, -spacing)
    right, right_terms = _tail(log_value, mode, spacing)
    log_terms = np.array([log_value(mode), *left_terms, *right_terms]) + np.log(spacing)
    return Quadrature(mode, np.array([mode, *left, *right]), log_terms)


def u_given_tree(measure, tree, log_marginal, log_u):
    """The law of log u given a tree, and a lower bound of the log evidence ``log p(X)``.

    The bound is the log of ``int u^(n-1) exp(-psi(u)) / Gamma(n) phi(X | t) du``, which is the sum of
    ``p(partition) p(X | partition)`` over the partitions that the tree is consistent with; for the Dirichlet process it
    is the bound of Heller & Ghahramani (2005), section 3.

    Parameters
    ----------
    measure : Measure
        With float fields.
    tree : Tree
    log_marginal : ndarray, shape (2n - 1,)
        Log marginal of the leaves below every node as one cluster.
    log_u : float
        Where to start the search for the mode.

    Returns
    -------
    Quadrature
        Its integral is the bound; its nodes and their probabilities are the law of log u given the data and that the
        partition is consistent with the tree.

    Notes
    -----
    Every node costs O(n).
    """
    n = len(tree.order)

    def log_integrand(s):
        phi = potentials_from_marginals(tree, weights(measure, n, s).moment, log_marginal).log_potential[-1]
        return log_u_prior_term(measure, n, s) + s + phi

    return integrate_log_u(log_integrand, log_u)


def _tail(log_integrand, mode, step):
    """Nodes and terms on one side of the mode; the last stand for the rest where this is a geometric series."""
    nodes, terms = [mode], [log_integrand(mode)]
    while terms[0] - terms[-1] < _NEGLIGIBLE:
        nodes.append(mode + len(terms) * step)
        terms.append(log_integrand(nodes[-1]))
        ratios = np.diff(terms[-3:])
        if len(terms) > 3 and ratios[1] < 0.0 and abs(ratios[1] - ratios[0]) < 1e-10 * abs(terms[-1]):
            # With ratio r the rest is r + r^2 + ..., of mean index 1 / (1 - r).
            beyond = -np.expm1(ratios[1])
            nodes.append(nodes[-1] + step / beyond)
            terms.append(terms[-1] + ratios[1] - np.log(beyond))
            break
    return nodes[1:], terms[1:]


def _mode_and_spacing(log_integrand, s):
    """A point near the mode, and a step over which the logarithm drops there by an amount in a fixed range."""
    step = _LARGEST_STEP
    for _ in range(500):
        left, here, right = log_integrand(s - step), log_integrand(s), log_integrand(s + step)
        drop = here - 0.5 * (left + right)
        if max(left, right) > here:
            s += step if right > left else -step
        elif not drop <= _LARGEST_DROP:
            step /= 2.0
        else:
            break
    return s, step
