"""Constant data in the form that kernels read, prepared once for all steps, chains and likelihoods of a model.

The key of prepared data has all that a preparation may read, by content: the class of the family and its implementation
of ``prepare_data``, a digest of the data and of the hyperparameters that are constant, and the shapes of those that are
sampled.  Data or hyperparameters that changed in place therefore have another key.  Preparation gets copies, so that
nobody else holds the arrays that it returns; kernels never write to them.
"""

import hashlib
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import scipy
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant

from pymc_nrm.common.checks import known_value
from pymc_nrm.common.pymc_internals import ValuedRV
from pymc_nrm.families.base import prepare_data
from pymc_nrm.models.values import computed_by, kernel_values, sparse_origin, without_casts


class _Held:
    """Prepared data, alive as long as one of the constants that they were made for."""

    def __init__(self, data):
        self.data = data


_PREPARED, _OF_CONSTANTS = WeakValueDictionary(), WeakKeyDictionary()


def prepared_data(family, X, fixed, value):
    """Return data X (n, d) as ``prepare_data`` does; the same arrays for the same constant data.

    ``fixed`` says of each hyperparameter whether it is constant, True, or sampled, False, or else None, as
    :func:`fixed_fields` does; ``value`` is the graph of the data.
    """
    constant = without_casts(sparse_origin(value))
    if not isinstance(constant, Constant) or (key := _key(family, X, fixed)) is None:
        return prepare_data(family, X)
    held = _PREPARED.get(key)
    if held is None:
        pairs = zip(family._fields, family, fixed, strict=True)
        family = family._replace(**{name: _number(field) for name, field, is_fixed in pairs if is_fixed})
        X = X.copy() if scipy.sparse.issparse(X) else np.array(X, order="C")
        # Another thread may have been faster.
        held = _PREPARED.setdefault(key, _Held(prepare_data(family, X)))
    _OF_CONSTANTS.setdefault(constant, {})[key] = held
    return held.data


def _number(field):
    """A copy of a constant hyperparameter, in the type that kernels read."""
    return kernel_values([np.asarray(known_value(field), dtype="float64")])[0]


def fixed_fields(family, values):
    """Whether each hyperparameter is constant, True, depends on sampled values, False, or on neither, None.

    ``values`` has the value of each random variable, if it does not stand beside it in the graph.
    """
    return [
        True if known_value(field) is not None else False if _is_sampled(field, values) else None for field in family
    ]


def _is_sampled(graph, values):
    waiting, seen = [graph], set()
    while waiting:
        variable = waiting.pop()
        if variable in seen:
            continue
        seen.add(variable)
        if computed_by(variable, ValuedRV):
            waiting.append(variable.owner.inputs[1])
        elif variable in values:
            waiting.append(values[variable])
        elif variable.owner is not None:
            waiting.extend(variable.owner.inputs)
        elif not isinstance(variable, Constant | SharedVariable):
            return True
    return False


def _key(family, X, fixed):
    """The key of prepared data; None if something that a preparation may read is neither constant nor sampled."""
    parts = [type(family), prepare_data.dispatch(type(family)), _digest(X)]
    for name, field, is_fixed in zip(family._fields, family, fixed, strict=True):
        if is_fixed:
            parts.append(_digest(_number(field)))
        elif is_fixed is None or "n" in family.hyperparameters[name].core:
            return None
        else:
            parts.append(tuple(field.type.shape) if hasattr(field, "type") else np.shape(field))
    is_complete = not any(part is None or (isinstance(part, tuple) and None in part) for part in parts)
    return tuple(parts) if is_complete else None


def _digest(values):
    """A digest of a number, an array or a sparse matrix with its type and shape; None for arrays of objects."""
    arrays = [np.asarray(values)]
    if scipy.sparse.issparse(values):
        if values.format not in ("csr", "csc"):
            return None
        arrays = [values.data, values.indices, values.indptr]
    if any(array.dtype.kind not in "biuf" for array in arrays):
        return None
    digest = hashlib.blake2b(repr((type(values), np.shape(values))).encode(), digest_size=32)
    for array in arrays:
        digest.update(repr((array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).reshape(-1))
    return digest.digest()
