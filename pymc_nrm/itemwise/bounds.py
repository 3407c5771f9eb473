"""Conditions on parameters that hold at every point: bounds of expressions from their operations."""

import functools
import math
from typing import NamedTuple

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.scalar import basic
from pytensor.scalar import math as scalar_math
from pytensor.tensor.basic import Alloc, Join, MakeVector, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.reshape import JoinDims, SplitDims
from pytensor.tensor.shape import Reshape, SpecifyShape
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

__all__ = ["always_holds"]

# Operations whose result has entries of the first input only.
_PICKING = (Alloc, DimShuffle, Reshape, JoinDims, SplitDims, SpecifyShape, Subtensor, AdvancedSubtensor)
_PICKING = (*_PICKING, ScalarFromTensor, TensorFromScalar)


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
    if isinstance(node.op, _PICKING):
        return always_holds(node.inputs[0], expanded)
    if not isinstance(node.op, Elemwise):
        return False
    scalar = node.op.scalar_op
    if isinstance(scalar, basic.AND):
        return all(always_holds(one, expanded) for one in node.inputs)
    if isinstance(scalar, basic.GT | basic.GE):
        larger, smaller = (_bounds(one, expanded) for one in node.inputs)
    elif isinstance(scalar, basic.LT | basic.LE):
        smaller, larger = (_bounds(one, expanded) for one in node.inputs)
    else:
        return False
    apart = not (smaller.high_attained and larger.low_attained)
    return smaller.high < larger.low or (
        smaller.high == larger.low and (apart or isinstance(scalar, basic.GE | basic.LE))
    )


def _bounds(variable, expanded):
    node = variable.owner
    if isinstance(variable, Constant):
        value = np.asarray(variable.data)
        if value.size and np.isfinite(value).all():
            return Bounds(float(value.min()), float(value.max()), True, True)
        return _ANY
    if node is None:
        return _ANY
    graph = expanded(variable)
    if graph is not None:
        return _bounds(graph, expanded)
    if isinstance(node.op, _PICKING):
        return _bounds(node.inputs[0], expanded)
    if isinstance(node.op, MakeVector | Join):
        return _union([_bounds(one, expanded) for one in node.inputs[isinstance(node.op, Join) :]])
    return _of_elements(node, expanded) if isinstance(node.op, Elemwise) else _ANY


def _union(parts):
    low, high = min(one.low for one in parts), max(one.high for one in parts)
    return Bounds(
        low,
        high,
        any(one.low == low and one.low_attained for one in parts),
        any(one.high == high and one.high_attained for one in parts),
    )


def _of_elements(node, expanded):
    scalar = node.op.scalar_op
    if isinstance(scalar, basic.Exp | scalar_math.Softplus):
        return _POSITIVE
    if isinstance(scalar, scalar_math.Sigmoid):
        return Bounds(0.0, 1.0)
    parts = [_bounds(one, expanded) for one in node.inputs]
    if isinstance(scalar, basic.Abs | basic.Sqr):
        return _POSITIVE._replace(low_attained=not _is_positive(parts[0]))
    if isinstance(scalar, basic.Sign) and _is_positive(parts[0]):
        return Bounds(1.0, 1.0, True, True)
    if isinstance(scalar, basic.Cast | basic.Identity):
        return parts[0] if node.outputs[0].type.dtype.startswith("float") else _ANY
    if isinstance(scalar, basic.Second):
        return parts[1]
    if isinstance(scalar, basic.Switch):
        return _union(parts[1:])
    if isinstance(scalar, basic.Neg):
        [one] = parts
        return Bounds(-one.high, -one.low, one.high_attained, one.low_attained)
    if isinstance(scalar, basic.Add):
        return Bounds(
            sum(one.low for one in parts),
            sum(one.high for one in parts),
            all(one.low_attained for one in parts),
            all(one.high_attained for one in parts),
        )
    if isinstance(scalar, basic.Sub):
        one, other = parts
        return Bounds(
            one.low - other.high,
            one.high - other.low,
            one.low_attained and other.high_attained,
            one.high_attained and other.low_attained,
        )
    if isinstance(scalar, basic.Mul):
        return functools.reduce(_product, parts)
    if isinstance(scalar, basic.TrueDiv):
        return _product(parts[0], _reciprocal(parts[1]))
    if isinstance(scalar, basic.Reciprocal):
        return _reciprocal(parts[0])
    if isinstance(scalar, basic.Sqrt | basic.Pow) and _is_positive(parts[0]):
        return _POSITIVE
    return _ANY


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
