"""The log-probability of a model term by term, as a function of points, without compilation."""

from weakref import WeakKeyDictionary

import numpy as np
from pymc.pytensorf import compile as compile_function
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

from pymc_nrm.common.pymc_internals import ParameterValueError
from pymc_nrm.kernels.argument_types import known_to_numba
from pymc_nrm.kernels.generic import kernels_in_python
from pymc_nrm.models.itemwise.graphs import expanded
from pymc_nrm.models.marginal_likelihood import without_marginal_likelihood
from pymc_nrm.models.model_graphs import log_probabilities
from pymc_nrm.models.rvs import family_of, is_mixture

# Functions of models, with the terms that they compute: models may grow.
_functions = WeakKeyDictionary()


class LogDensity:
    """Log-probabilities of all variables and potentials of a model at points, on the scale of value variables.

    Operations run in Python, and data of mixtures have the symbolic log-likelihood of their family.
    """

    def __init__(self, model):
        terms = [*model.basic_RVs, *model.potentials]
        self.names = [term.name for term in terms]
        with without_marginal_likelihood():
            graphs = expanded([graph.sum() for graph in log_probabilities(model, terms)])
        self._inputs = [value.name for value in model.value_vars]
        # Whether anything is computed in single precision.
        self.is_single = any(variable.type.dtype == "float32" for variable in (*model.value_vars, *graphs))
        self._function = compile_function(list(model.value_vars), graphs, mode=_INTERPRETED, on_unused_input="ignore")
        self._function.trust_input = True

    def __call__(self, point):
        """Log-probability of each term, in the order of ``names``.

        All are -inf where parameters are not allowed, and NaN where functions in Python raise errors for values at
        which machine code has NaN.
        """
        arguments = [np.asarray(point[name]) for name in self._inputs]
        try:
            with np.errstate(all="ignore"), kernels_in_python():
                values = self._function(*arguments)
        except (ParameterValueError, np.linalg.LinAlgError):
            return np.full(len(self.names), -np.inf)
        except (ArithmeticError, ValueError):
            return np.full(len(self.names), np.nan)
        return np.array([float(value) for value in values])

    def places(self, names):
        """Positions of terms."""
        return [self.names.index(name) for name in names]


_INTERPRETED = Mode(linker="py", optimizer=RewriteDatabaseQuery(include=["minimum_compile"]))


def log_density_of(model):
    """The log density of a model, made once for its steps, and again where the class of a family was edited."""
    terms = [*model.basic_RVs, *model.potentials, *model.value_vars]
    terms += [known_to_numba(type(family_of(rv))) for rv in model.basic_RVs if is_mixture(rv)]
    entry = _functions.get(model)
    if entry is None or entry[0] != terms:
        entry = _functions[model] = terms, LogDensity(model)
    return entry[1]
