"""Hyperparameters in coordinates without bounds, in numbers and symbolically."""

import dataclasses
from typing import Any

import numpy as np
import pytensor.tensor as pt

# How to come from coordinates to values of each support; the last argument is the least value for "greater than d - 1".
_FORWARD = {
    "real": lambda module, x, least: x,
    "positive": lambda module, x, least: module.exp(x),
    "non-negative": lambda module, x, least: module.exp(x),
    "unit interval": lambda module, x, least: 1.0 / (1.0 + module.exp(-x)),
    "greater than d - 1": lambda module, x, least: least + module.exp(x),
}
_BACKWARD = {
    "real": lambda x, least: x,
    "positive": lambda x, least: np.log(x),
    "non-negative": lambda x, least: np.log(x),
    "unit interval": lambda x, least: np.log(x) - np.log1p(-x),
    "greater than d - 1": lambda x, least: np.log(x - least),
}


@dataclasses.dataclass(frozen=True, eq=False)
class Coordinates:
    """One hyperparameter as a function of a vector: logarithms, log odds, or a Cholesky factor with log diagonal.

    Zeros of non-negative values stay zero.

    Parameters
    ----------
    support : str
        As in ``Hyperparameter.support``.
    start : ndarray, shape (k,)
        Coordinates of the given value.
    index : ndarray of int
        Position in the vector for each entry of the value, any position for entries that stay zero.
    changes : ndarray of bool
        Entries that do not stay zero.
    least : float
        Number of features minus one.
    """

    support: str
    start: Any
    index: Any
    changes: Any
    least: float

    def __call__(self, x, module=np):
        """Value at a vector of coordinates, with ``module=pt`` for symbolic ones."""
        if self.start.size == 0:
            return np.zeros(self.index.shape)
        entries = x[self.index.ravel()].reshape(self.index.shape)
        if self.support == "positive definite":
            # One entry of the vector may be an argument of exp without use, so that all are kept finite.
            eye = np.eye(len(self.index))
            factor = module.exp(entries * eye) * eye + entries * (self.changes & (eye == 0.0))
            return factor @ factor.T
        return _FORWARD[self.support](module, entries, self.least) * self.changes

    @property
    def is_log_scale(self):
        """Which coordinates are logarithms or log odds, shape (k,)."""
        if self.support == "positive definite":
            return np.isin(np.arange(len(self.start)), np.diag(self.index))
        return np.full(len(self.start), self.support != "real")


def coordinates(value, support, n_features):
    """Coordinates of a hyperparameter.

    Parameters
    ----------
    value : array_like
        Within its support.
    support : str
    n_features : int

    Returns
    -------
    Coordinates

    Examples
    --------
    >>> import numpy as np
    >>> beta = coordinates([1.0, 0.0, 2.0], "non-negative", 3)
    >>> beta.start.round(3).tolist(), beta(beta.start).tolist()
    ([0.0, 0.693], [1.0, 0.0, 2.0])
    >>> Psi = coordinates([[2.0, 1.0], [1.0, 3.0]], "positive definite", 2)
    >>> Psi(Psi.start).round(12).tolist()
    [[2.0, 1.0], [1.0, 3.0]]
    """
    value = np.asarray(value, dtype="float64")
    least = n_features - 1.0
    if support == "positive definite" and value.ndim == 2:
        changes = np.tri(len(value), dtype=bool)
        factor = np.linalg.cholesky(value)
        entries = factor - np.diag(np.diag(factor)) + np.diag(np.log(np.diag(factor)))
    else:
        support = "positive" if support == "positive definite" else support
        changes = np.ones(value.shape, dtype=bool) if support in ("real", "greater than d - 1") else value > 0.0
        entries = _BACKWARD[support](np.where(changes, value, 0.5), least)
    index = np.zeros(value.shape, dtype="int64")
    index[changes] = np.arange(changes.sum())
    return Coordinates(support, entries[changes], index, changes, least)


class Block:
    """Some hyperparameters of a measure or a family as one vector.

    Parameters
    ----------
    parameters : Measure or Family
        Numbers and arrays.
    names : sequence of str, optional
        Those that vary; by default all but those that are left to the data unless they are given.
    n_features : int

    Raises
    ------
    ValueError
        If a name is not one of a hyperparameter that can vary.
    """

    def __init__(self, parameters, names, n_features):
        defaults = type(parameters)._field_defaults
        # Totals of items and numbers of levels, which default to None, are part of the data.
        variable = [name for name in parameters._fields if not (name in defaults and defaults[name] is None)]
        names = variable if names is None else list(names)
        for name in names:
            if name not in variable:
                raise ValueError(
                    f"{name!r} is no hyperparameter of {type(parameters).__name__} to vary, {variable} are"
                )
        self.parameters = parameters
        supports = {name: parameters.hyperparameters[name].support for name in names}
        self.coordinates = {name: coordinates(getattr(parameters, name), supports[name], n_features) for name in names}
        parts = [c.start for c in self.coordinates.values()]
        self.ends = np.cumsum([len(part) for part in parts], dtype="int64")
        self.start = np.concatenate([np.zeros(0), *parts])
        self.is_log_scale = np.concatenate([np.zeros(0, bool), *[c.is_log_scale for c in self.coordinates.values()]])

    def at(self, x, module=np):
        """The measure or family at a vector, with ``module=pt`` for a symbolic one."""
        values, first = {}, 0
        for (name, c), end in zip(self.coordinates.items(), self.ends, strict=True):
            value = c(x[first:end], module)
            # Kernels and checks want floats for scalars.
            values[name] = float(value) if module is np and np.ndim(value) == 0 else value
            first = end
        return self.parameters._replace(**values)

    def symbolic(self):
        """A vector and the measure or family as a function of it."""
        x = pt.vector("x", dtype="float64")
        return x, self.at(x, pt)
