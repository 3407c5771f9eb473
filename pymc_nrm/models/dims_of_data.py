"""Names of the dimensions of the data of a mixture."""

import pymc as pm
from pytensor.graph.basic import Variable

from pymc_nrm.common.named_dims import in_order, named_dims, without_dims
from pymc_nrm.models.item_counts import count_value


def without_names(name, partition, family, observed, rows, dims):
    """Family and data with tensors in place of variables with named dimensions, and the names of the data's axes.

    Axes of items and of features are known by their names, and come where the family and the data have them.
    """
    names, title = named_dims(observed), f"observed data of Mixture {name!r}"
    given = tuple(dims) if isinstance(dims, list | tuple) else None if dims is None else (dims,)
    of_partition = pm.modelcontext(None).named_vars_to_dims.get(partition.name) or (None,)
    axes = (of_partition[0] if rows is None else None, None)
    if given is not None:
        axes = given
    elif names:
        axes = axes[: len(names)]
        dims = given = (*[dim for dim in axes if dim in names], *[dim for dim in names if dim not in axes])
    observed = in_order(title, observed, axes) if names and len(axes) == len(names) else without_dims(observed)
    of_axis = dict(zip(("n", "d"), axes if given is None else given, strict=False))
    fields = {}
    for field, value in family._asdict().items():
        core = family.hyperparameters[field].core
        order = [of_axis.get(axis) if core.count(axis) == 1 else None for axis in core]
        elsewhere = [dim for axis, dim in of_axis.items() if axis not in core]
        fields[field] = in_order(f"{field} of {type(family).__name__}", value, order, elsewhere)
    return family._replace(**fields), observed, dims


def checked_dims(name, dims, shape, model):
    """Check the names of the dimensions against the shape or, without a shape, against the model."""
    if dims is None:
        return None
    names = (dims,) if isinstance(dims, str) else dims
    words = f"dims of Mixture {name!r} must be"
    if not isinstance(names, list | tuple) or not all(isinstance(dim, str) for dim in names):
        raise TypeError(f"{words} a name, or a tuple of names; got {dims!r}")
    if shape is not None and not isinstance(shape, list | tuple):
        return tuple(names)
    if len(names) not in ((1, 2) if shape is None else (len(shape),)):
        got = "" if shape is None else f" for shape {tuple(shape)}"
        raise ValueError(f"{words} one name for a vector, two for a matrix; got {dims!r}{got}")
    for axis, dim in enumerate(names):
        if dim not in model.dim_lengths:
            if shape is None:
                raise ValueError(f"{words} dimensions of the model, {sorted(model.dim_lengths)}; got {dim!r}")
        elif shape is not None and not isinstance(shape[axis], Variable):
            length = count_value(model.dim_lengths[dim])
            if length != shape[axis]:
                raise ValueError(f"{words} of lengths {tuple(shape)}; got {dim!r}, which has length {length}")
    return tuple(names)
