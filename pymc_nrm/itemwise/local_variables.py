"""The variables of a model that hold parameters of single slots, found by changing values."""

import numpy as np
from pymc.pytensorf import compile as compile_function
from pytensor.compile.mode import Mode
from pytensor.graph.traversal import ancestors

from pymc_nrm.itemwise.checking import with_noise
from pymc_nrm.model.rvs import is_partition


def local_variables(model, partition, max_clusters, point):
    """Find the free variables whose entries for empty slots depend on nothing but their prior.

    A variable of K entries along its first axis is *local* if entry s of its log-probability depends on entry s of
    local variables only and not on labels, and if everything else depends on entry s only through items with label s.
    Then entries of empty slots, given all other variables, have their prior as full conditional.

    Parameters
    ----------
    model : pymc.Model
    partition : TensorVariable
        Its labels are slots.
    max_clusters : int
    point : dict
        Any point of the model.

    Returns
    -------
    list of TensorVariable
        Free random variables, in the order of the model.

    Notes
    -----
    Variables of K items may have K entries too: what depends on labels is none of slots.  The rest of the test is by
    values: labels use some slots only, and one variable after the other gets new values for all other
    slots.  Nothing may change then but log-probabilities of local variables for these slots.  The sets of slots are
    those of the binary digits of their numbers, so that any two slots are told apart.  For log-probabilities that are
    analytic in the parameters, a test at a random point is right with probability one.
    """
    slots = np.arange(max_clusters)
    candidates = [rv for rv in model.free_RVs if not is_partition(rv) and _has_slots(model, rv, max_clusters, point)]
    if max_clusters == 1 or not candidates:
        return []
    test = _Test(model, partition)
    candidates = [rv for rv in candidates if rv not in test.of_items]
    rng = np.random.default_rng(0)
    found = None
    while found != candidates:
        found = candidates
        for bit in range((max_clusters - 1).bit_length()):
            for digit in (0, 1):
                used = (slots >> bit) & 1 == digit
                candidates = test.unchanged(candidates, used, point, rng)
    return found


def _has_slots(model, rv, max_clusters, point):
    value = model.rvs_to_values[rv]
    return value.dtype.startswith("float") and rv.ndim > 0 and np.shape(point[value.name])[:1] == (max_clusters,)


class _Test:
    def __init__(self, model, partition):
        self._values = model.rvs_to_values
        self._partition = partition
        self._terms = [*model.free_RVs, *model.observed_RVs, *model.potentials]
        graphs = model.logp(vars=self._terms, sum=False)
        labels = self._values[partition]
        # Terms that depend on labels.
        self.of_items = [
            term for term, graph in zip(self._terms, graphs, strict=True) if labels in set(ancestors([graph]))
        ]
        used = set(ancestors(graphs))
        self._inputs = [value for value in model.value_vars if value in used]
        mode = Mode(linker="py", optimizer="minimum_compile")
        self._function = compile_function(self._inputs, graphs, mode=mode, on_unused_input="ignore")

    def unchanged(self, candidates, used, point, rng):
        """Those of the candidates that may be local, if labels are in the used slots only."""
        first = {name: with_noise(value, rng) for name, value in point.items()}
        labels = rng.choice(np.flatnonzero(used), size=np.shape(point[self._partition.name]))
        first[self._partition.name] = labels.astype(np.int64)
        before = self._at(first)
        return [rv for rv in candidates if self._is_unchanged(rv, candidates, used, first, before, rng)]

    def _is_unchanged(self, rv, candidates, used, first, before, rng):
        name = self._values[rv].name
        value = np.where(_along_first(used, first[name]), first[name], with_noise(first[name], rng))
        for term, old, new in zip(self._terms, before, self._at({**first, name: value}), strict=True):
            if term in candidates and np.shape(old)[:1] == used.shape:
                old, new = old[used], new[used]
            if not np.array_equal(old, new, equal_nan=True):
                return False
        return True

    def _at(self, point):
        return self._function(*[point[value.name] for value in self._inputs])


def _along_first(used, values):
    return used.reshape(-1, *[1] * (np.ndim(values) - 1))
