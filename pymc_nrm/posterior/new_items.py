"""Data that the model has not seen: new items of the mixtures over one partition."""

import numpy as np
import scipy
import xarray as xr

from pymc_nrm.common.checks import naming, numeric_array
from pymc_nrm.common.progress import tracked
from pymc_nrm.families.base import prepare_alike
from pymc_nrm.posterior.layout import MixtureLayout

__all__ = ["NewItems", "as_rows", "prepare_new_items"]


class NewItems:
    """New items of a partition, each taken by itself."""

    def __init__(self, draws, X_new, title=None):
        self._draws, given = draws, _by_mixture(X_new, draws)
        self._layouts = [MixtureLayout(draws.model, name, nested=True) for name in given]
        self._titles = {name: title or f"X_new of {name!r}" for name in given}
        self.rows = {}
        self._given = given
        self.dim, self.coords = _new_dim(X_new, given, draws.item_dim)

    @staticmethod
    def places(draw):
        """Where the items of a draw are, as indices of the columns of a table."""
        return draw.labels

    def tables(self, description, progressbar):
        """Iterate over the draws, with the log weights of the places of every new item, shape (m, n_places)."""
        draws, points = self._draws, None
        with tracked(draws, description, progressbar) as progressing:
            for draw in progressing:
                families, data = zip(*[draws.mixture(draw, name) for name in self._given], strict=True)
                if not self.rows:
                    self.rows = self._read(families)
                if points is None or not all(layout.observed for layout in self._layouts):
                    points = [
                        prepare_new_items(family, prepared, rows, self._titles[name])
                        for family, prepared, (name, rows) in zip(families, data, self.rows.items(), strict=True)
                    ]
                n_points = next(iter(self.rows.values())).shape[0]
                yield draw, draws.log_weights(draw, families, data, points, n_points)

    def _read(self, families):
        rows = {
            layout.name: as_rows(
                self._given[layout.name], layout.n_features(family), self._titles[layout.name], layout.feature_names()
            )
            for layout, family in zip(self._layouts, families, strict=True)
        }
        lengths = {one.shape[0] for one in rows.values()}
        if len(lengths) > 1:
            raise ValueError(f"X_new must have the same number of items for every mixture; got {sorted(lengths)}")
        return rows


def _by_mixture(X_new, draws):
    if not draws.mixtures:
        raise ValueError(f"no Mixture depends on partition {draws.partition!r}: new items have no data")
    if not isinstance(X_new, dict):
        if len(draws.mixtures) > 1:
            raise ValueError(f"X_new must be a dict with data of one or more of the mixtures {draws.mixtures}")
        return {draws.mixtures[0]: X_new}
    unknown = set(X_new) - set(draws.mixtures)
    if unknown or not X_new:
        raise ValueError(
            f"X_new must have data of mixtures over {draws.partition!r}, {draws.mixtures}; got {sorted(X_new)}"
        )
    return X_new


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
