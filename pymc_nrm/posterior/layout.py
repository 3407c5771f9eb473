"""Dimensions and coordinates of predictions, as named by the model."""

import numpy as np
import xarray as xr

from pymc_nrm.families.conjugate import parameter_shapes
from pymc_nrm.models.rvs import dims_of, family_of, find_mixture, is_mixture, partition_of
from pymc_nrm.partitions.grouped import family_of_rows


def asked_layout(model, name, given, feature=None):
    """Layout of the mixture of some name, by default the only one that has a feature, or that is not given."""
    if name is None and feature is not None:
        layouts = [MixtureLayout(model, rv.name, nested=True) for rv in model.basic_RVs if is_mixture(rv)]
        names = {one.name: one.feature_names() for one in layouts}
        owners = [own for own, features in names.items() if features is not None and feature in features]
        name = owners[0] if len(owners) == 1 else None
    elif name is None and isinstance(given, dict):
        others = [rv.name for rv in model.basic_RVs if is_mixture(rv) and rv.name not in given]
        name = others[0] if len(others) == 1 else None
    return MixtureLayout(model, name, nested=True)


class MixtureLayout:
    """Names of the dimensions of one mixture."""

    def __init__(self, model, name=None, *, nested=False):
        rv = find_mixture(model, name, nested=nested)
        self.name, self.partition = rv.name, partition_of(rv).name
        self.univariate, self.dtype = rv.owner.op.univariate, rv.dtype
        self.observed = rv in model.observed_RVs
        self.family_class = type(family_of(rv))
        self._op = rv.owner.op
        dims = dims_of(model, rv)
        self.item_dim, self.feature_dim = dims[0], None if self.univariate else dims[1]
        self._coords = {dim: values for dim, values in model.coords.items() if values is not None}

    def n_features(self, family):
        """Number of features of a family of full shape."""
        return self._op.n_features(family_of_rows(family))

    def feature_names(self):
        """Names of the features, or None if they have none."""
        return self._coords.get(self.feature_dim)

    def data_dims(self, item_dim):
        """Dimensions of data of items."""
        return (item_dim,) if self.univariate else (item_dim, self.feature_dim)

    def coords(self, dims):
        """Coordinates of the dimensions that have any; ``<dim>_other`` has those of ``<dim>``."""
        known = {dim: self._coords.get(dim, self._coords.get(dim.removesuffix("_other"))) for dim in dims}
        return {dim: np.asarray(values) for dim, values in known.items() if values is not None}

    def parameters(self, family):
        """Slices, shapes and dimensions of the parameters of one cluster. Axes of length one for the single feature of
        a vector are left out.
        """
        layout, start, family = {}, 0, family_of_rows(family)
        for name, shape in parameter_shapes(family).items():
            axes = self.family_class.parameters[name]
            kept = [(n, dim) for n, dim in zip(shape, self._dims(name, axes), strict=True) if dim is not None]
            size = int(np.prod(shape))
            layout[name] = (slice(start, start + size), tuple(n for n, _ in kept), tuple(dim for _, dim in kept))
            start += size
        return layout

    def _dims(self, name, axes):
        """Dimensions for the axes that a family declares: features, features again, levels, or others."""
        for k, axis in enumerate(axes):
            if axis == "d":
                yield f"{self.feature_dim}_other" if self.feature_dim and "d" in axes[:k] else self.feature_dim
            else:
                yield "level" if axis == "l" else f"{name}_dim_{k}"

    def split(self, parameters, table, dim):
        """Variables along a dimension from rows of :meth:`parameters`, shape (n_draws, length, n_columns)."""
        return {
            name: ((dim, *dims), table[..., columns].reshape(*table.shape[:2], *shape))
            for name, (columns, shape, dims) in parameters.items()
        }

    def density_attrs(self):
        """Attributes of a density of the data."""
        return {"variable": self.name, "kind": "density" if self.family_class.continuous else "probability"}


def draws_dataset(posterior, variables, coords, attrs=None):
    """Dataset of arrays over draws."""
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    arrays = {
        name: (("chain", "draw", *dims), values.reshape(*shape, *values.shape[1:]))
        for name, (dims, values) in variables.items()
    }
    own = {dim: posterior[dim] for dim in ("chain", "draw") if dim in posterior.coords}
    used = {dim for dims, _ in arrays.values() for dim in dims}
    kept = {}
    for name, values in coords.items():
        dims = values[0] if isinstance(values, tuple) else name
        if dims in used:
            kept[name] = values
    return xr.Dataset(arrays, coords={**own, **kept}, attrs=attrs)


def partition_coords(draws):
    """Coordinates of the items of a partition, from its draws or from the model."""
    dim = draws.item_dim
    if dim in draws.posterior.coords:
        return {dim: draws.posterior[dim].to_numpy()}
    values = draws.model.coords.get(dim)
    return {} if values is None else {dim: np.asarray(values)}


def padded(arrays, fill):
    """Stack arrays of different lengths into one, shape (len(arrays), longest, ...)."""
    longest = max(len(array) for array in arrays)
    table = np.full((len(arrays), longest, *arrays[0].shape[1:]), fill, dtype=arrays[0].dtype)
    for row, array in zip(table, arrays, strict=True):
        row[: len(array)] = array
    return table


def point_coords(rows):
    """Coordinates of the points of a grid, shape (m, d); none for a sparse one."""
    if not isinstance(rows, np.ndarray):
        return {}
    if rows.shape[1] == 1:
        return {"point": rows[:, 0]}
    return {f"x_{j}": ("point", rows[:, j]) for j in range(rows.shape[1])}
