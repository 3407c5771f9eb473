"""What every posterior draw holds for one nested partition: paths, tables, their law, families and data."""

from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.diffusion.messages import log_predictive_at_places
from pymc_nrm.model.parts import joint_data, joint_family
from pymc_nrm.model.rvs import find_partition
from pymc_nrm.partitions.nested_laws.forward import draw_further_nested, draw_further_paths
from pymc_nrm.predictions.partition_draws import PartitionDraws
from pymc_nrm.predictions.places import component_weights, places_of
from pymc_nrm.predictions.tables import log_predictive_table

__all__ = ["NestedDraw", "NestedDraws", "log_mix"]


class NestedDraw(NamedTuple):
    """One posterior draw of a nested partition, in the form that kernels read."""

    # Paths and, with weights, tables; columns in order of appearance; int64 of shape (n, depth) or (n, 2 depth + 1).
    values: Any
    levels: Any
    # Concentrations of the weights, if there are any; float64 of shape (depth + 1,), or None.
    gammas: Any
    # One for each mixture, hyperparameters of full shape and localised, see `localise`.
    families: tuple
    # Prepared data of each mixture.
    data: tuple

    @property
    def depth(self):
        """Number of levels below the root."""
        return len(self.levels.alpha)

    @property
    def paths(self):
        """Nodes of the items at levels 1 to depth, shape (n, depth)."""
        return np.ascontiguousarray(self.values[:, : self.depth])

    @property
    def labels(self):
        """Components of the items, shape (n,); only with weights."""
        return np.ascontiguousarray(self.values[:, -1])

    @property
    def places(self):
        """The places of one more item."""
        return places_of(self.levels, self.values)

    def log_weights(self, families, data, points, n_points):
        """Log joint weights of where one more item goes and of its data there. Each is the log probability that the
        item goes to a place, plus the log predictive density of its data there. Shapes: returns (n_points, n_places).
        """
        places = self.places
        if self.gammas is None:
            table = np.zeros((n_points, len(places.above)))
            for one in zip(families, data, points, strict=True):
                table += log_predictive_at_places(one[0], self.paths, *one[1:], places.start)
        else:
            components = self.labels
            n_components = int(components.max()) + 1
            weights = component_weights(self.gammas, self.values, components, n_components, places)
            table = log_mix(
                log_predictive_table(
                    components, joint_family(families), joint_data(data), joint_data(points), n_points
                ),
                weights,
            )
        return table + places.log_weights

    def labels_with_new(self, n_new, rng):
        """Value of the items and of new ones, drawn from their law given the old ones, shape (n + n_new, width)."""
        if self.gammas is None:
            return draw_further_paths(rng, self.levels, self.values, n_new)
        return draw_further_nested(rng, self.levels, self.gammas, self.values, n_new)

    def new_weight(self):
        """Probability that the node of one more item is new, before its data are seen, at levels 1 to depth."""
        places = self.places
        return np.array([np.exp(places.log_weights[:first]).sum() for first in places.start[1:-1]])


def log_mix(table, weights):
    """Log densities of mixtures, from log densities in their components. Shapes: ``table`` (m, k), ``weights``
    (n_places, k); returns (m, n_places).
    """
    largest = table.max(axis=1, keepdims=True)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return shift + np.log(np.exp(table - shift) @ weights.T)


class NestedDraws(PartitionDraws):
    """An iterable of the posterior draws of one nested partition, one :class:`NestedDraw` for each.

    Arguments and attributes are those of :class:`~pymc_nrm.predictions.partition_draws.PartitionDraws`; ``partition``
    is the name of a nested partition.  Further attributes are ``depth``, the names ``columns`` of the columns of a
    value, ``column_dim``, their dimension in the posterior, and ``is_observed``, whether the tree is known.
    """

    @staticmethod
    def _find(model, name):
        return find_partition(model, name, nested=True)

    def _canonical(self, labels):
        return self._value.read({self._value.name: labels})

    @staticmethod
    def _draw(labels, measure, families, data):
        return NestedDraw(labels, *measure, families, data)

    def _item_dim(self, rv):
        self.depth, self.columns = self._value.depth, self._value.columns
        self.is_observed, self.column_dim = rv in self.model.observed_RVs, None
        if self.is_observed:
            return super()._item_dim(rv)
        labels = self.posterior[self.partition]
        dims = [dim for dim in labels.dims if dim not in ("chain", "draw")]
        sizes = tuple(labels.sizes[dim] for dim in dims)
        if labels.dtype.kind not in "iu" or sizes != self._value.shape(self.n_items):
            raise ValueError(
                f"draws of {self.partition!r} must be whole numbers with dimensions (chain, draw, item, column) and "
                f"shape {self._value.shape(self.n_items)} for the {self.n_items} items of the model; got "
                f"{labels.dtype} with sizes {dict(labels.sizes)}. Set the data with which the draws were made; new "
                "items are arguments"
            )
        self.column_dim = dims[1]
        return dims[0]
