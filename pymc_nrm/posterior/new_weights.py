"""Log weights of the components of new items, from new values of the data on which they depend."""

import functools

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import walk
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.shape import Shape, Shape_i

from pymc_nrm.common.named_dims import as_rows_of, axis_of
from pymc_nrm.models.rvs import dims_of, n_items
from pymc_nrm.models.values import Values, computed_by
from pymc_nrm.partitions.weighted_components import LogWeights
from pymc_nrm.posterior.row_by_row import is_row_by_row, of_type
from pymc_nrm.stats.draws import stacked


class WeightsOfNew(LogWeights):
    """Log weights of the components of new items, shape (m, K)."""


class NewWeights:
    """Log weights of components as a function of a draw, and of a row of data for each new item.

    ``sources`` are the names of these data: the ``pm.Data`` with a row for each item whose values the weights read.
    """

    def __init__(self, model, rv, posterior):
        self._model, self._name, self._posterior = model, rv.name, posterior
        [self._graph] = rv.owner.op.prior_inputs(rv.owner)
        used = set(walk([self._graph], functools.partial(_inputs_of_value, model=model)))
        self._n_items, self._dim = n_items(rv), dims_of(model, rv)[0]
        data = [variable for variable in model.data_vars if variable in used and isinstance(variable, SharedVariable)]
        self._rows = {
            variable.name: variable for variable in data if _has_rows(variable, self._n_items, self._dim, model)
        }
        self.sources = list(self._rows)
        # Variables with a value for each old item, for messages.
        n_old = posterior[rv.name].shape[-1] if rv.name in posterior else self._n_items
        free = [rv.name for rv in model.free_RVs if rv in used and rv.name in posterior]
        self._by_item = [name for name in free if n_old in posterior[name].shape[2:]]

    def present_rows(self):
        """The rows that the model has at present, as ``pm.set_data`` left them."""
        return {
            name: np.moveaxis(source.get_value(), axis_of(source, [self._dim]), 0)
            for name, source in self._rows.items()
        }

    def check(self, rows):
        """Check that the weights of an item follow from its own rows of the sources."""
        log_weights = self.at(0, rows)
        if not self.sources:
            if len(log_weights) == self._n_items and np.allclose(log_weights, log_weights[:1], equal_nan=True):
                return
            raise self._error("they depend on no pm.Data with a row for each item")
        rows = {name: of_type(rows[name], source) for name, source in self._rows.items()}
        if not is_row_by_row(lambda longer: [self.at(0, longer)], rows, [log_weights]):
            raise self._error(f"they are not a function of {self.sources} row by row")

    def at(self, draw, rows):
        """Log weights given the draw of a number, (m, K). Shapes: ``rows`` has an array (m, ...) for each source."""
        function, draws = self._function
        inputs, m = {name: values[draw] for name, values in draws.items()}, None
        for name, source in self._rows.items():
            values = of_type(rows[name], source)
            inputs[name] = values[:, 0] if values.ndim > source.ndim else values
            m = len(values)
        try:
            [log_weights] = function(inputs)
        except (ValueError, IndexError, AssertionError) as error:
            raise self._error(f"their graph at {m} rows of {self.sources} ends in: {error}") from error
        if m not in (None, len(log_weights)):
            raise self._error(f"{m} rows of {self.sources} make {len(log_weights)} rows of weights")
        return log_weights

    @functools.cached_property
    def _function(self):
        inputs = {
            name: pt.tensor(name, dtype=source.dtype, shape=(None,) * source.ndim)
            for name, source in self._rows.items()
        }
        replaced = {source: as_rows_of(source, inputs[name], [self._dim]) for name, source in self._rows.items()}
        values = Values.at_draws(self._model, [self._graph], replaced, inputs.values())
        drawn = [variable for variable in values.inputs if variable.name not in inputs]
        return values, {
            variable.name: stacked(self._posterior, variable.name).astype(variable.dtype) for variable in drawn
        }

    def _error(self, reason):
        names = ", ".join(map(repr, self._by_item))
        of_items = f" {names} may have a value for each old item." if names else ""
        return ValueError(
            f"new items have no weights, since log_weights of {self._name!r} must be a function of pm.Data row by row, "
            f"without constants or variables that have a row for each item: {reason}.{of_items}"
        )


def _inputs_of_value(variable, model):
    """Inputs of a variable whose values it reads, up to random variables."""
    stops = variable.owner is None or variable in model.basic_RVs or computed_by(variable, Shape | Shape_i)
    return [] if stops else variable.owner.inputs


def _has_rows(variable, n, dim, model):
    """Whether data have a row for each item: by the name of their first dimension, or without one by their length."""
    if isinstance(variable.type, RandomType) or variable.ndim == 0:
        return False
    axis = axis_of(variable, [dim])
    named_dim = (model.named_vars_to_dims.get(variable.name) or [None] * variable.ndim)[axis]
    return (
        named_dim == dim
        if named_dim is not None and dim in model.coords
        else variable.get_value(borrow=True).shape[axis] == n
    )
