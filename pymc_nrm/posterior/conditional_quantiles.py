"""Quantiles and means of one feature of new items given their other data, draw by draw."""

from typing import Any

import numpy as np
import scipy
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.families.fast import student_predictive
from pymc_nrm.families.needs import check_needs
from pymc_nrm.kernels.generic import kernel
from pymc_nrm.models.rvs import checked_model
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.conditional_items import ConditionalItems
from pymc_nrm.posterior.draws import Draws
from pymc_nrm.posterior.layout import asked_layout, draws_dataset

# Newton's method converges in a few steps; a step that leaves the bracket is a bisection.
_MOST_STEPS, _TOLERANCE = 100, 1e-10

# Components of smaller weights change no quantile.
_LEAST_WEIGHT = 1e-14


def conditional_quantiles(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    given: dict[str, Any],
    probabilities: Any = (0.05, 0.25, 0.5, 0.75, 0.95),
    *,
    var_name: str | None = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Quantiles and mean of one feature of new items given their covariates or other data, for every posterior draw.

    Parameters
    ----------
    %(idata)s
    %(model)s
    given : dict of array_like
        Data of the new items, one row each, by the names of other mixtures over the partition and of the ``pm.Data``
        on which covariates depend.
    probabilities : array_like of float, shape (q,)
        Between 0 and 1.
    %(asked_mixture)s
    %(progressbar)s

    Returns
    -------
    Dataset
        ``quantile``, dims (chain, draw, new item, probability), and ``mean``, dims (chain, draw, new item), in units of
        the data.  Given columns are coordinates of the new items.

    Raises
    ------
    NotImplementedError
        If the predictive law of the family is no Student t; it is for ``NormalRegression`` and ``NormalGamma``.
    ValueError
        If the mixture has several features, the partition is a tree, ``given`` lacks what covariates depend on, or the
        draws or the model lack a variable.

    Notes
    -----
    In a draw the law is that of :func:`~pymc_nrm.predictive_density` with ``given``: a mixture of Student t laws, whose
    quantiles are exact.  Means over draws are posterior means of these curves, and their quantiles are pointwise bands.

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
    layout = asked_layout(model, var_name, given)
    check_needs(layout.family_class, (student_predictive,), "conditional_quantiles")
    draws = draws_of(idata, model, layout.partition)
    if type(draws).log_weights is not Draws.log_weights:
        raise ValueError(f"var_name must be that of a mixture over a flat partition; got {layout.name!r}")
    q = np.atleast_1d(numeric_array("probabilities", probabilities)).astype("float64")
    if not ((q > 0.0) & (q < 1.0)).all():
        raise ValueError(f"probabilities must be between 0 and 1; got {q.tolist()}")
    items = ConditionalItems(draws, given, layout.name, [[np.nan]])
    quantiles, means = [], []
    for draw, table, _ in items.tables("Evaluating quantiles", progressbar):
        # The data of a point that is missing say nothing, so that these are the weights of places given the others.
        weights = np.exp(table[:, 0] - table[:, 0].max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        family, data = draws.mixture(draw, layout.name)
        laws = np.empty((*weights.shape, 3))
        _fill_laws(draw.labels, family, data, items.prepared(layout.name), laws)
        df, location, scale = np.moveaxis(laws, 2, 0)
        # Draws are alike.
        quantiles.append(mixture_quantiles(weights, df, location, scale, q, quantiles[-1] if quantiles else None))
        mean = (weights * location).sum(axis=1)
        means.append(np.where((df > 1.0).all(axis=1), mean, np.nan))
    variables = {
        "quantile": ((items.dim, "probability"), np.array(quantiles)),
        "mean": ((items.dim,), np.array(means)),
    }
    coords = items.coords | {"probability": q}
    return draws_dataset(draws.posterior, variables, coords, {"variable": layout.name})


@kernel
def _fill_laws(labels, family, data, points, laws):
    """Write degrees of freedom, location and scale of new items in each cluster and in a new one."""
    state = build_state(labels, family, data)
    for k in range(laws.shape[1]):
        for item in range(laws.shape[0]):
            student_predictive(family, state.cache[state.active[k]], points, item, laws[item, k])


def mixture_quantiles(weights, df, location, scale, probabilities, start=None):
    """Quantiles of mixtures of Student t laws, whose search begins at ``start`` (m, q). Shapes: ``weights`` and
    parameters (m, k); returns (m, q).
    """
    q = np.asarray(probabilities)
    # Pairs of an item and a component, item by item.
    item, k = np.nonzero(weights > _LEAST_WEIGHT)
    first = np.searchsorted(item, np.arange(len(weights)))
    w, df, location, scale = (x[item, k][:, None] for x in (weights, df, location, scale))
    values, place = np.unique(df[:, 0], return_inverse=True)
    own = location + scale * scipy.special.stdtrit(values[:, None], q)[place]
    low, high = np.minimum.reduceat(own, first), np.maximum.reduceat(own, first)
    x = np.clip(np.add.reduceat(w * own, first) if start is None else start, low, high)
    log_constant = scipy.special.gammaln(0.5 * df + 0.5) - scipy.special.gammaln(0.5 * df)
    constant = w * np.exp(log_constant) / (np.sqrt(np.pi * df) * scale)
    rows = np.arange(len(weights))
    for _ in range(_MOST_STEPS):
        # Only items whose quantiles have not been found.
        pairs = np.flatnonzero(np.isin(item, rows))
        first, n, s = np.searchsorted(item[pairs], rows), df[pairs], scale[pairs]
        now = x[rows]
        u = (x[item[pairs]] - location[pairs]) / s
        excess = np.add.reduceat(w[pairs] * scipy.special.stdtr(n, u), first) - q
        low[rows] = np.where(excess < 0.0, now, low[rows])
        high[rows] = np.where(excess > 0.0, now, high[rows])
        density = np.add.reduceat(constant[pairs] * (1.0 + u * u / n) ** (-0.5 * (n + 1.0)), first)
        with np.errstate(divide="ignore", over="ignore"):
            step = now - excess / density
        is_inside = (step > low[rows]) & (step < high[rows])
        is_found = np.abs(excess) < _TOLERANCE
        x[rows] = np.where(is_found, now, np.where(is_inside, step, 0.5 * (low[rows] + high[rows])))
        rows = rows[~is_found.all(axis=1)]
        if not len(rows):
            break
    return x
