"""Data of new items in the mixtures over one partition, and their law in every draw."""

import xarray as xr

from pymc_nrm.common.progress import tracked
from pymc_nrm.predictions.items import as_rows, prepare_new_items
from pymc_nrm.predictions.layout import MixtureLayout


class NewItems:
    """New items of a partition, each taken by itself."""

    def __init__(self, draws, X_new):
        self._draws, self._given = draws, _by_mixture(X_new, draws)
        self.dim, self.coords = _new_dim(X_new, self._given, draws.item_dim)

    def tables(self, description, progressbar):
        """Iterate over the draws. Entries are those of the ``log_weights`` of a draw. Shapes: returns ``table`` (m,
        n_clusters + 1) or (m, n_places).
        """
        draws, given = self._draws, self._given
        layouts = [MixtureLayout(draws.model, name, nested=True) for name in given]
        positions = [draws.mixtures.index(name) for name in given]
        titles = [f"X_new of {name!r}" for name in given]
        rows = points = None
        with tracked(draws, description, progressbar) as progressing:
            for draw in progressing:
                families, data = [draw.families[k] for k in positions], [draw.data[k] for k in positions]
                if rows is None:
                    rows = _rows(given, layouts, families)
                if points is None or not all(layout.observed for layout in layouts):
                    points = [prepare_new_items(*one) for one in zip(families, data, rows, titles, strict=True)]
                yield draw, draw.log_weights(families, data, points, rows[0].shape[0])


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


def _rows(given, layouts, families):
    rows = [
        as_rows(X, layout.n_features(family), f"X_new of {name!r}", layout.feature_names())
        for (name, X), layout, family in zip(given.items(), layouts, families, strict=True)
    ]
    lengths = {one.shape[0] for one in rows}
    if len(lengths) > 1:
        raise ValueError(f"X_new must have the same number of items for every mixture; got {sorted(lengths)}")
    return rows


def _new_dim(X_new, given, item_dim):
    """Name and coordinates of the new items."""
    for X in (X_new, *given.values()):
        if isinstance(X, xr.DataArray | xr.Dataset) and X.dims:
            dim = next(iter(X.dims))
            return dim, {dim: X[dim]} if dim in X.coords else {}
    return f"new_{item_dim}", {}
