"""The posterior draws of one partition of a model: what each holds, and what one more item may do."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
import xarray as xr

from pymc_nrm.common.marks import KEY_OF_ROWS
from pymc_nrm.common.pymc_internals import find_observations
from pymc_nrm.common.result_names import added_names, result_dataset
from pymc_nrm.families.base import cache_size, check_resolution, log_predictive, refresh_cache
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.families.needs import ITEMS
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.models.missing_entries import check_gaps, gaps_of
from pymc_nrm.models.parts import ChunkedParts, PartitionParts, joint_data, joint_family
from pymc_nrm.models.rvs import dims_of, kind_of, mixtures_of, n_items
from pymc_nrm.models.values import Values
from pymc_nrm.partitions.flat import Ordered
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.partitions.next_item import draw_new_labels, log_join_without, log_prediction_rule
from pymc_nrm.posterior.layout import NewItems
from pymc_nrm.posterior.marked_items import mark_items
from pymc_nrm.posterior.tables import (
    draw_cluster_rows,
    draw_data_of_clusters,
    log_leave_one_out_table,
    log_predictive_table,
    log_sum_rows,
)
from pymc_nrm.stats.contingency import contingency_table
from pymc_nrm.stats.draws import estimated_items, item_dimension, stacked
from pymc_nrm.stats.losses import read_estimate
from pymc_nrm.stats.point_estimate import point_estimate
from pymc_nrm.stats.result import posterior_of

_REMEDY = "Give the model with which the draws were made: the same rows, in the same order and the same units"
# Data that went through a file or another type may differ in the last digits.
_TOLERANCE = 1e-6


class Draw(NamedTuple):
    """One posterior draw of a partition, in the form that kernels read."""

    # Its position among the draws of all chains.
    index: int
    # Value of the partition; its kind says what it is.
    value: Any
    # Clusters of the items in order of appearance, int64 of shape (n,); None if data belong to a tree.
    labels: Any
    # The distribution of the partition, with float fields.
    prior: Any
    # One for each mixture, hyperparameters of full shape and localised, see `localise`.
    families: tuple
    # Prepared data of each mixture.
    data: tuple


class Draws:
    """An iterable of the posterior draws of one partition, chain after chain; a subclass for each kind of partition.

    Hyperparameters and latent mixtures are functions of the other variables in the posterior; what depends on none of
    them is evaluated once.  Data are read from the model, as ``pm.set_data`` left them.

    What is here holds where the measure's prediction rule says which cluster a new item joins.  Classes for other kinds
    override ``log_join``, ``log_join_others`` and ``labels_with_new``, or what is made of them.
    """

    # Name and dimensions of the probability of what a new item may open.
    new_weight: tuple[str, tuple[str, ...]] = ("new_cluster_weight", ())
    # Functions of a family that drawing data needs.
    needs_of_data: tuple = ITEMS
    takes_new_paths = takes_sequence = False
    # Names of the data with a row for each item that the prior of its cluster depends on.
    sources_of_prior: tuple = ()
    # Why there is no random measure, in a message with the name of the partition; None where there is one.
    why_no_measure: str | None = None

    def __init__(self, idata, model, rv, *, same_items=True):
        self.model, self.rv, self.partition = model, rv, rv.name
        self.posterior, self.kind = posterior_of(idata, by_chain=True), kind_of(rv)
        mixtures = mixtures_of(model, rv)
        self.mixtures, self.n_items = [mixture.name for mixture in mixtures], n_items(rv)
        # Items of the draws; new items may be in the model in place of these.
        self.n_old_items = self.n_items
        evaluate = partial(Values.at_draws, model)
        self._value = evaluate([rv])
        self._parts = PartitionParts(rv, mixtures, evaluate)
        self._gaps = [gaps_of(model.rvs_to_values[mixture]) for mixture in mixtures]
        self._dtypes = {variable.name: variable.dtype for variable in (*self._value.inputs, *self._parts.inputs)}
        self._draws = {name: stacked(self.posterior, name) for name in self._dtypes}
        self.is_observed = rv in model.observed_RVs
        self.dims = dims_of(model, rv) if self.is_observed else [*self.posterior[rv.name].dims]
        self.dims = [dim for dim in self.dims if dim not in ("chain", "draw")]
        self.item_dim = self.dims[0] if self.dims else None
        if same_items:
            check_same_model(idata, model, rv.name)
            self._check_values()
            for mixture in mixtures:
                check_gaps(mixture.name, model.rvs_to_values[mixture])

    @classmethod
    def for_new_items(cls, idata, model, rv, X_new):
        """Draws for predictions of new items, whose data are ``X_new``, or in the model if it is None."""
        if X_new is None:
            raise ValueError(f"X_new must be given for the partition {rv.name!r}, which has data in mixtures only")
        return cls(idata, model, rv)

    @classmethod
    def with_new_data(cls, idata, model, rv):
        """Draws for a model in which the data of new items have replaced the old data."""
        if isinstance(kind_of(rv), Ordered):
            raise ValueError(
                f"new_items must be given, the number of new items, since {rv.name!r} has no slots; "
                "cluster_probabilities takes their data"
            )
        raise ValueError(
            f"var_name must name a Partition with max_clusters or HiddenStates with max_states; {rv.name!r} has no "
            "slots: give the data of new items "
            "to cluster_probabilities, or new_items to sample_posterior_predictive"
        )

    def __len__(self):
        return self.posterior.sizes["chain"] * self.posterior.sizes["draw"]

    def __iter__(self):
        value = None
        for s in range(len(self)):
            point = {name: np.asarray(self._draws[name][s], dtype=dtype) for name, dtype in self._dtypes.items()}
            if s == 0:
                self._check_items(point)
            if value is None or self._value.varies[0]:
                value = self.kind.of_items(self.kind.read({self.partition: self._value(point)[0]}))
                labels = self.clusters(value)
            prior, families, data = self._parts.prepared(point)
            for name, family, rows, varies in zip(self.mixtures, families, data, self._parts.data_vary, strict=True):
                if s == 0 or varies:
                    check_resolution(family, rows, f"data of {name!r}")
            yield Draw(s, value, labels, prior, families, data)

    def varies(self, name):
        """Whether the data of a mixture, or what belongs to them, differ between draws."""
        return self._parts.data_vary[self.mixtures.index(name)]

    def mixture(self, draw, name):
        """Family and data of a mixture in a draw."""
        position = self.mixtures.index(name)
        return draw.families[position], draw.data[position]

    def cluster_sizes(self, draw):
        """Number of items of each cluster in a draw, shape (n_clusters,)."""
        return np.bincount(draw.labels)

    def cluster_parameters(self, draw, name, rng, n_draws=1):
        """Mean of draws of the parameters of each cluster in a mixture, shape (n_clusters, parameters_size)."""
        family, data = self.mixture(draw, name)
        return draw_cluster_rows(rng, draw.labels, family, data, 0, n_draws)

    # Where one more item may go

    def clusters(self, value):
        """Clusters of the items in a value, in order of appearance."""
        return canonical_labels(self.kind.cluster_labels(value))

    def take_new_paths(self, new_paths):
        """Take the groups of new items, as the user writes them."""
        if new_paths is not None:
            raise ValueError(
                f"new_paths must be None, since {self.partition!r} is not a NestedPartition with known paths; got "
                f"{new_paths!r}"
            )

    def take_sequence(self, sequence):
        """Take the sequence of hidden states that new items continue."""
        if sequence is not None:
            raise ValueError(f"sequence must be None, since {self.partition!r} is not HiddenStates; got {sequence!r}")

    def coords_of_new(self, dim, n):
        """Coordinates of n new items along a dimension, by name; the base class has none."""
        return {}

    def check_one_item(self):
        """Raise an error if there is more than one new item."""

    def log_join(self, draw, n_new):
        """Log prior probabilities of each cluster and, last, a new one: (n_new, n_clusters + 1), or one row for all."""
        return log_prediction_rule(draw.prior, self.kind.counts(draw.labels))[None]

    def log_join_others(self, draw):
        """The same for each item, left out of the clusters of the others, shape (n, n_clusters + 1)."""
        join = log_join_without(draw.prior, self.kind.counts(draw.labels))[draw.labels]
        return self.kind.log_join_others(draw.labels, join)

    def labels_with_new(self, draw, n_new, rng):
        """Value of the items followed by new ones, which are drawn in turn from their predictive distribution."""
        new = draw_new_labels(draw.prior, self.kind.counts(draw.labels), n_new, rng)
        return np.concatenate([draw.labels, new])

    def log_weights(self, draw, families, data, points, n_points):
        """Log joint weights of where a new item goes and of its data there, shape (n_points, number of places)."""
        family, rows, new = joint_family(families), joint_data(data), joint_data(points)
        table = log_predictive_table(draw.labels, family, rows, new, n_points)
        return table + self.log_join(draw, n_points)

    def for_rows(self, draw, rows):
        """The draw with the prior of new items, one for each row of ``sources_of_prior``."""
        return draw

    def weight_of_new(self, draw):
        """Probability that one more item opens what is new, before its data are seen."""
        return np.exp(self.log_join(draw, 1)[0, -1])

    def leave_one_out(self, draw):
        """Log density of the data of each item given all other items, shape (n,)."""
        table = self.leave_one_out_table(draw)
        return log_sum_rows(table + self.log_join_others(draw))

    def leave_one_out_table(self, draw):
        """Log density of the observed data of each item in each cluster without it, and in a new one."""
        observed = [self._with_gaps(*pair) for pair in zip(draw.data, self._gaps, strict=True)]
        return log_leave_one_out_table(
            draw.labels, joint_family(draw.families), joint_data(draw.data), joint_data(observed)
        )

    @staticmethod
    def _with_gaps(data, gaps):
        """Data of a draw without the missing entries that were drawn."""
        if gaps is None:
            return data
        values = np.array(data.values)
        values.reshape(gaps.values.shape)[gaps.places] = np.nan
        return data._replace(values=values)

    # Data

    def names_of_data(self):
        """Names of the variables that are data of the items: mixtures, and what else depends on labels."""
        return self.mixtures

    def draw_data(self, draw, layout, value, rng):
        """Draw data in a mixture of the items of a value, of which those beyond the items of the draw are new."""
        family, data = self.mixture(draw, layout.name)
        return draw_data_of_clusters(rng, layout, family, data, draw.labels, self.clusters(value))

    def rows_of_items(self, items):
        """Data (m, d) of the first row of some items in each mixture, by its name, at the first draw."""
        given = {name: np.asarray(self._draws[name][0], dtype=dtype) for name, dtype in self._dtypes.items()}
        found = {}
        for name, _, X, rows in self._parts.at(given)[1]:
            if not isinstance(rows, slice):
                # Where each item appears first; items without rows have none.
                known, first = np.unique(rows, return_index=True)
                items = items[np.isin(items, known)]
                X = X[first[np.searchsorted(known, items)]]
            else:
                X = X[items]
            X = X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)
            found[name] = X[:, None] if X.ndim == 1 else X
        return {name: X[: min(map(len, found.values()))] for name, X in found.items()}

    # New items in an estimate

    def new_items(self, X_new):
        """Data of new items."""
        return NewItems(self, X_new)

    def default_estimate(self):
        """Point estimate of the clusters of the items, or these themselves if they are known."""
        if self.is_observed:
            return next(iter(self)).labels
        marked = mark_items(self.posterior, self.model, self.rv)[self.partition]
        return point_estimate(marked.isel(dict.fromkeys(self.dims[1:], -1)), random_seed=0)

    def labels_of(self, estimate):
        """:func:`estimate_labels`, and whether the estimate has each item, bool (n,): some leave out items without
        values.
        """
        kept, items = np.ones(self.n_old_items, dtype=bool), None
        if not self.is_observed:
            labels = mark_items(self.posterior, self.model, self.rv)[self.partition]
            kept, items = estimated_items(labels, estimate), labels.indexes.get(item_dimension(labels))
        items = None if items is None else items[kept]
        return *estimate_labels(estimate, np.count_nonzero(kept), items), kept

    def predict(self, X_new, estimate, progressbar):
        """Probabilities of the clusters of an estimate for new items, see :func:`~pymc_nrm.cluster_probabilities`."""
        items = self.new_items(X_new)
        estimate = self.default_estimate() if estimate is None else estimate
        labels, names, kept = self.labels_of(estimate)
        total = 0.0
        for draw, table in items.tables("Predicting clusters", progressbar):
            joined = np.exp(table - log_sum_rows(table)[:, None])
            total += joined @ shares(items.places(draw)[kept], table.shape[1], labels, len(names))
        total = total / len(self)
        [cluster] = added_names({items.dim, *items.coords}, "cluster")
        return result_dataset(
            {
                "probability": ((items.dim, cluster), total[:, :-1]),
                "new_cluster_probability": ((items.dim,), total[:, -1]),
                "labels": ((items.dim,), np.append(names, -1)[np.argmax(total, axis=1)]),
            },
            coords={**items.coords, cluster: names},
        )

    # Whether draws belong to the model

    def _check_values(self):
        if self.is_observed:
            return
        stored, shape = self.posterior[self.partition], self.kind.shape(self.n_items)
        if stored.dtype.kind not in "iu" or tuple(stored.sizes[dim] for dim in self.dims) != shape:
            raise ValueError(
                f"draws of {self.partition!r} must be whole numbers of shape {shape} for the {self.n_items} items of "
                f"the model; got {stored.dtype} with sizes {dict(stored.sizes)}. Set the data with which the draws "
                "were made; new items are arguments"
            )

    def _check_items(self, point):
        for name, _, X, rows in self._parts.at(point)[1]:
            if X.shape[0] != len(np.arange(self.n_items)[rows]):
                raise ValueError(
                    f"Mixture {name!r} has {X.shape[0]} rows of data, partition {self.partition!r} has {self.n_items} "
                    "items: set the data with which the draws were made; new items are arguments"
                )


def check_same_model(idata, model, partition):
    """Raise an error that names the first item, or value of the data, in which draws and model differ.

    Draws without the group ``observed_data`` are checked by the coordinate of the items alone.
    """
    posterior = posterior_of(idata)
    for dim in (model.named_vars_to_dims.get(partition) or ())[:1]:
        # xarray makes up coordinates where there are none.
        here = model.coords.get(dim) if dim in posterior.coords else None
        if here is None or len(here) != posterior.sizes[dim]:
            continue
        # Dates are Timestamps of pandas, whatever their resolution in arrays is.
        there = pd.Index(posterior.coords[dim].values)
        for item, (in_model, in_draws) in enumerate(zip(pd.Index(here), there, strict=True)):
            if str(in_model) != str(in_draws):
                raise ValueError(
                    f"idata must hold draws of this model: item {item} of {partition!r} is {in_draws!r} in the "
                    f"draws and {in_model!r} in the model (coordinate {dim!r}). {_REMEDY}"
                )
    if not isinstance(idata, xr.DataTree) or "observed_data" not in idata.children:
        return
    stored = idata["observed_data"].data_vars
    for name, values in find_observations(model).items():
        if name in stored:
            _check_same_data(name, np.asarray(values), stored[name].values)


def _check_same_data(name, here, there):
    if here.shape != there.shape or here.dtype.kind not in "fiub" or there.dtype.kind not in "fiub":
        return
    differs = ~np.isclose(here, there, rtol=_TOLERANCE, atol=0.0, equal_nan=True)
    if differs.any():
        place = tuple(int(axis) for axis in np.unravel_index(differs.argmax(), differs.shape))
        raise ValueError(
            f"idata must hold draws of this model: the observed {name}{list(place)} is {there[place]:.6g} in the "
            f"draws and {here[place]:.6g} in the model. {_REMEDY}"
        )


class ChunkedDraws(Draws):
    """An iterable of draws, whose value is the sizes of clusters (n_clusters,) and, for each mixture, their statistics.

    A draw has the labels of the followed rows, which name its clusters.
    """

    def __init__(self, idata, model, rv):
        if not isinstance(idata, xr.DataTree) or "clusters" not in idata.children:
            raise ValueError(f"idata must be the result of nrm.sample, with its group clusters, for {rv.name!r}")
        self.model, self.rv, self.partition = model, rv, rv.name
        self.posterior, self.kind = posterior_of(idata, by_chain=True), kind_of(rv)
        if rv.name not in self.posterior:
            raise ValueError(
                f"idata must have labels of the followed rows of {rv.name!r}, which name its clusters: sample with "
                "label_storage 'full' or 'compact', and without var_names or with all of the model"
            )
        mixtures = mixtures_of(model, rv)
        self.mixtures, self.is_observed = [mixture.name for mixture in mixtures], False
        self.dims = [dim for dim in self.posterior[rv.name].dims if dim not in ("chain", "draw")]
        [self.item_dim] = self.dims
        self.n_items = self.n_old_items = self.posterior.sizes[self.item_dim]
        self._check_rows(idata)
        self._parts = ChunkedParts(rv, mixtures, partial(Values.at_draws, model))
        self._dtypes = {variable.name: variable.dtype for variable in self._parts.values.inputs}
        self._draws = {name: stacked(self.posterior, name) for name in self._dtypes}
        clusters = idata["clusters"].to_dataset()
        self._sizes = stacked(clusters, "size")
        self._statistics = [stacked(clusters, name) for name in self.mixtures]
        self._labels = stacked(self.posterior, rv.name)

    def _check_rows(self, idata):
        here, there = self.kind.rows.followed, self.posterior[self.item_dim].values
        key = idata["clusters"].attrs.get(KEY_OF_ROWS, self.kind.rows.key)
        if not np.array_equal(here, there) or key != self.kind.rows.key:
            raise ValueError(
                f"idata must hold draws of this model: the rows of {self.partition!r} are others. Give the "
                "model with which the draws were made, Chunks of the same rows and of the same seed"
            )

    def __iter__(self):
        return self.at(range(len(self)))

    def at(self, places):
        """Iterate over the draws at some places."""
        for s in places:
            point = {name: np.asarray(self._draws[name][s], dtype) for name, dtype in self._dtypes.items()}
            prior, families = self._parts.at(point)
            n_clusters = int(np.count_nonzero(self._sizes[s]))
            value = (
                np.array(self._sizes[s, :n_clusters]),
                [np.array(array[s, :n_clusters]) for array in self._statistics],
            )
            yield Draw(s, value, np.asarray(self._labels[s], dtype=np.int64), prior, families, self._parts.data)

    def cluster_sizes(self, draw):
        return draw.value[0]

    def cluster_parameters(self, draw, name, rng, n_draws=1):
        # The data of a draw are one row, whatever the labels of the followed rows are.
        position = self.mixtures.index(name)
        family, statistics = draw.families[position], draw.value[1][position]
        rows = np.empty((n_draws, len(statistics), parameters_size(family)))
        for drawn in rows:
            _draw_rows(rng, family, statistics, drawn)
        return rows.mean(axis=0)

    def log_join(self, draw, n_new):
        return log_prediction_rule(draw.prior, draw.value[0])[None]

    def log_weights(self, draw, families, data, points, n_points):
        # Only some of the mixtures may have new data.
        has_new_data = [any(family is asked for asked in families) for family in draw.families]
        statistics = np.concatenate(
            [array for array, is_known in zip(draw.value[1], has_new_data, strict=True) if is_known], axis=1
        )
        table = np.empty((n_points, len(statistics) + 1))
        _fill(joint_family(families), statistics, joint_data(points), table)
        return table + self.log_join(draw, n_points)

    def rows_of_items(self, items):
        # The items are followed rows, which stand for all others.
        sampled = {name: self.model[name].owner.op.rows.sampled_values for name in self.mixtures}
        return {name: values[: len(items)] for name, values in sampled.items()}

    def names_of_data(self):
        raise NotImplementedError(
            f"values of {self.partition!r} leave no row out, since labels stay with the rows; log_predictive_density "
            "takes rows that the model has not seen"
        )

    def labels_with_new(self, draw, n_new, rng):
        raise NotImplementedError(
            f"new rows of {self.partition!r} are not drawn; cluster_probabilities and predictive_density predict them"
        )


@kernel
def _fill(family, statistics, points, table):
    """Log predictive densities of points in clusters with these statistics and, last, in a new one."""
    cache, none = np.empty(cache_size(family)), np.zeros(statistics.shape[1])
    for k in range(table.shape[1]):
        refresh_cache(family, statistics[k] if k < statistics.shape[0] else none, cache)
        for j in range(table.shape[0]):
            table[j, k] = log_predictive(family, cache, points, j)


@kernel
def _draw_rows(rng, family, statistics, rows):
    """Draw the parameters of clusters with these statistics into rows."""
    for k in range(rows.shape[0]):
        draw_parameters(family, statistics[k], rng, rows[k])


def shares(places, n_places, labels, n_labels):
    """Shares of the labels among the items of each place, shape (n_places, n_labels + 1). The last column is for a
    new cluster, to which places without items belong.
    """
    cells = contingency_table(places, labels, n_places, n_labels + 1)
    cells[cells.sum(axis=1) == 0, -1] = 1
    return cells / cells.sum(axis=1, keepdims=True)


def estimate_labels(estimate, n_items, items=None):
    """Labels 0, 1, ... of the items in the estimate, and the names of its clusters in this order.

    ``items`` are the names of items, an Index.
    """
    labels, names = read_estimate(estimate, n=n_items, items=items)
    if (names < 0).any():
        raise ValueError(f"estimate must have labels of at least 0, since -1 means a new cluster; got {names.min()}")
    return labels, names
