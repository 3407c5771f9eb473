"""Categorical observations with a Dirichlet base measure, independent across features."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.utils import MissingInputError

from pymc_nrm.common.checks import check_values, naming
from pymc_nrm.common.text_levels import read_levels
from pymc_nrm.common.wrapping import first_few, warn
from pymc_nrm.families.arguments import check_matrix, sampled, with_extremes
from pymc_nrm.families.base import Hyperparameter, conjugate_family, whole_numbers
from pymc_nrm.families.conjugate import categorical_log_affinities, draw_dirichlet, log_dirichlet_density
from pymc_nrm.families.learned.fields import as_operations, learned_arguments
from pymc_nrm.families.learned.hyperpriors import Hyperpriors, shared_text
from pymc_nrm.families.shared.two_components import join_probabilities, split_probabilities
from pymc_nrm.kernels.special import log_gamma_ratio, log_rising_factorial, symbolic_log_rising_factorial


@conjugate_family(
    hyperparameters={
        "alpha": Hyperparameter(("d", "l"), "weights"),
        "n_levels": Hyperparameter(("d",), "positive whole"),
    },
    parameters={"probability": ("d", "l")},
    continuous=False,
    missing_allowed=True,
)
class CategoricalDirichlet(NamedTuple):
    """Categorical features, each with its own Dirichlet distributed level probabilities in every cluster.

    ``x[i, j] ~ Categorical(p[c, j])`` on the levels 0, ..., L[j] - 1, ``p[c, j] ~ Dirichlet(alpha[j])``.  Missing
    values (NaN) are left out of the likelihood.

    Parameters
    ----------
    alpha : non-negative float, tensor or random variable, scalar or shape (L,) or (d, L)
        Prior number of observations of each level.  A scalar applies to every level of every feature, a vector to every
        feature.  A feature does not have the levels of weight 0; at least one weight must be above 0.
    n_levels : int or array of int, scalar or shape (d,), optional
        Numbers of levels, which must be constant.  By default they are the width L of a vector or matrix ``alpha``; if
        ``alpha`` is a scalar, they are taken from the data as the largest level of each feature plus one.  A scalar
        ``alpha``, or :meth:`learned`, also allows data that are text, see there.

    Notes
    -----
    The log marginal of a feature with level counts n_l, and N values in all, is
    ``sum_l log Gamma(alpha_l + n_l) / Gamma(alpha_l) - log Gamma(A + N) / Gamma(A)``, where A is the sum of the
    alpha_l.  Features with fewer levels than the widest one are padded with absent levels, of alpha 0.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.CategoricalDirichlet(0.5), observed=[[0, 2], [1, 2], [1, 0]])
    >>> print(model.str_repr())
    z ~ Partition[DirichletProcess](3, 1)
    z_n_clusters = Deterministic(f(z))
    x ~ Mixture[CategoricalDirichlet](z, <constant>, <constant>)
    """

    alpha: Any = 1.0
    n_levels: Any = None

    @classmethod
    @shared_text()
    def learned(cls, name: str, X: Any) -> "CategoricalDirichlet":
        """Hyperparameters learned with the partition: hyperpriors in the model at hand, centred at the frequencies.

        With p_jl the frequency of level l of feature j, half an observation of each level added::

            alpha_jl = concentration_j p_jl,   concentration_j ~ LogNormal(2, 2)

        A feature in which clusters differ has a small concentration, one that says nothing about clusters a large one.
        Exchanging the numbers of levels leaves the distribution of partitions unchanged.

        Columns may hold text or pandas categories.  Their levels are those that occur, sorted or in the order of the
        category; None, NaN and blank text are missing.  The family keeps the names: its Mixture reads the same columns
        as text, and so do predictions.  Numbers, and categories that are numbers, are numbers of levels, from 0 on;
        those that no row has warn, since they are levels with a prior probability, such as 0 of the codes 1, 2, 3.

        Examples
        --------
        >>> import pymc as pm
        >>> X = [[0, 2], [1, 2], [1, 0]]
        >>> with pm.Model() as model:
        ...     family = CategoricalDirichlet.learned("x", X)
        >>> [variable.name for variable in model.free_RVs]
        ['x_concentration']

        Text, which is numbered by its levels:

        >>> answers = [["yes", "red"], ["no", None], ["yes", "blue"]]
        >>> with pm.Model() as model:
        ...     family = CategoricalDirichlet.learned("x", answers)
        >>> [column.levels for column in family.n_levels.columns]
        [('no', 'yes'), ('blue', 'red')]
        """
        read = read_levels("X", X, name)
        prior = Hyperpriors(name, X if read is None else read.values)
        with naming("X"):
            family = cls().complete(with_extremes(X, prior.values))
        levels = prior.prepared(family).values
        if sampled(X) is X:
            warn_of_absent_levels("X", levels)
        present = np.arange(family.n_levels.max()) < family.n_levels[:, None]
        # Half an observation of each level keeps frequencies above 0.
        counts = np.stack([np.bincount(column[column >= 0], minlength=present.shape[1]) for column in levels.T]) + 0.5
        frequencies = counts * present / (counts * present).sum(axis=1, keepdims=True)
        fields = cls.learned_fields(prior.concentrations_of_levels(), frequencies=frequencies)
        return cls(**fields, n_levels=family.n_levels if read is None else read.numbers(family.n_levels))

    @staticmethod
    @as_operations
    def learned_fields(concentration, *, frequencies):
        """Hyperparameters given the concentrations that ``learned`` adds, and frequencies (d, levels)."""
        return {"alpha": concentration[:, None] * frequencies}

    def complete(self, X):
        if self.n_levels is not None or np.ndim(self.alpha) != 0:
            return self
        values = check_matrix(self, X, integer=True, lower=0)
        largest = np.where(np.isnan(values), 0, values).max(axis=0, initial=0)
        feature = int(largest.argmax())
        if largest[feature] > 10 * len(values) + 1000:
            raise ValueError(
                f"data of CategoricalDirichlet must be levels 0, 1, 2, ...; column {feature} has the value "
                f"{largest[feature]:.0f} and {len(values)} rows. Number its values with pandas.factorize(column)[0] or "
                "np.unique(column, return_inverse=True)[1], or give n_levels if there are so many"
            )
        return self._replace(n_levels=largest.astype("int64") + 1)

    def canonical(self):
        alpha, n_levels = self.alpha, _constant_levels(self)
        width = _static_width(alpha) or int(n_levels.max())
        if n_levels.max() > width:
            raise ValueError(f"alpha of CategoricalDirichlet has {width} levels; n_levels asks for {n_levels.max()}")
        present = np.arange(width) < n_levels[..., None]
        if not _is_learned_without(alpha, ~present):
            alpha = alpha * present.astype("float64")
        return CategoricalDirichlet(alpha, n_levels)

    def prepare_data(self, X):
        values = check_matrix(self, X, integer=True, lower=0)
        n_levels = _constant_levels(self)
        beyond = values >= n_levels
        if beyond.any():
            item, feature = np.argwhere(beyond)[0]
            raise ValueError(
                f"data of CategoricalDirichlet must be levels below n_levels; got {values[item, feature]} of "
                f"feature {feature}, which has {np.broadcast_to(n_levels, values.shape[1])[feature]} levels"
            )
        return Levels(np.where(np.isnan(values), -1, values).astype("int64"))

    # A row of statistics: counts (d, L), numbers of values (d).
    def statistics_size(self):
        return self.alpha.size + self.alpha.shape[0]

    def add_item(self, statistics, data, item, sign):
        d, width = self.alpha.shape
        for j in range(d):
            x = data.values[item, j]
            if x >= 0:
                statistics[j * width + x] += sign
                statistics[d * width + j] += sign

    def log_likelihood(self, X, labels):
        alpha = self.alpha
        d, width = X.shape[1], alpha.shape[1]
        # Levels beyond the last one would be cells of another feature.
        X, is_possible = whole_numbers(X, largest=width - 1)
        n_clusters = labels.max() + 1
        observed = pt.invert(pt.isnan(X)) if X.dtype.startswith("float") else pt.ones_like(X, dtype="bool")
        levels = pt.switch(observed, X, 0).astype("int64")
        cells = (labels[:, None] * d + pt.arange(d)) * width + levels
        counts = pt.zeros(n_clusters * d * width)[cells.ravel()].inc(observed.astype("float64").ravel())
        counts = counts.reshape((n_clusters, d, width))
        # An absent level adds log Gamma(1 + 0) - log Gamma(1), which keeps the gradient at alpha = 0 finite.
        present = alpha > 0
        safe = pt.switch(present, alpha, 1)
        terms = pt.switch(present | pt.eq(counts, 0), symbolic_log_rising_factorial(safe, counts), -np.inf)
        total = terms.sum() - symbolic_log_rising_factorial(alpha.sum(axis=1), counts.sum(axis=2)).sum()
        return pt.switch(is_possible, total, -np.inf)

    def log_marginal(self, statistics):
        d, width = self.alpha.shape
        total = 0.0
        for j in range(d):
            n = statistics[d * width + j]
            if n > 0.0:
                prior_total = 0.0
                for x in range(width):
                    alpha, count = self.alpha[j, x], statistics[j * width + x]
                    prior_total += alpha
                    if count > 0.0 and alpha == 0.0:
                        return -math.inf
                    total += log_rising_factorial(alpha, count) if count > 0.0 else 0.0
                total -= log_rising_factorial(prior_total, n)
        return total

    def log_marginals_of_feature(self, rows, feature, factor):
        d, width = self.alpha.shape
        total = mass = 0.0
        for x in range(width):
            alpha = factor * self.alpha[feature, x]
            mass += alpha
            of_alpha = math.lgamma(alpha) if alpha > 0.0 else 0.0
            for k in range(rows.shape[0]):
                count = rows[k, feature * width + x]
                if count > 0.0:
                    total += log_gamma_ratio(alpha, count, of_alpha)
        of_mass = math.lgamma(mass)
        for k in range(rows.shape[0]):
            total -= log_gamma_ratio(mass, rows[k, d * width + feature], of_mass)
        return total

    def parameters_size(self):
        return self.alpha.size

    def draw_parameters(self, statistics, rng, parameters):
        d, width = self.alpha.shape
        for j in range(d):
            row = slice(j * width, (j + 1) * width)
            draw_dirichlet(rng, self.alpha[j] + statistics[row], parameters[row])

    def log_parameter_density(self, statistics, parameters):
        d, width = self.alpha.shape
        total = 0.0
        for j in range(d):
            row = slice(j * width, (j + 1) * width)
            total += log_dirichlet_density(self.alpha[j], statistics[row], parameters[row])
        return total

    def split_parameters(self, parameters, p, q, rng, first, second):
        d, width = self.alpha.shape
        for j in range(d):
            row = slice(j * width, (j + 1) * width)
            split_probabilities(parameters[row], self.alpha[j], p, q, rng, first[row], second[row])

    def join_parameters(self, p, q, first, second, parameters):
        d, width = self.alpha.shape
        total = 0.0
        for j in range(d):
            row = slice(j * width, (j + 1) * width)
            total += join_probabilities(self.alpha[j], p, q, first[row], second[row], parameters[row])
        return total

    def log_density(self, parameters, data, item):
        d, width = self.alpha.shape
        total = 0.0
        for j in range(d):
            x = data.values[item, j]
            if x >= 0:
                p = parameters[j * width + x]
                total += math.log(p) if p > 0.0 else -math.inf
        return total

    def draw_item(self, parameters, rng, item, values):
        d, width = self.alpha.shape
        for j in range(d):
            # If rounding leaves the sum of probabilities below the uniform, draw the last level of positive weight.
            remaining = rng.random()
            for x in range(width):
                p = parameters[j * width + x]
                if p > 0.0:
                    values[j] = x
                    remaining -= p
                    if remaining < 0.0:
                        break

    def log_affinities(self, parameters):
        return categorical_log_affinities(parameters["probability"])


# Every cluster has a table with an entry for each level.
MOST_LEVELS = 1_000_000


class Levels(NamedTuple):
    """Data of a kernel: levels, shape (n, d), int64, with -1 where missing."""

    values: Any

    def features(self, rng):
        n_levels = self.values.max(axis=0, initial=0) + 1
        columns = [self.values[:, j, None] == np.arange(n_levels[j]) for j in range(self.values.shape[1])]
        return np.concatenate([*columns, np.zeros((len(self.values), 1))], axis=1).astype("float64")


def warn_of_absent_levels(title, levels):
    """Warn of columns whose numbers of levels have holes, as the codes 1, 2, 3. Shapes: ``levels`` (n, d), gaps -1."""
    columns = [
        f"column {place} lacks {first_few([str(level) for level in absent])}"
        for place, column in enumerate(levels.T)
        if len(absent := np.setdiff1d(np.arange(column.max(initial=-1)), column))
    ]
    if columns:
        warn(
            f"{title}: CategoricalDirichlet has levels 0, 1, 2, ..., of which no row has some: {first_few(columns)}. "
            "They have a prior probability. If they cannot occur, number the levels that do with "
            "np.unique(column, return_inverse=True)[1]."
        )


def _constant_levels(family):
    n_levels = family.n_levels
    if n_levels is None:
        n_levels = _static_width(family.alpha)
    if n_levels is None:
        raise ValueError("CategoricalDirichlet with a scalar alpha needs n_levels, or data to take it from")
    if isinstance(n_levels, Variable):
        try:
            n_levels = n_levels.eval(mode=Mode(linker="py", optimizer=None))
        except MissingInputError:
            raise ValueError(f"n_levels of CategoricalDirichlet must be constant; got {n_levels}") from None
        check_values(family._replace(n_levels=n_levels))
    n_levels = np.asarray(n_levels)
    if n_levels.size and n_levels.max() > MOST_LEVELS:
        place = f" of feature {n_levels.argmax()}" if n_levels.ndim else ""
        raise ValueError(
            f"n_levels of CategoricalDirichlet must be at most {MOST_LEVELS}; got {n_levels.max():.0f}{place}. Number "
            "values that occur with pandas.factorize(column)[0] or np.unique(column, return_inverse=True)[1]"
        )
    return n_levels.astype("int64")


def _is_learned_without(alpha, absent):
    """Whether ``learned_fields`` makes alpha of frequencies that are 0 for absent levels, which need no mask then."""
    _, _, constants = learned_arguments(CategoricalDirichlet(alpha))
    frequencies = constants.get("frequencies")
    return isinstance(frequencies, Constant) and not (frequencies.data * absent).any()


def _static_width(alpha):
    """Number of levels of a vector or matrix alpha; None for a scalar, and if the shape of a tensor is unknown."""
    shape = alpha.type.shape if isinstance(alpha, Variable) else np.shape(alpha)
    return shape[-1] if shape else None
