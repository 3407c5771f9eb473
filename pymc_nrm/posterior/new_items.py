"""Data that the model has not seen: new items of the mixtures over one partition."""

import numpy as np
import scipy
import xarray as xr

from pymc_nrm.common.checks import naming, numeric_array
from pymc_nrm.common.progress import tracked
from pymc_nrm.families.base import prepare_alike
from pymc_nrm.posterior.layout import MixtureLayout
from pymc_nrm.posterior.new_covariates import NewCovariates


class NewItems:
    """New items of a partition, each taken by itself.

    Their data are of some mixtures, and of the ``pm.Data`` of which covariates are made.  With ``points``, data of
    further mixtures, every item is combined with every point: points are the faster index.
    """

    def __init__(self, draws, X_new, title="X_new of {!r}", points=None):
        self._draws, given = draws, _by_name(X_new, draws)
        self.dim, self.coords = _new_dim(X_new, given, draws.item_dim)
        self._points, self._titles = points or {}, {name: title.format(name) for name in given}
        self._titles |= dict.fromkeys(self._points, "grid")
        given |= self._points
        mixtures = [name for name in draws.mixtures if name in given]
        self._layouts = [MixtureLayout(draws.model, name, nested=True) for name in mixtures]
        self._covariates = {name: NewCovariates(draws.model, name) for name in mixtures}
        known = {source for one in self._covariates.values() for source in one.sources} | set(draws.mixtures)
        if not mixtures or not known.issuperset(given):
            raise ValueError(
                f"X_new must have data of mixtures over {draws.partition!r}, {draws.mixtures}, and of what the "
                f"covariates of these depend on; got {sorted(given)}"
            )
        for one in self._covariates.values():
            one.check(given)
        # Data of all items and, without points, of the items alone; data as kernels read them.
        self.rows, self.item_rows, self.prepared, self._given = {}, {}, {}, given

    @staticmethod
    def places(draw):
        """Where the items of a draw are, as indices of the columns of a table."""
        return draw.labels

    def tables(self, description, progressbar):
        """Iterate over the draws, with the log weights of the places of every new item, shape (m, n_places)."""
        draws = self._draws
        with tracked(draws, description, progressbar) as progressing:
            for draw in progressing:
                names = [layout.name for layout in self._layouts]
                families, data = zip(*[draws.mixture(draw, name) for name in names], strict=True)
                if not self.rows:
                    self.rows = self._read(families)
                if not self.prepared or any(map(draws.varies, names)):
                    for family, prepared, name in zip(families, data, names, strict=True):
                        own = self._covariates[name].at(family, self.rows)
                        self.prepared[name] = prepare_new_items(own, prepared, self.rows[name], self._titles[name])
                n_points = next(iter(self.rows.values())).shape[0]
                points = list(self.prepared.values())
                yield draw, draws.log_weights(draw, families, data, points, n_points)

    def _read(self, families):
        sizes = {layout.name: (layout, family) for layout, family in zip(self._layouts, families, strict=True)}
        rows = {}
        for name, values in self._given.items():
            if name in sizes:
                layout, family = sizes[name]
                n_features, labels = layout.n_features(family), layout.feature_names()
                rows[name] = as_rows(values, n_features, self._titles[name], labels)
            else:
                rows[name] = numeric_array(self._titles[name], values)
        self.item_rows = {name: one for name, one in rows.items() if name not in self._points}
        lengths = {one.shape[0] for one in self.item_rows.values()}
        if len(lengths) > 1:
            raise ValueError(f"X_new must have the same number of items for every mixture; got {sorted(lengths)}")
        if not self._points:
            return rows
        [n_items], [n_points] = lengths, {rows[name].shape[0] for name in self._points}
        items, points = np.repeat(np.arange(n_items), n_points), np.tile(np.arange(n_points), n_items)
        return {name: one[points if name in self._points else items] for name, one in rows.items()}


def _by_name(X_new, draws):
    if not draws.mixtures:
        raise ValueError(f"no Mixture depends on partition {draws.partition!r}: new items have no data")
    if not isinstance(X_new, dict):
        if len(draws.mixtures) > 1:
            raise ValueError(f"X_new must be a dict with data of one or more of the mixtures {draws.mixtures}")
        return {draws.mixtures[0]: X_new}
    if not X_new:
        raise ValueError(f"X_new must have data of mixtures over {draws.partition!r}, {draws.mixtures}; got none")
    return dict(X_new)


def data_of_mixtures(draws, given):
    """The part of the data of new items that is of mixtures, with what the covariates of these depend on."""
    names = {name for name in draws.mixtures if name in given}
    names |= {source for name in names for source in NewCovariates(draws.model, name).sources}
    return {name: values for name, values in given.items() if name in names}


def _new_dim(X_new, given, item_dim):
    """Name and coordinates of the new items."""
    for X in (X_new, *given.values()):
        if isinstance(X, xr.DataArray | xr.Dataset) and X.dims:
            dim = next(iter(X.dims))
            return dim, {dim: X[dim]} if dim in X.coords else {}
    return f"new_{item_dim}", {}


def prepare_new_items(family, data, X, argument):
    """Check new data and prepare them in the coordinates of the prepared data of a mixture. They fit the caches of
    clusters of ``data``. Shapes: ``X`` (m, d).
    """
    with naming(argument):
        return prepare_alike(family, X, data)


def as_rows(X, n_features, argument, names=None):
    """Convert data of new items to a matrix. Shapes: returns (m, n_features)."""
    if isinstance(X, xr.Dataset):
        columns = list(X.data_vars)
        if names is not None and set(map(str, names)) == set(map(str, columns)):
            columns = [next(c for c in columns if str(c) == str(name)) for name in names]
        X = np.stack(np.broadcast_arrays(*[X[c].to_numpy() for c in columns]), axis=-1) if columns else np.empty((0, 0))
    if not scipy.sparse.issparse(X):
        X = numeric_array(argument, X)
    rows = X[:, None] if X.ndim == 1 and n_features == 1 else X
    if rows.ndim != 2 or rows.shape[1] != n_features:
        allowed = f"(m, {n_features})" + (" or (m,)" if n_features == 1 else "")
        raise ValueError(f"{argument} must have shape {allowed}, one column per feature; got shape {X.shape}")
    if rows.shape[0] == 0:
        raise ValueError(f"{argument} must have at least one row; got shape {X.shape}")
    return rows
