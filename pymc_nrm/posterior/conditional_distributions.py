"""Conditional distributions of new items given some of their data, and quantiles and means of one feature."""

from typing import Any

import numpy as np
import scipy
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_flag, numeric_array
from pymc_nrm.common.pymc_internals import find_observations
from pymc_nrm.common.result_names import added_names, result_dataset
from pymc_nrm.families.fast import student_predictive
from pymc_nrm.families.needs import check_needs
from pymc_nrm.families.shared.scale import from_scale, to_scale
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.models.rvs import checked_model
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.grouped import family_of_rows
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.draws import Draws
from pymc_nrm.posterior.layout import MixtureLayout, NewItems, as_rows, asked_layout, data_of_mixtures, draws_dataset
from pymc_nrm.posterior.tables import log_sum_rows
from pymc_nrm_predictor.named_columns import in_order
from pymc_nrm_predictor.student_mixtures import components_of, mixture_means, mixture_quantiles, pooled


def check_given(given, names):
    """Check the argument ``given``, from which the mixtures of some names must be absent."""
    if not isinstance(given, dict) or not given:
        raise ValueError(f"given must be a dict with data of mixtures or pm.Data by name; got {given!r}")
    both = [name for name in names if name in given]
    if both:
        raise ValueError(f"given must not have data of {both}, whose distribution is asked for")


class ConditionalItems:
    """New items with given data of some mixtures, and the points at which to evaluate densities of another mixture."""

    def __init__(self, draws, given, name, points):
        check_given(given, [name])
        self._joint = NewItems(draws, given, "given[{!r}]", {name: points})
        given_data = data_of_mixtures(draws, given)
        self._known = NewItems(draws, given_data, "given[{!r}]") if given_data else None
        self.dim, self._name = self._joint.dim, name
        self._features = _feature_names(draws, given)

    def tables(self, description, progressbar):
        """Iterate over the draws, with log weights of the places of all pairs of an item and a point, (n_items,
        n_points, n_places), and of the items alone, (n_items, n_places), or None if their data say nothing of places.
        """
        joint = self._joint.tables(description, progressbar)
        given_tables = iter(()) if self._known is None else self._known.tables(description, False)
        for draw, table in joint:
            n_items = len(next(iter(self._joint.item_rows.values())))
            yield draw, table.reshape(n_items, -1, table.shape[1]), next(given_tables, (None, None))[1]

    def log_densities(self, description, progressbar):
        """For each draw, log densities of points given items, (n_items, n_points), and of items, (n_items,)."""
        for draw, table, given_table in self.tables(description, progressbar):
            of_given = np.zeros(len(table)) if given_table is None else log_sum_rows(given_table)
            log_joint = log_sum_rows(table.reshape(-1, table.shape[2])).reshape(table.shape[:2])
            yield draw, log_joint - of_given[:, None], of_given

    @property
    def item_rows(self):
        """What is given of the items, by name, once the first draw was read."""
        return self._joint.item_rows

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
        return _with_columns(self._joint, self._features)


def _feature_names(draws, given):
    """Names of the features of the mixtures that are given, None where they have none."""
    layouts = [MixtureLayout(draws.model, mixture, nested=True) for mixture in given if mixture in draws.mixtures]
    return {layout.name: layout.feature_names() for layout in layouts}


def _with_columns(items, features, asked=()):
    """Coordinates of new items, and columns of their data but the one asked for, a mixture and a place."""
    coords = dict(items.coords)
    for name, rows in items.item_rows.items():
        if not isinstance(rows, np.ndarray) or rows.ndim > 2:
            continue
        columns = rows.reshape(len(rows), -1).T
        names = features.get(name)
        if names is None:
            names = [name] if len(columns) == 1 else [f"{name}_{j}" for j in range(len(columns))]
        names = added_names(items.coords, *map(str, names))
        kept = [j for j in range(len(columns)) if (name, j) != asked]
        coords |= {names[j]: (items.dim, columns[j]) for j in kept}
    return coords


class ConditionalDistributions:
    """New items with given data, and the distributions of a feature of a mixture of one, or of one with given data."""

    def __init__(self, draws, layout, given, feature=None):
        check_needs(layout.family_class, (student_predictive,), "conditional_quantiles")
        if type(draws).log_weights is not Draws.log_weights:
            raise ValueError(f"var_name must name a mixture over a flat partition; got {layout.name!r}")
        self._draws, self._name, self._feature, self._reference = draws, layout.name, 0, None
        if feature is None:
            _check_single(draws.model, layout)
            # Data that are missing say nothing.
            items = ConditionalItems(draws, given, layout.name, [[np.nan]])
            self._prepared = items.prepared
        else:
            self._feature, self._reference, given = _with_reference(draws.model, layout, given, feature)
            items = NewItems(draws, given, "given[{!r}]")
            self._prepared = items.prepared.__getitem__
            self._features = _feature_names(draws, given)
        self.dim, self._items = items.dim, items

    @property
    def coords(self):
        """Coordinates of the items and the columns that are given, once the first draw was read."""
        if self._reference is None:
            return self._items.coords
        return _with_columns(self._items, self._features, (self._name, self._feature))

    def tables(self, description, progressbar):
        """Iterate over the draws, with log weights of the places of each item, joint with what is given, and degrees of
        freedom, location and scale there. Shapes: all (n_items, n_places).
        """
        for draw, table, *_ in self._items.tables(description, progressbar):
            family, data = self._draws.mixture(draw, self._name)
            self._family = family_of_rows(family)
            log_weights = table.reshape(len(table), -1)
            distributions = np.empty((*log_weights.shape, 3))
            _fill_distributions(draw.labels, family, data, self._prepared(self._name), self._feature, distributions)
            df, location, scale = np.moveaxis(distributions, 2, 0)
            if self._reference is not None:
                # p(other features) = p(all features) / p(this feature | other features).
                reference = to_scale(self._family, self._feature, self._reference)
                log_weights = log_weights - scipy.stats.t.logpdf(reference, df, location, scale)
            yield log_weights, df, location, scale

    def in_units(self, quantiles, means):
        """Quantiles and means in the units of the data; the exponential of a Student t variable has no mean."""
        values = from_scale(self._family, self._feature, quantiles)
        return values, means if np.array_equal(values, quantiles) else np.full_like(means, np.nan)


def _check_single(model, layout):
    observed = find_observations(model).get(layout.name)
    if not layout.univariate and observed is not None and observed.shape[1] > 1:
        raise ValueError(f"feature must be given, one of the {observed.shape[1]} of {layout.name!r}; got None")


def _with_reference(model, layout, given, feature):
    """Place of a feature, a number in its place, and given data that have this number there."""
    observed = find_observations(model).get(layout.name)
    if observed is None or layout.univariate:
        raise ValueError(
            f"feature must be None, unless data of {layout.name!r} are an observed matrix; got {feature!r}"
        )
    names = layout.feature_names()
    names = list(range(observed.shape[1]) if names is None else names)
    if feature not in names:
        raise ValueError(f"feature must be a feature of {layout.name!r}, {names}; got {feature!r}")
    if not isinstance(given, dict) or layout.name not in given:
        raise ValueError(f"given must be a dict with the other features in the data of {layout.name!r}; got {given!r}")
    title = f"given[{layout.name!r}]"
    place, values = names.index(feature), in_order(title, given[layout.name], names)
    reference = float(np.nanmean(observed[:, place]))
    rows = np.array(as_rows(values, len(names), title, names), dtype="float64")
    rows[:, place] = reference
    if isinstance(values, xr.DataArray):
        rows = values.copy(data=rows)
    return place, reference, given | {layout.name: rows}


@kernel
def _fill_distributions(labels, family, data, points, feature, distributions):
    """Write degrees of freedom, location and scale of new items in each cluster and in a new one."""
    state = build_state(labels, family, data)
    for k in range(distributions.shape[1]):
        for item in range(distributions.shape[0]):
            student_predictive(family, state.cache[state.active[k]], points, item, feature, distributions[item, k])


def conditional_quantiles(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    given: dict[str, Any],
    probabilities: Any = (0.05, 0.25, 0.5, 0.75, 0.95),
    *,
    sequence: Any = None,
    var_name: str | None = None,
    feature: Any = None,
    average: bool = False,
    progressbar: bool = True,
) -> xr.Dataset:
    """Quantiles and mean of one feature of new items given their covariates or other data, for every posterior draw.

    Parameters
    ----------
    %(idata)s
    %(model)s
    given : dict of array_like
        Data of the new items, one row each, by the names of other mixtures over the partition and of the ``pm.Data``
        on which covariates depend; with ``feature`` also data of its own mixture, in which its values are not read.
    probabilities : array_like of float, shape (q,)
        Between 0 and 1.
    %(sequence)s
    %(asked_mixture)s
    feature : hashable, optional
        The feature, by its name, or its number if features have none, where the mixture has a matrix of data.
    average : bool
        Whether to average over draws before quantiles are taken, for predictions with their intervals.
    %(progressbar)s

    Returns
    -------
    Dataset
        ``quantile``, dims (chain, draw, new item, probability), and ``mean``, dims (chain, draw, new item), in units of
        the data, NaN for a feature whose logarithm is modelled; with ``average`` of the predictive distribution,
        without chain and draw.  Given columns are coordinates of the new items.

    Raises
    ------
    NotImplementedError
        If the predictive distribution of the family is not a Student t, as it is for ``NormalRegression``,
        ``NormalGamma`` and ``NormalWishart``.
    ValueError
        If the mixture has a matrix of data and no such feature, the partition is a tree, ``given`` lacks what
        covariates depend on, or the draws or the model lack a variable.

    Notes
    -----
    In a draw the distribution is the one of :func:`~pymc_nrm.predictive_density` with ``given``: a mixture of Student t
    distributions, whose quantiles are exact.  Means over draws are posterior means of these curves, and their quantiles
    are pointwise bands.
    With ``average`` it is the predictive distribution, as in :func:`~pymc_nrm.log_predictive_density`: the mixture over
    all draws, which count by the density of what is given.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> x = np.array([0.0, 1.0, 2.0])
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     w = nrm.Mixture("w", z, nrm.NormalGamma(1.0, 0.1, 2.0, 1.0), observed=x)
    ...     line = nrm.NormalRegression(w[:, None], 0.0, 1e-3 * np.eye(1), 2.0, 1e-6)
    ...     y = nrm.Mixture("y", z, line, observed=2.0 * x)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0]]])})
    >>> curves = nrm.conditional_quantiles(posterior, model, {"w": [0.5, 1.5]}, [0.5])
    >>> curves["quantile"].round(1).values.tolist()
    [[[[1.0], [3.0]]]]
    """
    model = checked_model(model)
    layout = asked_layout(model, var_name, given, feature)
    draws = draws_of(idata, model, layout.partition, sequence=sequence)
    q = np.atleast_1d(numeric_array("probabilities", probabilities)).astype("float64")
    if not ((q > 0.0) & (q < 1.0)).all():
        raise ValueError(f"probabilities must be between 0 and 1; got {q.tolist()}")
    check_flag("average", average)
    distributions = ConditionalDistributions(draws, layout, given, feature)
    quantiles, means, of_draws = [], [], []
    for log_weights, *fields in distributions.tables("Evaluating quantiles", progressbar):
        components = components_of(log_weights, *fields)
        if average:
            of_draws.append((log_sum_rows(log_weights), components))
            continue
        # Draws are alike.
        quantiles.append(mixture_quantiles(components, q, quantiles[-1] if quantiles else None))
        means.append(mixture_means(components))
    dim, coords = distributions.dim, distributions.coords
    [probability] = added_names({dim, *coords}, "probability")
    coords = coords | {probability: q}
    if average:
        components = pooled(of_draws)
        quantiles, means = distributions.in_units(mixture_quantiles(components, q), mixture_means(components))
        variables = {"quantile": ((dim, probability), quantiles), "mean": (dim, means)}
        return result_dataset(variables, coords, {"variable": layout.name})
    quantiles, means = distributions.in_units(np.array(quantiles), np.array(means))
    variables = {"quantile": ((dim, probability), quantiles), "mean": ((dim,), means)}
    return draws_dataset(draws.posterior, variables, coords, {"variable": layout.name})
