"""Hyperparameters of a measure from what is known about the number of clusters."""

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
import pymc as pm

from pymc_nrm.common.checks import check_count, check_number
from pymc_nrm.common.progress import progress
from pymc_nrm.common.supports import UnitInterval, WholeNumber
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.measures.base import check_measure_hyperparameters, n_clusters_log_pmf
from pymc_nrm.recipes.elicitation_distributions import (
    equal_tailed_interval,
    mean_and_sd,
    n_clusters_pmf,
    suggest_max_clusters,
)
from pymc_nrm.recipes.elicitation_matching import (
    HyperpriorLaw,
    OutOfReachError,
    hyperprior_class,
    match_mean,
    match_mean_and_spread,
)

__all__ = ["ElicitedPrior", "elicit", "suggest_max_clusters"]

# Keeps logarithms of probabilities finite.
_LEAST_PROBABILITY = 1e-300


class Spread(NamedTuple):
    """A wanted standard deviation, or a wanted probability outside of an interval."""

    wanted: float
    interval: tuple[int, int] | None = None

    def of(self, pmf):
        """The spread of a distribution of the number of clusters."""
        if self.interval is None:
            return mean_and_sd(pmf)[1]
        low, high = self.interval
        return max(1.0 - float(pmf[low - 1 : high].sum()), _LEAST_PROBABILITY)

    def out_of_reach(self, low, high):
        """What to say if only spreads from ``low`` to ``high`` can be attained, and if they are the wanted ones."""
        if self.interval is None:
            return f"sd must be between {low:.4g} and {high:.4g}", f"got {self.wanted:g}"
        name = "probability of the interval from {} to {}".format(*self.interval)
        digits = next(k for k in (4, 8, 12, 16) if k == 16 or f"{1 - high:.{k}g}" != f"{1 - low:.{k}g}")
        return f"{name} must be between {1 - high:.{digits}g} and {1 - low:.{digits}g}", f"got {1 - self.wanted:g}"


def check_measure_class(measure_class):
    """Check that the argument is the class of a measure whose distribution of the number of clusters is known."""
    if not isinstance(measure_class, type) or not hasattr(measure_class, "hyperparameters"):
        raise TypeError(
            f"measure_class must be the class of a measure, such as DirichletProcess; got {measure_class!r}"
        )
    if lacking(measure_class, [n_clusters_log_pmf]):
        raise TypeError(f"measure_class must have n_clusters_log_pmf, which {measure_class.__name__} lacks")


def check_wishes(n, n_clusters, sd, interval, probability):
    """Check what is wanted of n items; returns the spread, or None."""
    check_count("n", n, 2, 10**9)
    mean = check_number("n_clusters", n_clusters, lambda x: 1.0 < x < n, f"above 1 and below n = {n}")
    if sd is not None and interval is not None:
        raise ValueError(f"one of sd and interval must be None; got sd={sd!r} and interval={interval!r}")
    if interval is None:
        if probability is not None:
            raise ValueError(f"probability must be None without an interval; got {probability!r}")
        return (
            None if sd is None else Spread(check_number("sd", sd, lambda x: 0.0 < x < n, f"above 0 and below n = {n}"))
        )
    ends = np.asarray(interval, dtype=object)
    if ends.shape != (2,):
        raise ValueError(f"interval must be the smallest and the largest number of clusters; got {interval!r}")
    for k, end in enumerate(ends):
        check_count(f"interval[{k}]", end, 1, n)
    low, high = (int(end) for end in ends)
    if low > high:
        raise ValueError(f"interval must be the smallest and then the largest number of clusters; got {interval!r}")
    if not low <= mean <= high:
        raise ValueError(f"interval must contain n_clusters = {mean:g}; got {interval!r}")
    probability = 0.9 if probability is None else probability
    inside = check_number("probability", probability, lambda p: 0.0 < p < 1.0, "between 0 and 1")
    return Spread(1.0 - inside, (low, high))


def check_fixed(measure_class, fixed):
    """Check the hyperparameters that the caller gives; returns them as floats."""
    names = list(measure_class.hyperparameters)
    title = measure_class.__name__
    unknown = sorted(set(fixed) - set(names))
    if unknown:
        raise TypeError(f"hyperparameters of {title} are {', '.join(names)}; got {', '.join(unknown)}")
    return {
        name: check_number(
            f"{name} of {title}",
            value,
            lambda x, name=name: measure_class.hyperparameters[name].support.complaint(np.asarray(x), None) is None,
            measure_class.hyperparameters[name].support.description,
        )
        for name, value in fixed.items()
    }


def free_names(measure_class, fixed, hyperprior, spread):
    """Names of the hyperparameters to be found, the one that takes the mean first."""
    title = measure_class.__name__
    supports = {name: entry.support for name, entry in measure_class.hyperparameters.items()}
    free = [name for name in supports if name not in fixed]
    whole = [name for name in free if isinstance(supports[name], WholeNumber)]
    if whole:
        raise ValueError(f"{whole[0]} of {title} is a whole number and must be given, as in {whole[0]}=1")
    if hyperprior is not None:
        if hyperprior not in free:
            raise ValueError(f"hyperprior must name a free hyperparameter, {_listed(free)}; got {hyperprior!r}")
        if hyperprior_class(supports[hyperprior]) is None:
            raise ValueError(
                f"hyperprior must name a hyperparameter that is positive or in [0, 1); got {hyperprior!r}, "
                f"which is {supports[hyperprior].description}"
            )
        if len(free) > 1:
            others = [name for name in free if name != hyperprior]
            raise ValueError(f"{_listed(others, 'and')} of {title} must be given beside a hyperprior of {hyperprior}")
        if spread is None:
            raise ValueError("sd or interval must be given with a hyperprior, which has two parameters; got neither")
        return free
    if not free:
        raise ValueError(f"{_listed(list(supports))} of {title} must be free to be found; got values of all")
    if len(free) == 1 and spread is not None:
        argument, value = ("sd", spread.wanted) if spread.interval is None else ("interval", spread.interval)
        raise ValueError(
            f"{argument} must be None if {free[0]} of {title} alone is free, since the mean determines the spread; "
            f"got {value}. Give hyperprior={free[0]!r} to have both"
        )
    if len(free) == 2 and spread is None:
        raise ValueError(
            f"sd, interval or one of {_listed(free, 'and')} of {title} must be given, since the mean alone does not "
            "determine both; got none"
        )
    if len(free) > 2:
        raise ValueError(f"all but two of {_listed(free, 'and')} of {title} must be given; got none")
    # Logarithms and unbounded coordinates reach all means; those between 0 and 1 often do not.
    return sorted(free, key=lambda name: (isinstance(supports[name], UnitInterval), -free.index(name)))


def _listed(names, word="or"):
    return f" {word} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class ElicitedPrior:
    """A prior over partitions, and the distribution of the number of clusters under it; from :func:`elicit`.

    Parameters
    ----------
    measure : Measure
        Its fields are numbers, ready for :class:`~pymc_nrm.Partition`.  In place of a hyperparameter with a hyperprior
        there is a distribution of PyMC, as the recipes take it.
    n : int
        Number of items.
    hyperprior : NamedTuple or None
        The two parameters of a gamma or a beta distribution, as ``pm.Gamma("alpha", *prior.hyperprior)`` takes them.
    pmf : ndarray, shape (k_max,)
        Probabilities of 1, 2, ... clusters, without the last ones if less than 1e-15 is left.
    interval : tuple of int
        The interval that was asked for; otherwise one with equal tails and a probability of at least 0.9.

    Examples
    --------
    >>> from pymc_nrm import DirichletProcess, elicit
    >>> prior = elicit(DirichletProcess, 100, 5)
    >>> prior
    ElicitedPrior(DirichletProcess(alpha=0.9476), n=100: mean 5, sd 1.847, 2 to 8 with probability 0.95)
    >>> round(prior.measure.alpha, 4)
    0.9476
    """

    measure: Any
    n: int
    hyperprior: Any
    pmf: np.ndarray
    interval: tuple[int, int]

    @property
    def mean(self) -> float:
        """Prior mean of the number of clusters."""
        return mean_and_sd(self.pmf)[0]

    @property
    def sd(self) -> float:
        """Prior standard deviation of the number of clusters."""
        return mean_and_sd(self.pmf)[1]

    @property
    def probability(self) -> float:
        """Prior probability that the number of clusters is in the interval, ends included."""
        low, high = self.interval
        return float(self.pmf[low - 1 : high].sum())

    def in_model(self) -> Any:
        """The measure in the model at hand, in which a hyperprior is a variable with the name of its hyperparameter.

        Returns
        -------
        Measure

        Examples
        --------
        >>> from pymc_nrm import DirichletProcess, Partition, elicit
        >>> prior = elicit(DirichletProcess, 100, 5, sd=3, hyperprior="alpha")
        >>> with pm.Model() as model:
        ...     z = Partition("z", prior.in_model(), n=100)
        >>> model.free_RVs
        [alpha, z]
        """
        variables = {
            name: getattr(pm, self.hyperprior.distribution)(name, *self.hyperprior)
            for name, value in self.measure._asdict().items()
            if not isinstance(value, float)
        }
        return self.measure._replace(**variables) if variables else self.measure

    def __repr__(self):
        fields = [
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name} ~ {_words(self.hyperprior)}"
            for name, value in self.measure._asdict().items()
        ]
        low, high = self.interval
        return (
            f"ElicitedPrior({type(self.measure).__name__}({', '.join(fields)}), n={self.n}: mean {self.mean:.4g}, "
            f"sd {self.sd:.4g}, {low} to {high} with probability {self.probability:.3g})"
        )


def elicit(
    measure_class: Any,
    n: int,
    n_clusters: float,
    *,
    sd: float | None = None,
    interval: tuple[int, int] | None = None,
    probability: float | None = None,
    hyperprior: str | None = None,
    **fixed: float,
) -> ElicitedPrior:
    """Find hyperparameters, or a hyperprior, that expect a given number of clusters, as surely as wanted.

    One free hyperparameter takes the mean alone; two take a mean and a spread, and so does a hyperprior, which has two
    parameters itself.  Hyperparameters that you know are given by their names and stay as they are.

    Parameters
    ----------
    measure_class : type
        A measure such as :class:`~pymc_nrm.DirichletProcess`, or one of your own.
    n : int
        Number of items, at least 2.
    n_clusters : float
        Prior mean of the number of clusters among the n items, between 1 and n, both excluded.
    sd : float, optional
        Prior standard deviation of the number of clusters.
    interval : tuple of int, optional
        In place of ``sd``: the smallest and the largest number of clusters that you think likely.
    probability : float, optional
        Probability of the interval; by default 0.9.
    hyperprior : str, optional
        Name of the free hyperparameter that gets a hyperprior: a gamma distribution if it is positive, a beta
        distribution if it lies between 0 and 1.
    **fixed : float
        Hyperparameters that are known, such as ``sigma=0.25``.

    Returns
    -------
    ElicitedPrior
        The measure, and the distribution of the number of clusters that it has, computed exactly.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or not allowed, hyperparameters are more or fewer than what is wanted
        determines, or no hyperparameters do what is wanted; the message says what is attainable.

    Notes
    -----
    The distribution is exact: :func:`~pymc_nrm.measures.base.n_clusters_log_pmf`, integrated over a hyperprior by the
    trapezoid rule.  One takes time O(n^2), under a Dirichlet process much less, and two hyperparameters or a hyperprior
    need 20 to 60 of them.

    With its hyperparameter fixed, a Dirichlet process has a standard deviation below the square root of the mean.  If
    you are less sure than that, a hyperprior says so; the data can then move it.

    Examples
    --------
    About 5 clusters, from 2 to 10 with probability 0.9:

    >>> from pymc_nrm import DirichletProcess, NormalizedGeneralizedGamma, elicit
    >>> prior = elicit(DirichletProcess, 100, 5, interval=(2, 10), hyperprior="alpha")
    >>> [round(value, 3) for value in prior.hyperprior]
    [2.839, 2.878]
    >>> round(prior.sd, 3)
    2.71

    In a model, ``Partition("z", prior.in_model(), n=100)`` has this prior.  Two hyperparameters need no hyperprior:

    >>> elicit(NormalizedGeneralizedGamma, 100, 8, sd=4)
    ElicitedPrior(NormalizedGeneralizedGamma(alpha=0.2715, sigma=0.3348), n=100: mean 8, sd 4, 3 to 16 with probability
    0.926)
    >>> elicit(NormalizedGeneralizedGamma, 100, 8, sd=2)
    Traceback (most recent call last):
    ValueError: sd must be between 2.363 and 5.863 for NormalizedGeneralizedGamma and 100 items with mean 8; got 2
    """
    check_measure_class(measure_class)
    spread = check_wishes(n, n_clusters, sd, interval, probability)
    fixed = check_fixed(measure_class, fixed)
    names = free_names(measure_class, fixed, hyperprior, spread)
    with progress(
        "Distributions of the number of clusters", 15 * len(names) ** 3 if hyperprior is None else 60
    ) as advance:

        def pmf_at(*coordinates):
            advance()
            return n_clusters_pmf(_measure_at(measure_class, names, coordinates, fixed), n)

        if hyperprior is None:
            distribution, limits = functools.cache(pmf_at), _limits(measure_class, names)
        else:
            kind = hyperprior_class(measure_class.hyperparameters[hyperprior].support)
            mixture = HyperpriorLaw(pmf_at, _limits(measure_class, names)[0])
            distribution, limits = functools.cache(lambda *x: mixture(kind.at(x))), kind.limits
        try:
            x = _solve(distribution, float(n_clusters), spread, limits)
        except OutOfReachError as reason:
            raise ValueError(_complaint(reason, measure_class, n, n_clusters, spread, hyperprior)) from None
    pmf = distribution(*x)
    shown = spread.interval if spread and spread.interval else equal_tailed_interval(pmf, 0.9)
    if hyperprior is None:
        return ElicitedPrior(_measure_at(measure_class, names, x, fixed), int(n), None, pmf, shown)
    elicited = kind.at(x)
    fields = fixed | {hyperprior: getattr(pm, elicited.distribution).dist(*elicited)}
    return ElicitedPrior(measure_class(**fields), int(n), elicited, pmf, shown)


def _measure_at(measure_class, names, coordinates, fixed):
    """The measure at coordinates on the lines of its free hyperparameters."""
    free = dict(zip(names, coordinates, strict=True))
    measure = measure_class(*[None] * len(measure_class._fields))
    for name, entry in measure_class.hyperparameters.items():
        # The support may depend on the hyperparameters before this one.
        value = (
            float(entry.support.given(measure).from_line(np, free[name], True, None)) if name in free else fixed[name]
        )
        measure = measure._replace(**{name: value})
    return check_measure_hyperparameters(measure)


def _limits(measure_class, names):
    """Limits of the coordinates of free hyperparameters, the first of which takes the mean."""
    limits = []
    for k, name in enumerate(names):
        support = measure_class.hyperparameters[name].support
        if isinstance(support, UnitInterval):
            limit = 7.0
        elif support.is_log_scale(()):
            limit = 7.0 if k else 18.0
        else:
            limit = 1e4
        limits.append((-limit, limit))
    return limits


def _solve(distribution, mean, spread, limits):
    """Coordinates at which the distribution is as wanted, as a tuple of floats."""
    if spread is None:
        return (match_mean(lambda x: mean_and_sd(distribution(x))[0], mean, limits[0]),)

    def moments(x):
        pmf = distribution(*map(float, x))
        return mean_and_sd(pmf)[0], spread.of(pmf)

    return tuple(map(float, match_mean_and_spread(moments, (mean, spread.wanted), limits, (0.0, 0.0))))


def _complaint(reason, measure_class, n, n_clusters, spread, hyperprior):
    """What to say if nothing does what is wanted."""
    of = f"{measure_class.__name__}{f' with a hyperprior of {hyperprior}' if hyperprior else ''} and {n} items"
    if reason.what == "mean":
        return f"n_clusters must be between {reason.low:.4g} and {reason.high:.4g} for {of}; got {n_clusters:g}"
    allowed, got = spread.out_of_reach(reason.low, reason.high)
    return f"{allowed} for {of} with mean {n_clusters:g}; {got}"


def _words(hyperprior):
    fields = ", ".join(f"{name}={value:.4g}" for name, value in hyperprior._asdict().items())
    return f"{hyperprior.distribution}({fields})"
