"""How strong ties are: one number for each block, made of the parameters of a family, and how it is written."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.common.wrapping import whole_percent
from pymc_nrm.families import (
    BernoulliBeta,
    CategoricalDirichlet,
    HurdleLogNormal,
    HurdlePoisson,
    LogNormalGamma,
)
from pymc_nrm.posterior.describe_values import number_writer


class Strength(NamedTuple):
    """A number that says how strong ties are."""

    # What it is, in a sentence and in a label of an axis.
    name: str
    # A function of the parameters of blocks, arrays (..., K, L, ...) by name.
    of: Callable[[dict], Any]
    # Whether it is a probability.
    is_share: bool

    def writer(self, values):
        """A function that writes numbers like these, with as many digits as their spread needs."""
        if self.is_share:
            return whole_percent
        known = np.asarray(values)[np.isfinite(values)]
        return number_writer(max(float(known.std()), 0.3 * float(np.abs(known).mean())), whole=False)


def _probability(parameters):
    return parameters["probability"]


_STRENGTHS = {
    BernoulliBeta: Strength("probability of a tie", _probability, True),
    HurdlePoisson: Strength("probability of a tie", _probability, True),
    HurdleLogNormal: Strength("probability of a tie", _probability, True),
    # Levels have the first one for no tie.
    CategoricalDirichlet: Strength(
        "probability of another level than the first", lambda parameters: 1.0 - parameters["probability"][..., 0], True
    ),
    LogNormalGamma: Strength("median", lambda parameters: np.exp(parameters["location"]), False),
}


def strength_of(family_class):
    """The :class:`Strength` of ties of a family; by default its first parameter, such as a mean or a rate."""
    for known, strength in _STRENGTHS.items():
        if issubclass(family_class, known):
            return strength
    name = next(iter(family_class.parameters))
    return Strength(name, lambda parameters: parameters[name], False)
