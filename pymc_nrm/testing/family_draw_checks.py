"""Checks that draws of parameters and items follow the densities of a family."""

import itertools

import numpy as np
from scipy.special import expit

from pymc_nrm.families.base import Centred, complete, prepare_alike
from pymc_nrm.families.components import component_cdf, component_mean, component_panel
from pymc_nrm.families.conjugate import (
    log_density,
    named_parameters,
    parameter_shapes,
    parameters_size,
    restore_parameters,
)
from pymc_nrm.families.needs import COMPONENT_PANEL
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.testing import family_kernels as kernels
from pymc_nrm.testing.scores import CheckError, assert_close, assert_zero, is_zero

# Cells per feature for integrating a predictive density, and the largest number of features for which that is done.
_CELLS, _MOST_FEATURES = 18, 3

# Largest number of distinct values of an item whose probabilities are summed, and the fewest draws of each value.
_MOST_CELLS, _FEWEST_DRAWS = 500, 5


def check_draws(case, rng, n_draws):
    """Check draws of parameters and of items of a family."""
    sizes = [int(np.prod(shape)) for shape in parameter_shapes(case.local).values()]
    assert_close("parameters_size", case.owner, "it is", parameters_size(case.local), sum(sizes), 0.0, 0.0)
    clusters = [np.arange(size) for size in (0, 1, (case.n + 1) // 2, case.n)]
    draws = [_Draws(case, items, rng, n_draws) for items in clusters]
    messages = [_distribution_differences(first, second) for first, second in itertools.pairwise(draws)]
    message = next(filter(None, messages), None)
    blamed = "draw_parameters or draw_item"
    if not lacking(case.owner, COMPONENT_PANEL):
        _check_component_densities(case, draws[2], message is None)
        blamed = "draw_item"
    if message:
        raise CheckError(f"{blamed} of {case.owner.__name__} is wrong: {message}")
    if case.family.continuous:
        _check_mass(case, draws[2], rng)
    else:
        _check_frequencies(case, draws[2])
    _check_moments(case, draws[3])
    _check_completed(case, draws[3])


class _Draws:
    """Draws of pairs of items of a cluster."""

    def __init__(self, case, items, rng, n_draws):
        self.case, self.items, self.n_draws = case, items, n_draws
        self.statistics = case.statistics(items)
        self.rows = np.zeros((n_draws, parameters_size(case.local)))
        self.values = np.zeros((2 * n_draws, case.X.shape[1]))
        case.run(kernels.draw_pairs)(rng, case.local, self.statistics, self.rows, self.values)
        self.family, self.data = new_items(case, self.values)

    def pair_log_densities(self, statistics):
        """Log densities of the pairs, and of their first items, given a cluster with these statistics."""
        return self.case.run(kernels.pair_log_densities)(self.family, statistics, self.data, self.n_draws)


def new_items(case, values):
    """Family and data of new items, in the form that kernels read and the coordinates of a case. If a hyperparameter
    has one value per item, new items get the value of the first item. Shapes: ``values`` (m, d).
    """
    changed = {}
    for name, spec in case.family.hyperparameters.items():
        if "n" in spec.core:
            axis = spec.core.index("n")
            first = np.take(getattr(case.local, name), [0], axis=axis)
            changed[name] = np.ascontiguousarray(np.repeat(first, len(values), axis=axis))
    family = case.local._replace(**changed)
    return family, prepare_alike(family, values, _at_origin(case.data))


def _at_origin(data):
    """Prepared data in the coordinates of the values themselves."""
    return data._replace(center=np.zeros_like(data.center)) if isinstance(data, Centred) else data


def _distribution_differences(first, second):
    """Return what is wrong with the draws of two clusters; None if nothing is.

    For densities p and q of pairs, the mean of ``q / (p + q)`` under p equals the mean of ``p / (p + q)`` under q,
    whatever the tails.
    """
    shares = []
    for draws, rival in ((first, second), (second, first)):
        own_density = draws.pair_log_densities(draws.statistics)[0]
        shares.append(expit(draws.pair_log_densities(rival.statistics)[0] - own_density))
    if is_zero(shares[0] - shares[1]):
        return None
    means, sizes = [share.mean() for share in shares], [len(draws.items) for draws in (first, second)]
    return (
        f"draws of pairs from clusters of {sizes[0]} and {sizes[1]} items do not follow log_predictive: the overlap of "
        f"the two distributions is {means[0]:.6g} by draws of the first and {means[1]:.6g} by draws of the second"
    )


def _check_component_densities(case, draws, items_fit):
    """Check that the density of an item, averaged over draws of the parameters, is its predictive density."""
    points = prepare_alike(case.full, case.X, _at_origin(case.data))
    # Only items of the cluster: densities of distant items have heavy tails.
    n, n_rows = len(draws.items), draws.n_draws // LANES * LANES
    rows = np.ascontiguousarray(restore_parameters(case.local, case.data, draws.rows[:n_rows]))
    log_p = case.run(kernels.panel_log_densities)(case.local, rows, points, n)
    predictive = case.run(kernels.fresh_predictives)(case.local, draws.statistics, case.data, case.n)[:n]
    is_default = component_panel.dispatch(case.owner) is component_panel.dispatch(object)
    of_density = "log_density" if is_default else "write_component, add_component_densities"
    blamed = f"{of_density} or restore_parameters" if items_fit else "draw_parameters"
    what = "the density of an item under drawn parameters divided by its predictive density, less 1,"
    assert_zero(blamed, case.owner, what, np.expm1(log_p - predictive))
    if not lacking(case.owner, [log_density]):
        values = case.run(kernels.row_log_densities)(case.local, rows[:LANES], points, n)
        what = "given drawn parameters it is"
        assert_close("log_density", case.owner, what, values, log_p[:LANES], 1e-9, 1e-9)


def _check_frequencies(case, draws):
    """Check that the shares of frequent draws, singly and in total, match their probabilities."""
    first = draws.values[::2]
    half = draws.n_draws // 2
    _, places, inverse = np.unique(first, axis=0, return_index=True, return_inverse=True)
    # The first half of the draws chooses the cells; the second half is counted.
    counts = np.bincount(inverse.reshape(-1)[:half], minlength=len(places))
    cells = np.argsort(-counts)[: min(_MOST_CELLS, np.count_nonzero(counts >= _FEWEST_DRAWS))]
    if not cells.size:
        # Items of many features are all different.
        return
    probabilities = np.exp(draws.pair_log_densities(draws.statistics)[1][places[cells]])
    occurs = inverse.reshape(-1)[half:, None] == cells
    differences = np.column_stack([occurs.any(axis=1) - probabilities.sum(), occurs[:, :10] - probabilities[:10]])
    what = "the share of the most frequent draws, less their probability by log_predictive,"
    assert_zero("draw_item or log_predictive", case.owner, what, differences)


def _check_mass(case, draws, rng):
    """Check that the mass of the predictive density in a box equals the share of draws there."""
    d = case.X.shape[1]
    if d > _MOST_FEATURES:
        return
    first = draws.values[::2]
    half = draws.n_draws // 2
    edges = np.stack([_edges(case, feature, column) for feature, column in enumerate(first[:half].T)], axis=1)
    widths = np.diff(edges, axis=0)
    cells = rng.integers(0, _CELLS, size=(draws.n_draws, d))
    columns = np.arange(d)
    points = edges[cells, columns] + rng.random((draws.n_draws, d)) * widths[cells, columns]
    family, data = new_items(case, points)
    log_p = case.run(kernels.fresh_predictives)(family, draws.statistics, data, draws.n_draws)
    mass = np.exp(log_p + np.log(_CELLS * widths[cells, columns]).sum(axis=1))
    inside = ((first[half:] >= edges[0]) & (first[half:] <= edges[-1])).all(axis=1)
    what = "the probability of a box of the data, less the share of draws in the box,"
    assert_zero("log_predictive", case.owner, what, mass[: len(inside)] - inside)


def _edges(case, feature, values):
    """Bounds of cells among the values that occur once: repeated values have a point mass."""
    different, counts = np.unique(values, return_counts=True)
    if (different == np.round(different)).all():
        words = (
            f"draw_item draws whole numbers alone for feature {feature}; counts and categories have continuous=False"
        )
        raise CheckError(f"continuous of {case.owner.__name__} is wrong: {words}")
    return np.quantile(different[counts == 1], np.linspace(0.02, 0.98, _CELLS + 1))


def _check_moments(case, draws):
    """Check that means and distribution functions given parameters match the items drawn from them."""
    has_mean, has_cdf = (not lacking(case.owner, [generic]) for generic in (component_mean, component_cdf))
    if not has_mean and not has_cdf:
        return
    parameters = named_parameters(case.local, restore_parameters(case.local, case.data, draws.rows))
    values = draws.values[::2] + getattr(case.data, "center", 0.0)
    if has_mean:
        what = "a drawn item less the mean of its component"
        assert_zero("component_mean", case.owner, what, values - component_mean(case.full, parameters))
    if has_cdf:
        for feature in range(case.X.shape[1]):
            x = np.quantile(values[:, feature], [0.25, 0.5, 0.9], method="inverted_cdf")
            below = values[:, feature, None] <= x
            what = f"whether feature {feature} of an item is below its quantiles, less the probability,"
            cdf = component_cdf(case.full, parameters, feature, x)
            assert_zero("component_cdf", case.owner, what, below - cdf)


def _check_completed(case, draws):
    """Check that items are drawn with their own hyperparameters, where data determine these."""
    names = [name for name, spec in case.family.hyperparameters.items() if spec.for_draws_alone]
    if not names:
        return
    values = np.zeros((case.n, case.X.shape[1]))
    case.run(kernels.draw_each)(np.random.default_rng(0), case.local, draws.rows, values)
    values += getattr(case.data, "center", 0.0)
    for name in names:
        drawn = getattr(complete(case.family._replace(**{name: None}), values), name)
        if drawn is not None:
            what = f"the {name} of items that it draws is"
            assert_close("draw_item", case.owner, what, drawn, getattr(case.full, name), 0.0, 0.0)
