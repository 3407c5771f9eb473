"""Supports of hyperparameters: allowed values, their description in messages, and unconstrained coordinates.

A support defines all of these in one place, for numbers and for tensors.  To add one, write a subclass of
:class:`Support` and an entry of :data:`SUPPORTS`.
"""

import dataclasses

import numpy as np
import pytensor.tensor as pt

# Smaller doubles lose digits, and their reciprocals overflow.
LEAST_NORMAL = float(np.finfo("float64").tiny)

# Changes that rounding may make in a matrix, relative to its diagonal.
_ASYMMETRY = 1e-8
_LEAST_PIVOT = 4.0 * float(np.finfo("float64").eps)


class Support:
    """The real numbers, and the base class of all other supports.

    Methods take arrays or tensors of full shape, and the number of features ``d``, or None if it is unknown.
    """

    name = "real"
    description = "finite"

    def given(self, parameters):
        """The support given the other hyperparameters of a measure or family: itself, unless it depends on them.

        Fields that are unknown are None.
        """
        return self

    def inside(self, x, d):
        """Mask of the allowed entries."""
        return abs(x) < np.inf

    def condition(self, x, d):
        """Symbolic condition that all entries of a tensor are allowed."""
        return pt.all(self.inside(x, d))

    def complaint(self, array, d):
        """What is wrong with an array of numbers, for the end of a message; None if it is allowed."""
        with np.errstate(invalid="ignore"):
            inside = np.asarray(self.inside(array, d))
        return _first_outside(array, inside)

    def to_line(self, value, d):
        """Unconstrained coordinate of each entry, and a mask of the entries that have one; the others stay 0."""
        return value, np.ones(value.shape, dtype=bool)

    def from_line(self, module, x, moves, d):
        """Value at coordinates x, the inverse of :meth:`to_line`; ``module`` is NumPy or PyTensor."""
        return x

    def is_log_scale(self, shape):
        """Mask of the entries whose coordinate is a logarithm or log odds."""
        return np.zeros(shape, dtype=bool)


class Positive(Support):
    """Numbers above 0."""

    name = "positive"
    description = "finite and above 0"

    def inside(self, x, d):
        return (x >= LEAST_NORMAL) & (x < np.inf)

    def to_line(self, value, d):
        moves = value > 0.0
        return np.log(np.where(moves, value, 1.0)), moves

    def from_line(self, module, x, moves, d):
        return module.exp(x) * moves

    def is_log_scale(self, shape):
        return np.ones(shape, dtype=bool)


class PositiveUpTo(Positive):
    """Numbers above 0 that are at most ``largest``."""

    def __init__(self, largest):
        self.largest = largest
        self.description = f"above 0 and at most {largest:g}"

    def inside(self, x, d):
        return (x >= LEAST_NORMAL) & (x <= self.largest)

    def from_line(self, module, x, moves, d):
        return module.minimum(super().from_line(module, x, moves, d), self.largest)


class NonNegative(Positive):
    """Numbers that are at least 0."""

    name = "non-negative"
    description = "finite and at least 0"

    def inside(self, x, d):
        return _is_zero(x) | super().inside(x, d)


class Weights(NonNegative):
    """Numbers that are at least 0, with a positive one in each row."""

    name = "weights"
    description = "finite and at least 0, with a level above 0 for each feature"

    def inside(self, x, d):
        each = super().inside(x, d)
        return each & (x.sum(axis=-1, keepdims=True) > 0) if x.ndim else each & (x > 0)


class UnitInterval(Positive):
    """Numbers from 0, included, to 1, excluded."""

    name = "unit interval"
    description = "in [0, 1)"

    def inside(self, x, d):
        return _is_zero(x) | (x >= LEAST_NORMAL) & (x < 1.0)

    def to_line(self, value, d):
        moves = value > 0.0
        safe = np.where(moves, value, 0.5)
        return np.log(safe) - np.log1p(-safe), moves

    def from_line(self, module, x, moves, d):
        return moves / (1.0 + module.exp(-x))


class ZeroOrOne(Support):
    """Zeros and ones, a property of each feature; they cannot vary."""

    name = "zero or one"
    description = "0 or 1"

    def inside(self, x, d):
        return _is_zero(x) | _is_zero(x - 1.0)

    def to_line(self, value, d):
        return value, np.zeros(value.shape, dtype=bool)

    def from_line(self, module, x, moves, d):
        return module.round(x)


class WholeNumber(Positive):
    """Whole numbers that are at least ``least``; they describe data, and cannot vary."""

    def __init__(self, name, description, least):
        self.name, self.description, self.least = name, description, least

    def inside(self, x, d):
        # The remainder of infinity is NaN.
        return (x >= self.least) & (x % 1.0 <= 0.0)


class AboveFeatures(Positive):
    """Numbers above the number of features minus 1, such as the degrees of freedom of a Wishart distribution."""

    name = "greater than d - 1"
    description = "finite and greater than the number of features minus 1"

    def inside(self, x, d):
        return (x > (0.0 if d is None else d - 1.0)) & (x < np.inf)

    def to_line(self, value, d):
        return np.log(value - (d - 1.0)), np.ones(value.shape, dtype=bool)

    def from_line(self, module, x, moves, d):
        return d - 1.0 + module.exp(x)


class GreaterThanMinus(Support):
    """Numbers greater than minus another hyperparameter."""

    def __init__(self, other, largest, value=None):
        self.other, self.largest, self.value = other, largest, value
        self.name = f"greater than -{other}"
        self.description = f"finite and greater than -{other}"
        if isinstance(value, float):
            self.description += f" = {0.0 - value:g}"

    def given(self, parameters):
        return GreaterThanMinus(self.other, self.largest, getattr(parameters, self.other))

    def inside(self, x, d):
        bound = self.largest if self.value is None else self.value
        return (x + bound >= LEAST_NORMAL) & (x < np.inf)

    def to_line(self, value, d):
        return np.log(value + self.value), np.ones(value.shape, dtype=bool)

    def from_line(self, module, x, moves, d):
        return module.exp(x) - self.value

    def is_log_scale(self, shape):
        return np.ones(shape, dtype=bool)


class PositiveDefinite(Support):
    """Symmetric positive definite matrices; coordinates are Cholesky factors with logarithmic diagonals."""

    name = "positive definite"
    description = "a finite, symmetric, positive definite matrix"

    def inside(self, x, d):
        """Mask of the entries that are finite and equal to their mirror image."""
        scale = abs(x.diagonal()) ** 0.5
        # Comparisons with NaN are false.
        return abs(x - x.T) <= _ASYMMETRY * scale[:, None] * scale[None, :]

    def condition(self, x, d):
        # The log-likelihood uses the same Cholesky factor, so this costs nothing.
        definite = pt.all(x.diagonal() >= LEAST_NORMAL) & pt.all(pt.isfinite(pt.linalg.cholesky(x)))
        return pt.all(self.inside(x, d)) & definite

    def complaint(self, array, d):
        if array.ndim != 2 or array.shape[0] != array.shape[1]:
            return f"got shape {array.shape}"
        if not np.isfinite(array).all():
            return _first_outside(array, np.isfinite(array))
        asymmetric = np.argwhere(~self.inside(array, d))
        if len(asymmetric):
            i, j = (int(k) for k in asymmetric[0])
            return f"got {array[i, j]} at position ({i}, {j}) and {array[j, i]} at ({j}, {i})"
        try:
            pivots = np.diag(np.linalg.cholesky(array)) ** 2
            definite = (pivots > _LEAST_PIVOT * len(array) * np.diag(array)).all()
        except np.linalg.LinAlgError:
            definite = False
        if definite:
            return _first_outside(np.diag(array), np.diag(array) >= LEAST_NORMAL)
        return f"got a matrix with smallest eigenvalue {np.linalg.eigvalsh(array)[0]:.3g}"

    def to_line(self, value, d):
        factor = np.linalg.cholesky(value)
        diagonal = np.diag(factor)
        return factor + np.diag(np.log(diagonal) - diagonal), np.tri(len(value), dtype=bool)

    def from_line(self, module, x, moves, d):
        eye = np.eye(len(moves))
        # `exp` sees only the diagonal: other entries are unused, but might overflow.
        factor = module.exp(x * eye) * eye + x * (moves & (eye == 0.0))
        return factor @ factor.T

    def is_log_scale(self, shape):
        return np.eye(shape[0], dtype=bool)


def _first_outside(array, inside):
    if inside.all():
        return None
    place = tuple(int(i) for i in np.argwhere(~inside)[0])
    value = float(array[place])
    small = f", below the smallest normal double {LEAST_NORMAL:.1e}" if 0.0 < abs(value) < LEAST_NORMAL else ""
    return f"got {value!r}" + (f" at position {place}" if place else "") + small


def _is_zero(x):
    # `==` compares tensors by identity.
    return (x >= 0.0) & (x <= 0.0)


SUPPORTS = {
    support.name: support
    for support in (
        Support(),
        Positive(),
        NonNegative(),
        Weights(),
        UnitInterval(),
        WholeNumber("positive whole", "a whole number of at least 1", 1),
        WholeNumber("non-negative whole", "a whole number of at least 0", 0),
        AboveFeatures(),
        PositiveDefinite(),
    )
}


@dataclasses.dataclass(frozen=True, init=False)
class Hyperparameter:
    """Core dimensions and support of one hyperparameter of a measure or a family."""

    # A letter for each axis: `"n"` for items, `"d"` for features, any other letter for a size that the hyperparameter
    # itself sets; empty for scalars, such as all hyperparameters of measures.
    core: tuple[str, ...]
    # Allowed values: a key of `SUPPORTS` or an instance of your own subclass of `Support`.
    support: Support
    # Whether only `draw_item` reads it, for hyperparameters of items that `complete` takes from observed data.
    for_draws_alone: bool

    def __init__(self, core: tuple[str, ...], support: str | Support, for_draws_alone: bool = False) -> None:
        if not isinstance(support, Support):
            if support not in SUPPORTS:
                raise ValueError(f"support must be one of {', '.join(map(repr, SUPPORTS))}; got {support!r}")
            support = SUPPORTS[support]
        object.__setattr__(self, "core", core)
        object.__setattr__(self, "support", support)
        object.__setattr__(self, "for_draws_alone", for_draws_alone)
