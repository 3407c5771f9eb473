"""The auxiliary variable given a tree: its mode, its distribution, and a lower bound of the evidence without it.

The variable of integration is t with ``log L = t - e^-t``, ``L = log(1 + u)``, as in ``measures/quadrature.py``.  If
alpha and sigma are small, an integrand is flat over many powers of ten of log u, but its tails are always short in t.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.kernels.special import log_sum_exp, softplus
from pymc_nrm.measures.base import log_eppf, log_joint_term, weights
from pymc_nrm.moves.guide_trees.tree import potentials_from_marginals

# Nodes are at most a third of a standard deviation apart, and at most 0.1.  The trapezoid rule then has an error below
# 1e-8, even for one-sided tails far from the mode.
_LARGEST_DROP, _LARGEST_SPACING = 0.06, 0.1
# Number of steps of the search for the mode.
_LARGEST_STEP = 0.14

# Terms below exp(-30) times the largest are omitted.
_NEGLIGIBLE = 30.0

# Above this, log u cancels in the integrand and costs its ninth digit.
_LARGEST_LOG_U = 1e8


class Quadrature(NamedTuple):
    """Trapezoid rule for an integral over log u."""

    # Mode of the integrand, to a fraction of its width.
    mode: float
    # Nodes, shape (m,); a single node if clusters do not depend on u.
    log_u: Any
    # Logarithms of the summands; shape (m,).
    log_terms: Any

    @property
    def log_integral(self):
        """Logarithm of the integral."""
        return float(log_sum_exp(self.log_terms))

    @property
    def probabilities(self):
        """Share of each node in the integral, shape (m,); 0 if the integral is 0."""
        total = self.log_integral
        return np.exp(self.log_terms - total) if np.isfinite(total) else np.zeros(len(self.log_terms))


def integrate_log_u(log_integrand, log_u):
    """Place the nodes of the trapezoid rule over log u."""

    @functools.cache
    def log_value(t):
        s, log_slope = _log_u_at(t)
        value = log_integrand(s) + log_slope
        return value if np.isfinite(value) else -np.inf

    mode, _ = _mode_and_spacing(lambda s: np.nan_to_num(log_integrand(s), nan=-np.inf), log_u, 0.75)
    top, spacing = _mode_and_spacing(log_value, _place_of(mode), _LARGEST_STEP, accelerate=True)
    if _log_u_at(top)[0] > _LARGEST_LOG_U:
        raise ValueError(
            "measure must have a larger alpha, sigma or gamma for trees, since u is beyond the range of floats; "
            "DirichletProcess is the limit for small sigma or gamma, and needs no u"
        )
    spacing = min(spacing, _LARGEST_SPACING)
    nodes = np.array([top, *_tail(log_value, top, -spacing), *_tail(log_value, top, spacing)])
    log_terms = np.array([log_value(t) for t in nodes]) + np.log(spacing)
    return Quadrature(mode, np.array([_log_u_at(t)[0] for t in nodes]), log_terms)


def u_given_tree(measure, tree, log_marginal, log_u):
    """Distribution of log u given a tree, and a lower bound of the log evidence ``log p(X)``.

    The bound is the log of the integral of ``exp(log_joint_term(n, u)) phi(X | t)`` over u, which is the sum of
    ``p(partition) p(X | partition)`` over the partitions that are consistent with the tree.  For the Dirichlet process
    it is the bound of Heller & Ghahramani (2005), section 3. The integral is the bound.  Nodes and their probabilities
    are the distribution of log u, given the data and that the partition is consistent with the tree.
    """
    # Each node costs O(n).
    n = len(tree.order)
    moment = weights(measure, n, log_u).moment
    if np.array_equal(moment, weights(measure, n, log_u + 1.0).moment):
        # Nothing depends on u, as with the Dirichlet process, so a single node is enough.
        log_sum = potentials_from_marginals(tree, moment, log_marginal).log_potential[-1]
        return Quadrature(log_u, np.array([log_u]), np.array([log_integrated_term(measure, n, log_u) + log_sum]))

    def log_integrand(s):
        phi = potentials_from_marginals(tree, weights(measure, n, s).moment, log_marginal).log_potential[-1]
        return log_joint_term(measure, n, s) + s + phi

    return integrate_log_u(log_integrand, log_u)


def log_integrated_term(measure, n, log_u):
    """:func:`~pymc_nrm.measures.base.log_joint_term` with u integrated out, if cluster weights lack u."""
    return log_eppf(measure, np.array([n])) - weights(measure, n, log_u).moment[n]


def _log_u_at(t):
    """Log u at t, and the logarithm of its derivative."""
    e = math.exp(-t)
    log_L = t - e
    if log_L < -30.0:
        return log_L, math.log1p(e)
    L = math.exp(log_L)
    log_share = math.log(-math.expm1(-L))
    return L + log_share, log_L + math.log1p(e) - log_share


def _place_of(log_u):
    """The t of a log u."""
    log_L = math.log(softplus(log_u)) if log_u > -30.0 else log_u
    # Newton steps converge from below to the root of a concave function.
    t = log_L if log_L > 0.0 else -math.log1p(-log_L)
    for _ in range(100):
        e = math.exp(-t)
        change = (log_L - t + e) / (1.0 + e)
        t += change
        if abs(change) < 1e-9 * (1.0 + abs(t)):
            break
    return t


def _tail(log_value, top, step):
    """Nodes on one side of the largest term, until terms are negligible."""
    nodes = [top]
    while log_value(top) - log_value(nodes[-1]) < _NEGLIGIBLE:
        nodes.append(top + len(nodes) * step)
    return nodes[1:]


def _mode_and_spacing(log_value, x, largest_step, *, accelerate=False):
    """A point near the mode, and a step over which the logarithm decreases from there by an amount in a fixed range."""
    step = largest_step
    for _ in range(500):
        left, here, right = log_value(x - step), log_value(x), log_value(x + step)
        drop = here - 0.5 * (left + right)
        if max(left, right) > here:
            x += step if right > left else -step
            step *= 2.0 if accelerate else 1.0
        elif step > largest_step or not drop <= _LARGEST_DROP:
            step, accelerate = step / 2.0, False
        else:
            break
    return x, step
