"""The draws of a partition of rows in chunks: sizes and statistics of clusters, and labels of the followed rows."""

from functools import partial

import numpy as np
import xarray as xr

from pymc_nrm.families.base import cache_size, log_predictive, refresh_cache
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.models.dependents import mixtures_of
from pymc_nrm.models.parts import ChunkedParts, joint_data, joint_family
from pymc_nrm.models.rvs import kind_of
from pymc_nrm.models.values import Values
from pymc_nrm.partitions.prediction_rule import log_prediction_rule
from pymc_nrm.posterior.draws import Draw, Draws
from pymc_nrm.stats.draws import posterior_of, stacked


class ChunkedDraws(Draws):
    """An iterable of draws, whose value is the sizes of clusters (n_clusters,) and, for each mixture, their statistics.

    The labels of a draw are those of the followed rows, which name its clusters.
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
        self._check_rows()
        self._parts = ChunkedParts(rv, mixtures, partial(Values.at_draws, model))
        self._dtypes = {variable.name: variable.dtype for variable in self._parts.values.inputs}
        self._draws = {name: stacked(self.posterior, name) for name in self._dtypes}
        clusters = idata["clusters"].to_dataset()
        self._sizes = stacked(clusters, "size")
        self._statistics = [stacked(clusters, name) for name in self.mixtures]
        self._labels = stacked(self.posterior, rv.name)

    def _check_rows(self):
        here, there = self.kind.rows.followed, self.posterior[self.item_dim].values
        if not np.array_equal(here, there):
            raise ValueError(
                f"idata must hold draws of this model: the followed rows of {self.partition!r} are others. Give the "
                "model with which the draws were made, Chunks of the same rows and of the same seed"
            )

    def __iter__(self):
        return self.at(range(len(self)))

    def at(self, places):
        """Iterate over the draws at some places."""
        for s in places:
            given = {name: np.asarray(self._draws[name][s], dtype) for name, dtype in self._dtypes.items()}
            prior, families = self._parts.at(given)
            n_clusters = int(np.count_nonzero(self._sizes[s]))
            value = np.array(self._sizes[s, :n_clusters]), [np.array(one[s, :n_clusters]) for one in self._statistics]
            yield Draw(s, value, np.asarray(self._labels[s], dtype=np.int64), prior, families, self._parts.data)

    def log_join(self, draw, n_new):
        return log_prediction_rule(draw.prior, draw.value[0])[None]

    def log_weights(self, draw, families, data, points, n_points):
        # Only some of the mixtures may have new data.
        known = [any(family is one for one in families) for family in draw.families]
        statistics = np.concatenate(
            [one for one, is_known in zip(draw.value[1], known, strict=True) if is_known], axis=1
        )
        table = np.empty((n_points, len(statistics) + 1))
        _fill(joint_family(families), statistics, joint_data(points), table)
        return table + self.log_join(draw, n_points)

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
