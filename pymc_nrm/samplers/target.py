"""What a step needs of a PyMC model: the measure, the families and the data that depend on one partition."""

import numpy as np
from pymc.pytensorf import compile as compile_function
from pytensor.compile.mode import Mode
from pytensor.graph.traversal import ancestors

from pymc_nrm.distributions.mixture import MixtureRV, kernel_family
from pymc_nrm.distributions.observed import sparse_origin
from pymc_nrm.families.base import check_resolution, localise, prepare_data
from pymc_nrm.families.no_data import NoData, NoRows
from pymc_nrm.families.product import product, product_data
from pymc_nrm.hyperparameters import check_values
from pymc_nrm.measures.base import check_measure


class Target:
    """The part of a model's log-probability that depends on one partition, as kernels read it.

    Parameters
    ----------
    model : pymc.Model
    partition : TensorVariable
        A partition of the model.
    point : dict
        Any point of the model, to fix types.
    compile_kwargs : dict, optional
        Options for the compilation of hyperparameters and data that depend on other variables.

    Raises
    ------
    ValueError
        If anything but the data of a :class:`Mixture` depends on the labels.

    Attributes
    ----------
    data_are_fixed : bool
        Whether no mixture is a latent variable.
    """

    def __init__(self, model, partition, point, compile_kwargs=None):
        self.mixtures = _mixtures_of(model, partition)
        parts = [list(partition.owner.inputs[3:])]
        parts += [[*rv.owner.inputs[3:], rv] for rv in self.mixtures]
        self._measure_class = partition.owner.op.measure_class
        self._sizes = [len(part) for part in parts]
        self._evaluate = _Evaluator(model, [variable for part in parts for variable in part], compile_kwargs)
        self._prepared = [None] * len(self.mixtures)
        self._checked = False
        data_places = np.cumsum(self._sizes)[1:] - 1
        self.data_are_fixed = not any(self._evaluate.varies[place] for place in data_places)
        self.at(point)

    def refresh(self):
        """Read data and constants again, which ``pm.set_data`` may have changed."""
        self._evaluate.refresh()
        self._prepared = [None] * len(self.mixtures)
        self._checked = False

    def parts(self, point):
        """What the model says at a point, before it is prepared for kernels.

        Parameters
        ----------
        point : dict
            Values of the value variables.

        Returns
        -------
        measure : Measure
            With float fields.
        mixtures : list of (str, Family, array)
            Name, family in its full shape and data of each mixture.
        """
        values = iter(self._evaluate(point))
        parts = [[next(values) for _ in range(size)] for size in self._sizes]
        measure = self._measure_class(*[float(value) for value in parts[0]])
        mixtures = [
            (rv.name, kernel_family(rv.owner.op.family_class, hyperparameters), X)
            for rv, (*hyperparameters, X) in zip(self.mixtures, parts[1:], strict=True)
        ]
        return measure, mixtures

    def at(self, point):
        """Measure, family and data at a point.

        Parameters
        ----------
        point : dict
            Values of the value variables.

        Returns
        -------
        measure : Measure
            With float fields.
        family, data : NamedTuple
            A product where several mixtures share the partition.

        Raises
        ------
        ValueError
            At the first point after the construction or :meth:`refresh`, if hyperparameters are outside their supports:
            later ones are those of draws, whose log-probability is finite.
        """
        measure, mixtures = self.parts(point)
        if not self._checked:
            check_measure(measure)
        families, data = [], []
        for k, (name, family, X) in enumerate(mixtures):
            if not self._checked:
                d = X.shape[1] if X.ndim == 2 else 1
                check_values(family, X.shape[0], d, f" where the sampling of {name!r} starts")
            rows = self._prepared[k]
            if rows is None:
                rows = prepare_data(family, X[:, None] if X.ndim == 1 else X)
                if not self._evaluate.varies[sum(self._sizes[: k + 2]) - 1]:
                    self._prepared[k] = rows
            families.append(localise(family, rows))
            if not self._checked:
                check_resolution(families[-1], rows, f"data of {name!r}")
            data.append(rows)
        self._checked = True
        if not families:
            return measure, NoData(0.0), NoRows(0.0)
        return measure, product(families), product_data(data)


class _Evaluator:
    """Values of variables at a point; those that cannot change are computed once."""

    def __init__(self, model, variables, compile_kwargs):
        graphs = model.replace_rvs_by_values(variables)
        inputs = [value for value in model.value_vars if value in set(ancestors(graphs))]
        self._names = [value.name for value in inputs]
        self.varies = [any(value in set(ancestors([graph])) for value in inputs) for graph in graphs]
        moving = [graph for graph, varies in zip(graphs, self.varies, strict=True) if varies]
        fixed = [graph for graph, varies in zip(graphs, self.varies, strict=True) if not varies]
        self._fixed_graphs = fixed
        self._fixed = [_constant_value(graph) for graph in fixed]
        self._function = None
        if moving:
            self._function = compile_function(inputs, moving, **(compile_kwargs or {}))
            self._function.trust_input = True

    def refresh(self):
        """Read values again that ``pm.set_data`` may have changed."""
        self._fixed = [_constant_value(graph) for graph in self._fixed_graphs]

    def __call__(self, point):
        moving = iter(self._function(*[point[name] for name in self._names]) if self._function else ())
        fixed = iter(self._fixed)
        return [next(moving) if varies else next(fixed) for varies in self.varies]


def _constant_value(graph):
    # One evaluation does not pay for compilation.
    data = getattr(sparse_origin(graph), "data", None)
    if data is not None:
        return data
    return compile_function([], graph, mode=Mode(linker="py", optimizer="minimum_compile"))()


def _mixtures_of(model, partition):
    """Mixtures over a partition, after a check that nothing else looks at its labels."""
    mixtures = []
    for rv in model.basic_RVs:
        if rv is partition:
            continue
        is_mixture = isinstance(rv.owner.op, MixtureRV) and rv.owner.inputs[2] is partition
        inputs = rv.owner.inputs[3:] if is_mixture else rv.owner.inputs
        if _depends_on(inputs, partition, model):
            raise ValueError(_misuse(rv, partition))
        if is_mixture:
            mixtures.append(rv)
    for potential in model.potentials:
        if _depends_on([potential], partition, model):
            raise ValueError(_misuse(potential, partition))
    return mixtures


def _misuse(variable, partition):
    return (
        f"{variable.name!r} depends on the labels of partition {partition.name!r} in a way that its sampler does not "
        "understand: only the data of a Mixture may depend on a partition. Deterministics may use the labels"
    )


def _depends_on(variables, partition, model):
    """Whether variables depend on a partition other than through the value of another random variable."""
    blockers = [rv for rv in model.basic_RVs if rv is not partition]
    return partition in set(ancestors(list(variables), blockers=blockers)) - set(blockers)
