"""What every posterior draw holds for one partition: labels, measure, families and data."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.base import check_resolution
from pymc_nrm.model.dependents import mixtures_of
from pymc_nrm.model.parts import PartitionParts, joint_data, joint_family
from pymc_nrm.model.rvs import checked_model, dims_of, find_partition, n_items, value_of
from pymc_nrm.model.values import Values
from pymc_nrm.partitions.labels import canonical_labels, label_counts
from pymc_nrm.predictions.prediction_rule import draw_new_labels, log_prediction_rule
from pymc_nrm.predictions.same_model import check_same_model
from pymc_nrm.predictions.tables import log_predictive_table
from pymc_nrm.stats.draws import posterior_of, stacked

_NEW_ITEMS = "New items are arguments of density, predict_labels and sample_posterior_predictive"


class PartitionDraw(NamedTuple):
    """One posterior draw, in the form that kernels read."""

    # In order of appearance; int64 of shape (n,).
    labels: Any
    # With float fields.
    measure: Any
    # One for each mixture, hyperparameters of full shape and localised, see `localise`.
    families: tuple
    # Prepared data of each mixture.
    data: tuple

    @property
    def family(self):
        """One family for all mixtures: a ``Product`` of several, ``NoData`` of none."""
        return joint_family(self.families)

    @property
    def family_data(self):
        """The data of :attr:`family`."""
        return joint_data(self.data)

    def log_weights(self, families, data, points, n_points):
        """Log joint weights of where one more item goes and of its data there. Each is the log probability that the
        item joins a cluster, or in the last column a new one, plus the log predictive density of its data there.
        Shapes: returns (n_points, n_clusters + 1).
        """
        table = log_predictive_table(
            self.labels, joint_family(families), joint_data(data), joint_data(points), n_points
        )
        return table + log_prediction_rule(self.measure, label_counts(self.labels))

    def labels_with_new(self, n_new, rng):
        """Labels of the items, followed by labels of new ones, drawn one after another; shape (n + n_new,)."""
        new = draw_new_labels(self.measure, label_counts(self.labels), n_new, rng)
        return np.concatenate([self.labels, new])

    def new_weight(self):
        """Probability that one more item opens a new cluster, before its data are seen."""
        return np.exp(log_prediction_rule(self.measure, label_counts(self.labels))[-1])


class PartitionDraws:
    """An iterable of the posterior draws of one partition of a model, one :class:`PartitionDraw` for each.

    Draws come chain after chain.  Hyperparameters and latent mixtures are functions of the other variables in the
    posterior; what depends on none of them is evaluated once.  Data are read from the model, as ``pm.set_data`` left
    them.
    """

    def __init__(self, idata, model, partition=None):
        self.model = checked_model(model)
        self.posterior = posterior_of(idata, by_chain=True)
        rv = self._find(self.model, partition)
        check_same_model(idata, self.model, rv)
        mixtures = mixtures_of(self.model, rv)
        self.partition, self.mixtures = rv.name, [mixture.name for mixture in mixtures]
        self.n_chains, self.n_draws = self.posterior.sizes["chain"], self.posterior.sizes["draw"]
        evaluate = partial(Values.at_draws, self.model)
        self._labels = evaluate([rv])
        self._parts = PartitionParts(rv, mixtures, evaluate)
        self._dtypes = {variable.name: variable.dtype for variable in (*self._labels.inputs, *self._parts.inputs)}
        self._draws = {name: stacked(self.posterior, name) for name in self._dtypes}
        self._value, self.n_items = value_of(rv), n_items(rv)
        self.item_dim = self._item_dim(rv)

    @staticmethod
    def _find(model, name):
        return find_partition(model, name)

    def _canonical(self, labels):
        return canonical_labels(labels)

    @staticmethod
    def _draw(labels, measure, families, data):
        return PartitionDraw(labels, measure, families, data)

    def _item_dim(self, rv):
        if rv in self.model.observed_RVs:
            return dims_of(self.model, rv)[0]
        labels = self.posterior[self.partition]
        sizes = {dim: size for dim, size in labels.sizes.items() if dim not in ("chain", "draw")}
        if len(sizes) == 1 and sum(sizes.values()) != self.n_items:
            raise ValueError(
                f"draws of {self.partition!r} have {sum(sizes.values())} items, partition {self.partition!r} of the "
                f"model has {self.n_items}: set the data with which the draws were made. {_NEW_ITEMS}"
            )
        if labels.dtype.kind not in "iu" or tuple(sizes.values()) != self._value.shape(self.n_items):
            raise ValueError(
                f"draws of {self.partition!r} must be whole numbers with dimensions (chain, draw, item), one item for "
                f"each of the {self.n_items} of the model; got {labels.dtype} with sizes {dict(labels.sizes)}"
            )
        return next(iter(sizes))

    def __len__(self):
        return self.n_chains * self.n_draws

    def __iter__(self):
        for s in range(len(self)):
            given = {name: np.asarray(self._draws[name][s], dtype=dtype) for name, dtype in self._dtypes.items()}
            if s == 0:
                self._check_items(given)
            if s == 0 or self._labels.varies[0]:
                labels = self._canonical(self._labels(given)[0])
            measure, families, data = self._parts.prepared(given)
            for name, family, rows, varies in zip(self.mixtures, families, data, self._parts.data_vary, strict=True):
                if s == 0 or varies:
                    check_resolution(family, rows, f"data of {name!r}")
            yield self._draw(labels, measure, families, data)

    def _check_items(self, given):
        for name, _, X in self._parts.at(given)[1]:
            if X.shape[0] != self.n_items:
                raise ValueError(
                    f"Mixture {name!r} has {X.shape[0]} rows of data, partition {self.partition!r} has {self.n_items} "
                    f"items: set the data with which the draws were made. {_NEW_ITEMS}"
                )
