"""Which columns of other mixtures the covariates of a regression are, as its recipe knows them."""

import dataclasses
from typing import NamedTuple


class Term(NamedTuple):
    """A covariate: a feature of a mixture, or, with a level, whether the feature has this level."""

    mixture: str
    feature: int
    level: int | None = None


@dataclasses.dataclass(frozen=True)
class RegressionTerms:
    """Covariates of the regression of :func:`~pymc_nrm.recipes.regression_model` after its constant, not centred."""

    terms: tuple[Term, ...]
