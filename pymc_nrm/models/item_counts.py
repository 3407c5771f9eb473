"""Numbers of items, which may follow data and dimensions if ``pm.set_data`` changes them."""

from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import walk
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.shape import Shape, Shape_i
from pytensor.tensor.type import TensorType

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.named_dims import without_dims
from pymc_nrm.models.values import computed_by, constant_value

# Labels of this many items take 8 GB, and every draw copies them.
MOST_ITEMS = 1_000_000_000
_FOLLOW_DATA = (
    "For a number of items that follows pm.set_data, create the partition with n=X.shape[0], where X is the pm.Data of "
    "the mixture, or with the dims of X"
)


def checked_count(title, n):
    """Check a user's number of items: a whole number, or a scalar tensor that follows data."""
    n = without_dims(n)
    if not isinstance(n, Variable):
        check_count(title, n, 1, MOST_ITEMS)
        return int(n)
    if isinstance(n, Constant):
        return checked_count(title, n.data[()])
    if not isinstance(n.type, TensorType) or n.ndim > 0 or n.type.numpy_dtype.kind not in "iu":
        raise ValueError(f"{title} must be a whole number or a scalar tensor of integers; got {n} of type {n.type}")
    origins = [variable for variable in walk([n], _inputs_but_of_shapes) if variable.owner is None]
    if any(isinstance(origin.type, RandomType) for origin in origins):
        raise ValueError(f"{title} must not depend on random variables; got {n}")
    if not all(isinstance(origin, Constant | SharedVariable) for origin in origins):
        raise ValueError(f"{title} must depend on pm.Data or constants only; got {n}")
    check_count(title, count_value(n), 1, MOST_ITEMS)
    return n.astype("int64")


def count_value(n):
    """Return the current value of a number of items."""
    return int(constant_value(n)) if isinstance(n, Variable) else int(n)


def check_labels(n_labels, partition):
    """Check that the initial point of a chain has one label for each item, of which there may be a fixed number."""
    n_items, kind = count_value(partition.owner.op.n_items(partition.owner)), partition.owner.op.kind
    if kind.n_items is not None and n_items != kind.n_items:
        raise ValueError(
            f"number of items of {kind.title} {partition.name!r} must stay {kind.n_items}, the number of rows of "
            f"{kind.argument}; got {n_items}. Make the model again with other {kind.argument}"
        )
    if n_labels != n_items:
        raise ValueError(
            f"initval of partition {partition.name!r} must have one label for each of its {n_items} items; got "
            f"{n_labels}. initval keeps its length when data change: pass initvals={{{partition.name!r}: labels}} to "
            "nrm.sample"
        )


def check_shape(mixture, shape, n_features, partition, rows):
    """Check that the data of a mixture have one row for each item, or each entry of ``rows``, and the original number
    of columns.
    """
    n_columns = shape[1] if len(shape) == 2 else 1
    if n_columns != n_features:
        raise ValueError(
            f"data of Mixture {mixture!r} must have {n_features} columns, as when it was created; got {n_columns}"
        )
    n = partition.owner.op.n_items(partition.owner)
    n_items = count_value(n)
    if not isinstance(rows, slice):
        if shape[0] != len(rows) or rows.max() >= n_items:
            raise ValueError(
                f"data of Mixture {mixture!r} must have one row for each of the {len(rows)} entries of rows, and "
                f"entries must be below {n_items}, the number of items of partition {partition.name!r}; got {shape[0]} "
                f"rows and entries up to {rows.max()}"
            )
        return
    if shape[0] == n_items:
        return
    sources = {variable.name for variable in walk([n], _inputs) if _is_source(variable)}
    if sources:
        remedy = f"The number of items follows {', '.join(sorted(map(repr, sources)))}: change it with the data"
    else:
        remedy = "The number of items is fixed. " + _FOLLOW_DATA
    raise ValueError(
        f"data of Mixture {mixture!r} must have one row for each of the {n_items} items of partition "
        f"{partition.name!r}; got {shape[0]} rows. {remedy}"
    )


def rows_message(data, labels, item_of_row=None):
    """Message of a log-probability if the data of a mixture lack one row for each label, or for each entry of rows."""
    names = [variable.name for variable in walk([data], _inputs) if variable.name]
    n_items = labels.type.shape[0]
    rows = f"data {names[0]!r}" if names else "data of a Mixture"
    items = "items" if n_items is None else f"{n_items} items"
    if item_of_row is not None:
        return f"{rows} must have one row for each entry of rows of the Mixture, each an item of its partition"
    owner = "its partition" if labels.name is None else f"partition {labels.name!r}"
    return f"{rows} must have one row for each of the {items} of {owner}. {_FOLLOW_DATA}"


def _inputs(variable):
    return [] if variable.owner is None else variable.owner.inputs


def _inputs_but_of_shapes(variable):
    """Inputs of a variable; none if it is a shape, which does not depend on their values."""
    return [] if computed_by(variable, Shape | Shape_i) else _inputs(variable)


def _is_source(variable):
    return (
        isinstance(variable, SharedVariable) and not isinstance(variable.type, RandomType) and variable.name is not None
    )
