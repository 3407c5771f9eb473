"""New items of which some data are given: laws of their other data."""

import numpy as np

from pymc_nrm.posterior.layout import MixtureLayout
from pymc_nrm.posterior.new_items import NewItems, data_of_mixtures
from pymc_nrm.posterior.tables import log_sum_rows


def check_given(given, names):
    """Check the argument ``given``, from which the mixtures of some names must be absent."""
    if not isinstance(given, dict) or not given:
        raise ValueError(f"given must be a dict with data of mixtures or pm.Data by name; got {given!r}")
    both = [name for name in names if name in given]
    if both:
        raise ValueError(f"given must not have data of {both}, whose law is asked for")


class ConditionalItems:
    """New items with given data of some mixtures, and the points at which laws of another mixture are evaluated."""

    def __init__(self, draws, given, name, points):
        check_given(given, [name])
        self._joint = NewItems(draws, given, "given[{!r}]", {name: points})
        known = data_of_mixtures(draws, given)
        self._known = NewItems(draws, known, "given[{!r}]") if known else None
        self.dim, self._name = self._joint.dim, name
        layouts = [MixtureLayout(draws.model, one, nested=True) for one in given if one in draws.mixtures]
        self._features = {layout.name: layout.feature_names() for layout in layouts}

    def tables(self, description, progressbar):
        """Iterate over the draws, with log weights of the places of all pairs of an item and a point, (n_items,
        n_points, n_places), and of the items alone, (n_items, n_places), or None if their data say nothing of places.
        """
        joint = self._joint.tables(description, progressbar)
        known = iter(()) if self._known is None else self._known.tables(description, False)
        for draw, table in joint:
            n_items = len(next(iter(self._joint.item_rows.values())))
            yield draw, table.reshape(n_items, -1, table.shape[1]), next(known, (None, None))[1]

    def log_densities(self, description, progressbar):
        """Iterate over the draws, with log densities of the points given the items, (n_items, n_points), and of the
        items, (n_items,).
        """
        for draw, table, known in self.tables(description, progressbar):
            of_given = np.zeros(len(table)) if known is None else log_sum_rows(known)
            log_joint = log_sum_rows(table.reshape(-1, table.shape[2])).reshape(table.shape[:2])
            yield draw, log_joint - of_given[:, None], of_given

    @property
    def points(self):
        """Points (n_points, d) of the other mixture, once the first draw was read."""
        rows = self._joint.rows[self._name]
        return rows[: rows.shape[0] // len(next(iter(self._joint.item_rows.values())))]

    def prepared(self, name):
        """Data of a mixture of all pairs of an item and a point as kernels read them, at the present draw."""
        return self._joint.prepared[name]

    @property
    def coords(self):
        """Coordinates of the items: their own, and the given columns by the names of features."""
        coords = dict(self._joint.coords)
        for name, rows in self._joint.item_rows.items():
            if not isinstance(rows, np.ndarray) or rows.ndim > 2:
                continue
            columns = rows.reshape(len(rows), -1).T
            names = self._features.get(name)
            if names is None:
                names = [name] if len(columns) == 1 else [f"{name}_{j}" for j in range(len(columns))]
            coords |= {str(one): (self.dim, column) for one, column in zip(names, columns, strict=True)}
        return coords
