"""How the rows of a growth mixture were read, kept at its mixture, so that results are in the units of the table."""

from typing import Any, NamedTuple

import numpy as np


class Term(NamedTuple):
    """A column of the design of membership: numbers of a column of the table, or whether it has a level."""

    column: Any
    level: Any
    # Numbers are shifted by the centre, then divided by the scale.
    center: float
    scale: float
    # How the column was read, and all of its levels.
    rule: Any
    levels: tuple = ()

    @property
    def label(self):
        """Name of the term."""
        return str(self.column) if self.level is None else f"{self.column}: {self.level}"


class Growth(NamedTuple):
    """Columns of a growth mixture, and how times became numbers."""

    subject: Any
    time: Any
    target: Any
    # How times were read, what a unit of them is, by what they were divided, and the first one if they are dates.
    rule: Any
    unit: str
    divisor: float
    start: Any
    curve: Any
    # How the target was read, a `Recorded`.
    reading: Any
    membership: tuple = ()

    @property
    def time_label(self):
        """The name of the time with its unit."""
        return f"{self.time} ({self.unit})" if self.unit else str(self.time)


class Polynomial(NamedTuple):
    """Powers of time, which goes from -1 to 1."""

    center: float
    width: float
    degree: int

    def __str__(self):
        return f"degree {self.degree}"

    def columns(self, time, maximum=np.maximum):
        """The columns of the design but the constant, arrays or tensors of the shape of ``time``."""
        x = (time - self.center) / self.width
        return [x**k for k in range(1, self.degree + 1)]


class NaturalSpline(NamedTuple):
    """Natural cubic splines in the basis of truncated powers (Hastie, Tibshirani & Friedman 2009, equation 5.4)."""

    center: float
    width: float
    # In units of the width.
    knots: tuple

    def __str__(self):
        return f"spline of {len(self.knots)} knots"

    def columns(self, time, maximum=np.maximum):
        """The columns of the design but the constant, arrays or tensors of the shape of ``time``."""
        x, last = (time - self.center) / self.width, self.knots[-1]

        def part(knot):
            return (maximum(x - knot, 0.0) ** 3 - maximum(x - last, 0.0) ** 3) / (last - knot)

        end = part(self.knots[-2])
        return [x, *[part(knot) - end for knot in self.knots[:-2]]]
