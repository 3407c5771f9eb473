"""Covariates of new items: functions of the mixtures and of the ``pm.Data`` of a model, at new values of these."""

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.basic import Alloc
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.subtensor import AdvancedSubtensor

from pymc_nrm.models.rvs import family_of, find_mixture, is_mixture, rows_of
from pymc_nrm.partitions.grouped import Grouped


class NewCovariates:
    """Hyperparameters of a mixture with a row of values for each item, such as the covariates of a regression.

    ``sources`` are the names of the mixtures and of the data that they are made of.
    """

    def __init__(self, model, name):
        self._name, rv = name, find_mixture(model, name, nested=True)
        self._rows = rows_of(rv)
        family = family_of(rv)
        fields = [field for field, spec in family.hyperparameters.items() if spec.core[:1] == ("n",)]
        self._graphs = {field: _as_written(getattr(family, field)) for field in fields if _is_matrix(family, field)}
        found = [one for graph in self._graphs.values() for one in ancestors([graph], blockers=model.basic_RVs)]
        self._sources = {one.name: one for one in found if is_mixture(one) or _is_data(one)}
        self.sources = list(self._sources)
        self._function = None

    def __bool__(self):
        return bool(self._graphs)

    def check(self, names):
        """Check that new values of all sources are given."""
        if self and not self.sources:
            raise ValueError(
                f"{', '.join(self._graphs)} of {self._name!r} must be pm.Data, a Mixture or a function of these, to be "
                "known for new items; got constants"
            )
        missing = [source for source in self.sources if source not in names]
        if missing:
            raise ValueError(
                f"given must have new values of {missing}, on which the {', '.join(self._graphs)} of {self._name!r} "
                f"depend; got {sorted(names)}"
            )

    def at(self, family, rows):
        """The family with covariates of new items. Shapes: ``rows`` has an array (m, ...) for each source."""
        if not self:
            return family
        if isinstance(family, Grouped):
            return family._replace(family=self.at(family.family, rows))
        if self._function is None:
            inputs = [pt.tensor(name, dtype="float64", shape=(None,) * one.ndim) for name, one in self._sources.items()]
            replaced = zip(self._sources.values(), inputs, strict=True)
            given = {one: value.astype(one.dtype) for one, value in replaced}
            graphs = clone_replace(list(self._graphs.values()), given, rebuild_strict=False)
            graphs = _with_one_row_each(graphs, self._rows)
            self._function = pytensor.function(inputs, graphs, mode=Mode(linker="py", optimizer="minimum_compile"))
        values = [np.asarray(rows[name], dtype="float64") for name in self.sources]
        values = [x[:, 0] if x.ndim > one.ndim else x for x, one in zip(values, self._sources.values(), strict=True)]
        results = self._function(*values)
        for field, result in zip(self._graphs, results, strict=True):
            if len(result) != len(values[0]):
                raise ValueError(
                    f"{field} of {self._name!r} must be a function of {self.sources} row by row; it has {len(result)} "
                    f"rows for {len(values[0])} new items"
                )
        arrays = [np.ascontiguousarray(result, dtype="float64") for result in results]
        return family._replace(**dict(zip(self._graphs, arrays, strict=True)))


def _is_matrix(family, field):
    return len(family.hyperparameters[field].core) > 1


def _is_data(variable):
    return isinstance(variable, SharedVariable) and not isinstance(variable.type, RandomType)


def _with_one_row_each(graphs, rows):
    """Graphs in which what belongs to the item of each row, ``x[rows]``, is ``x``, since each new item has one row."""
    picked = {}
    for node in {one.owner for one in ancestors(graphs) if one.owner} if isinstance(rows, np.ndarray) else ():
        if isinstance(node.op, AdvancedSubtensor) and np.array_equal(getattr(node.inputs[-1], "data", None), rows):
            picked[node.outputs[0]] = node.inputs[0]
    return clone_replace(graphs, picked, rebuild_strict=False)


def _as_written(graph):
    """The graph of a hyperparameter without the checks of its shape, which is that of the old items."""
    while graph.owner is not None and isinstance(graph.owner.op, Alloc | CheckAndRaise):
        graph = graph.owner.inputs[0]
    return graph
