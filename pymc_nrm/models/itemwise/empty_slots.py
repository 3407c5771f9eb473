"""Draws of the parameters of empty slots from their prior."""

import numpy as np
import pytensor
from pymc.pytensorf import compile as compile_function
from pymc.pytensorf import reseed_rngs
from pytensor.graph.replace import clone_replace, graph_replace
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.random.type import RandomType

from pymc_nrm.models.values import in_value_space


class EmptySlots:
    """Draws entries of local variables for empty slots from their prior given all other variables.

    That is their full conditional, see `local_variables`, so that a draw leaves the posterior invariant.
    """

    def __init__(self, model, variables, compile_kwargs=None):
        self.names = [model.rvs_to_values[rv].name for rv in variables]
        self._inputs, self._function, self._generators = [], None, []
        if not variables:
            return
        graphs = [in_value_space(model, rv) for rv in variables]
        others = [rv for rv in model.free_RVs if rv not in variables]
        given = dict(zip(others, model.replace_rvs_by_values(others), strict=True))
        graphs = graph_replace(graphs, given, strict=False)
        # Generators of this object, which draws of nobody else change.
        shared = [variable for variable in graph_inputs(graphs) if isinstance(variable.type, RandomType)]
        own = {generator: pytensor.shared(np.random.default_rng(0)) for generator in shared}
        self._generators = list(own.values())
        graphs = clone_replace(graphs, own)
        used = set(graph_inputs(graphs))
        inputs = [value for value in model.value_vars if value in used]
        self._inputs = [value.name for value in inputs]
        self._function = compile_function(inputs, graphs, **(compile_kwargs or {}))
        self._function.trust_input = True

    def reseed(self, rng):
        """Seed the draws by one number of a generator."""
        reseed_rngs(self._generators, int(rng.integers(2**63)))

    @property
    def state(self):
        """States of the generators, as a list of dict."""
        return [generator.get_value(borrow=True).bit_generator.state for generator in self._generators]

    @state.setter
    def state(self, states):
        for generator, state in zip(self._generators, states, strict=True):
            value = generator.get_value(borrow=False)
            value.bit_generator.state = state
            generator.set_value(value, borrow=True)

    def redraw(self, point, empty):
        """Return the point with new entries for empty slots."""
        if self._function is None:
            return point
        draws = self._function(*[point[name] for name in self._inputs])
        point = dict(point)
        for name, draw in zip(self.names, draws, strict=True):
            value = point[name].copy()
            value[empty] = draw[empty]
            point[name] = value
        return point
