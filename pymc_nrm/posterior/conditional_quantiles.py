"""Quantiles and means of one feature of new items given their other data, draw by draw."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_flag, numeric_array
from pymc_nrm.models.rvs import checked_model
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.conditional_laws import ConditionalLaws, components_of, mixture_means, mixture_quantiles, pooled
from pymc_nrm.posterior.layout import asked_layout, draws_dataset
from pymc_nrm.posterior.tables import log_sum_rows


def conditional_quantiles(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    given: dict[str, Any],
    probabilities: Any = (0.05, 0.25, 0.5, 0.75, 0.95),
    *,
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
        on which covariates depend; with ``feature`` also those of its own mixture, in which its values are not read.
    probabilities : array_like of float, shape (q,)
        Between 0 and 1.
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
        the data; with ``average`` those of the predictive law, without chain and draw.  Given columns are coordinates
        of the new items.

    Raises
    ------
    NotImplementedError
        If the predictive law of the family is no Student t; it is for ``NormalRegression``, ``NormalGamma`` and
        ``NormalWishart``.
    ValueError
        If the mixture has a matrix of data and no such feature, the partition is a tree, ``given`` lacks what
        covariates depend on, or the draws or the model lack a variable.

    Notes
    -----
    In a draw the law is that of :func:`~pymc_nrm.predictive_density` with ``given``: a mixture of Student t laws, whose
    quantiles are exact.  Means over draws are posterior means of these curves, and their quantiles are pointwise bands.
    With ``average`` the law is the predictive one, that of :func:`~pymc_nrm.log_predictive_density`: the mixture over
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
    draws = draws_of(idata, model, layout.partition)
    q = np.atleast_1d(numeric_array("probabilities", probabilities)).astype("float64")
    if not ((q > 0.0) & (q < 1.0)).all():
        raise ValueError(f"probabilities must be between 0 and 1; got {q.tolist()}")
    check_flag("average", average)
    laws = ConditionalLaws(draws, layout, given, feature)
    quantiles, means, of_draws = [], [], []
    for log_weights, *fields in laws.tables("Evaluating quantiles", progressbar):
        components = components_of(log_weights, *fields)
        if average:
            of_draws.append((log_sum_rows(log_weights), components))
            continue
        # Draws are alike.
        quantiles.append(mixture_quantiles(components, q, quantiles[-1] if quantiles else None))
        means.append(mixture_means(components))
    if average:
        components = pooled(of_draws)
        variables = {
            "quantile": ((laws.dim, "probability"), mixture_quantiles(components, q)),
            "mean": (laws.dim, mixture_means(components)),
        }
        return xr.Dataset(variables, laws.coords | {"probability": q}, {"variable": layout.name})
    variables = {
        "quantile": ((laws.dim, "probability"), np.array(quantiles)),
        "mean": ((laws.dim,), np.array(means)),
    }
    coords = laws.coords | {"probability": q}
    return draws_dataset(draws.posterior, variables, coords, {"variable": layout.name})
