"""Checks of arguments that every part of the package shares."""

import numpy as np


def check_count(name, value, least, most=None):
    """Check an argument that counts something.

    Parameters
    ----------
    name : str
        What the message calls it.
    value : object
    least : int
    most : int, optional

    Raises
    ------
    ValueError
        If the value is not a whole number between ``least`` and ``most``.

    Examples
    --------
    >>> check_count("n_trees", 2, 1)
    >>> check_count("n_trees", 0, 1)
    Traceback (most recent call last):
    ValueError: n_trees must be a whole number of at least 1; got 0
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        allowed = f"of at least {least}" if most is None else f"between {least} and {most}"
        raise ValueError(f"{name} must be a whole number {allowed}; got {value!r}")
