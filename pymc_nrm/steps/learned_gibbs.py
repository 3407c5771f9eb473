"""The step for hyperparameters whose distribution given the partition is known.

Given the partition, what ``learned`` of families learns depends on the sizes and statistics of clusters alone.  A draw

1. sums the statistics of the clusters of each mixture, and draws its learned variables by the kernel of its family:
   slice sampling of numbers with parameters of clusters summed out, and conjugate draws of scatter matrices;
2. draws the concentration of each Dirichlet process with a gamma prior, by an auxiliary beta variable, and those of
   hidden states by slice sampling.

Read next ``models/learned_priors.py``, which priors of a model qualify; ``families/learned/draws.py``,
``families/learned/gammas.py`` and ``states/moves/hyperparameters.py``, the kernels; ``steps/step.py``, the course of a
draw.
"""

import math
from typing import Any

import numpy as np
from pymc.exceptions import SamplingError
from pytensor.graph.basic import Variable

from pymc_nrm.common.checks import check_count
from pymc_nrm.families.base import log_marginal
from pymc_nrm.families.definitions.normal_wishart import NormalWishart
from pymc_nrm.families.derived.mapped import part_of
from pymc_nrm.families.learned.draws import (
    ConcentrationTarget,
    draw_concentrations,
    draw_wishart_hyperparameters,
    write_prior_scatter,
)
from pymc_nrm.families.learned.gammas import GammaTarget, draw_gamma_hyperparameters, share_shift
from pymc_nrm.kernels.generic import kernels_in_python, precompile
from pymc_nrm.models.chunked_mixture import ChunkedMixtureRV
from pymc_nrm.models.learned_priors import (
    LearnedConcentrations,
    LearnedGammas,
    LearnedProcess,
    LearnedWishart,
    learned_priors,
)
from pymc_nrm.models.mixture import MixtureRV
from pymc_nrm.models.rvs import kind_of, partition_of
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.grouped import family_of_rows
from pymc_nrm.steps.comparison import OwnMove
from pymc_nrm.steps.step import Draw, Step
from pymc_nrm.steps.target import GivenPartition, SumsOfChunks


class LearnedGibbs(Step):
    """Gibbs sampling of the hyperparameters of recipes, from sizes and statistics of clusters alone.

    *Counts and categories* (``BernoulliBeta``, ``CategoricalDirichlet``, ``PoissonGamma``): given the partition, with
    parameters of clusters summed out, the concentrations of features are independent, and each is drawn by slice
    sampling.

    *Variances* (``NormalGamma``): each sweep draws the shares of features, ``kappa`` and ``excess`` in turn, likewise.

    *Zeros and positive values* (``HurdlePoisson``, ``HurdleLogNormal``): both parts, each as its own family.

    *Covariances* (``NormalWishart``): each sweep draws ``kappa`` with all parameters of clusters summed out; a
    precision matrix for each cluster from its exact conditional; given these, ``excess`` and ``share`` with the Wishart
    matrix summed out; and this matrix from its conditional distribution, which is Wishart.  The precision matrices are
    discarded.  Numbers are drawn by slice sampling.  With d features, a sweep costs about two gradients, of which NUTS
    needs tens for d (d + 1) / 2 variables.

    *The concentration of a Dirichlet process* with a gamma or exponential prior, of a ``Partition`` without
    ``max_clusters``: by the auxiliary variable of Escobar & West (1995, section 6).

    *The concentrations of hidden states* with gamma or exponential priors, of the Dirichlet process and of transitions,
    with or without ``max_states``: each by slice sampling of the exact log-probability of the labels.

    Rows in chunks have the sizes and statistics of their clusters at the point, so that a draw needs no pass over rows.

    The step leaves the posterior invariant, and is irreducible for these variables.  :func:`pymc_nrm.sample` uses it
    for all such priors, unless NUTS is given options and nothing else would be left for it.  ``pm.sample`` must be
    given the step.

    NUTS samples a prior that differs from ``learned`` in more than its constants: one with other distributions,
    transforms, operations or checks, a prior written by hand, or a prior whose variables another part of the model
    depends on.  Hyperparameters that ``learned`` does not learn are arbitrary, such as a random ``mu``.

    Parameters
    ----------
    vars : list of variables, optional
        The variables of one or more priors, each of them with all its variables; by default all such priors.
    n_sweeps : int
        Number of sweeps per draw for covariances and concentrations of Dirichlet processes; for variances of d features
        this number divided by d, for hidden states by 5, at least one.
    %(step_options)s

    Raises
    ------
    TypeError
        If ``vars`` are not all the variables of priors in the form that ``learned`` makes.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> X = np.random.default_rng(1).normal(size=(20, 2))
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=20)
    ...     x = nrm.Mixture("x", z, nrm.NormalWishart.learned("x", X), observed=X)
    ...     step = nrm.steps.LearnedGibbs(n_sweeps=2)
    >>> [variable.name for variable in step.vars]
    ['x_share_log__', 'x_kappa_log__', 'x_excess_log__', 'x_squared_pivot_log__', 'x_below_pivot']
    """

    name = "learned_gibbs"
    default_blocked = True

    def __init__(self, vars: Any = None, *, n_sweeps: int = 5, **kwargs: Any) -> None:
        check_count("n_sweeps", n_sweeps, 1)
        super().__init__(vars, options={"n_sweeps": n_sweeps}, **kwargs)

    @classmethod
    def value_variables(cls, vars, model):
        return [model.rvs_to_values[rv] for prior in _chosen(vars, model) for rv in prior.variables]

    def read_model(self, model):
        chosen = _chosen(self.vars, model)
        self._learned = [prior for prior in chosen if not isinstance(prior, LearnedProcess)]
        self._processes = [_Process(model, prior) for prior in chosen if isinstance(prior, LearnedProcess)]
        return [type(prior.family) for prior in self._learned if hasattr(prior, "family")]

    def compile(self, model, point, compile_kwargs):
        self._priors = [DRAWN_BY[type(prior)](model, prior, compile_kwargs) for prior in self._learned]
        for prior in self._priors:
            precompile(prior.kernel, *prior.arguments(self.rng, point, self.options["n_sweeps"]))

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        for prior in self._priors:
            prior.refresh()

    def draw(self, point, inputs):
        for prior in (*self._priors, *self._processes):
            point = prior.draw(self.rng, point, self.options["n_sweeps"])
        return Draw(point, np.concatenate([np.ravel(point[value.name]) for value in self.vars]), {})

    def moves_to_compare(self, rng, point):
        """A move of one entry of each variable."""
        for prior in (*self._priors, *self._processes):
            log_density = prior.log_density(point)
            for name in prior.names:
                value = np.array(point[name], dtype="float64")
                if not value.size:
                    continue
                value.flat[rng.integers(value.size)] += 0.3 * rng.standard_normal()
                moved = {**point, name: value}
                ratio = prior.log_density(moved) - log_density
                yield OwnMove(f"one entry of {name!r} moves", point, moved, ratio)

    def not_finite_error(self, point, value):
        names = [value.name for value in self.vars if not np.isfinite(point[value.name]).all()]
        names = names or [value.name for value in self.vars]
        return SamplingError(
            f"{', '.join(names)} cannot be drawn {self.when}: given the clusters, the distribution is not finite"
        )


class _SumsOfMixture:
    """Statistics of the clusters of a mixture at points, for a family with other hyperparameters."""

    def __init__(self, model, mixture, family, compile_kwargs):
        # Kernels compute the learned hyperparameters themselves, and do not read the measure.
        self._given = GivenPartition(
            model, partition_of(mixture), [mixture], compile_kwargs, families=[family], has_measure=False
        )

    def refresh(self):
        """Read data again, since ``pm.set_data`` may have changed them."""
        self._given.refresh()

    def at(self, point):
        """The localised family, and a row of statistics for each cluster."""
        labels, _, [family], [data] = self._given.at(point)
        rows = build_state(labels, family, data).statistics[: labels.max() + 1]
        return family_of_rows(family), rows


# What sums the statistics of data with learned hyperparameters, by the class of their operation; wings add theirs.
SUMS_OF = {MixtureRV: _SumsOfMixture, ChunkedMixtureRV: SumsOfChunks}


class _Prior:
    """The learned prior of one mixture; positive variables have their logarithm as value.

    Subclasses define ``arguments``, ``values``, and ``log_density(point)``, up to a constant, by what the kernel reads.
    """

    def __init__(self, model, learned, compile_kwargs):
        mixture = learned.mixture
        self._learned = learned
        self.names = [model.rvs_to_values[variable].name for variable in learned.variables]
        self._sums = SUMS_OF[type(mixture.owner.op)](model, mixture, learned.family, compile_kwargs)

    def refresh(self):
        """Read data again, since ``pm.set_data`` may have changed them."""
        self._sums.refresh()

    def clusters(self, point):
        """The family at a point but for these variables, which are 1, and a row of statistics for each cluster.

        Of a family of two parts, these are the part of the variables and its columns.
        """
        family, rows = self._sums.at(point)
        part = getattr(self._learned, "part", None)
        return (family, rows) if part is None else part_of(family, rows, part)

    def draw(self, rng, point, n_sweeps):
        """The point with new hyperparameters."""
        arguments = self.arguments(rng, point, n_sweeps)
        self.kernel(*arguments)
        return point | dict(zip(self.names, self.values(arguments), strict=False))


class _Wishart(_Prior):
    kernel = draw_wishart_hyperparameters

    def arguments(self, rng, point, n_sweeps):
        """Arguments of the kernel at a point; it writes to the arrays before the last argument."""
        family, rows = self.clusters(point)
        family = family if isinstance(family, NormalWishart) else family.leading()
        share, kappa, excess, squares, *below = (np.array(point[name], dtype="float64") for name in self.names)
        logs, below = np.array([share, kappa, excess]), below[0] if below else np.empty(0)
        scale, normals = np.array(self._learned.scale), self._learned.normals
        return rng, family, rows, scale, normals, logs, np.exp(squares), below, n_sweeps

    def values(self, arguments):
        logs, squares, below = arguments[-4:-1]
        return [*(np.array(logarithm) for logarithm in logs), np.log(squares), below]

    def log_density(self, point):
        """Log density of the values of the variables given the partition."""
        _, family, rows, scale, normals, logs, squares, below, _ = self.arguments(None, point, 1)
        d = len(scale)
        # Squares of pivots have gamma distributions; their logarithms are the values.
        shapes = 0.5 * (d + 2.0 - np.arange(d))
        log_prior = _log_normal(logs, normals.T) + (shapes * np.log(squares) - 0.5 * squares).sum()
        with kernels_in_python():
            nu = write_prior_scatter(family.Psi, scale, logs, squares, below)
            family = family._replace(kappa=math.exp(logs[1]), nu=nu)
            return log_prior - 0.5 * (below**2).sum() + sum(log_marginal(family, row) for row in rows)


class _Gammas(_Prior):
    kernel = draw_gamma_hyperparameters

    def arguments(self, rng, point, n_sweeps):
        """Arguments of the kernel at a point; it writes to the array before the last argument."""
        family, rows = self.clusters(point)
        logs = np.concatenate([np.atleast_1d(point[name]) for name in self.names])
        # A sweep of d features draws d shares; further sweeps gain less the more features there are.
        n_sweeps = max(1, n_sweeps // len(self._learned.variances))
        return rng, family, rows, self._learned.variances, self._learned.normals, logs, n_sweeps

    def values(self, arguments):
        *shares, kappa, excess = arguments[-2]
        return np.array(shares), np.array(kappa), np.array(excess)

    def log_density(self, point):
        """Log density of the values of the variables given the partition."""
        _, family, rows, variances, normals, logs, _ = self.arguments(None, point, 1)
        d = len(variances)
        with kernels_in_python():
            logs[:d] -= share_shift(logs)
            return GammaTarget(family, rows, variances, logs, d, normals).log_height(logs[d])


class _Concentrations(_Prior):
    kernel = draw_concentrations

    def arguments(self, rng, point, n_sweeps):
        """Arguments of the kernel at a point; it writes to the logarithms."""
        [name] = self.names
        logs = np.array(point[name], dtype="float64")
        family, rows = self.clusters(point)
        # Features are independent, so that further sweeps would gain little.
        return rng, family, rows, self._learned.normals, logs

    def values(self, arguments):
        return [arguments[-1]]

    def log_density(self, point):
        """Log density of the values of the variables given the partition."""
        _, family, rows, normals, logs = self.arguments(None, point, 1)
        targets = [ConcentrationTarget(family, rows, j, *normals[:, j]) for j in range(len(logs))]
        with kernels_in_python():
            return sum(target.log_height(x) for target, x in zip(targets, logs, strict=True))


def _log_normal(logs, normals):
    """Log density of logarithms, up to a constant, given rows of means and of standard deviations."""
    return -0.5 * (((logs - normals[0]) / normals[1]) ** 2).sum()


# What draws each class of priors; wings add entries for their kinds.
DRAWN_BY = {
    LearnedWishart: _Wishart,
    LearnedGammas: _Gammas,
    LearnedConcentrations: _Concentrations,
}


class _Process:
    """The concentration of a Dirichlet process with a gamma prior."""

    def __init__(self, model, learned):
        self._kind, self._learned = kind_of(learned.partition), learned
        self._name = model.rvs_to_values[learned.variables[0]].name

    @property
    def names(self):
        """Names of the value variables."""
        return [self._name]

    def _counts(self, point):
        """Numbers of items and of clusters, and the logarithm of the concentration."""
        sizes = self._kind.counts(self._kind.of_items(self._kind.read(point)))
        return int(sizes.sum()), len(sizes), float(point[self._name])

    def log_density(self, point):
        """Log density of the logarithm of the concentration given the partition (Antoniak 1974)."""
        n, n_clusters, log_alpha = self._counts(point)
        alpha, shape, rate = math.exp(log_alpha), self._learned.shape, self._learned.rate
        return (shape + n_clusters) * log_alpha - rate * alpha + math.lgamma(alpha) - math.lgamma(alpha + n)

    def draw(self, rng, point, n_sweeps):
        """The point with a new concentration."""
        # Escobar & West (1995), section 6: given eta ~ Beta(alpha + 1, n), alpha is a mixture of two gammas.
        n, n_clusters, log_alpha = self._counts(point)
        for _ in range(n_sweeps):
            rate = self._learned.rate - math.log(rng.beta(math.exp(log_alpha) + 1.0, n))
            shape = self._learned.shape + n_clusters - 1.0
            shape += rng.random() * (shape + n * rate) < shape
            # A gamma variable of small shape may underflow; its logarithm does not.
            log_alpha = math.log(rng.gamma(shape + 1.0)) - rng.standard_exponential() / shape - math.log(rate)
        return point | {self._name: np.array(log_alpha)}


def _chosen(vars, model):
    """The priors that a user asks for, by default all."""
    priors = learned_priors(model)
    several = vars if isinstance(vars, list | tuple) else [vars]
    asked_rvs = [
        model.values_to_rvs.get(variable, variable) if isinstance(variable, Variable) else variable
        for variable in several
    ]
    chosen = [
        prior
        for prior in priors
        if vars is None or any(rv is variable for rv in asked_rvs for variable in prior.variables)
    ]
    asked = [rv for prior in chosen for rv in prior.variables]
    if not chosen or (vars is not None and {*map(id, asked_rvs)} != {*map(id, asked)}):
        names = [[rv.name for rv in prior.variables] for prior in priors]
        got = None if vars is None else [getattr(rv, "name", rv) for rv in asked_rvs]
        raise TypeError(
            "vars must be all variables of a prior that learned of a family has made, or concentrations of Dirichlet "
            "processes or hidden states with a gamma or exponential prior, on which nothing else depends; "
            f"the model has {names or 'none'}; got {got}"
        )
    return chosen
