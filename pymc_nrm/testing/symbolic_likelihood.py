"""The symbolic log-likelihood of a family as a function of numbers, and a check of its gradients."""

import numpy as np
import pytensor
import pytensor.sparse as ps
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from scipy import sparse

from pymc_nrm.common.supports import WholeNumber
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import log_likelihood
from pymc_nrm.testing.figures import CheckError, slope


class SymbolicLikelihood:
    """Log-likelihood and gradients of a :class:`~pymc_nrm.testing.family_checks.FamilyCase`.

    Gradients are with respect to hyperparameters, except whole numbers, and to continuous data.
    """

    def __init__(self, case):
        self._owner = case.owner
        self._values, variables, fields = {}, {}, {}
        for name, value in case.family._asdict().items():
            fields[name] = value
            if value is not None and not isinstance(case.family.hyperparameters[name].support, WholeNumber):
                self._values[name] = np.asarray(value, dtype="float64")
                variables[name] = fields[name] = pt.tensor(name, shape=np.shape(value), dtype="float64")
        labels = pt.lvector("labels")
        if sparse.issparse(case.X):
            X = ps.as_sparse_variable(sparse.csr_matrix(case.X))
        elif case.family.continuous:
            X = variables["X"] = pt.dmatrix("X")
            self._values["X"] = np.asarray(case.X, dtype="float64")
        else:
            X = pt.as_tensor(case.X)
        family = broadcast_hyperparameters(type(case.family)(**fields), *case.X.shape)
        logp = log_likelihood(family, X, labels)
        gradients = pt.grad(logp, list(variables.values()))
        # Interpreted: the values are those of any backend, and nothing is compiled.
        mode = Mode(linker="py", optimizer="fast_run").excluding("fusion")
        inputs = [labels, *variables.values()]
        self._function = pytensor.function(inputs, [logp, *gradients], mode=mode, on_unused_input="ignore")
        self._specifications = case.family.hyperparameters

    def value(self, labels):
        """Log-likelihood of the data."""
        return float(self._function(labels, *self._values.values())[0])

    def check_gradients(self, labels, rng):
        """Compare gradients with differences along random directions."""
        value, *gradients = self._function(labels, *self._values.values())
        for (name, at), gradient in zip(self._values.items(), gradients, strict=True):
            title = f"log_likelihood of {self._owner.__name__} is wrong: its gradient in {name}"
            if not np.isfinite(gradient).all():
                raise CheckError(f"{title} is not finite: {gradient}")
            direction = self._direction(name, at, rng)

            def along(step, name=name, at=at, direction=direction):
                return self._function(labels, *(self._values | {name: at + step * direction}).values())[0]

            expected = slope(along, 1e-4)
            given = float(np.sum(gradient * direction))
            if not np.isclose(given, expected, rtol=1e-5, atol=1e-6 * (1.0 + abs(float(value)))):
                raise CheckError(f"{title} along {direction.tolist()} is {given}, the slope {expected}")

    def _direction(self, name, at, rng):
        """A random direction that stays within the support: it keeps zeros, missing values and symmetry."""
        direction = rng.normal(size=at.shape)
        if name in self._specifications and self._specifications[name].support.name == "real":
            direction = direction * np.maximum(np.abs(at), 1.0)
        else:
            direction = np.where(np.isnan(at), 0.0, direction * np.abs(at))
        return 0.5 * (direction + direction.T) if self._is_square(name) else direction

    def _is_square(self, name):
        core = self._specifications[name].core if name in self._specifications else ()
        return len(set(core)) < len(core)
