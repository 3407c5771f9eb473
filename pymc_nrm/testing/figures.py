"""Comparisons of figures, and the error that names the function whose figures are wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
from pytensor.compile.mode import Mode
from scipy import stats

# For graphs: the values are those of any backend, and nothing is compiled.
INTERPRETED = Mode(linker="py", optimizer="fast_compile")


class CheckError(AssertionError):
    """A function of a family or a measure disagrees with the others; the message names it and has both figures."""


def assert_close(
    function: str, owner: Any, what: str, given: Any, expected: Any, rtol: float = 1e-9, atol: float = 1e-9
) -> None:
    """Raise an error unless figures agree, infinite ones included."""
    given, expected = np.broadcast_arrays(np.asarray(given, dtype="float64"), np.asarray(expected, dtype="float64"))
    wrong = np.argwhere(~np.isclose(given, expected, rtol=rtol, atol=atol))
    if len(wrong):
        place = tuple(int(i) for i in wrong[0])
        where = f" at position {place}" if place else ""
        figures = f"{given[place]}, not {expected[place]}"
        raise CheckError(f"{function} of {owner.__name__} is wrong: {what}{where} {figures}")


def assert_zero(function: str, owner: Any, what: str, differences: Any) -> None:
    """Raise an error unless the means of independent differences are consistent with zero. Shapes: ``differences``
    (n_draws, ...).
    """
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
    """What checks call of a kernel: the kernel itself, or its Python function."""
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
    # Differences that are all 0 have no standard error, and rounding errors do not count.
    score = np.where(np.abs(mean) <= 1e-12, 0.0, mean / np.maximum(error, 1e-15))
    place = np.unravel_index(np.argmax(np.where(np.isnan(score), np.inf, np.abs(score))), score.shape)
    return float(score[place]), float(mean[place]), float(error[place])
