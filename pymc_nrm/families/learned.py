"""The way from a family to its prior on hyperparameters, which needs PyMC and lives above the families."""

from collections.abc import Callable
from typing import Any

__all__ = ["learned_family", "learned_prior"]

_PRIORS: dict[type, Callable[[str, Any], Any]] = {}


def learned_prior[F: Callable](family_class: type) -> Callable[[F], F]:
    """Register what ``learned`` of a family does: a decorator.

    Parameters
    ----------
    family_class : type

    Returns
    -------
    callable
        Takes a function of a name and data, which adds variables to the PyMC model at hand and returns a family of that
        class, and returns the function.

    Examples
    --------
    >>> class Waiting:
    ...     pass
    >>> @learned_prior(Waiting)
    ... def waiting_prior(name, X):
    ...     return f"a prior {name} for {len(X)} items"
    >>> learned_family(Waiting, "x", [1.0, 2.0])
    'a prior x for 2 items'
    """

    def register(function):
        _PRIORS[family_class] = function
        return function

    return register


def learned_family(family_class: type, name: str, X: Any) -> Any:
    """Add the hyperpriors of a family to the model at hand.

    Parameters
    ----------
    family_class : type
    name : str
        Names of the new variables begin with it.
    X : array_like
        The data that the family is for.

    Returns
    -------
    Family
        Its fields are tensors of the new variables.

    Raises
    ------
    NotImplementedError
        If no prior was registered for the class.
    """
    if family_class not in _PRIORS:
        raise NotImplementedError(
            f"{family_class.__name__} has no learned prior; register one with pymc_nrm.families.learned.learned_prior, "
            "or give it hyperparameters"
        )
    return _PRIORS[family_class](name, X)
