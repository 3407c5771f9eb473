"""Variables whose full conditional given the partition is known: found in a model, proved from its graph.

Hyperparameters that ``learned`` makes are outputs of operations, which say in every copy of a model how they were
made.  What may differ around them is read from the graph: their arguments, the distributions of these, and what else
reads them.
"""

import functools
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pymc.distributions import transforms
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.random.basic import ExponentialRV, GammaRV, LogNormalRV, NormalRV
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.type_other import NoneTypeT

from pymc_nrm.common.checks import static_shape
from pymc_nrm.common.named_dims import distribution_of, variable_behind
from pymc_nrm.common.pymc_internals import is_transform_of_dims
from pymc_nrm.families.definitions.bernoulli_beta import BernoulliBeta
from pymc_nrm.families.definitions.categorical_dirichlet import CategoricalDirichlet
from pymc_nrm.families.definitions.normal_gamma import NormalGamma
from pymc_nrm.families.definitions.normal_wishart import NormalWishart
from pymc_nrm.families.definitions.poisson_gamma import PoissonGamma
from pymc_nrm.families.definitions.principal_normal_wishart import PrincipalNormalWishart
from pymc_nrm.families.derived.hurdle_log_normal import HurdleLogNormal
from pymc_nrm.families.derived.hurdle_poisson import HurdlePoisson
from pymc_nrm.families.derived.log_normal_gamma import LogNormalGamma
from pymc_nrm.families.derived.log_normal_wishart import LogNormalWishart
from pymc_nrm.families.derived.spherical_principal_normal_wishart import SphericalPrincipalNormalWishart
from pymc_nrm.families.learned.fields import learned_arguments
from pymc_nrm.measures.generalized_gamma_measures import DirichletProcess
from pymc_nrm.models.chunked_mixture import ChunkedMixtureRV
from pymc_nrm.models.mixture import MixtureRV
from pymc_nrm.models.model_graphs import at_values
from pymc_nrm.models.rvs import family_of, kind_of, partition_of, partitions_of
from pymc_nrm.models.values import computed_by, constant_value
from pymc_nrm.partitions.chunked import Chunked
from pymc_nrm.partitions.flat import Ordered


class LearnedWishart(NamedTuple):
    """A mixture and the free variables of its prior, whose density is as in ``learned`` with these constants."""

    mixture: Any
    # share, kappa, excess, squares of pivots and, with several features, the entries below the pivots.
    variables: Any
    # The family of the mixture, with hyperparameters for variables of 1 where these variables determine them.
    family: Any
    # L / sqrt(d + 2), shape (d, d).
    scale: Any
    # Means and standard deviations of the logarithms of share, kappa and excess, shape (3, 2).
    normals: Any


class LearnedConcentrations(NamedTuple):
    """A mixture and the free variable that multiplies all hyperparameters of its family, feature by feature."""

    mixture: Any
    variables: Any
    # As in LearnedWishart.
    family: Any
    # Means and standard deviations of the logarithms, shape (2, d).
    normals: Any
    # Part of a family of two parts, 0 or 1, whose hyperparameters these are; None for other families.
    part: Any = None


class LearnedGammas(NamedTuple):
    """A mixture and the free variables of its prior, as in ``NormalGamma.learned`` with these constants."""

    mixture: Any
    # share, kappa and excess.
    variables: Any
    # As in LearnedWishart.
    family: Any
    # A share of 1 gives clusters with these variances, shape (d,).
    variances: Any
    # Means and standard deviations of the logarithms of shares, kappa and excess, shape (2, d + 2).
    normals: Any
    # As in LearnedConcentrations.
    part: Any = None


class LearnedProcess(NamedTuple):
    """A partition and the free variable that is the concentration of its Dirichlet process, with a gamma prior."""

    partition: Any
    variables: Any
    shape: float
    rate: float


# Random variables that have a family and a partition, as methods of their operation; wings add theirs.
OF_FAMILIES = [MixtureRV, ChunkedMixtureRV]


def learned_priors(model):
    """Mixtures of a model whose hyperparameters ``learned_fields`` makes, and partitions whose concentrations have
    gamma distributions, provided that nothing else depends on their variables.
    """
    readers = _Readers(model)
    # After pm.do of its partition, labels of a mixture are data.
    mixtures = [rv for rv in model.basic_RVs if computed_by(rv, tuple(OF_FAMILIES)) and kind_of(partition_of(rv))]
    priors = [prior for rv in mixtures for prior in _learned_mixture(model, rv, readers)]
    priors += [learned_partition(kind, model, rv, readers) for rv, kind in partitions_of(model).items()]
    return [prior for prior in priors if prior is not None]


@functools.singledispatch
def learned_partition(kind, model, partition, readers):
    """Prior of a partition, or None; wings register what it is for their kinds."""
    return None


@learned_partition.register
def _learned_process(kind: Ordered | Chunked, model, partition, readers):
    """Prior of a partition, or None unless it is a Dirichlet process whose concentration has a gamma distribution."""
    measure = partition.owner.op.priors(partition.owner.op.prior_inputs(partition.owner))[0]
    # A subclass may have another density.
    gamma = free_gamma(model, partition, measure.alpha, readers) if type(measure) is DirichletProcess else None
    return None if gamma is None else LearnedProcess(partition, [variable_behind(measure.alpha)], *gamma)


def free_gamma(model, partition, field, readers):
    """Shape and rate of a hyperparameter of a partition; None if it is not a free variable with a gamma distribution
    and that nothing else reads.
    """
    variable = variable_behind(field)
    # One variable may be several hyperparameters of the partition.
    n_uses = sum(variable_behind(operand) is variable for operand in partition.owner.inputs)
    if not _are_free_logs(model, [variable]) or n_uses > 1:
        return None
    exponential = _constants(variable, ExponentialRV)
    # An exponential distribution is a gamma distribution of shape 1.
    gamma = _constants(variable, GammaRV) if exponential is None else [1.0, *exponential]
    if gamma is None or readers.read_elsewhere([variable], partition, [field]):
        return None
    return float(gamma[0]), 1.0 / float(gamma[1])


class _Form(NamedTuple):
    """A form of priors that the step can draw."""

    # Shapes of the variables for d features.
    shapes: Any
    # Makes the prior; None if the variables have other distributions than those that the step draws from.
    read: Any


def _learned_mixture(model, mixture, readers):
    """Priors of a mixture, one for each part of its family, or none if ``learned_fields`` does not make them.

    The parts have independent data given the partition, and so independent learned variables.
    """
    family = family_of(mixture)
    # A subclass may change its densities, and families of users are not known to have these forms.
    forms = _FORMS.get(type(family), [])
    fields, variables, constants = learned_arguments(family) if forms else ([], {}, {})
    lengths = {constant.type.shape for constant in constants.values()}
    if len(lengths) != 1 or not all(isinstance(constant, Constant) for constant in constants.values()):
        return []
    [(d, *_)], variables = lengths, list(variables.values())
    shapes = [shape for form in forms for shape in form.shapes(d)]
    sampled = [variable for variable, shape in zip(variables, shapes, strict=True) if shape != (0,)]
    # Other hyperparameters of the family, such as mu, may be one of these tensors.
    n_uses = sum(any(field is learned for learned in fields) for field in family)
    if (
        not all(map(_may_have_shape, variables, shapes))
        or len({*sampled}.intersection(model.free_RVs)) < len(sampled)
        or n_uses > len(fields)
        or readers.read_elsewhere(sampled, mixture, fields)
    ):
        return []
    constants = {name: np.asarray(constant.data, dtype="float64") for name, constant in constants.items()}
    made = family.learned_fields(*map(np.ones, shapes), **constants)
    family = family._replace(**{name: pt.as_tensor(value) for name, value in made.items()})
    priors, remaining = [], iter(sampled)
    for part, form in enumerate(forms):
        part_variables = list(islice(remaining, sum(shape != (0,) for shape in form.shapes(d))))
        prior = form.read(model, mixture, part_variables, family, constants)
        if prior is not None:
            priors.append(prior if len(forms) == 1 else prior._replace(part=part))
    return priors


def _may_have_shape(variable, shape):
    # A single value would be broadcast.
    static = static_shape(variable)
    return len(static) == len(shape) and all(length in (None, n) for length, n in zip(static, shape, strict=True))


def _read_concentrations(model, mixture, variables, family, constants):
    [normals] = _log_normals(model, variables) or [None]
    if normals is None:
        return None
    d = len(next(iter(constants.values())))
    normals = np.array([np.broadcast_to(parameter, d) for parameter in normals], dtype="float64")
    return LearnedConcentrations(mixture, variables, family, normals)


def _read_gammas(model, mixture, variables, family, constants):
    normals = _log_normals(model, variables)
    if normals is None:
        return None
    variances = constants["variances"]
    lengths = (len(variances), 1, 1)
    means, deviations = (
        np.concatenate([np.broadcast_to(values[k], n) for values, n in zip(normals, lengths, strict=True)])
        for k in (0, 1)
    )
    return LearnedGammas(mixture, variables, family, variances, np.array([means, deviations], dtype="float64"))


def _read_wishart(model, mixture, variables, family, constants):
    normals, squares, below, scale = _log_normals(model, variables[:3]), variables[3], variables[4:], constants["scale"]
    d = len(scale)
    is_usual = (
        normals is not None
        and _are_free_logs(model, [squares])
        and _are(_constants(squares, GammaRV), 0.5 * (d + 2.0 - np.arange(d)), 2.0)
        and all(
            _are(_constants(variable, NormalRV), 0.0, 1.0) and model.rvs_to_transforms[variable] is None
            for variable in below
        )
    )
    if not is_usual:
        return None
    family = family._replace(Psi=pt.constant(scale @ scale.T))
    return LearnedWishart(mixture, variables, family, scale, np.array(normals, dtype=np.float64))


_WISHART = _Form(lambda d: [(), (), (), (d,), (d * (d - 1) // 2,)], _read_wishart)
_GAMMAS = _Form(lambda d: [(d,), (), ()], _read_gammas)
_CONCENTRATIONS = _Form(lambda d: [(d,)], _read_concentrations)
# Forms of the parts of a family, mostly of one.
_FORMS = {
    BernoulliBeta: [_CONCENTRATIONS],
    CategoricalDirichlet: [_CONCENTRATIONS],
    PoissonGamma: [_CONCENTRATIONS],
    NormalWishart: [_WISHART],
    LogNormalWishart: [_WISHART],
    PrincipalNormalWishart: [_WISHART],
    SphericalPrincipalNormalWishart: [_WISHART],
    NormalGamma: [_GAMMAS],
    LogNormalGamma: [_GAMMAS],
    HurdlePoisson: [_CONCENTRATIONS, _CONCENTRATIONS],
    HurdleLogNormal: [_CONCENTRATIONS, _GAMMAS],
}


def _log_normals(model, variables):
    """Means and standard deviations of the logarithms of variables, or None unless all are log-normal."""
    normals = [_constants(variable, LogNormalRV) for variable in variables]
    is_usual = _are_free_logs(model, variables) and None not in normals
    return normals if is_usual and all((deviation > 0.0).all() for _, deviation in normals) else None


def _are_free_logs(model, variables):
    """Whether all are free variables on the log scale."""
    free, used = model.free_RVs, model.rvs_to_transforms
    return all(variable in free and _is_log(used[variable]) for variable in variables)


def _is_log(transform):
    # A subclass, or an attribute of this instance, may compute something else.
    is_usual = type(transform) is transforms.LogTransform or is_transform_of_dims(transform, "log")
    return is_usual and vars(transform).keys() <= {"__doc__"}


def _constants(variable, op_class):
    """Parameters of a random variable of a class; None if they are not constants, or its class is another."""
    if variable.owner is None:
        return None
    op, parameters = distribution_of(variable)
    if type(op) is not op_class:
        return None
    inputs = graph_inputs(parameters)
    # A check that fails makes all values impossible.
    if any(computed_by(ancestor, CheckAndRaise) for ancestor in ancestors(parameters)):
        return None
    if not all(isinstance(leaf, Constant) and not isinstance(leaf.type, RandomType) for leaf in inputs):
        return None
    return [constant_value(parameter) for parameter in parameters]


def _are(parameters, *expected):
    """Whether all entries of the parameters have these values."""
    pairs = None if parameters is None else zip(parameters, expected, strict=True)
    return pairs is not None and all(
        np.array_equal(*np.broadcast_arrays(parameter, value)) for parameter, value in pairs
    )


class _Readers:
    """Value variables from which a model computes its log-probability, term by term.

    Values of random variables are functions of value variables by transforms, which may depend on several of them and
    may hold random variables themselves.
    """

    def __init__(self, model):
        pairs = [(rv, graph) for rv in model.basic_RVs for graph in (*rv.owner.inputs, rv)]
        pairs += [(potential, potential) for potential in model.potentials]
        pairs = [(term, graph) for term, graph in pairs if not isinstance(graph.type, RandomType | NoneTypeT)]
        graphs = at_values(model, [graph for _, graph in pairs])
        self._values, sampled = model.rvs_to_values, {*model.value_vars, *model.free_RVs}
        self._reads = [
            (term, graph, sampled.intersection(ancestors([replaced])))
            for (term, graph), replaced in zip(pairs, graphs, strict=True)
        ]

    def read_elsewhere(self, variables, owner, fields):
        """Whether anything reads one of the variables, except themselves and these fields of a mixture or partition."""
        sampled = {self._values[variable] for variable in variables} | {*variables}
        return any(
            not sampled.isdisjoint(read)
            for term, graph, read in self._reads
            if not any(term is variable for variable in variables)
            and not (term is owner and any(graph is field for field in fields))
        )
