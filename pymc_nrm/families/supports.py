"""Ranges of the hyperparameters of families."""

import numpy as np
from pytensor.graph.basic import Constant, Variable

DESCRIPTIONS = {
    "real": "finite",
    "positive": "finite and above 0",
    "non-negative": "finite and at least 0",
    "unit interval": "in [0, 1)",
    "positive definite": "a finite, symmetric, positive definite matrix",
    "greater than d - 1": "finite and greater than the number of features minus 1",
}


def check_constants(family, d):
    """Check every hyperparameter of a family that is a number or an array.

    Parameters
    ----------
    family : Family
        Fields are numbers, arrays, tensors or None.
    d : int or None
        Number of features, where it is known.

    Raises
    ------
    ValueError
        If a hyperparameter is outside its support; the message names it, its value and what is allowed.
    """
    for name, value in family._asdict().items():
        if value is None or (isinstance(value, Variable) and not isinstance(value, Constant)):
            continue
        support = family.hyperparameters[name].support
        title = f"{name} of {type(family).__name__}"
        try:
            array = np.asarray(value.data if isinstance(value, Constant) else value, dtype="float64")
        except (TypeError, ValueError):
            raise ValueError(f"{title} must be {DESCRIPTIONS[support]}; got {value!r}") from None
        if not _allowed(array, support, d):
            raise ValueError(f"{title} must be {DESCRIPTIONS[support]}; got {value!r}")


def _allowed(array, support, d):
    if not np.isfinite(array).all():
        return False
    if support == "positive":
        return bool((array > 0).all())
    if support == "non-negative":
        return bool((array >= 0).all())
    if support == "unit interval":
        return bool(((array >= 0) & (array < 1)).all())
    if support == "greater than d - 1":
        return d is None or bool((array > d - 1).all())
    if support == "positive definite" and array.ndim == 2:
        square = array.shape[0] == array.shape[1] and np.allclose(array, array.T)
        return square and bool((np.linalg.eigvalsh(array) > 0).all())
    return True
