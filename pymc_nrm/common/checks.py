"""Argument checks that every part of the package shares."""

import contextlib
import decimal
import numbers

import numpy as np

# Kernels hold counts in 64 bits.
_LARGEST_COUNT = 2**62


def check_count(name, value, least, most=None, *, optional=False):
    """Check an argument that counts something; it may be None if it is optional."""
    if optional and value is None:
        return
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if whole and most is None and value > _LARGEST_COUNT:
        most = _LARGEST_COUNT
    if not whole or value < least or (most is not None and value > most):
        allowed = f"of at least {least}" if most is None else f"between {least} and {most}"
        raise ValueError(f"{name} must be a whole number {allowed}; got {value!r}")


def check_flag(name, value):
    """Check an argument that is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {value!r}")


def check_number(name, value, allowed, description):
    """Check an argument that is one number."""
    real = isinstance(value, numbers.Real) or (isinstance(value, np.ndarray) and value.shape == ())
    try:
        number = float(value) if real and not isinstance(value, bool | np.bool_) else None
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not allowed(number):
        raise ValueError(f"{name} must be {description}; got {value!r}")
    return number


def check_name(argument, value, what):
    """Check that an argument is one name."""
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a string, the name of {what}; got {value!r}")


def check_probability(value, least=0.0, name="probability"):
    """Check that an argument lies between a number and 1."""
    check_number(name, value, lambda p: least < p < 1, f"between {least:g} and 1")


def random_generator(random_seed, argument="random_seed"):
    """Make a random generator from an argument ``random_seed``. A Generator is returned as it is."""
    try:
        if isinstance(random_seed, bool):
            raise TypeError
        return np.random.default_rng(random_seed)
    except (TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(
            f"{argument} must be None, a whole number of at least 0, a sequence of them or a Generator; "
            f"got {random_seed!r}"
        ) from None


def numeric_array(name, value):
    """Convert a value to an array of real numbers, in which NaN means missing."""
    if isinstance(value, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(value)
        value = np.where(mask, np.nan, numeric_array(name, value.data)) if mask.any() else value.data
    try:
        array = value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)
    except OverflowError:
        raise ValueError(f"{name} must be within 1.8e308 of zero; got a larger number") from None
    except (TypeError, ValueError) as error:
        if "inhomogeneous" in str(error):
            raise ValueError(f"{name} must have rows of one length; got rows of different lengths") from None
        raise TypeError(f"{name} must be real numbers; got an object of type {type(value).__name__}") from error
    if value is None:
        raise TypeError(f"{name} must be real numbers; got None")
    if array.dtype.kind == "O":
        return _numbers_of_objects(name, array)
    if array.dtype.kind not in "biuf":
        kinds = {"c": "complex numbers", "M": "dates", "m": "durations", "U": "text", "S": "text", "T": "text"}
        example = f" such as {array.flat[0].item()!r}" if array.size and array.dtype.kind in "cUST" else ""
        raise TypeError(
            f"{name} must be real numbers; got {kinds.get(array.dtype.kind, f'an array of {array.dtype}')}{example}"
        )
    return array


def _numbers_of_objects(name, array):
    """Convert an array of Python objects to floats."""
    floats = np.empty(array.shape)
    for place, entry in np.ndenumerate(array):
        if entry is None or type(entry).__name__ == "NAType":
            floats[place] = np.nan
        elif isinstance(entry, numbers.Real | decimal.Decimal):
            try:
                floats[place] = float(entry)
            except OverflowError:
                raise ValueError(f"{name} must be within 1.8e308 of zero; got a larger number") from None
        else:
            where = f" at position {place}" if place else ""
            raise TypeError(f"{name} must be real numbers; got {entry!r} of type {type(entry).__name__}{where}")
    return floats


@contextlib.contextmanager
def naming(argument):
    """Prefix errors about the content of an argument with its name."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{argument}: {error}") from error
