"""Variables whose full conditional given the partition is known: found in a model, proved from its graph."""

from typing import Any, NamedTuple

import numpy as np
from pymc.distributions import transforms
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.random.basic import ExponentialRV, GammaRV, LogNormalRV, NormalRV
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.type_other import NoneTypeT

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
from pymc_nrm.measures.generalized_gamma_measures import DirichletProcess
from pymc_nrm.models.learned_fields import full_family, made_fields, n_features, named_variables
from pymc_nrm.models.mixture import MixtureRV
from pymc_nrm.models.rvs import family_of, partitions_of
from pymc_nrm.models.values import computed_by, constant_value
from pymc_nrm.partitions.flat import Ordered
from pymc_nrm.partitions.hidden_states import States
from pymc_nrm.partitions.state_slots import StateSlots


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


class LearnedStates(NamedTuple):
    """Hidden states and free variables that are their concentrations, with gamma priors."""

    partition: Any
    variables: Any
    # For each variable: the field of ``StatePrior``, shape and rate.
    fields: Any
    gammas: Any


def learned_priors(model):
    """Mixtures of a model whose prior equals a prior of ``learned``, and partitions and hidden states whose
    concentrations have gamma distributions, provided that nothing else depends on their variables.
    """
    readers = _Readers(model)
    mixtures = [rv for rv in model.basic_RVs if computed_by(rv, MixtureRV)]
    priors = [prior for rv in mixtures for prior in _learned_mixture(model, rv, readers)]
    partitions = [rv for rv, kind in partitions_of(model).items() if isinstance(kind, Ordered)]
    priors += [_learned_process(model, rv, readers) for rv in partitions]
    states = [rv for rv, kind in partitions_of(model).items() if type(kind) in (States, StateSlots)]
    priors += [_learned_states(model, rv, readers) for rv in states]
    return [prior for prior in priors if prior is not None]


def _learned_process(model, partition, readers):
    """Prior of a partition, or None unless it is a Dirichlet process whose concentration has a gamma distribution."""
    measure = partition.owner.op.priors(partition.owner.op.prior_inputs(partition.owner))[0]
    # A subclass may have another density.
    gamma = _free_gamma(model, partition, measure.alpha, readers) if type(measure) is DirichletProcess else None
    return None if gamma is None else LearnedProcess(partition, [measure.alpha], *gamma)


def _learned_states(model, partition, readers):
    """Prior of hidden states, or None unless one of their concentrations has a gamma distribution."""
    measure, transitions, _ = partition.owner.op.priors(partition.owner.op.prior_inputs(partition.owner))
    fields = {"alpha": transitions.alpha, "kappa": transitions.kappa}
    if type(measure) is DirichletProcess:
        fields = {"gamma": measure.alpha} | fields
    gammas = {name: _free_gamma(model, partition, field, readers) for name, field in fields.items()}
    gammas = {name: gamma for name, gamma in gammas.items() if gamma is not None}
    variables = [fields[name] for name in gammas]
    return LearnedStates(partition, variables, list(gammas), list(gammas.values())) if gammas else None


def _free_gamma(model, partition, field, readers):
    """Shape and rate of a hyperparameter of a partition; None if it is no free variable that has a gamma distribution
    and that nothing else reads.
    """
    # One variable may be several hyperparameters of the partition.
    if not _are_free_logs(model, [field]) or sum(one is field for one in partition.owner.inputs) > 1:
        return None
    exponential = _constants(field, ExponentialRV)
    # An exponential distribution is a gamma distribution of shape 1.
    gamma = _constants(field, GammaRV) if exponential is None else [1.0, *exponential]
    if gamma is None or readers.read_elsewhere([field], partition, [field]):
        return None
    return float(gamma[0]), 1.0 / float(gamma[1])


class _Form(NamedTuple):
    """A form of priors that the step can draw."""

    # Name of a field of the family in the shape of the constants; its first axis has the features.
    field: str
    # Shapes of the variables for d features.
    shapes: Any
    # Makes the prior; None if the variables have other distributions than those that the step draws from.
    read: Any


def _learned_mixture(model, mixture, readers):
    """Priors of a mixture, one for each part of its family, or none if more than constants differ from ``learned``.

    The parts have independent data given the partition, and so independent learned variables.
    """
    family = family_of(mixture)
    # A subclass may change its densities, and families of users are not known to have these forms.
    forms = _FORMS.get(type(family))
    if forms is None:
        return []
    n, *others = getattr(family, forms[-1].field).type.shape
    shape = (n or n_features(family), *others)
    if None in shape:
        return []
    for variables in named_variables(model, family, _shapes(forms, shape[0])):
        fields, constants = made_fields(mixture, family, variables, shape)
        sampled = [one for one in variables if isinstance(one, Variable)]
        if fields and not readers.read_elsewhere(sampled, mixture, fields):
            return _read_parts(model, mixture, forms, variables, constants)
    return []


def _read_parts(model, mixture, forms, variables, constants):
    d, start, priors = len(next(iter(constants.values()))), 0, []
    for part, form in enumerate(forms):
        end = start + len(form.shapes(d))
        sampled = [one for one in variables[start:end] if isinstance(one, Variable)]
        prior = form.read(model, mixture, sampled, constants)
        if prior is not None:
            priors.append(prior if len(forms) == 1 else prior._replace(part=part))
        start = end
    return priors


def _shapes(forms, d):
    return [shape for form in forms for shape in form.shapes(d)]


def _family_of_ones(mixture, constants):
    """The family of a mixture, with hyperparameters for learned variables of 1."""
    family, d = family_of(mixture), len(next(iter(constants.values())))
    ones = [np.ones(shape) for shape in _shapes(_FORMS[type(family)], d)]
    return full_family(mixture, family, family.learned_fields(*ones, **constants))


def _read_concentrations(model, mixture, variables, constants):
    normals = _log_normals(model, variables)
    if normals is None:
        return None
    family = _family_of_ones(mixture, constants)
    normals = np.array([np.broadcast_to(one, n_features(family)) for one in normals[0]], dtype="float64")
    return LearnedConcentrations(mixture, variables, family, normals)


def _read_gammas(model, mixture, variables, constants):
    normals = _log_normals(model, variables)
    if normals is None:
        return None
    variances = constants["variances"]
    lengths = (len(variances), 1, 1)
    means, deviations = (
        np.concatenate([np.broadcast_to(values[k], n) for values, n in zip(normals, lengths, strict=True)])
        for k in (0, 1)
    )
    normals = np.array([means, deviations], dtype="float64")
    return LearnedGammas(mixture, variables, _family_of_ones(mixture, constants), variances, normals)


def _read_wishart(model, mixture, variables, constants):
    normals, squares, below, scale = _log_normals(model, variables[:3]), variables[3], variables[4:], constants["scale"]
    d = len(scale)
    is_usual = (
        normals is not None
        and _are_free_logs(model, [squares])
        and _are(_constants(squares, GammaRV), 0.5 * (d + 2.0 - np.arange(d)), 2.0)
        and all(_are(_constants(one, NormalRV), 0.0, 1.0) and model.rvs_to_transforms[one] is None for one in below)
    )
    if not is_usual:
        return None
    family = full_family(mixture, family_of(mixture), {"kappa": 1.0, "Psi": scale @ scale.T, "nu": d + 2.0})
    return LearnedWishart(mixture, variables, family, scale, np.array(normals, dtype=np.float64))


_WISHART = _Form("Psi", lambda d: [(), (), (), (d,), (d * (d - 1) // 2,)], _read_wishart)
_GAMMAS = _Form("beta", lambda d: [(d,), (), ()], _read_gammas)
_CONCENTRATIONS = _Form("alpha", lambda d: [(d,)], _read_concentrations)
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
    normals = [_constants(one, LogNormalRV) for one in variables]
    is_usual = _are_free_logs(model, variables) and None not in normals
    return normals if is_usual and all((deviation > 0.0).all() for _, deviation in normals) else None


def _are_free_logs(model, variables):
    """Whether all are free variables on the log scale."""
    free, used = model.free_RVs, model.rvs_to_transforms
    return all(one in free and _is_log(used[one]) for one in variables)


def _is_log(transform):
    # A subclass, or an attribute of this instance, may compute something else.
    return type(transform) is transforms.LogTransform and vars(transform).keys() <= {"__doc__"}


def _constants(variable, op_class):
    """Parameters of a random variable of a class; None if they are not constants, or its class is another."""
    if variable.owner is None or type(variable.owner.op) is not op_class:
        return None
    parameters = variable.owner.op.dist_params(variable.owner)
    inputs = graph_inputs(parameters)
    # A check that fails makes all values impossible.
    if any(computed_by(one, CheckAndRaise) for one in ancestors(parameters)):
        return None
    if not all(isinstance(one, Constant) and not isinstance(one.type, RandomType) for one in inputs):
        return None
    return [constant_value(one) for one in parameters]


def _are(parameters, *expected):
    """Whether all entries of the parameters have these values."""
    pairs = None if parameters is None else zip(parameters, expected, strict=True)
    return pairs is not None and all(np.array_equal(*np.broadcast_arrays(one, value)) for one, value in pairs)


class _Readers:
    """Value variables from which a model computes its log-probability, term by term.

    Values of random variables are functions of value variables by transforms, which may depend on several of them and
    may hold random variables themselves.
    """

    def __init__(self, model):
        pairs = [(rv, graph) for rv in model.basic_RVs for graph in (*rv.owner.inputs, rv)]
        pairs += [(potential, potential) for potential in model.potentials]
        pairs = [(term, graph) for term, graph in pairs if not isinstance(graph.type, RandomType | NoneTypeT)]
        graphs = model.replace_rvs_by_values([graph for _, graph in pairs])
        self._values, sampled = model.rvs_to_values, {*model.value_vars, *model.free_RVs}
        self._reads = [
            (term, graph, sampled.intersection(ancestors([replaced])))
            for (term, graph), replaced in zip(pairs, graphs, strict=True)
        ]

    def read_elsewhere(self, variables, owner, fields):
        """Whether anything reads one of the variables, except themselves and these fields of a mixture or partition."""
        sampled = {self._values[one] for one in variables} | {*variables}
        return any(
            not sampled.isdisjoint(read)
            for term, graph, read in self._reads
            if not any(term is one for one in variables)
            and not (term is owner and any(graph is field for field in fields))
        )
