"""Dimensions and coordinates of predictions, and data that the model has not seen: new items and their covariates."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import scipy
import xarray as xr
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors, walk
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.basic import Alloc
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.shape import Shape, Shape_i
from pytensor.tensor.subtensor import AdvancedSubtensor

from pymc_nrm.common.checks import naming, numeric_array
from pymc_nrm.common.named_dims import as_rows_of, lowered
from pymc_nrm.common.progress import tracked
from pymc_nrm.common.result_names import added_names, result_dataset
from pymc_nrm.common.text_levels import coded, shared_levels
from pymc_nrm.families.base import prepare_alike
from pymc_nrm.families.conjugate import parameter_shapes
from pymc_nrm.families.counted import Counted
from pymc_nrm.models.chunked_mixture import ChunkedMixtureRV
from pymc_nrm.models.origin import origin_of
from pymc_nrm.models.rvs import dims_of, family_of, find_mixture, is_mixture, partition_of, rows_of
from pymc_nrm.models.values import computed_by
from pymc_nrm.partitions.grouped import Grouped, family_of_rows
from pymc_nrm.posterior.row_by_row import is_row_by_row, of_type
from pymc_nrm_predictor.named_columns import in_order


def asked_layout(model, name, given, feature=None):
    """Layout of the mixture of some name, by default the only one that has a feature, or that is not given."""
    if name is None and feature is not None:
        layouts = [MixtureLayout(model, rv.name, nested=True) for rv in model.basic_RVs if is_mixture(rv)]
        names = {layout.name: layout.feature_names() for layout in layouts}
        owners = [owner for owner, features in names.items() if features is not None and feature in features]
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
        self._op, self._series, self.readings = rv.owner.op, origin_of(rv).series, origin_of(rv).readings
        dims = dims_of(model, rv)
        self.item_dim, self.feature_dim = dims[0], None if self.univariate else dims[1]
        if isinstance(self._op, ChunkedMixtureRV) and f"{self.name}_feature" in model.coords:
            # The value is sums of clusters, without an axis of features.
            self.feature_dim = f"{self.name}_feature"
        self._coords = {dim: values for dim, values in model.coords.items() if values is not None}
        if levels := shared_levels(self.readings):
            self._coords["level"] = levels
        users = {self.item_dim} if self.univariate else {self.item_dim, self.feature_dim}
        self._other = None if self.univariate else added_names(users, f"{self.feature_dim}_other")[0]
        self._users = users | {self._other}

    def n_features(self, family):
        """Number of features of a family of full shape."""
        return self._op.n_features(family_of_rows(family))

    def feature_names(self):
        """Names of the features, or None if they have none."""
        return self._coords.get(self.feature_dim)

    def _feature_name(self):
        """Name of the only feature, None if there are several or it has none."""
        names = [self._series] if self.univariate else list(self.feature_names() or ())
        return names[0] if len(names) == 1 and isinstance(names[0], str) else None

    def data_dims(self, item_dim):
        """Dimensions of data of items."""
        return (item_dim,) if self.univariate else (item_dim, self.feature_dim)

    def added(self, *names):
        """Names of further dimensions, beside the dimensions of the mixture."""
        return added_names(self._users, *names)

    def coords(self, sizes):
        """Coordinates of dimensions by their sizes: of those of the mixture, and names of as many levels.

        The features have theirs also where they are a second dimension.
        """
        by_dim = {dim: self._coords.get(dim) for dim in sizes if dim in self._users}
        if self._other in sizes and by_dim[self._other] is None:
            by_dim[self._other] = self._coords.get(self.feature_dim)
        levels = self._coords.get("level", ())
        if "level" not in self._users and len(levels) == sizes.get("level"):
            by_dim["level"] = levels
        coordinates = {dim: np.asarray(values) for dim, values in by_dim.items() if values is not None}
        return coordinates | self._level_names(sizes) if "level" not in coordinates else coordinates

    def _level_names(self, sizes):
        """Names of the levels of each feature where they differ, an array along both dimensions, "" for no level."""
        named = [tuple(map(str, getattr(reading, "levels", ()))) for reading in self.readings]
        n_levels, n_features = sizes.get("level", 0), sizes.get(self.feature_dim)
        if "level" in self._users or n_features != len(named) or not 0 < max(map(len, named), default=0) <= n_levels:
            return {}
        table = [[*names, *[""] * (n_levels - len(names))] for names in named]
        return {"level_name": ((self.feature_dim, "level"), np.array(table))}

    def parameters(self, family):
        """Slices, shapes and dimensions of the parameters of one cluster; the one feature of a vector has no axis."""
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
                yield self._other if "d" in axes[:k] else self.feature_dim
            else:
                yield self.added("level" if axis == "l" else f"{name}_dim_{k}")[0]

    def split(self, parameters, table, dim):
        """Variables along a dimension from rows of :meth:`parameters`, shape (n_draws, length, n_columns)."""
        return {
            name: ((dim, *dims), table[..., columns].reshape(*table.shape[:2], *shape))
            for name, (columns, shape, dims) in parameters.items()
        }

    def density_attrs(self):
        """Attributes of a density of the data; a single feature gives its name, as the axis of a plot needs it."""
        return {
            "variable": self._feature_name() or self.name,
            "kind": "density" if self.family_class.continuous else "probability",
        }


def draws_dataset(posterior, variables, coords, attrs=None):
    """Dataset of arrays over draws, with the coordinates of their dimensions."""
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    arrays = {
        name: (("chain", "draw", *dims), values.reshape(*shape, *values.shape[1:]))
        for name, (dims, values) in variables.items()
    }
    draw_coords = {dim: posterior[dim] for dim in ("chain", "draw") if dim in posterior.coords}
    used = {dim for dims, _ in arrays.values() for dim in dims}
    kept = {}
    for name, values in coords.items():
        dims = values[0] if isinstance(values, tuple) else name
        if {*dims} <= used if isinstance(dims, tuple) else dims in used:
            kept[name] = values
    return result_dataset(arrays, {**draw_coords, **kept}, attrs)


def partition_coords(draws):
    """Coordinates of the items of a partition, from its draws or from the model."""
    dim = draws.item_dim
    if dim in draws.posterior.coords:
        return {dim: draws.posterior[dim].to_numpy()}
    values = draws.model.coords.get(dim)
    return {} if values is None else {dim: np.asarray(values)}


def sizes_of(variables):
    """Sizes of the dimensions of variables of :func:`draws_dataset`."""
    return {dim: n for dims, values in variables.values() for dim, n in zip(dims, values.shape[1:], strict=True)}


def padded(arrays, fill):
    """Stack arrays of different lengths into one, shape (len(arrays), longest, ...)."""
    longest = max(len(array) for array in arrays)
    table = np.full((len(arrays), longest, *arrays[0].shape[1:]), fill, dtype=arrays[0].dtype)
    for row, array in zip(table, arrays, strict=True):
        row[: len(array)] = array
    return table


def point_coords(rows, users=()):
    """Coordinates of the points of a grid, shape (m, d), beside names of the user; none for a sparse one."""
    if not isinstance(rows, np.ndarray):
        return {}
    [point] = added_names(users, "point")
    if rows.shape[1] == 1:
        return {point: rows[:, 0]}
    names = added_names(users, *[f"x_{j}" for j in range(rows.shape[1])])
    return {name: (point, column) for name, column in zip(names, rows.T, strict=True)}


class NewCovariates:
    """Hyperparameters of a mixture with a row of values for each item, such as the covariates of a regression.

    ``sources`` are the names of the mixtures and of the data that they are made of.
    """

    def __init__(self, model, name):
        self._name, rv = name, find_mixture(model, name, nested=True)
        self._rows = rows_of(rv)
        family = family_of(rv)
        specs = family.hyperparameters.items()
        fields = [field for field, spec in specs if spec.core[:1] == ("n",) and len(spec.core) > 1]
        lengths = set(model.dim_lengths.values())
        graphs = lowered([getattr(family, field) for field in fields], keep=model.basic_RVs)
        self._graphs = {field: _as_written(graph, lengths) for field, graph in zip(fields, graphs, strict=True)}
        self._dims = [dims_of(model, variable)[0] for variable in (rv, partition_of(rv))]
        reached = [
            variable for graph in self._graphs.values() for variable in ancestors([graph], blockers=model.basic_RVs)
        ]
        # Data of a frozen model are constants.
        data = set(model.data_vars)
        self._sources = {
            variable.name: variable
            for variable in reached
            if is_mixture(variable) or _is_data(variable) or variable in data
        }
        self.sources = list(self._sources)
        self._sampled = sorted(
            {variable.name for variable in reached if variable in model.basic_RVs and not is_mixture(variable)}
        )
        self._function = None

    def __bool__(self):
        return bool(self._graphs)

    def check(self, names, argument="given"):
        """Check that new values of all sources are given in an argument."""
        self._check_sampled()
        if self and not self.sources:
            raise ValueError(
                f"{', '.join(self._graphs)} of {self._name!r} must be pm.Data, a Mixture or a function of these, to be "
                "known for new items; got constants"
            )
        missing = [source for source in self.sources if source not in names]
        if missing:
            raise ValueError(
                f"{argument} must have new values of {missing}, on which the {', '.join(self._graphs)} of "
                f"{self._name!r} depend; got {sorted(names)}"
            )

    def _check_sampled(self):
        if self._sampled:
            raise ValueError(
                f"{', '.join(self._graphs)} of {self._name!r} must be a function of pm.Data alone, to be known at new "
                f"values; got one of {self._sampled}, which the model samples"
            )

    def at(self, family, rows):
        """The family with covariates of new items. Shapes: ``rows`` has an array (m, ...) for each source."""
        if not self:
            return family
        self._check_sampled()
        if isinstance(family, Grouped | Counted):
            return family._replace(family=self.at(family.family, rows))
        is_first = self._function is None
        if is_first:
            inputs = [
                pt.tensor(name, dtype="float64", shape=(None,) * source.ndim) for name, source in self._sources.items()
            ]
            replaced = zip(self._sources.values(), inputs, strict=True)
            given = {source: as_rows_of(source, value.astype(source.dtype), self._dims) for source, value in replaced}
            graphs = clone_replace(list(self._graphs.values()), given, rebuild_strict=False)
            graphs = _with_one_row_each(graphs, self._rows)
            self._function = pytensor.function(inputs, graphs, mode=Mode(linker="py", optimizer="minimum_compile"))
        rows = {name: of_type(rows[name], source) for name, source in self._sources.items()}
        rows = {name: x[:, 0] if x.ndim > self._sources[name].ndim else x for name, x in rows.items()}
        results, n = self._values(rows), len(next(iter(rows.values())))
        for field, result in zip(self._graphs, results, strict=True):
            if len(result) != n:
                raise self._not_row_by_row(f"{field} has {len(result)} rows for {n} new items")
        if is_first and not is_row_by_row(self._values, rows, results):
            raise self._not_row_by_row("values of a new item depend on other new ones, as with the mean of a column")
        arrays = [np.ascontiguousarray(result, dtype="float64") for result in results]
        return family._replace(**dict(zip(self._graphs, arrays, strict=True)))

    def _values(self, rows):
        return self._function(*[np.asarray(x, dtype="float64") for x in rows.values()])

    def _not_row_by_row(self, reason):
        return ValueError(
            f"{', '.join(self._graphs)} of {self._name!r} must be a function of {self.sources} row by row, to be known "
            f"for new items: {reason}"
        )


def _is_data(variable):
    return isinstance(variable, SharedVariable) and not isinstance(variable.type, RandomType)


def _with_one_row_each(graphs, rows):
    """Graphs in which what belongs to the item of each row, ``x[rows]``, is ``x``, since each new item has one row."""
    picked = {}
    for node in (
        {variable.owner for variable in ancestors(graphs) if variable.owner} if isinstance(rows, np.ndarray) else ()
    ):
        if isinstance(node.op, AdvancedSubtensor) and np.array_equal(getattr(node.inputs[-1], "data", None), rows):
            picked[node.outputs[0]] = node.inputs[0]
    return clone_replace(graphs, picked, rebuild_strict=False)


def _as_written(graph, lengths):
    """The graph of a hyperparameter without the checks of its shape, which the old items determine; checks of values
    by the user hold for new items as well.  ``lengths`` are variables of the lengths of dimensions.
    """
    while computed_by(graph, Alloc) or (
        computed_by(graph, CheckAndRaise)
        and all(_is_known_from_shapes(condition, lengths) for condition in graph.owner.inputs[1:])
    ):
        graph = graph.owner.inputs[0]
    return graph


def _is_known_from_shapes(condition, lengths):
    """Whether a condition depends on nothing but shapes, constants and variables that are ``lengths`` of dimensions."""

    def inputs(variable):
        is_length = variable.owner is None or type(variable.owner.op) in (Shape, Shape_i)
        return [] if is_length else variable.owner.inputs

    reached = walk([condition], inputs)
    return all(
        variable.owner is not None or isinstance(variable, Constant) or variable in lengths for variable in reached
    )


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
        argument = "X_new" if title.startswith("X_new") else "given"
        self._layouts = [MixtureLayout(draws.model, name, nested=True) for name in mixtures]
        self._covariates = {name: NewCovariates(draws.model, name) for name in mixtures}
        known = {source for covariates in self._covariates.values() for source in covariates.sources}
        if not mixtures or not (known | {*draws.mixtures, *draws.sources_of_prior}).issuperset(given):
            raise ValueError(
                f"X_new must have data of mixtures over {draws.partition!r}, {draws.mixtures}, and of what the "
                f"covariates of these, or log_weights, depend on; got {sorted(given)}"
            )
        for covariates in self._covariates.values():
            covariates.check(given, argument)
        missing = [source for source in draws.sources_of_prior if source not in given]
        if missing:
            raise ValueError(
                f"{argument} must have new values of {missing}, on which log_weights of {draws.partition!r} depend; "
                f"got {sorted(given)}"
            )
        # Data of all items and, without points, of the items alone; data as kernels read them.
        self.rows, self.item_rows, self.prepared, self._given = {}, {}, {}, given

    @staticmethod
    def places(draw):
        """Where the items of a draw are, as indices of the columns of a table."""
        return draw.labels

    def tables(self, description, progressbar):
        """Iterate over the draws, with the log weights of the places of every new item, shape (m, n_places)."""
        for draw, *data in self.at_draws(description, progressbar):
            yield draw, self._draws.log_weights(self._draws.for_rows(draw, self.rows), *data)

    def at_draws(self, description, progressbar):
        """Iterate over the draws, with families, data of old and of new items as kernels read them, and m."""
        draws = self._draws
        for draw in tracked(draws, description, progressbar):
            names = [layout.name for layout in self._layouts]
            families, data = zip(*[draws.mixture(draw, name) for name in names], strict=True)
            if not self.rows:
                self.rows = self._read(families)
            if not self.prepared or any(map(draws.varies, names)):
                for family, prepared, name in zip(families, data, names, strict=True):
                    new_family = self._covariates[name].at(family, self.rows)
                    with naming(self._titles[name]):
                        self.prepared[name] = prepare_alike(new_family, self.rows[name], prepared)
            n_points = next(iter(self.rows.values())).shape[0]
            points = list(self.prepared.values())
            yield draw, families, data, points, n_points

    def _read(self, families):
        sizes = {layout.name: (layout, family) for layout, family in zip(self._layouts, families, strict=True)}
        rows = {}
        for name, values in self._given.items():
            if name in sizes:
                layout, family = sizes[name]
                n_features, labels = layout.n_features(family), layout.feature_names()
                values = coded(self._titles[name], values, layout.readings)
                rows[name] = as_rows(values, n_features, self._titles[name], labels)
            else:
                rows[name] = numeric_array(self._titles[name], values)
                if rows[name].ndim == 0:
                    raise ValueError(f"{self._titles[name]} must have a row for each new item; got {values!r}")
        self.item_rows = {name: values for name, values in rows.items() if name not in self._points}
        lengths = {values.shape[0] for values in self.item_rows.values()}
        if len(lengths) > 1:
            raise ValueError(f"X_new must have the same number of items for every mixture; got {sorted(lengths)}")
        if not self._points:
            return rows
        [n_items], [n_points] = lengths, {rows[name].shape[0] for name in self._points}
        items, points = np.repeat(np.arange(n_items), n_points), np.tile(np.arange(n_points), n_items)
        return {name: values[points if name in self._points else items] for name, values in rows.items()}


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
    names |= set(draws.sources_of_prior) if names else set()
    return {name: values for name, values in given.items() if name in names}


def _new_dim(X_new, given, item_dim):
    """Name and coordinates of the new items."""
    for X in (X_new, *given.values()):
        if isinstance(X, xr.DataArray | xr.Dataset) and X.dims:
            dim = next(iter(X.dims))
            return dim, {dim: X[dim]} if dim in X.coords else {}
    return f"new_{item_dim}", {}


def as_rows(X, n_features, argument, names=None):
    """Convert data of new items to a matrix, columns by their names if they have these. Returns (m, n_features)."""
    X = in_order(argument, X, names)
    if isinstance(X, xr.Dataset):
        columns = list(X.data_vars)
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
