"""The way from a family to its prior on hyperparameters, which needs PyMC and lives above the families."""

from collections.abc import Callable
from typing import Any

__all__ = ["learned_family", "learned_prior"]

_PRIORS: dict[type, Callable[[str, Any], Any]] = {}


def learned_prior[F: Callable](family_class: type) -> Callable[[F], F]:
    """Register what ``learned`` of a family does: a decorator. It is for a function of a name and data that adds
    variables to the model at hand and returns a family.
    """

    def register(function):
        _PRIORS[family_class] = function
        return function

    return register


def learned_family(family_class: type, name: str, X: Any) -> Any:
    """Add the hyperpriors of a family to the model at hand. Fields of the family are tensors of the new variables."""
    if family_class not in _PRIORS:
        raise NotImplementedError(
            f"{family_class.__name__} has no learned prior; register one with pymc_nrm.families.learned.learned_prior, "
            "or give it hyperparameters"
        )
    return _PRIORS[family_class](name, X)
