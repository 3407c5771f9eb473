"""A run on a table with further rows, whose chains start where the chains of an earlier run have ended."""

import contextlib
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import graph_inputs

from pymc_nrm.common.checks import check_count, numeric_array, random_generator
from pymc_nrm.common.named_dims import variable_behind
from pymc_nrm.common.pymc_internals import initial_point_with
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.families.base import take_items
from pymc_nrm.families.gaps import draws_gaps
from pymc_nrm.models.missing_entries import gaps_of, missing_variables
from pymc_nrm.models.parts import PartitionParts, joint_data, joint_family
from pymc_nrm.models.rvs import checked_model, family_of, kind_of, mixtures_of, n_items, partitions_of
from pymc_nrm.models.values import Values, without_casts
from pymc_nrm.partitions.flat import Ordered
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.partitions.next_item import log_prediction_rule
from pymc_nrm.partitions.together import Together
from pymc_nrm.posterior.draws import check_same_model
from pymc_nrm.posterior.tables import log_predictive_table
from pymc_nrm.recipes.longer_tables import longer_model
from pymc_nrm.run.sampling import sample
from pymc_nrm.stats.result import posterior_of
from pymc_nrm_predictor.named_columns import in_order

# Draws of tuning by default, and the largest number of clusters that new rows open in a start.
_TUNE, _MOST_NEW = 200, 50
# The name of a new row whose dimension has names other than numbers.
_NAME_OF_NEW_ROW = re.compile(r"new ([0-9]+)")


def update(
    idata: xr.DataTree,
    model: pm.Model,
    new_rows: Any,
    draws: int | None = None,
    *,
    tune: int = _TUNE,
    chains: int | None = None,
    random_seed: Any = None,
    **sample_options: Any,
) -> tuple[xr.DataTree, pm.Model]:
    """Sample the posterior given further rows, with chains that start where the chains of a run have ended.

    Each chain starts at the last draw of a chain, with new rows in the clusters that they probably join, and tunes for
    a short time.

    Parameters
    ----------
    idata : DataTree
        Result of :func:`~pymc_nrm.sample` of the model.
    model : pymc.Model
        The model of the run, whose partitions have no slots and data in mixtures.
    new_rows : DataFrame, dict of {str : array_like}, or pymc.Model
        For a model from :func:`~pymc_nrm.mixture_model`, a DataFrame with the same columns, which are read as by
        :func:`~pymc_nrm.table_data`, with the same kinds and levels.  For a model of your own whose data are
        ``pm.Data``, new values of each container that has a row for each item, by their names; masked entries are
        missing, as is NaN.  For any other model, the model of all rows, made by the function that made the first one:
        old rows first, in the same order.
    draws : int, optional
        Number of draws per chain, as in :func:`~pymc_nrm.sample`.
    tune : int
        Number of draws of tuning per chain.  Variables that NUTS samples may need more.
    chains : int, optional
        Number of chains, by default that of ``idata``; further chains start from the same draws.
    random_seed : int, Generator or None
        For starts and draws.
    **sample_options
        Further arguments of :func:`~pymc_nrm.sample`, but ``model``, ``initvals`` and ``step``.

    Returns
    -------
    idata : DataTree
        As from :func:`~pymc_nrm.sample`, of all rows.
    model : pymc.Model
        The model of all rows, for descriptions and predictions: a new one for a DataFrame; for a dict the same model,
        with all rows in its ``pm.Data``.  Numbers of its rows continue then, and other names are followed by "new 0",
        "new 1" and so on, in all updates of a model.

    Raises
    ------
    TypeError
        If ``new_rows`` is none of these, or a dict whose values are not numbers; or an option is one that the update
        sets itself.
    ValueError
        If draws and model do not belong together, or the draws lack labels; if a partition has slots, known labels,
        hidden states, a tree or rows in chunks, or no data in mixtures; if new rows lack columns, have levels, units
        or values that the model does not have, or names of old rows; if the type of ``pm.Data`` does not hold new
        values, such as fractions in whole numbers; if a model was made with a value for each row, such as ``together``;
        or if data are constant, or only some of them are given.

    See Also
    --------
    pymc_nrm.cluster_probabilities : Clusters of new rows that change nothing: no new run.
    pymc_nrm.resume : Further draws given the same rows.

    Notes
    -----
    The result is a run of its own on all rows, and exact as any: starts and their tuning are left out, and the report
    judges the chains like any new run.  Only the time is saved in which a run would find the clusters.  Draws of
    the earlier run are not reweighted, and nothing of them is in the result; this is no filter.

    New rows are assigned by their predictive probabilities given the rows of the draw.  Those that open a cluster are
    drawn again given the first of them, and so on.  Other variables keep the value of the draw, and entries for new
    rows get their default initial value.

    With a DataFrame the model is the one that ``mixture_model`` makes of all rows, with the kinds, levels and
    covariances of the first table: hyperpriors are centred at all rows, and the default prior of ``alpha`` follows
    their number.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({"colour": ["red", "red", "blue", "blue"], "size": ["S", "S", "L", "L"]})
    >>> model = nrm.mixture_model(df)
    >>> options = {"chains": 2, "cores": 1, "random_seed": 1, "quiet": True}
    >>> idata = nrm.sample(100, tune=100, model=model, **options)
    >>> more = pd.DataFrame({"colour": ["red", "blue"], "size": ["S", "L"]})
    >>> idata, model = nrm.recipes.update(idata, model, more, 100, tune=50, **options)
    >>> idata.posterior["z"].shape, model.coords["item"]
    ((2, 100, 6), (0, 1, 2, 3, 4, 5))
    """
    model = checked_model(model)
    check_count("tune", tune, 0)
    check_count("chains", chains, 1, optional=True)
    refused = sorted({"model", "initvals", "step"} & sample_options.keys())
    if refused:
        raise TypeError(f"{refused[0]} must be left out, since update sets it; got {sample_options[refused[0]]!r}")
    posterior, old_rows = posterior_of(idata, by_chain=True), _checked_partitions(idata, model)
    last = [_last_draw(posterior, chain, model) for chain in range(posterior.sizes["chain"])]
    rng, places = random_generator(random_seed), missing_places(model)
    chains = len(last) if chains is None else chains
    options = {"tune": tune, "chains": chains, "random_seed": rng, **sample_options}
    with _data_after_errors(model):
        longer = _longer(model, new_rows)
        for name, n_old in old_rows.items():
            _check_longer(longer, name, n_old)
        starts = _Starts(longer, old_rows, places)
        initvals = [starts(last[chain % len(last)], rng) for chain in range(chains)]
        return sample(draws, model=longer, initvals=initvals, **options), longer


@contextlib.contextmanager
def _data_after_errors(model):
    """Give the data of a model their former values if anything is raised."""
    values = {
        container.name: container.get_value() for container in model.data_vars if isinstance(container, SharedVariable)
    }
    dims = {dim for name in values for dim in model.named_vars_to_dims.get(name) or ()}
    coords = {dim: model.coords[dim] for dim in dims if model.coords.get(dim) is not None}
    try:
        yield
    except BaseException:
        pm.set_data(values, model=model, coords=coords)
        raise


def _checked_partitions(idata, model):
    """Numbers of old rows by the names of the partitions, if all are of a kind that can be updated."""
    partitions = partitions_of(model)
    if not partitions:
        raise ValueError("model must have a Partition that is not observed; got none")
    for rv, kind in partitions.items():
        if type(kind) not in (Ordered, Together):
            raise ValueError(
                f"partitions of model must have no slots, known labels, states, levels or chunks to be updated; got "
                f"{kind.title} {rv.name!r}. Run nrm.sample on all rows, with initvals if you have labels of all"
            )
        if not mixtures_of(model, rv):
            raise ValueError(f"partition {rv.name!r} must have data in a Mixture to be updated; got none")
        check_same_model(idata, model, rv.name)
    return {rv.name: n_items(rv) for rv in partitions}


def _last_draw(posterior, chain, model):
    """Values of the free variables in the last draw of a chain, by name."""
    for rv in partitions_of(model):
        if rv.name not in posterior:
            raise ValueError(f"idata must have draws of {rv.name!r}; it was sampled without labels")
    names = [rv.name for rv in model.free_RVs if rv.name in posterior]
    at_end = posterior.isel(chain=chain, draw=-1)
    return {name: at_end[name].to_numpy() for name in names}


def _longer(model, new_rows):
    """The model of old and new rows."""
    if isinstance(new_rows, pm.Model):
        if new_rows is model:
            raise ValueError("new_rows must be another model, with all rows; got the model itself")
        return new_rows
    if isinstance(new_rows, Mapping):
        return _with_longer_data(model, new_rows)
    if hasattr(as_pandas("new_rows", new_rows), "columns"):
        return longer_model(model, new_rows)
    raise TypeError(
        "new_rows must be a DataFrame, a dict of new values of pm.Data by their names, or the model of all rows; got "
        f"{type(new_rows).__name__}"
    )


def _with_longer_data(model, new_rows):
    """The model itself, after new rows were appended to its data."""
    data = {container.name: container for container in model.data_vars if isinstance(container, SharedVariable)}
    unknown = [name for name in new_rows if name not in data]
    if unknown:
        raise ValueError(
            f"new_rows must be of pm.Data of the model, {sorted(data)}; got {unknown[0]!r}. Where data are constants, "
            "pass the model of all rows"
        )
    values = {name: _joined(name, data[name].get_value(), new, _columns(model, name)) for name, new in new_rows.items()}
    for rv in partitions_of(model):
        n = rv.owner.op.n_items(rv.owner)
        if not any(isinstance(origin, SharedVariable) for origin in graph_inputs([n])):
            raise ValueError(
                f"the number of items of {rv.name!r} must follow pm.Data, as with n=X.shape[0] or the dims of X, if "
                "new_rows is a dict; it is fixed. Pass the model of all rows"
            )
        for mixture in mixtures_of(model, rv):
            _check_source(mixture, model.rvs_to_values[mixture], data, values)
    pm.set_data(values, model=model, coords=_longer_coords(model, values))
    return model


def _check_source(mixture, value, data, values):
    """Check that new rows have the data of a mixture, without missing values that would be variables."""
    gaps = gaps_of(value)
    source = variable_behind(without_casts(value if gaps is None else value.owner.inputs[0]))
    if source.name not in values:
        known = source.name in data
        which = repr(source.name) if known else "which are constants: pass the model of all rows"
        raise ValueError(f"new_rows must have the data of Mixture {mixture.name!r}, {which}")
    new = values[source.name][len(data[source.name].get_value()) :]
    if draws_gaps(type(family_of(mixture))) and np.isnan(new).any():
        raise ValueError(
            f"new_rows[{source.name!r}] must have no NaN, since missing values of Mixture {mixture.name!r} are "
            "variables of the model: pass the model of all rows"
        )


def _columns(model, name):
    """Names of the columns of a container, None if they have none."""
    dims = model.named_vars_to_dims.get(name) or ()
    return model.coords.get(dims[1]) if len(dims) == 2 else None


def _joined(name, old, new, columns):
    """Values of a container and the new ones after them, in the type of the container."""
    title = f"new_rows[{name!r}]"
    new = numeric_array(title, in_order(title, new, columns))
    if new.ndim != old.ndim or new.shape[1:] != old.shape[1:] or not len(new):
        wanted = ", ".join(map(str, ("m", *old.shape[1:])))
        raise ValueError(f"{title} must have shape ({wanted}), with at least one row; got shape {new.shape}")
    with np.errstate(invalid="ignore", over="ignore"):
        converted = new.astype(old.dtype)
    # A container of floats rounds what it holds, and NaN is missing.
    changed = np.isinf(converted) & ~np.isinf(new) if old.dtype.kind == "f" else converted != new
    if changed.any():
        raise ValueError(
            f"{title} must be values that {old.dtype} holds, the type of pm.Data {name!r}; got "
            f"{new[changed][0].item()!r}. pm.Data of floats takes fractions and NaN"
        )
    return np.concatenate([old, converted])


def _longer_coords(model, values):
    """Coordinates of the dimensions of longer data."""
    coords = {}
    for name, value in values.items():
        dim = (model.named_vars_to_dims.get(name) or (None,))[0]
        names = None if dim is None else model.coords.get(dim)
        if names is not None:
            coords[dim] = [*names, *_names_of_new_rows(names, len(value) - len(names))]
    return coords


def _names_of_new_rows(names, n_new):
    """Numbers continue; other names are followed by "new 0" and so on, after the last of an earlier update."""
    if list(names) == list(range(len(names))):
        return range(len(names), len(names) + n_new)
    matches = [_NAME_OF_NEW_ROW.fullmatch(name) for name in names if isinstance(name, str)]
    start = max([int(match.group(1)) + 1 for match in matches if match], default=0)
    return [f"new {k}" for k in range(start, start + n_new)]


def _check_longer(longer, name, n_old):
    """Check that a model has a partition of old and new rows."""
    partitions = {rv.name: rv for rv in partitions_of(longer)}
    if name not in partitions:
        raise ValueError(f"new_rows must be a model with the partition {name!r}; it has {sorted(partitions)}")
    n = n_items(partitions[name])
    if n <= n_old:
        raise ValueError(
            f"the model of all rows must have more than the {n_old} items of {name!r}, the old ones first; got {n}"
        )


def missing_places(model):
    """Rows and columns of the missing entries that are drawn, by the name of their variable."""
    return {
        name: np.stack(gaps_of(model.rvs_to_values[model[mixture]]).rows_and_columns, axis=1)
        for name, mixture in missing_variables(model).items()
    }


class _Starts:
    """Initial values of the model of all rows, from the last draw of a chain on the old rows."""

    def __init__(self, model, old_rows, old_places):
        self._model, self._old_rows = model, old_rows
        self._places = (old_places, missing_places(model))
        self._default = initial_point_with(model, None)
        evaluate = partial(Values.at_points, model)
        self._partitions = [(rv, PartitionParts(rv, mixtures_of(model, rv), evaluate)) for rv in partitions_of(model)]

    def __call__(self, last, rng):
        start = {}
        for rv in self._model.free_RVs:
            if rv.name in last and rv.name not in self._old_rows:
                value = self._value(rv, last[rv.name])
                if value is not None:
                    start[rv.name] = value
        point = initial_point_with(self._model, start)
        for rv, parts in self._partitions:
            measure, families, data = parts.prepared(point)
            family, rows = joint_family(families), joint_data(data)
            start[rv.name] = _labels(rng, kind_of(rv), measure, family, rows, last[rv.name], n_items(rv))
        return start

    def _value(self, rv, old):
        """The value of a variable, None if its default is to be taken: entries of new rows keep their default."""
        value = np.array(self._default[self._model.rvs_to_values[rv].name])
        if rv.name in self._places[0] and rv.name in self._places[1]:
            places = {tuple(place): k for k, place in enumerate(self._places[1][rv.name].tolist())}
            for place, entry in zip(self._places[0][rv.name].tolist(), old, strict=True):
                if tuple(place) in places:
                    value[places[tuple(place)]] = entry
            return value
        if old.shape[:1] == value.shape[:1] or old.shape[:1] not in [(n,) for n in self._old_rows.values()]:
            return old
        if self._model.rvs_to_transforms[rv] is not None or old.shape[1:] != value.shape[1:]:
            return None
        value[: len(old)] = old
        return value


def _labels(rng, kind, measure, family, data, old, n):
    """Labels of n items, of which the first have labels in a draw, in order of appearance."""
    labels = labels_of_new_rows(rng, measure, family, data, canonical_labels(np.asarray(old, dtype=np.int64)), n)
    if isinstance(kind, Together):
        labels = kind.of_items(labels[kind.first])
    return canonical_labels(labels)


def labels_of_new_rows(rng, measure, family, data, old, n):
    """Labels of n rows, of which the first have canonical labels; others are drawn from their predictive probabilities.

    Rows are drawn given the rows that have labels.  The first of those that open a cluster does so, and the others are
    drawn again given it as well, until all rows have labels.
    """
    labels = np.full(n, -1)
    labels[: len(old)] = old
    for _ in range(_MOST_NEW):
        known, waiting = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
        if not len(waiting):
            return labels
        known_labels, new = labels[known], int(labels.max()) + 1
        points = take_items(data, waiting)
        table = log_predictive_table(known_labels, family, take_items(data, known), points, len(waiting))
        table += log_prediction_rule(measure, np.bincount(known_labels))
        cumulative = np.exp(table - table.max(axis=1, keepdims=True)).cumsum(axis=1)
        places = rng.random(len(waiting)) * cumulative[:, -1]
        chosen = (cumulative <= places[:, None]).sum(axis=1)
        opens = waiting[chosen == new]
        labels[waiting[chosen < new]] = chosen[chosen < new]
        labels[opens[:1]] = new
    labels[labels < 0] = labels.max()
    return labels
