"""Losses between partitions, and their posterior expectations."""

import math
import numbers
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.common.marks import COMPONENTS
from pymc_nrm.stats.contingency import as_labels, cell_sums, entropy_table, pair_table
from pymc_nrm.stats.convergence import sampling_diagnostic
from pymc_nrm.stats.draws import draws_of_items, item_dimension, partition_draws


def variation_of_information(a: Any, b: Any, base: int = 2) -> Any:
    """Variation of information of pairs of partitions, a metric.

    Parameters
    ----------
    %(a_and_b)s
    base : float
        Base of the logarithm: 2 for bits, ``math.e`` for nats.

    Returns
    -------
    float or ndarray, shape (S,)
        From 0, for equal partitions, to log n.

    Raises
    ------
    TypeError
        If labels are not integers.
    ValueError
        If the shapes do not match, or the base is not greater than 1.

    Notes
    -----
    VI(a, b) = H(a | b) + H(b | a) = 2 H(a, b) - H(a) - H(b), with the entropies of the proportions of clusters and of
    cells of the contingency table (Meila 2007, "Comparing clusterings: an information based distance").  It takes
    O(n) time per pair.

    Examples
    --------
    >>> variation_of_information([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    >>> variation_of_information([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 0, 0]]).tolist()
    [0.0, 1.0]
    """
    return _broadcast(a, b, "variation_of_information", {"base": base})


def normalized_variation_of_information(a: Any, b: Any) -> Any:
    """Variation of information divided by the joint entropy, a metric.

    Parameters
    ----------
    %(a_and_b)s

    Returns
    -------
    float or ndarray, shape (S,)
        From 0, for equal partitions, to 1, for independent ones.  0 if both consist of one cluster.

    %(errors_of_labels)s

    Notes
    -----
    NVI(a, b) = 1 - I(a, b) / H(a, b) with the mutual information I and the joint entropy H (Vinh, Epps & Bailey 2010,
    "Information theoretic measures for clusterings comparison", table 3, joint normalisation).

    Examples
    --------
    >>> normalized_variation_of_information([0, 0, 1, 1], [0, 1, 2, 3])
    0.5
    """
    return _broadcast(a, b, "normalized_variation_of_information", {})


def binder_loss(a: Any, b: Any, cost_false_join: Any = 1.0, cost_false_split: Any = 1.0) -> Any:
    """Binder's loss: the average cost over pairs of items on which partitions disagree.

    Parameters
    ----------
    a, b : array_like of int, shape (n,) or (S, n)
        Labels of estimates and of true partitions, any integers; a vector is paired with every row of the other array.
    cost_false_join : float
        Cost of a pair that is together in ``a`` but not in ``b``.
    cost_false_split : float
        Cost of a pair that is together in ``b`` but not in ``a``.

    Returns
    -------
    float or ndarray, shape (S,)
        Sum of costs divided by the number n (n - 1) / 2 of pairs; with unit costs this is one minus the Rand index.
        0 for a single item.

    Raises
    ------
    TypeError
        If labels are not integers, or costs are not numbers.
    ValueError
        If the shapes do not match, or costs are not finite and positive.

    Notes
    -----
    Binder (1978), "Bayesian cluster analysis"; Dahl, Johnson & Mueller (2022), "Search algorithms and loss functions
    for Bayesian clustering", section 2.  Multiply by (n - 1) / n for the average over all n^2 ordered pairs,
    including an item with itself.

    Examples
    --------
    >>> binder_loss([0, 0, 1], [0, 0, 0])
    0.6666666666666666
    >>> binder_loss([0, 0, 1], [0, 0, 0], cost_false_split=3.0)
    2.0
    """
    costs = {"cost_false_join": cost_false_join, "cost_false_split": cost_false_split}
    return _broadcast(a, b, "binder_loss", costs)


def adjusted_rand(a: Any, b: Any) -> Any:
    """Rand index adjusted for chance.

    Parameters
    ----------
    %(a_and_b)s

    Returns
    -------
    float or ndarray, shape (S,)
        1 for equal partitions, 0 on average over random ones with the same cluster sizes; may be negative.

    %(errors_of_labels)s

    Notes
    -----
    Hubert & Arabie (1985), "Comparing partitions", equation 5.

    Examples
    --------
    >>> adjusted_rand([0, 0, 1, 1], [1, 1, 0, 0]), adjusted_rand([0, 0, 1, 1], [0, 0, 0, 0])
    (1.0, 0.0)
    """
    return 1.0 - one_minus_adjusted_rand(a, b)


def one_minus_adjusted_rand(a: Any, b: Any) -> Any:
    """One minus the adjusted Rand index, as a loss.

    Parameters
    ----------
    %(a_and_b)s

    Returns
    -------
    float or ndarray, shape (S,)
        0 for equal partitions; see :func:`adjusted_rand`.  Not a metric.

    %(errors_of_labels)s

    Examples
    --------
    >>> one_minus_adjusted_rand([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    """
    return _broadcast(a, b, "one_minus_adjusted_rand", {})


def _information(cells, over_a, over_b, n, base):
    return _positive_part(over_a + over_b - 2 * cells) / n


def _normalized_information(cells, over_a, over_b, n):
    joint = n * math.log2(n) - cells
    # The smallest positive value of n H(a, b) is 2 (for n = 2): smaller ones are rounding errors.
    return np.minimum(_positive_part(over_a + over_b - 2 * cells) / np.where(joint > 0.5, joint, np.inf), 1.0)


def _binder(cells, over_a, over_b, n, cost_false_join, cost_false_split):
    return (cost_false_join * (over_a - cells) + cost_false_split * (over_b - cells)) / max(math.comb(n, 2), 1)


def _one_minus_adjusted_rand(cells, over_a, over_b, n):
    mean = (over_a + over_b) / 2
    at_random = over_a * over_b / max(math.comb(n, 2), 1)
    # The denominator is 0 if both have one cluster or both have n; otherwise it is at least 1/2.
    return (mean - cells) / np.where(mean - at_random > 0.25, mean - at_random, np.inf)


def _positive_part(values):
    # n times a positive variation of information is at least 2 bits, up to the base; smaller ones are rounding errors.
    return np.where(values > 1e-6, values, 0.0)


# For each loss: the function that computes it from sums of a table over cells and clusters, the defaults of its
# arguments, and the table, either x log x or numbers of pairs.
VALUES = {
    "variation_of_information": (_information, {"base": 2}, entropy_table),
    "normalized_variation_of_information": (_normalized_information, {}, entropy_table),
    "binder_loss": (_binder, {"cost_false_join": 1.0, "cost_false_split": 1.0}, pair_table),
    "one_minus_adjusted_rand": (_one_minus_adjusted_rand, {}, pair_table),
}
# Names of the same losses in other packages and in papers.
SHORT_NAMES = {
    "vi": "variation_of_information",
    "nvi": "normalized_variation_of_information",
    "binder": "binder_loss",
    "omari": "one_minus_adjusted_rand",
}

# Loss of estimates by default, where a fixed number of components is in use.
LOSS_OF_COMPONENTS = "normalized_variation_of_information"


def expected_loss(
    idata: xr.DataTree | xr.Dataset | xr.DataArray,
    estimate: Any,
    *,
    var_name: str | None = None,
    loss: str | None = None,
    **costs: Any,
) -> xr.Dataset:
    """Posterior expectation of the loss of a partition, with its Monte Carlo standard error.

    Parameters
    ----------
    %(draws)s
    estimate : array_like of int, shape (n,), or Dataset
        Labels, any integers, or the result of :func:`~pymc_nrm.stats.point_estimate.point_estimate`.
    %(var_name)s
    loss : str, optional
        Name of a function of this module: ``"variation_of_information"``, ``"normalized_variation_of_information"``,
        ``"binder_loss"`` or ``"one_minus_adjusted_rand"``; in short ``"VI"``, ``"NVI"``, ``"binder"``, ``"omARI"``.
        The default is chosen as in :func:`~pymc_nrm.stats.point_estimate.point_estimate`.
    **costs
        Further arguments of the loss: ``base``, or ``cost_false_join`` and ``cost_false_split``.

    Returns
    -------
    Dataset
        ``expected_loss``, the mean over draws, and ``mcse``, its standard error, from the effective sample size of the
        losses of the draws (NaN with fewer than four draws per chain).  Attributes ``loss`` and the costs.

    Raises
    ------
    TypeError
        If the loss has no such cost, or ``estimate`` holds draws.
    ValueError
        If the loss is unknown, or the numbers of items differ, or there is no such partition.

    Notes
    -----
    The standard error is of the mean for a fixed partition.  An estimate that was chosen with the same draws looks
    slightly better than it is.

    Examples
    --------
    >>> draws = xr.DataArray([[[0, 0, 1], [0, 0, 1], [0, 0, 0], [0, 1, 1]]], dims=("chain", "draw", "item"))
    >>> float(expected_loss(draws, [0, 0, 0], loss="binder_loss").expected_loss)
    0.5
    """
    if isinstance(estimate, xr.DataTree) or "draw" in getattr(estimate, "dims", ()):
        raise TypeError(
            "estimate must be labels, shape (n,), or the result of point_estimate; got draws in a "
            f"{type(estimate).__name__}: these are the first argument, idata"
        )
    draws = draws_of_items(partition_draws(idata, var_name), estimate)
    loss, costs = chosen_loss(loss, costs, draws)
    losses = draw_losses(read_estimate(estimate, draws)[0], draws, loss, costs)
    return summarise_losses(losses, loss, costs)


def check_loss(loss, costs, allowed=VALUES):
    """Check a loss, which may have its short name, and its costs; return its full name and all costs."""
    name = SHORT_NAMES.get(loss.lower(), loss) if isinstance(loss, str) else loss
    if not isinstance(name, str) or name not in allowed:
        short = [f"{key!r}" for key, full in SHORT_NAMES.items() if full in allowed]
        raise ValueError(
            f"loss must be one of {', '.join(map(repr, allowed))}, or in short {', '.join(short)}; got {loss!r}"
        )
    loss, defaults = name, VALUES[name][1]
    unknown = sorted(set(costs) - set(defaults))
    if unknown:
        allowed = ", ".join(defaults) or "none"
        raise TypeError(f"{loss} has no argument {', '.join(unknown)}; its arguments are: {allowed}")
    costs = defaults | costs
    for name, cost in costs.items():
        if not isinstance(cost, numbers.Real) or isinstance(cost, bool):
            raise TypeError(f"{name} must be a number; got {cost!r}")
        least = 1 if name == "base" else 0
        if not least < cost < math.inf:
            raise ValueError(f"{name} must be finite and greater than {least}; got {cost!r}")
    return loss, costs


def default_loss(draws):
    """Name of the loss of estimates by default, given :func:`~pymc_nrm.stats.draws.partition_draws`.

    It is the variation of information, or LOSS_OF_COMPONENTS where the number of components is fixed and most draws use
    all of them: the variation of information joins components whose items are uncertain, and loses some of this number.
    """
    n_components = draws.attrs.get(COMPONENTS)
    if n_components is None:
        return "variation_of_information"
    uses_all = draws.max(item_dimension(draws)).values + 1 == n_components
    return LOSS_OF_COMPONENTS if uses_all.mean() > 0.5 else "variation_of_information"


def chosen_loss(loss, costs, draws):
    """:func:`check_loss` of a loss, which may be None for the default given the draws."""
    return check_loss(default_loss(draws) if loss is None else loss, costs)


def read_estimate(estimate, draws=None, n=None, items=None):
    """Labels of an estimate in order of appearance, shape (n,), and what the estimate itself calls these clusters.

    A Series with the names of all items, an Index, is put in their order; those of the draws by default.
    """
    if isinstance(estimate, xr.Dataset):
        if "labels" not in estimate:
            raise ValueError(f"estimate must have the variable labels; got variables {', '.join(map(str, estimate))}")
        estimate = estimate["labels"]
    if draws is not None:
        dim = item_dimension(draws)
        n = draws.sizes[dim]
        items = draws.indexes.get(dim) if items is None else items
        indexes = [array.indexes[dim] for array in (estimate, draws) if dim in getattr(array, "indexes", ())]
        if len(indexes) == 2 and not indexes[0].equals(indexes[1]):
            raise ValueError(f"estimate must be of the same items as the draws; coordinates {dim!r} differ")
    if isinstance(estimate, pd.Series) and items is not None:
        estimate = _in_order_of_items(estimate, items)
    user_labels = numeric_array("estimate", estimate)
    if user_labels.shape != (n,):
        raise ValueError(f"estimate must have shape ({n},); got shape {user_labels.shape}")
    labels = as_labels("estimate", user_labels)[0].astype(np.int64)
    return labels, user_labels[np.unique(labels, return_index=True)[1]].astype(np.int64)


def _in_order_of_items(estimate, items):
    """A Series in the order of the names of all items; what has no names is taken in its order."""
    if len(estimate) != len(items) or estimate.index.equals(items):
        return estimate
    # Draws that were saved have names as text.
    for names, wanted in ((estimate.index, items), (estimate.index.map(str), items.map(str))):
        if names.is_unique and wanted.isin(names).all():
            return estimate.set_axis(names).reindex(wanted)
    if estimate.index.equals(pd.RangeIndex(len(estimate))):
        return estimate
    raise ValueError(
        f"estimate must have the names of the items as its index if it is a Series; got {estimate.index[0]!r} and the "
        f"item {items[0]!r}. estimate.to_numpy() takes labels in the order of the items"
    )


def draw_losses(labels, draws, loss, costs):
    """Losses of one partition for all draws, dimensions ``chain`` and ``draw``."""
    values = draws.values
    rows = values.reshape(-1, values.shape[2]).astype(np.int32)
    losses = pair_losses(labels[None].astype(np.int32), rows, loss, costs)
    coords = {dim: draws[dim] for dim in ("chain", "draw") if dim in draws.coords}
    return xr.DataArray(losses.reshape(values.shape[:2]), dims=("chain", "draw"), coords=coords, name=loss)


def summarise_losses(losses, loss, costs):
    """Mean of the losses of draws and its Monte Carlo standard error, 0 if the losses are constant."""
    mean, error = mean_and_error(losses.values)
    return xr.Dataset({"expected_loss": mean, "mcse": error}, attrs={"loss": loss, **costs})


def mean_and_error(values):
    """Mean of a number of each draw, shape (n_chains, n_draws), and its Monte Carlo standard error, 0 if constant."""
    is_constant = (values == values[0, 0]).all()
    error = 0.0 if is_constant else float(sampling_diagnostic("mcse", values[:, :, None], method="mean")[0])
    return float(values.mean()), error


def loss_table(n, loss, costs):
    """Table, shape (n + 1,), from whose sums over cells and clusters the loss is computed."""
    table = VALUES[loss][2]
    return table(n, **costs) if table is entropy_table else table(n)


def pair_losses(a, b, loss, costs):
    """Losses of pairs of partitions without checks: labels from 0, int32, shapes (S, n) or (1, n)."""
    n = a.shape[1]
    return VALUES[loss][0](*cell_sums(a, b, loss_table(n, loss, costs)).T, n, **costs)


def _broadcast(a, b, loss, costs):
    loss, costs = check_loss(loss, costs)
    shapes = np.shape(a), np.shape(b)
    x, y = as_labels("a", a), as_labels("b", b)
    if x.shape[1] != y.shape[1] or (len(x) != len(y) and 1 not in (len(x), len(y))):
        raise ValueError(f"a and b must have shapes (n,) or (S, n) with equal n and S; got {shapes[0]} and {shapes[1]}")
    if 0 in (len(x), len(y)):
        return np.zeros(0)
    losses = pair_losses(x, y, loss, costs)
    return float(losses[0]) if len(shapes[0]) == len(shapes[1]) == 1 else losses
