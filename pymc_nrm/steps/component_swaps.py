"""Swaps of two components: Metropolis updates of labels and of the parameters that they index.

Where weights treat components differently, modes of the posterior differ in which component a group of items has, and
gradients do not lead from one to another.  A swap exchanges the labels of two components, chosen without reading the
point, and their rows of *local* variables (``models/itemwise/local_variables.py``), and leaves the weights.  It is an
involution of Jacobian 1, so that it leaves the posterior invariant if it is accepted with probability ``min(1, r)``,
r being the ratio of the joint densities.  Mixtures do not change; of the labels, ``prod_i softmax(W_i)[s(z_i)] /
softmax(W_i)[z_i]`` remains (Papaspiliopoulos & Roberts 2008, "Retrospective Markov chain Monte Carlo methods for
Dirichlet process hierarchical models").  The priors of local variables, and data that index other parameters too, are
evaluated.
"""

import math

import numpy as np
from pymc.pytensorf import compile as compile_function
from pytensor.graph.traversal import ancestors

from pymc_nrm.models.itemwise.local_variables import local_variables
from pymc_nrm.steps.comparison import OwnMove


class ComponentSwaps:
    """As many swaps of two uniformly random components as there are components, for one partition.

    ``variables`` are the value variables that swaps may change.  Where data index other parameters alone, or local ones
    that are not among these, swaps are not possible.
    """

    def __init__(self, model, partition, labels, variables, point, compile_kwargs=None):
        self._name, self._n_components, self._table = labels.name, labels.n_components, labels.table
        local = local_variables(model, partition, self._n_components, point) if self._table.names else []
        values = [model.rvs_to_values[rv] for rv in local]
        is_possible = set(values) <= set(variables) and (bool(local) or not self._table.names)
        self._n_swaps = self._n_components if is_possible and self._n_components > 1 else 0
        self._local, self._inputs, self._log_prior = [value.name for value in values], [], None
        if self._n_swaps and local:
            graph = model.logp(vars=local)
            used = set(ancestors([graph]))
            inputs = [value for value in model.value_vars if value in used]
            self._inputs = [value.name for value in inputs]
            self._log_prior = compile_function(inputs, graph, **(compile_kwargs or {}))
            self._log_prior.trust_input = True
            # Machine code is made at the first call, before chains run in other processes.
            self._log_density(point)

    def _log_density(self, point):
        """Log density of the data that labels index and of the local variables."""
        total = self._table.values(point, point[self._name]).sum() if self._table.names else 0.0
        if self._log_prior is not None:
            total += float(self._log_prior(*[np.asarray(point[name]) for name in self._inputs]))
        return total

    def redraw(self, rng, point, shares):
        """Return the point after the swaps, given the log probabilities of components of each item, (n, K)."""
        if not self._n_swaps:
            return point
        density = self._log_density(point)
        for _ in range(self._n_swaps):
            proposal, proposed, log_ratio = self._propose(rng, point, shares, density)
            if math.log(1.0 - rng.random()) < log_ratio:
                point, density = proposal, proposed
        return point

    def _propose(self, rng, point, shares, density):
        """The point after a random swap, its density, and the log ratio of joint densities."""
        first = rng.integers(self._n_components)
        second = (first + rng.integers(1, self._n_components)) % self._n_components
        order, items = np.arange(self._n_components), np.arange(len(shares))
        order[first], order[second] = second, first
        old = point[self._name]
        new = order[old].astype(old.dtype)
        proposal = {**point, self._name: new} | {name: point[name][order] for name in self._local}
        proposed = self._log_density(proposal)
        return proposal, proposed, shares[items, new].sum() - shares[items, old].sum() + proposed - density

    def moves_to_compare(self, rng, point, shares):
        """A swap, if swaps are possible."""
        if self._n_swaps:
            proposal, _, log_ratio = self._propose(rng, point, shares, self._log_density(point))
            yield OwnMove(f"two components of {self._name!r} swap their labels", point, proposal, log_ratio)
