"""Hyperparameters in unconstrained coordinates, as numbers and as tensors."""

import dataclasses
from typing import Any

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.common.hyperparameters import plain_values
from pymc_nrm.common.supports import Support


@dataclasses.dataclass(frozen=True, eq=False)
class Coordinates:
    """One hyperparameter as a function of a vector of logarithms, log odds, or entries of a Cholesky factor.

    The diagonal of the Cholesky factor is logarithmic.  Zeros of non-negative values stay zero.
    """

    support: Support
    # Coordinates of the given value; shape (k,).
    start: Any
    # Position in the vector of each entry of the value; any position for entries that stay zero.
    index: Any
    # Entries that do not stay zero.
    changes: Any
    n_features: int

    def __call__(self, x, module=np, parameters=None):
        """Value at a vector of coordinates; ``module`` is ``pt`` for symbolic ones.

        ``parameters`` is the measure or family with the values of the hyperparameters before this one, on which its
        support may depend.
        """
        if self.start.size == 0:
            return np.zeros(self.index.shape)
        entries = x[self.index.ravel()].reshape(self.index.shape)
        support = self.support if parameters is None else self.support.given(parameters)
        return support.from_line(module, entries, self.changes, self.n_features)

    @property
    def is_log_scale(self):
        """Which coordinates are logarithms or log odds, shape (k,)."""
        return self.support.is_log_scale(self.index.shape)[self.changes]


def coordinates(value, support, n_features):
    """Coordinates of a hyperparameter."""
    entries, changes = support.to_line(np.asarray(value, dtype="float64"), n_features)
    index = np.zeros(changes.shape, dtype="int64")
    index[changes] = np.arange(changes.sum())
    return Coordinates(support, entries[changes], index, changes, n_features)


class Block:
    """Some hyperparameters of a measure or a family as one vector."""

    def __init__(self, parameters, names, n_features, argument="names"):
        if not isinstance(names, list | tuple | None):
            raise TypeError(f"{argument} must be a list of names of hyperparameters; got {names!r}")
        defaults = type(parameters)._field_defaults
        # Totals of items and numbers of levels default to None and are part of the data.
        variable = [name for name in parameters._fields if not (name in defaults and defaults[name] is None)]
        names = variable if names is None else list(names)
        for name in names:
            if name not in variable:
                raise ValueError(
                    f"{argument} must be hyperparameters of {type(parameters).__name__} that vary, {variable}; "
                    f"got {name!r}"
                )
        self.parameters = parameters = plain_values(parameters)
        # In the order of the fields, since the support of one may depend on those before it.
        names = [name for name in parameters._fields if name in names]
        supports = {name: parameters.hyperparameters[name].support.given(parameters) for name in names}
        self.coordinates = {name: coordinates(getattr(parameters, name), supports[name], n_features) for name in names}
        parts = [c.start for c in self.coordinates.values()]
        self.ends = np.cumsum([len(part) for part in parts], dtype="int64")
        self.start = np.concatenate([np.zeros(0), *parts])
        self.is_log_scale = np.concatenate([np.zeros(0, bool), *[c.is_log_scale for c in self.coordinates.values()]])

    def at(self, x, module=np):
        """The measure or family at a vector; ``module`` is ``pt`` for a symbolic one."""
        values, first = {}, 0
        for (name, c), end in zip(self.coordinates.items(), self.ends, strict=True):
            value = c(x[first:end], module, self.parameters._replace(**values))
            # Kernels and checks need scalars as floats.
            values[name] = float(value) if module is np and np.ndim(value) == 0 else value
            first = end
        return self.parameters._replace(**values)

    def symbolic(self):
        """A symbolic vector, and the measure or family as a function of it."""
        x = pt.vector("x", dtype="float64")
        return x, self.at(x, pt)
