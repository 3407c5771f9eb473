"""Conditions on parameters that hold at every point: bounds of expressions from their operations."""

import functools
import math
from typing import NamedTuple

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.scalar import basic
from pytensor.scalar import math as scalar_math
from pytensor.tensor.elemwise import Elemwise

from pymc_nrm.models.itemwise.rules import entry_sources


class Bounds(NamedTuple):
    """A number is above ``low``, or equal to it if that is attained, and so for ``high``."""

    low: float
    high: float
    low_attained: bool = False
    high_attained: bool = False


_ANY = Bounds(-math.inf, math.inf)
_POSITIVE = Bounds(0.0, math.inf)


def always_holds(condition, expanded):
    """Whether a condition on entries holds wherever its inputs are finite, shown from the operations in it."""
    node = condition.owner
    if node is None:
        return isinstance(condition, Constant) and bool(np.all(condition.data))
    sources = entry_sources(condition, expanded)
    if sources is not None:
        return all(always_holds(one, expanded) for one in sources)
    if not isinstance(node.op, Elemwise):
        return False
    scalar = node.op.scalar_op
    if isinstance(scalar, basic.AND):
        return all(always_holds(one, expanded) for one in node.inputs)
    if not isinstance(scalar, basic.GT | basic.GE | basic.LT | basic.LE):
        return False
    larger, smaller = node.inputs if isinstance(scalar, basic.GT | basic.GE) else reversed(node.inputs)
    larger, smaller = _bounds(larger, expanded), _bounds(smaller, expanded)
    apart = not (smaller.high_attained and larger.low_attained)
    return smaller.high < larger.low or (
        smaller.high == larger.low and (apart or isinstance(scalar, basic.GE | basic.LE))
    )


def _bounds(variable, expanded):
    if isinstance(variable, Constant):
        value = np.asarray(variable.data)
        finite = value.size and np.isfinite(value).all()
        return Bounds(float(value.min()), float(value.max()), True, True) if finite else _ANY
    sources = entry_sources(variable, expanded)
    if sources is not None:
        return _union([_bounds(one, expanded) for one in sources])
    node = variable.owner
    return _of_elements(node, expanded) if node is not None and isinstance(node.op, Elemwise) else _ANY


def _union(parts):
    low, high = min(one.low for one in parts), max(one.high for one in parts)
    low_attained = any(one.low == low and one.low_attained for one in parts)
    return Bounds(low, high, low_attained, any(one.high == high and one.high_attained for one in parts))


def _of_elements(node, expanded):
    parts = [_bounds(one, expanded) for one in node.inputs]
    scalar = node.op.scalar_op
    if isinstance(scalar, basic.Cast | basic.Identity) and not node.outputs[0].type.dtype.startswith("float"):
        return _ANY
    rule = next((rule for operations, rule in _RULES.items() if isinstance(scalar, operations)), None)
    return _ANY if rule is None else rule(*parts)


def _is_positive(one):
    return one.low > 0.0 or (one.low == 0.0 and not one.low_attained)


def _reciprocal(one):
    if not _is_positive(one):
        return _ANY
    low = 0.0 if one.high == math.inf else 1.0 / one.high
    return Bounds(low, math.inf if one.low == 0.0 else 1.0 / one.low, one.high_attained, one.low_attained)


def _product(one, other):
    """Bounds of a product: its extremes are products of ends, and zero times infinity is zero."""
    corners = [
        Bounds(value := 0.0 if x == 0.0 or y == 0.0 else x * y, value, attained, attained)
        for x, x_attained in ((one.low, one.low_attained), (one.high, one.high_attained))
        for y, y_attained in ((other.low, other.low_attained), (other.high, other.high_attained))
        for attained in [(x_attained and y_attained) or (x == 0.0 and x_attained) or (y == 0.0 and y_attained)]
    ]
    return _union(corners)


def _sum(*parts):
    low, high = sum(one.low for one in parts), sum(one.high for one in parts)
    return Bounds(low, high, all(one.low_attained for one in parts), all(one.high_attained for one in parts))


def _negative(one):
    return Bounds(-one.high, -one.low, one.high_attained, one.low_attained)


# Bounds of an elementwise function, given those of its arguments.
_RULES = {
    basic.Exp | scalar_math.Softplus: lambda one: _POSITIVE,
    scalar_math.Sigmoid: lambda one: Bounds(0.0, 1.0),
    basic.Abs | basic.Sqr: lambda one: _POSITIVE._replace(low_attained=not _is_positive(one)),
    basic.Sign: lambda one: Bounds(1.0, 1.0, True, True) if _is_positive(one) else _ANY,
    basic.Sqrt | basic.Pow: lambda one, *others: _POSITIVE if _is_positive(one) else _ANY,
    basic.Cast | basic.Identity: lambda one: one,
    basic.Switch: lambda condition, *parts: _union(parts),
    basic.Neg: _negative,
    basic.Add: _sum,
    basic.Sub: lambda one, other: _sum(one, _negative(other)),
    basic.Mul: lambda *parts: functools.reduce(_product, parts),
    basic.TrueDiv: lambda one, other: _product(one, _reciprocal(other)),
    basic.Reciprocal: _reciprocal,
}
