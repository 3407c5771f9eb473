"""Values: of variables at points of a sampler or at draws, and of graphs that do not depend on random variables."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import scipy
from pymc.pytensorf import replace_vars_in_graphs
from pytensor.compile.builders import infer_shape
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.scalar import Cast
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.type import RandomType

from pymc_nrm.common.named_dims import lowered, variable_behind
from pymc_nrm.families.arguments import is_data
from pymc_nrm.models.interpreted import function_of
from pymc_nrm.models.model_graphs import at_values


def as_observed(observed, values):
    """Return observed data in a form that PyMC leaves unchanged."""
    if isinstance(observed, SharedVariable) or variable_behind(observed) is not observed:
        return observed
    if scipy.sparse.issparse(values):
        from pytensor.sparse import as_sparse_variable, dense_from_sparse  # imports scipy.sparse

        # Log-probabilities and samplers read the sparse constant; PyMC computes its dense form only to store it.
        return dense_from_sparse(as_sparse_variable(values.astype("float64")))
    # PyMC would mask missing values and impute them, and truncate whole numbers to 32 bits.
    return pt.constant(np.asarray(values).astype("float64"))


def may_become_fractions(observed):
    """Return whether ``pm.set_data`` may give observed whole numbers fractions or gaps, which PyMC would cast away."""
    is_float = observed.type.dtype.startswith("float")
    return is_float and any(isinstance(origin, SharedVariable) for origin in graph_inputs([observed]))


def computed_by(variable, op_class):
    """Return whether an operation of a class computes a variable."""
    return variable.owner is not None and isinstance(variable.owner.op, op_class)


def without_casts(value):
    """Return a value before the casts by which PyMC sets the type of whole numbers."""
    while computed_by(value, Elemwise) and isinstance(value.owner.op.scalar_op, Cast):
        [value] = value.owner.inputs
    return value


def sparse_origin(value):
    """Return the sparse constant behind an observed value, or the value itself if there is none."""
    from pytensor.sparse import DenseFromSparse

    origin = without_casts(value)
    if computed_by(origin, DenseFromSparse):
        [origin] = origin.owner.inputs
        return origin
    return value


def constant_value(graph):
    """Compute a graph without inputs at the current values of its shared variables."""
    data = getattr(sparse_origin(graph), "data", None)
    if data is not None:
        return data
    if isinstance(graph, SharedVariable):
        return graph.get_value()
    # A single evaluation is not worth compiling.
    return pytensor.function([], graph, mode=Mode(linker="py", optimizer="minimum_compile"))()


def with_present_shape(value):
    """Return a tensor of the current shape of a value, to replace it where checks use shapes alone. A value is returned
    unchanged if it is not a tensor, has a fixed shape, or a shape that does not follow from data.
    """
    if not isinstance(value, Variable) or None not in value.type.shape:
        return value
    [lengths] = infer_shape(lowered([value]), [], [])
    origins = graph_inputs(lengths)
    if not all(map(is_data, origins)):
        return value
    return value.type.clone(shape=[int(constant_value(length)) for length in lengths])(value.name)


def kernel_values(values):
    """Return values in the types that kernels expect: floats, and contiguous arrays of float64 or int64."""
    # Copy, since constants of a graph may be read-only arrays, for which numba would compile kernels again.
    types = ["int64" if np.asarray(value).dtype.kind == "i" else "float64" for value in values]
    arrays = [np.array(value, dtype=dtype, order="C") for value, dtype in zip(values, types, strict=True)]
    return [float(array) if array.ndim == 0 else array for array in arrays]


def kernel_family(family_class, hyperparameters):
    """Return a family with the types of fields that kernels expect."""
    return family_class(*kernel_values([np.asarray(value, dtype="float64") for value in hyperparameters]))


def with_own_generators(graphs):
    """Graphs with random generators that no other code advances, and a dict of these by the original ones."""
    own_generators = {generator: pytensor.shared(np.random.default_rng(0)) for generator in generators_of(graphs)}
    return (clone_replace(graphs, own_generators) if own_generators else graphs), own_generators


def generators_of(graphs):
    """The random generators on which graphs depend, in the order of the graphs."""
    return [variable for variable in graph_inputs(graphs) if isinstance(variable.type, RandomType)]


class Values:
    """Values of graphs as a function of inputs; graphs that depend on no input are evaluated once.

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
            self._function = function_of(arguments, graphs, compile_kwargs)

    @classmethod
    def at_points(cls, model, variables, compile_kwargs=None):
        """Values of variables of a model as functions of its value variables, which PyMC may transform."""
        return cls(at_values(model, _with_data(model, variables)), model.value_vars, compile_kwargs)

    @classmethod
    def at_draws(cls, model, variables, data=None, inputs=()):
        """Values of variables of a model as functions of its free random variables, in the form of posterior draws, and
        of ``inputs``, which graphs in place of some ``data``, a dict, are made of.
        """
        # Observed values with gaps hold value variables, which are never transformed.
        drawn = {rv: rv.type(rv.name) for rv in model.free_RVs}
        for rv in model.free_RVs:
            if model.rvs_to_transforms[rv] is None:
                drawn[rv] = model.rvs_to_values[rv]
        observed, data = {rv: model.rvs_to_values[rv] for rv in model.observed_RVs}, data or {}
        graphs = replace_vars_in_graphs(_with_data(model, variables), drawn | observed | data)
        return cls(lowered(graphs), [*drawn.values(), *inputs])

    def refresh(self):
        """Evaluate the graphs that depend on no input again, since ``pm.set_data`` may have changed them."""
        pairs = zip(self.graphs, self.varies, strict=True)
        self._fixed = [None if varies else constant_value(graph) for graph, varies in pairs]

    def __call__(self, point):
        """Return the values of all graphs."""
        values = self._fixed.copy()
        for place, name in self._given.items():
            values[place] = point[name]
        if self._computed:
            computed = self._function(*[point[name] for name in self._arguments])
            for place, value in zip(self._computed, computed, strict=True):
                values[place] = value
        return values


def in_value_space(model, rv):
    """Return a random variable of a model on the scale of its value variable, which PyMC may transform."""
    transform = model.rvs_to_transforms[rv]
    return rv if transform is None else transform.forward(rv, *rv.owner.inputs)


def _with_data(model, variables):
    """Replace observed variables by their data."""
    # pm.set_data may change the shape of the data, but PyTensor requires the shape of the variable in graphs.
    return [model.rvs_to_values[variable] if variable in model.observed_RVs else variable for variable in variables]
