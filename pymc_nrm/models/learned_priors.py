"""Variables whose conditional law given the partition is known: found in the graph of a model."""

import math
from typing import Any, NamedTuple

import numpy as np
from pymc.distributions import transforms
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import graph_inputs
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar import Add, Mul, TrueDiv
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.random.basic import ExponentialRV, GammaRV, LogNormalRV, NormalRV
from pytensor.tensor.random.type import RandomType

from pymc_nrm.common.supports import WholeNumber
from pymc_nrm.families.learned_draws import log_marginals_of_feature
from pymc_nrm.families.normal_gamma import NormalGamma
from pymc_nrm.families.normal_wishart import NormalWishart
from pymc_nrm.families.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.families.scatter import RandomCovariance
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.measures.generalized_gamma_measures import DirichletProcess
from pymc_nrm.models.mixture import MixtureRV
from pymc_nrm.models.rvs import depends_on, family_of, partitions_of
from pymc_nrm.models.values import computed_by, constant_value
from pymc_nrm.partitions.flat import Ordered


class LearnedWishart(NamedTuple):
    """A mixture and the free variables of its prior, whose density is as ``learned`` says for these constants."""

    mixture: Any
    # share, kappa, excess, squares of pivots and, with several features, what is below them.
    variables: Any
    # L / sqrt(d + 2), shape (d, d).
    scale: Any
    # Means and standard deviations of the logarithms of share, kappa and excess, shape (3, 2).
    laws: Any


class LearnedConcentrations(NamedTuple):
    """A mixture and the free variable that multiplies all hyperparameters of its family, feature by feature."""

    mixture: Any
    variables: Any
    # Means and standard deviations of the logarithms, shape (2, 1) or (2, d).
    laws: Any


class LearnedGammas(NamedTuple):
    """A mixture and the free variables of its prior, as ``NormalGamma.learned`` makes it with these constants."""

    mixture: Any
    # share, kappa and excess.
    variables: Any
    # A share of 1 gives clusters with these variances, shape (d,).
    variances: Any
    # Means and standard deviations of the logarithms of shares, kappa and excess, shape (2, d + 2).
    laws: Any


class LearnedProcess(NamedTuple):
    """A partition and the free variable that is the concentration of its Dirichlet process, with a gamma law."""

    partition: Any
    variables: Any
    shape: float
    rate: float


def learned_priors(model):
    """The mixtures of a model whose prior is what ``learned`` makes, and the partitions whose concentration has a gamma
    law, as long as nothing else depends on their variables.
    """
    mixtures = [rv for rv in model.basic_RVs if computed_by(rv, MixtureRV)]
    finders = (_learned_wishart, _learned_gammas, _learned_concentrations)
    found = [find(model, rv, family_of(rv)) for rv in mixtures for find in finders]
    found += [_learned_process(model, rv) for rv, kind in partitions_of(model).items() if isinstance(kind, Ordered)]
    return [one for one in found if one is not None]


def _learned_process(model, partition):
    """The prior of a partition, or None if it is no Dirichlet process whose concentration has a gamma law."""
    measure = partition.owner.op.priors(partition.owner.op.prior_inputs(partition.owner))[0]
    if not isinstance(measure, DirichletProcess) or not _are_free_logs(model, measure):
        return None
    [alpha], exponential = measure, _constants(measure.alpha, ExponentialRV)
    # An exponential law is a gamma law of shape 1.
    law = _constants(alpha, GammaRV) if exponential is None else [1.0, *exponential]
    if law is None or _are_used_elsewhere(model, partition, [alpha], [alpha]):
        return None
    return LearnedProcess(partition, [alpha], float(law[0]), 1.0 / float(law[1]))


def _learned_concentrations(model, mixture, family):
    """The prior of a mixture, or None if its hyperparameters are not constant multiples of a log-normal variable."""
    if lacking(type(family), [log_marginals_of_feature]):
        return None
    specs = zip(family, family.hyperparameters.values(), strict=True)
    fields = [field for field, spec in specs if not isinstance(spec.support, WholeNumber)]
    variable, *others = [_multiplied(field) for field in fields]
    # None if the shape of the data may change.
    n_features = fields[0].type.shape[0]
    is_shared = variable.type.shape == (1,) != (n_features,)
    if not _are_free_logs(model, [variable]) or variable.ndim != 1 or is_shared or {*others} - {variable}:
        return None
    law = _constants(variable, LogNormalRV)
    if law is None or _are_used_elsewhere(model, mixture, fields, [variable]):
        return None
    laws = np.stack(np.broadcast_arrays(*map(np.atleast_1d, law))).astype("float64")
    return LearnedConcentrations(mixture, [variable], laws)


def _multiplied(field):
    """The variable that is multiplied or divided by constants, row by row, to give a hyperparameter."""
    while field.owner is not None:
        op, inputs = field.owner.op, field.owner.inputs
        if isinstance(op, DimShuffle) and op.new_order[:1] == (0,) and set(op.new_order[1:]) <= {"x"}:
            [field] = inputs
        elif isinstance(op, Alloc | CheckAndRaise) and inputs[0].ndim == field.ndim:
            field = inputs[0]
        elif isinstance(op, Elemwise) and isinstance(op.scalar_op, Mul | TrueDiv):
            rest = [one for one in inputs if not all(isinstance(origin, Constant) for origin in graph_inputs([one]))]
            if len(rest) != 1 or (isinstance(op.scalar_op, TrueDiv) and rest[0] is not inputs[0]):
                return field
            [field] = rest
        else:
            return field
    return field


def _learned_wishart(model, mixture, family):
    """The prior of a mixture, or None if it differs in anything from what ``NormalWishart.learned`` makes."""
    if not isinstance(family, NormalWishart | PrincipalNormalWishart):
        return None
    kappa, factors, terms = family.kappa, _parts(family.Psi, Mul), _parts(family.nu, Add)
    shapes = [one for one in factors if computed_by(one, RandomCovariance)]
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
    if not _are_free_logs(model, positive) or len(set(variables)) != len(variables):
        return None
    rest = [model.rvs_to_transforms[one] for one in variables[4:]]
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
        rest not in ([], [None])
        or not has_usual_laws
        or _are_used_elsewhere(model, mixture, (family.kappa, family.Psi, family.nu), variables)
    ):
        return None
    return LearnedWishart(mixture, variables, scale.data, np.array(laws, dtype=np.float64))


def _learned_gammas(model, mixture, family):
    """The prior of a mixture, or None if it differs in anything from what ``NormalGamma.learned`` makes."""
    if not isinstance(family, NormalGamma):
        return None
    [kappa, *others], terms, factors = _parts(family.kappa, Mul), _parts(family.alpha, Add), _parts(family.beta, Mul)
    scales = [one for one in factors if isinstance(one, Constant)]
    offsets, excesses = ([one for one in terms if isinstance(one, Constant) is known] for known in (True, False))
    shares = [one for one in factors if one not in (*scales, *excesses)]
    variables, d = [*shares, kappa, *excesses], family.mu.type.shape[0]
    if others or len(factors) != len(scales) + 2 or len({*variables}) != 3 or d is None:
        return None
    laws = [_constants(one, LogNormalRV) for one in variables]
    if (
        not _are_free_logs(model, variables)
        or None in laws
        or [one.ndim for one in variables] != [1, 0, 0]
        or shares[0].type.shape == (1,) != (d,)
        or len(offsets) != 1
        or not (offsets[0].data == 1.0).all()
        or not all((one.data > 0.0).all() for one in scales)
        or _are_used_elsewhere(model, mixture, (family.kappa, family.alpha, family.beta), variables)
    ):
        return None
    laws = [np.broadcast_to(one, n) for law, n in zip(laws, (d, 1, 1), strict=True) for one in law]
    laws = np.array([np.concatenate(laws[0::2]), np.concatenate(laws[1::2])], dtype="float64")
    variances = np.broadcast_to(math.prod(one.data for one in scales), d)
    return LearnedGammas(mixture, variables, np.array(variances, dtype="float64"), laws)


def _are_free_logs(model, variables):
    """Whether all are free variables whose values are their logarithms."""
    free, used = model.free_RVs, model.rvs_to_transforms
    return all(one in free and isinstance(used[one], transforms.LogTransform) for one in variables)


def _parts(variable, scalar_op):
    """Factors of a product or terms of a sum, of any number of operands."""
    while computed_by(variable, CheckAndRaise | DimShuffle | Alloc):
        if computed_by(variable, Alloc) and variable.owner.inputs[0].ndim > 0:
            break
        variable = variable.owner.inputs[0]
    if computed_by(variable, Elemwise) and isinstance(variable.owner.op.scalar_op, scalar_op):
        return [part for operand in variable.owner.inputs for part in _parts(operand, scalar_op)]
    return [variable]


def _constants(variable, op_class):
    """Parameters of a random variable of a class, or None if they are not constants, or it is of another class."""
    if not computed_by(variable, op_class):
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


def _are_used_elsewhere(model, owner, fields, variables):
    """Whether anything but these hyperparameters of a mixture or a partition depends on one of the variables."""
    others = [one for one in owner.owner.inputs if not any(one is field for field in fields)]
    for variable in (*model.basic_RVs, *model.potentials):
        parents = others if variable is owner else [variable] if variable in model.potentials else variable.owner.inputs
        if variable not in variables and any(depends_on(parents, one, model) for one in variables):
            return True
    return False
