"""The measure of a partition and the families and data of its mixtures, in the form that kernels read."""

from itertools import compress

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.random.type import RandomType

from pymc_nrm.families.base import localise, prepare_data
from pymc_nrm.families.counted import Counted, CountedRows, counted_rows
from pymc_nrm.families.gaps import filled_data
from pymc_nrm.families.product import NoData, NoRows, product, product_data
from pymc_nrm.models.missing_entries import gaps_of
from pymc_nrm.models.prepared import prepared_data
from pymc_nrm.models.row_arguments import COUNTS_MESSAGE, of_observations, rows_of_observations
from pymc_nrm.models.rvs import counts_of, family_of, n_items, rows_of
from pymc_nrm.models.values import kernel_family
from pymc_nrm.partitions.grouped import Grouped, GroupedRows, grouped_rows

# What wraps a family whose items are not single rows, by the class of their data.
_WRAPPERS = {GroupedRows: Grouped, CountedRows: Counted}


class PartitionParts:
    """The part of a model's log-probability that depends on one partition.

    Constant parts are prepared for kernels only once.  ``families`` may have other hyperparameters than the mixtures,
    and the measure is None without ``has_measure``: a step skips what its kernel does not read.
    """

    def __init__(self, partition, mixtures, evaluate, families=None, has_measure=True):
        op, families = partition.owner.op, list(map(family_of, mixtures)) if families is None else families
        self._measure = op.kernel_prior if has_measure else lambda _: None
        self._family_classes = [type(family) for family in families]
        self._names, self._rows = [rv.name for rv in mixtures], list(map(rows_of, mixtures))
        self._counts = list(map(counts_of, mixtures))
        self._partition = partition
        parts = [
            list(op.prior_inputs(partition.owner)) if has_measure else [],
            *[[*family, rv] for family, rv in zip(families, mixtures, strict=True)],
        ]
        self._ends = np.cumsum([len(part) for part in parts])
        self._values = evaluate([variable for part in parts for variable in part])
        self.inputs = self._values.inputs
        varies = self._split(self._values.varies)[1:]
        # Hyperparameters with one value for each item belong to the data.
        per_item = [["n" in spec.core for spec in family.hyperparameters.values()] for family in families]
        self.data_vary = [
            any(compress(part, [*of_items, True])) for part, of_items in zip(varies, per_item, strict=True)
        ]
        self._vary = [any(part) for part in varies]
        graphs = self._split(self._values.graphs)[1:]
        self._gaps = [gaps_of(X) for *_, X in graphs]
        model_families = [family_of(rv) for rv in mixtures]
        self._fixed = [
            list(map(_is_fixed, *fields))
            for fields in zip(model_families, families, [part[:-1] for part in graphs], varies, strict=True)
        ]
        self._forget()

    def _split(self, values):
        return [values[start:end] for start, end in zip([0, *self._ends[:-1]], self._ends, strict=True)]

    def _forget(self):
        self._families, self._data = [None] * len(self._names), [None] * len(self._names)
        # Data with NaN in their gaps, as kernels read them.
        self._known = [None] * len(self._names)

    def refresh(self):
        """Read data and constants again, since ``pm.set_data`` may have changed them."""
        self._values.refresh()
        self._forget()

    def at(self, point):
        """Return measure, families and data before they are prepared for kernels. The measure of a nested partition is
        its levels and the concentrations of its weights; a mixture is its name, family, data and item of each row, and
        has as many rows as observations.
        """
        hyperparameters, *parts = self._split(self._values(point))
        mixtures = [
            self._mixture(name, kernel_family(family_class, values), X, rows, counts)
            for name, family_class, (*values, X), rows, counts in zip(
                self._names, self._family_classes, parts, self._rows, self._counts, strict=True
            )
        ]
        return self._measure(hyperparameters), mixtures

    @staticmethod
    def _mixture(name, family, X, rows, counts):
        if counts is None:
            return name, family, X, rows
        if X.shape[0] != len(counts):
            raise ValueError(f"{COUNTS_MESSAGE}. Mixture {name!r} has {X.shape[0]} rows and {len(counts)} counts")
        rows = rows_of_observations(counts)
        return name, *of_observations(family, X, rows), rows

    def prepared(self, point):
        """Return measure, families and data in the form that kernels read. The measure of a nested partition is its
        levels and the concentrations of its weights; families are localised.
        """
        hyperparameters, *parts = self._split(self._values(point))
        for k, (*values, X) in enumerate(parts):
            if self._families[k] is not None and not self._vary[k]:
                continue
            family = kernel_family(self._family_classes[k], values)
            if self._data[k] is None or self.data_vary[k]:
                self._data[k] = self._of_items(k, self._prepare(k, family, X[:, None] if X.ndim == 1 else X))
            wrapper = _WRAPPERS.get(type(self._data[k]))
            family = localise(family, self._data[k] if wrapper is None else self._data[k].rows)
            self._families[k] = family if wrapper is None else wrapper(family)
        return self._measure(hyperparameters), tuple(self._families), tuple(self._data)

    def _of_items(self, k, data):
        """The data of the items of a mixture, from its prepared rows."""
        if self._counts[k] is not None:
            return counted_rows(data, self._counts[k])
        if isinstance(self._rows[k], slice):
            return data
        return grouped_rows(data, self._rows[k], n_items(self._partition))

    def _prepare(self, k, family, X):
        if self._gaps[k] is None:
            return prepared_data(family, X, self._fixed[k], self._split(self._values.graphs)[1 + k][-1])
        places = self._gaps[k].rows_and_columns
        if self._known[k] is None:
            known = X.copy()
            known[places] = np.nan
            self._known[k] = prepare_data(family, known)
        return filled_data(family, X, places, self._known[k])


def _is_fixed(model_field, field, graph, varies):
    """Whether a hyperparameter of a mixture is constant, True, or sampled, False, or neither, None.

    ``field`` stands in place of the mixture's own, and ``graph`` is what it is with data for observed variables.
    """
    if varies or (_is_random(model_field) and not _is_random(field)):
        return False
    return True if all(isinstance(origin, Constant) for origin in graph_inputs([graph])) else None


def _is_random(graph):
    return any(isinstance(origin.type, RandomType) for origin in graph_inputs([graph]))


class ChunkedParts:
    """The corresponding part for a partition of rows in chunks, whose data are not in the model.

    ``data`` has one prepared row of each mixture, with the form and centre of the data.  ``families`` and
    ``has_measure`` are as in :class:`PartitionParts`.
    """

    def __init__(self, partition, mixtures, evaluate, families=None, has_measure=True):
        families, rows = list(map(family_of, mixtures)) if families is None else families, partition.owner.op.kind.rows
        self._prior = partition.owner.op.kernel_prior if has_measure else lambda _: None
        self._classes = [type(family) for family in families]
        self.data = tuple(rv.owner.op.measured.preparation(rows.sample_values[:1]) for rv in mixtures)
        self.data_vary = [False] * len(mixtures)
        prior = list(partition.owner.op.prior_inputs(partition.owner)) if has_measure else []
        parts = [prior, *map(list, families)]
        self._ends = np.cumsum([len(part) for part in parts])
        self.values = evaluate([variable for part in parts for variable in part])

    def at(self, point):
        """Return measure and localised families."""
        values, starts = self.values(point), [0, *self._ends[:-1]]
        prior, *fields = [values[first:end] for first, end in zip(starts, self._ends, strict=True)]
        families = map(kernel_family, self._classes, fields)
        return self._prior(prior), tuple(map(localise, families, self.data))


def joint_family(families):
    """Combine the families of all mixtures of a partition: several into a ``Product``, none into ``NoData``."""
    return product(families) if families else NoData(0.0)


def joint_data(data):
    """Combine the data of all mixtures of a partition, as :func:`joint_family` combines the families."""
    return product_data(data) if data else NoRows(0.0)
