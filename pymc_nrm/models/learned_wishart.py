"""The variables that ``NormalWishart.learned`` makes, found in the graph of a model."""

from typing import Any, NamedTuple

import numpy as np
from pymc.distributions import transforms
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import graph_inputs
from pytensor.scalar import Add, Mul
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.random.basic import GammaRV, LogNormalRV, NormalRV
from pytensor.tensor.random.type import RandomType

from pymc_nrm.families.normal_wishart import NormalWishart
from pymc_nrm.families.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.families.scatter import RandomCovariance
from pymc_nrm.models.mixture import MixtureRV
from pymc_nrm.models.rvs import depends_on, family_of
from pymc_nrm.models.values import constant_value


class LearnedWishart(NamedTuple):
    """A mixture and the free variables of its prior, whose density is as ``learned`` says for these constants."""

    mixture: Any
    # share, kappa, excess, squares of pivots and, with several features, what is below them.
    variables: Any
    # L / sqrt(d + 2), shape (d, d).
    scale: Any
    # Means and standard deviations of the logarithms of share, kappa and excess, shape (3, 2).
    laws: Any


def learned_wisharts(model):
    """The mixtures of a model whose prior is what ``learned`` makes, and whose variables nothing else depends on."""
    found = [_learned_wishart(model, rv) for rv in model.basic_RVs if _is(rv, MixtureRV)]
    return [one for one in found if one is not None]


def _learned_wishart(model, mixture):
    """The prior of a mixture, or None if it differs in anything from what ``learned`` makes."""
    family = family_of(mixture)
    if not isinstance(family, NormalWishart | PrincipalNormalWishart):
        return None
    kappa, factors, terms = family.kappa, _parts(family.Psi, Mul), _parts(family.nu, Add)
    shapes = [one for one in factors if _is(one, RandomCovariance)]
    excesses = [one for one in terms if one in factors]
    if len(factors) != 3 or len(terms) != 2 or len(shapes) != 1 or len(excesses) != 1:
        return None
    [shape], [excess] = shapes, excesses
    [share] = [one for one in factors if one not in (shape, excess)] or [None]
    scale, squares, below = shape.owner.inputs
    if not isinstance(scale, Constant):
        return None
    d, positive = len(scale.data), [share, kappa, excess, squares]
    variables = [*positive, below] if below in model.free_RVs else positive
    if not all(one in model.free_RVs for one in variables) or len(set(variables)) != len(variables):
        return None
    used = [model.rvs_to_transforms[one] for one in variables]
    are_logs, rest = all(isinstance(one, transforms.LogTransform) for one in used[:4]), used[4:]
    [offset] = [one for one in terms if one is not excess]
    laws = [_constants(one, LogNormalRV) for one in positive[:3]]
    halves = 0.5 * (d + 2.0 - np.arange(d))
    has_usual_laws = (
        all(law is not None and len(law) == 2 for law in laws)
        and isinstance(offset, Constant)
        and offset.data == d + 1.0
        and _are(_constants(squares, GammaRV), halves, 2.0)
        and (below.type.shape == (0,) if d == 1 else _are(_constants(below, NormalRV), 0.0, 1.0))
    )
    if (
        not are_logs
        or rest not in ([], [None])
        or not has_usual_laws
        or _are_used_elsewhere(model, mixture, family, variables)
    ):
        return None
    return LearnedWishart(mixture, variables, scale.data, np.array(laws, dtype=np.float64))


def _is(variable, op_class):
    return variable.owner is not None and isinstance(variable.owner.op, op_class)


def _parts(variable, scalar_op):
    """Factors of a product or terms of a sum, of any number of operands."""
    while _is(variable, DimShuffle):
        [variable] = variable.owner.inputs
    if _is(variable, Elemwise) and isinstance(variable.owner.op.scalar_op, scalar_op):
        return [part for operand in variable.owner.inputs for part in _parts(operand, scalar_op)]
    return [variable]


def _constants(variable, op_class):
    """Parameters of a random variable of a class, or None if they are not constants, or it is of another class."""
    if not _is(variable, op_class):
        return None
    parameters = variable.owner.op.dist_params(variable.owner)
    inputs = graph_inputs(parameters)
    if not all(isinstance(one, Constant) and not isinstance(one.type, RandomType) for one in inputs):
        return None
    return [constant_value(one) for one in parameters]


def _are(parameters, *expected):
    """Whether parameters have these values, for all entries."""
    pairs = None if parameters is None else zip(parameters, expected, strict=True)
    return pairs is not None and all(np.array_equal(*np.broadcast_arrays(one, value)) for one, value in pairs)


def _are_used_elsewhere(model, mixture, family, variables):
    """Whether anything but kappa, Psi and nu of the mixture depends on one of the variables."""
    fields = (family.kappa, family.Psi, family.nu)
    others = [one for one in mixture.owner.inputs if not any(one is field for field in fields)]
    for variable in (*model.basic_RVs, *model.potentials):
        parents = (
            others if variable is mixture else [variable] if variable in model.potentials else variable.owner.inputs
        )
        if variable not in variables and any(depends_on(parents, one, model) for one in variables):
            return True
    return False
