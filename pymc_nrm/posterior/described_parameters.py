"""Parameters of the clusters of an estimate with intervals: coefficients of regressions, parameters of slots."""

import itertools

import numpy as np

from pymc_nrm.common.checks import random_generator
from pymc_nrm.families import NormalRegression
from pymc_nrm.families.conjugate import restore_parameters
from pymc_nrm.families.needs import PARAMETERS
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.models.origin import origin_of
from pymc_nrm.models.rvs import mixtures_of
from pymc_nrm.partitions.flat import Flat
from pymc_nrm.partitions.grouped import family_of_rows
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.describe_values import Described, number_writer
from pymc_nrm.posterior.layout import MixtureLayout, NewCovariates
from pymc_nrm.stats.cluster_parameters import cluster_parameters
from pymc_nrm.stats.contingency import contingency_table
from pymc_nrm.stats.draws import slot_variables
from pymc_nrm.stats.point_estimate import evenly_spaced

# Parameters of mixtures are drawn in so many draws.
_MOST_DRAWS = 200


def described_parameters(idata, model, rv, posterior, labels, tails, kept=slice(None)):
    """:class:`Described` by name of the parameters of the clusters: means over draws and quantiles at two tails.

    A value in a draw is the mean over the items of a cluster, as in :func:`~pymc_nrm.stats.cluster_parameters`.  Labels
    are of the items that are kept, an index.
    """
    entries = {}
    if rv.name in slot_variables(posterior).values():
        parameters = cluster_parameters(idata, labels, var_name=rv.name)
        parameters = parameters.sel(cluster=np.arange(labels.max() + 1))
        for name, array in parameters.data_vars.items():
            entries |= _entries(str(name), array.dims[3:], array.coords, array.values.reshape(-1, *array.shape[2:]))
    names = [mixture.name for mixture in mixtures_of(model, rv) if _has_parameters(model, mixture)]
    if not all(variable.name in posterior for variable in model.free_RVs):
        names = []
    if names and isinstance(rv.owner.op.kind, Flat):
        draws = draws_of(evenly_spaced(posterior, _MOST_DRAWS), model, rv.name)
        for name in names:
            entries |= _of_mixture(draws, model, name, labels, kept)
    return {name: _described(values, labels, tails) for name, values in entries.items()}


def _has_parameters(model, mixture):
    """Whether data say nothing of a mixture: a regression, or one that is not observed."""
    layout = MixtureLayout(model, mixture.name, nested=True)
    is_opaque = layout.family_class is NormalRegression or not layout.observed
    return is_opaque and not lacking(layout.family_class, PARAMETERS)


def _of_mixture(draws, model, name, labels, kept):
    """Draws (S, n_clusters) of the parameters of a mixture by their names, without matrices."""
    layout, rng, tables = MixtureLayout(model, name, nested=True), random_generator(0), []
    for draw in draws:
        family, data = draws.mixture(draw, name)
        drawn = restore_parameters(family, data, draws.cluster_parameters(draw, name, rng))
        members = contingency_table(labels, draw.labels[kept], labels.max() + 1, len(drawn))
        tables.append(members @ drawn / members.sum(axis=1, keepdims=True))
    entries = {}
    for parameter, (dims, values) in layout.split(layout.parameters(family), np.stack(tables), "cluster").items():
        if parameter == "coefficient":
            names = _coefficient_names(model, name, family_of_rows(family))
            entries |= {text: values[:, :, j] for j, text in enumerate(names)}
        elif len(dims) < 3:
            coords = layout.coords(dict(zip(dims[1:], values.shape[2:], strict=True)))
            entries |= _entries(f"{name} {parameter}", dims[1:], coords, values)
    return entries


def _coefficient_names(model, name, family):
    """Names of the coefficients of a regression: the intercept, and slopes by the data on which they are."""
    is_constant = np.ptp(family.covariates, axis=0) == 0.0
    sources, n_slopes = NewCovariates(model, name).sources, int((~is_constant).sum())
    source = sources[0] if len(sources) == 1 else "covariate"
    places = iter(range(n_slopes))
    if origin_of(model[name]).lags == source:
        lags = iter(range(1, n_slopes + 1))
        return [f"{name} intercept" if constant else f"slope of lag {next(lags)}" for constant in is_constant]
    return [
        f"{name} intercept" if constant else f"{name} slope of {source}" + (f"[{next(places)}]" if n_slopes > 1 else "")
        for constant in is_constant
    ]


def _entries(name, dims, coords, values):
    """The entries of a variable (S, n_clusters, ...) by their names."""
    if not dims:
        return {name: values}
    names = [list(map(str, np.asarray(coords[dim]))) if dim in coords else None for dim in dims]
    names = [coordinate or list(map(str, range(n))) for coordinate, n in zip(names, values.shape[2:], strict=True)]
    flat = values.reshape(*values.shape[:2], -1)
    return {f"{name}[{', '.join(place)}]": flat[:, :, k] for k, place in enumerate(itertools.product(*names))}


def _described(values, labels, tails):
    """:class:`Described` of draws (S, n_clusters) of a parameter."""
    means, sizes = values.mean(axis=0), np.bincount(labels)
    low, high = np.quantile(values, tails, axis=0)
    n, total = sizes.sum(), sizes @ means
    # Over items and draws: what is unknown sets no cluster apart.
    spread = np.sqrt(((values - total / n) ** 2).mean(axis=0) @ sizes / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = (total - sizes * means) / (n - sizes)
        differences = (means - others) / spread
    write = number_writer(float(np.median(high - low)) / 2, whole=False)
    ranges = [f"{write(lower)} to {write(upper)}" for lower, upper in zip(low, high, strict=True)]
    cells = [f"{write(mean)}, {text}" for mean, text in zip(means, ranges, strict=True)]
    words = ["high" if difference > 0 else "low" for difference in differences]
    apart = [f"{word} {cell} ({write(other)})" for word, cell, other in zip(words, cells, others, strict=True)]
    statistics = {"mean": means, "low": low, "high": high}
    return Described(statistics, cells, np.abs(differences), apart)
