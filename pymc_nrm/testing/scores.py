"""Standardised differences between chains and their target distributions.

Standard errors come from the means of long batches, which accounts for the autocorrelation of a chain.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from pytensor.compile.mode import Mode
from scipy import stats

from pymc_nrm.common.checks import check_number, numeric_array

# Draws that every group of partitions is expected to have by default.
_EXPECTED_DRAWS = 50.0
# Rounding errors of sums of probabilities and frequencies.
_ROUNDING = 1e-12


def partition_index(labels: Any, partitions: Any) -> np.ndarray:
    """Row of each draw in a table of partitions.

    Parameters
    ----------
    labels : array_like of int, shape (..., n)
        Labels in order of appearance.
    partitions : ndarray of int, shape (n_partitions, n)
        From :func:`all_partitions`.

    Returns
    -------
    ndarray of int64, shape (...)

    Raises
    ------
    ValueError
        If a draw is not one of the partitions, for example because its labels are not in order of appearance, or if
        shapes do not match.

    Examples
    --------
    >>> from pymc_nrm.partitions.labels import all_partitions
    >>> partition_index([[0, 0], [0, 1]], all_partitions(2)).tolist()
    [0, 1]
    """
    labels, partitions = numeric_array("labels", labels), numeric_array("partitions", partitions)
    if partitions.ndim != 2 or not partitions.size:
        raise ValueError(f"partitions must have shape (n_partitions, n); got shape {partitions.shape}")
    n = partitions.shape[1]
    if labels.ndim == 0 or labels.shape[-1] != n or not labels.size:
        raise ValueError(f"labels must have shape (..., n) with n = {n} as in partitions; got shape {labels.shape}")
    place = np.maximum(n, 2) ** np.arange(n, dtype=np.int64)
    codes = partitions @ place
    order = np.argsort(codes)
    row = order[np.minimum(np.searchsorted(codes, labels @ place, sorter=order), len(codes) - 1)]
    is_listed = (partitions[row] == labels).all(axis=-1)
    if not is_listed.all():
        raise ValueError(f"labels must be among partitions; got {labels[~is_listed][0].tolist()}")
    return row


def partition_frequencies(labels: Any, partitions: Any) -> np.ndarray:
    """Share of each partition among draws.

    Parameters
    ----------
    labels : array_like of int, shape (..., n)
        Labels in order of appearance.
    partitions : ndarray of int, shape (n_partitions, n)

    Returns
    -------
    ndarray, shape (n_partitions,)

    Examples
    --------
    >>> from pymc_nrm.partitions.labels import all_partitions
    >>> partition_frequencies([[0, 0], [0, 1], [0, 1], [0, 1]], all_partitions(2)).tolist()
    [0.25, 0.75]
    """
    index = partition_index(labels, partitions)
    return np.bincount(index.ravel(), minlength=len(partitions)) / index.size


def mean_and_error(values: Any) -> tuple[Any, Any, int]:
    """Mean over chains and draws, and its standard error from the means of batches.

    Parameters
    ----------
    values : array_like, shape (chains, draws, ...)

    Returns
    -------
    mean, error : ndarray, shape (...)
    degrees_of_freedom : int
        Degrees of freedom of the error: the number of batches less one.

    Raises
    ------
    TypeError, ValueError
        If values are not real numbers, there is no chain, or there are fewer than two draws.

    Notes
    -----
    Batches have about ``draws ** (2/3)`` draws, so that both the bias from their dependence and the noise of the error
    vanish for long chains.

    Examples
    --------
    >>> mean, error, degrees_of_freedom = mean_and_error(np.random.default_rng(1).normal(size=(4, 1000)))
    >>> bool(abs(mean) < 5 * error), degrees_of_freedom
    (True, 39)
    """
    values = numeric_array("values", values).astype("float64")
    _check_chains("values", values)
    chains, draws = values.shape[:2]
    n_batches, length = _batches(draws)
    kept = values[:, : n_batches * length].reshape(chains * n_batches, length, *values.shape[2:])
    means = kept.mean(axis=1)
    return values.mean(axis=(0, 1)), means.std(axis=0, ddof=1) / np.sqrt(len(means)), len(means) - 1


def _check_chains(name, values):
    """Check that the first two axes of an array hold at least one chain and two draws."""
    if values.ndim < 2 or values.shape[0] < 1 or values.shape[1] < 2:
        raise ValueError(
            f"{name} must have shape (chains, draws, ...), at least one chain and two draws; got shape {values.shape}"
        )


def _batches(draws):
    """Number and length of the batches of a chain."""
    n_batches = max(int(draws / np.ceil(draws ** (2 / 3))), 2)
    return n_batches, draws // n_batches


def z_scores(labels: Any, partitions: Any, probabilities: Any, least: Any = None) -> np.ndarray:
    """Standardised differences between the frequencies of partitions in chains and their probabilities.

    Parameters
    ----------
    labels : array_like of int, shape (chains, draws, n)
        Labels in order of appearance.
    partitions : ndarray of int, shape (n_partitions, n)
    probabilities : ndarray, shape (n_partitions,)
        Expected frequencies.
    least : float, optional
        Partitions are merged, the rarest first, until every group has at least this probability.  By default, until
        every group has at least 50 expected draws.

    Returns
    -------
    ndarray, shape (n_groups,)
        Compare with :func:`largest_z`.  If any partition has probability 0, the first score is for all of them:
        infinite if any draw is one of them, otherwise 0.

    Raises
    ------
    TypeError, ValueError
        If shapes do not match, a draw is not one of the partitions, or chains have fewer than two draws, or so few
        that partitions of positive probability all end in one group, which says nothing about a sampler.

    Examples
    --------
    >>> from pymc_nrm.partitions.labels import all_partitions
    >>> partitions = all_partitions(2)
    >>> labels = partitions[np.random.default_rng(1).integers(0, 2, size=(4, 1000))]
    >>> z = z_scores(labels, partitions, np.array([0.5, 0.5]))
    >>> bool(abs(z).max() < largest_z(labels.shape, z.size))
    True
    """
    index = partition_index(labels, partitions)
    if index.ndim != 2:
        raise ValueError(f"labels must have shape (chains, draws, n); got shape {np.shape(labels)}")
    _check_chains("labels", index)
    probabilities = numeric_array("probabilities", probabilities)
    if probabilities.shape != (len(partitions),) or not (probabilities >= 0.0).all():
        raise ValueError(
            f"probabilities must be {len(partitions)} numbers of at least 0, one per partition; got shape "
            f"{probabilities.shape}"
        )
    by_default = least is None
    if by_default:
        least = _EXPECTED_DRAWS / index.size
    least = check_number("least", least, lambda p: p >= 0.0, "at least 0")
    is_possible = probabilities > 0.0
    groups = np.zeros(len(probabilities), dtype=np.int64)
    groups[is_possible] = _merge_rare(probabilities[is_possible], least)
    if is_possible.sum() > 1 and groups.max() == 0:
        raise ValueError(_too_few_draws(probabilities[is_possible], least, index.size, by_default))
    # Partitions of probability 0 are a group of their own, the first one.
    groups[is_possible] += not is_possible.all()
    n_groups = groups.max() + 1
    expected = np.bincount(groups, weights=probabilities, minlength=n_groups)
    chains, (n_batches, length) = len(index), _batches(index.shape[1])
    kept = groups[index[:, : n_batches * length]].reshape(chains * n_batches, length)
    cells = kept + n_groups * np.arange(len(kept))[:, None]
    means = np.bincount(cells.ravel(), minlength=len(kept) * n_groups).reshape(-1, n_groups) / length
    mean, error = means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(len(means))
    # A group with none or all of the draws shows no error; the error of independent draws is then a lower bound.
    floor = np.sqrt(np.maximum(expected * (1.0 - expected), 0.0) / index.size)
    difference, spread = mean - expected, np.where(error > 0.0, error, floor)
    # A group that has all probability shows no error and needs no score; probabilities are sums with rounding errors.
    is_exact = np.abs(difference) <= _ROUNDING
    with np.errstate(divide="ignore"):
        scores = np.where(is_exact, 0.0, difference / np.where(is_exact, 1.0, spread))
    if not is_possible.all():
        # One draw of probability 0 proves the sampler wrong, however rare it is; batches may leave it out.
        scores[0] = np.inf if (~is_possible[index]).any() else 0.0
    return scores


def _too_few_draws(probabilities, least, n_draws, by_default):
    """The error for draws or a least probability that leave one group of partitions."""
    # The rarest outcomes are merged first, and two groups need at least this much each.
    cumulated = np.cumsum(np.sort(probabilities))
    smaller = np.minimum(cumulated, cumulated[-1] - cumulated).max()
    if not by_default:
        return f"least must be at most {smaller:.3g}, so that partitions form two groups; got {least}"
    needed = math.ceil(_EXPECTED_DRAWS / smaller)
    return (
        f"labels must have at least {needed} draws in all chains together, so that two groups of partitions have "
        f"{_EXPECTED_DRAWS:.0f} expected draws each; got {n_draws}"
    )


def _merge_rare(probabilities, least):
    """Group of each outcome: merge the rarest until every group has at least probability ``least``."""
    groups = np.empty(len(probabilities), dtype=np.int64)
    group, total = 0, 0.0
    order = np.argsort(probabilities)
    remaining = probabilities.sum()
    for outcome in order:
        if total >= least and remaining >= least:
            group, total = group + 1, 0.0
        groups[outcome] = group
        total += probabilities[outcome]
        remaining -= probabilities[outcome]
    return groups


def largest_z(shape: Any, n_scores: Any, level: float = 1e-5) -> float:
    """Limit of absolute z-scores that a correct sampler exceeds with probability at most ``level``.

    Parameters
    ----------
    shape : tuple of int
        Shape of the draws behind the scores, (chains, draws, ...).
    n_scores : int
    level : float

    Returns
    -------
    float
        Bonferroni bound from Student's t, with as many degrees of freedom as :func:`mean_and_error` has.

    Examples
    --------
    >>> round(largest_z((4, 10_000), 50), 2)
    5.67
    """
    chains, draws = shape[:2]
    return float(stats.t.isf(level / (2 * n_scores), chains * _batches(draws)[0] - 1))


# For graphs: every backend gives the same values, and this one compiles nothing.
INTERPRETED = Mode(linker="py", optimizer="fast_compile")


class CheckError(AssertionError):
    """A function of a family or a measure disagrees with the others; the message names it and shows both values.

    Examples
    --------
    >>> from pymc_nrm.families import PoissonGamma
    >>> assert_close("log_marginal", PoissonGamma, "a cluster of two items has", -3.5, -3.0)
    Traceback (most recent call last):
    pymc_nrm.testing.scores.CheckError: log_marginal of PoissonGamma is wrong: a cluster of two items has -3.5, not -3.0
    """


def assert_close(
    function: str, owner: Any, what: str, given: Any, expected: Any, rtol: float = 1e-9, atol: float = 1e-9
) -> None:
    """Raise an error unless two arrays agree, infinite values included."""
    given, expected = np.broadcast_arrays(np.asarray(given, dtype="float64"), np.asarray(expected, dtype="float64"))
    wrong = np.argwhere(~np.isclose(given, expected, rtol=rtol, atol=atol))
    if len(wrong):
        place = tuple(int(i) for i in wrong[0])
        where = f" at position {place}" if place else ""
        figures = f"{given[place]}, not {expected[place]}"
        raise CheckError(f"{function} of {owner.__name__} is wrong: {what}{where} {figures}")


def assert_zero(function: str, owner: Any, what: str, differences: Any) -> None:
    """Raise an error unless the mean of independent differences (n_draws, ...) is consistent with zero."""
    score, mean, error = _largest_score(differences)
    if not abs(score) < largest_score(np.size(differences[0])):
        raise CheckError(
            f"{function} of {owner.__name__} is wrong: {what} has mean {mean:.6g} over {len(differences)} draws, with "
            f"a standard error of {error:.2g}, not 0"
        )


def slope(function: Callable[[float], Any], step: float) -> Any:
    """Derivative at 0 by Richardson extrapolation of central differences at two steps: their leading errors cancel."""
    coarse, fine = ((function(h) - function(-h)) / (2.0 * h) for h in (2.0 * step, step))
    return (4.0 * fine - coarse) / 3.0


def runner(compiled: bool) -> Callable[[Any], Callable[..., Any]]:
    """Return a function that maps a kernel to itself, or to its Python function if not ``compiled``."""
    return (lambda kernel: kernel) if compiled else (lambda kernel: kernel.__wrapped__)


def is_zero(differences: Any) -> bool:
    """Whether :func:`assert_zero` would pass."""
    return abs(_largest_score(differences)[0]) < largest_score(np.size(differences[0]))


def largest_score(n_scores: int) -> float:
    """Absolute value that the largest of several normal scores exceeds with probability at most 1e-6."""
    return float(stats.norm.isf(0.5e-6 / max(n_scores, 1)))


def _largest_score(differences):
    differences = np.asarray(differences, dtype="float64")
    mean = differences.mean(axis=0)
    error = differences.std(axis=0, ddof=1) / np.sqrt(len(differences))
    # Differences that are all 0 have no standard error; rounding errors do not count.
    score = np.where(np.abs(mean) <= 1e-12, 0.0, mean / np.maximum(error, 1e-15))
    place = np.unravel_index(np.argmax(np.where(np.isnan(score), np.inf, np.abs(score))), score.shape)
    return float(score[place]), float(mean[place]), float(error[place])
