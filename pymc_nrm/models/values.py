"""Values of variables of a model, at points of a sampler or at posterior draws."""

from pymc.pytensorf import compile as compile_function
from pymc.pytensorf import replace_vars_in_graphs
from pytensor.graph.traversal import ancestors

from pymc_nrm.models.constants import constant_value


class Values:
    """Values of graphs as a function of some inputs; graphs that depend on none of them are evaluated once.

    Make an instance with :meth:`at_points` or :meth:`at_draws`, and call it with a dict of the values of the inputs.
    """

    def __init__(self, graphs, inputs, compile_kwargs=None):
        used = set(ancestors(graphs))
        self.inputs = [variable for variable in inputs if variable in used]
        self.varies = [not set(self.inputs).isdisjoint(ancestors([graph])) for graph in graphs]
        self.graphs = graphs
        # Positions of the graphs that are inputs themselves, with their names, and of the graphs to compute.
        self._given = {place: graph.name for place, graph in enumerate(graphs) if graph in self.inputs}
        self._computed = [place for place, varies in enumerate(self.varies) if varies and place not in self._given]
        self._compile([graphs[place] for place in self._computed], compile_kwargs)
        self.refresh()

    def _compile(self, graphs, compile_kwargs):
        used = set(ancestors(graphs))
        arguments = [variable for variable in self.inputs if variable in used]
        self._arguments, self._function = [variable.name for variable in arguments], None
        if graphs:
            self._function = compile_function(arguments, graphs, **(compile_kwargs or {}))
            self._function.trust_input = True

    @classmethod
    def at_points(cls, model, variables, compile_kwargs=None):
        """Values of variables of a model as functions of its value variables, which PyMC may transform."""
        return cls(model.replace_rvs_by_values(_with_data(model, variables)), model.value_vars, compile_kwargs)

    @classmethod
    def at_draws(cls, model, variables):
        """Values of variables of a model as functions of its free random variables, in the form of posterior draws."""
        # Observed values with gaps hold value variables, which are never transformed.
        drawn = {rv: rv.type(rv.name) for rv in model.free_RVs}
        for rv in model.free_RVs:
            if model.rvs_to_transforms[rv] is None:
                drawn[rv] = model.rvs_to_values[rv]
        observed = {rv: model.rvs_to_values[rv] for rv in model.observed_RVs}
        return cls(replace_vars_in_graphs(_with_data(model, variables), drawn | observed), list(drawn.values()))

    def refresh(self):
        """Evaluate the graphs that depend on no input again, since ``pm.set_data`` may have changed them."""
        pairs = zip(self.graphs, self.varies, strict=True)
        self._fixed = [None if varies else constant_value(graph) for graph, varies in pairs]

    def __call__(self, given):
        """Return the values of all graphs."""
        values = self._fixed.copy()
        for place, name in self._given.items():
            values[place] = given[name]
        if self._computed:
            computed = self._function(*[given[name] for name in self._arguments])
            for place, value in zip(self._computed, computed, strict=True):
                values[place] = value
        return values


def in_value_space(model, rv):
    """Return a random variable of a model on the scale of its value variable, which PyMC may transform."""
    transform = model.rvs_to_transforms[rv]
    return rv if transform is None else transform.forward(rv, *rv.owner.inputs)


def _with_data(model, variables):
    """Replace observed variables by their data."""
    # The data may have a new shape from pm.set_data, but in graphs PyTensor insists on the shape of the variable.
    return [model.rvs_to_values[variable] if variable in model.observed_RVs else variable for variable in variables]
