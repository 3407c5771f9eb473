"""Arguments of :func:`elicit`: what is wanted, and which hyperparameters are free to give it."""

from typing import NamedTuple

import numpy as np

from pymc_nrm.common.checks import check_count, check_number
from pymc_nrm.common.supports import UnitInterval, WholeNumber
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.measures.base import n_clusters_log_pmf
from pymc_nrm.recipes.elicitation.hyperpriors import hyperprior_class
from pymc_nrm.recipes.elicitation.laws import mean_and_sd

# Keeps logarithms of probabilities finite.
_LEAST_PROBABILITY = 1e-300


class Spread(NamedTuple):
    """A wanted standard deviation, or a wanted probability outside of an interval."""

    wanted: float
    interval: tuple[int, int] | None = None

    def of(self, pmf):
        """What a law has of it."""
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
    """Check that the argument is the class of a measure whose law of the number of clusters is known."""
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
            "determine both; got none of them"
        )
    if len(free) > 2:
        raise ValueError(f"all but two of {_listed(free, 'and')} of {title} must be given; got none of them")
    # Logarithms and unbounded coordinates reach all means; those between 0 and 1 often do not.
    return sorted(free, key=lambda name: (isinstance(supports[name], UnitInterval), -free.index(name)))


def _listed(names, word="or"):
    return f" {word} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
