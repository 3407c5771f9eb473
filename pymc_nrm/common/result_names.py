"""Names in results: the one place that keeps names that a result adds apart from the user's names."""

import xarray as xr


def added_names(users, *names):
    """Names of dimensions or coordinates that a result adds beside the user's.

    A name that the user has, with any number of underscores behind it, gets one underscore more than the user's.
    """
    chosen = []
    for name in names:
        same = [str(user) for user in users if _stem(user) == name]
        name = f"{max(same, key=len)}_" if same else name
        while name in chosen:
            name += "_"
        chosen.append(name)
    return chosen


def added_dim(array, name):
    """The dimension of a result that :func:`added_names` has chosen for a name, or None."""
    return max((dim for dim in array.dims if _stem(dim) == name), key=len, default=None)


def result_dataset(variables, coords=None, attrs=None):
    """Dataset of a result, after a check that no dimension appears twice or has the name of a variable.

    A coordinate with the name of a variable is one of the user, and gets an underscore.
    """
    dims_of = {name: _dims(variable) for name, variable in variables.items()}
    for name, dims in dims_of.items():
        for dim in dims:
            if dim in variables or dims.count(dim) > 1:
                used = "a variable" if dim in variables else f"a further dimension of {name!r}"
                raise ValueError(f"dimension {dim!r} must be renamed, since the result has {used} of this name")
    names = {name: name for name in coords or {}}
    for name in [name for name in names if name in variables]:
        [names[name]] = added_names({*names, *variables}, name)
    return xr.Dataset(variables, {names[name]: _bare(coord) for name, coord in (coords or {}).items()}, attrs)


def _stem(name):
    return str(name).rstrip("_")


def _dims(variable):
    """Dimensions of a variable in any form that xarray takes."""
    if isinstance(variable, tuple):
        return (variable[0],) if isinstance(variable[0], str) else tuple(variable[0])
    return getattr(variable, "dims", ())


def _bare(coord):
    """A coordinate without coordinates of its own, whose names would come along."""
    return coord.variable if isinstance(coord, xr.DataArray) else coord
