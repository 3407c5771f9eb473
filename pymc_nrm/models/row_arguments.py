"""Arguments of a mixture that say what its rows are: rows of items, or rows that stand for several observations."""

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable

from pymc_nrm.common.checks import numeric_array
from pymc_nrm.families.base import log_marginal
from pymc_nrm.families.needs import check_needs
from pymc_nrm.models.item_counts import count_value
from pymc_nrm.partitions.flat import Flat

COUNTS_MESSAGE = (
    "data of a Mixture with counts must have one row for each entry of counts, which are fixed: make the model again "
    "with other counts"
)
# Doubles hold every sum of numbers of observations up to here.
_MOST_OBSERVATIONS = 2**53


def checked_rows(title, rows, partition):
    """Item of each row, int64 of shape (n_rows,), or None."""
    if rows is None:
        return None
    items, n = _numbers(title, rows, partition, "the item of each row"), _n_items(partition)
    if items.ndim != 1 or not len(items):
        raise ValueError(f"{title} must have shape (n_rows,), with at least one row; got shape {items.shape}")
    wrong = ~((items >= 0) & (items < n) & (items == np.floor(items)))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"{title} must be items of partition {partition.name!r}, whole numbers from 0 to {n - 1}; got "
            f"{items[row]} in row {row}"
        )
    return items.astype("int64")


def checked_counts(title, counts, partition):
    """Number of observations of each row, int64 of shape (n,), or None."""
    if counts is None:
        return None
    values, n = _numbers(title, counts, partition, "the number of observations of each row"), _n_items(partition)
    if values.shape != (n,):
        raise ValueError(
            f"{title} must have a number for each of the {n} items of partition {partition.name!r}, shape ({n},); got "
            f"shape {values.shape}"
        )
    check_numbers_of_observations(title, values)
    return values.astype("int64")


def check_numbers_of_observations(title, values):
    """Check that numbers (n,) are whole and at least 1; the messages say what to do with others."""
    broken = ~(values == np.floor(values)) | ~np.isfinite(values)
    if broken.any():
        row = int(broken.argmax())
        raise ValueError(
            f"{title} must be whole numbers, how many equal observations each row stands for; got {values[row]} in row "
            f"{row}. Weights of a survey are no such numbers: as a power of the likelihood they would make the "
            "posterior too narrow. Leave them out of the model, and add up the weights of the rows of a cluster to "
            "estimate its share"
        )
    few = values < 1
    if few.any():
        row = int(few.argmax())
        raise ValueError(
            f"{title} must be at least 1; got {values[row]} in row {row}. Leave out such rows: an item without "
            "observations would still count in the prior of the partition"
        )
    if values.sum(dtype="float64") > _MOST_OBSERVATIONS:
        raise ValueError(f"{title} must add up to at most 2**53; got {values.sum(dtype='float64'):.3g}")


def check_use_of_counts(title, family, rows, read):
    """Check that rows may stand for several observations: what was read of the data is None if there are none."""
    if rows is not None:
        raise ValueError(f"{title} must be None if rows is given; repeat entries of rows, and rows of data, instead")
    if read is None:
        raise ValueError(f"{title} must be None without observed data, since they multiply rows that were observed")
    if read.draws_gaps:
        raise ValueError(
            f"{title} must be None if data have NaN; {type(family).__name__} draws missing values, which differ "
            "between the observations of a row. Omit these rows, or use NormalGamma"
        )
    check_needs(type(family), (log_marginal,), "a Mixture with counts")


def n_rows(partition, rows):
    """Number of rows of data, and its description."""
    if rows is not None:
        return len(rows), f"{len(rows)} entries of rows"
    n = _n_items(partition)
    return n, f"{n} items of partition {partition.name!r}"


def _n_items(partition):
    return count_value(partition.owner.op.n_items(partition.owner))


def _numbers(title, values, partition, what):
    if not isinstance(partition.owner.op.kind, Flat):
        raise ValueError(f"{title} must be None, since {partition.name!r} is not a flat Partition of items in memory")
    if isinstance(values, Variable):
        raise TypeError(f"{title} must be an array with {what}; got {values} of type {values.type}")
    return numeric_array(title, values)


def rows_of_observations(counts):
    """Row of each observation, from the number of observations of each row, an array or a tensor."""
    counts = counts.data if isinstance(counts, Constant) else counts
    if isinstance(counts, Variable):
        return pt.repeat(pt.arange(counts.shape[0]), counts.astype("int64"))
    return np.repeat(np.arange(len(counts)), np.asarray(counts, dtype="int64"))


def of_observations(family, X, rows):
    """Family and data with a row for each observation, given its row; arrays or tensors."""
    changed = {}
    for name, spec in family.hyperparameters.items():
        if "n" in spec.core:
            changed[name] = getattr(family, name)[(slice(None),) * spec.core.index("n") + (rows,)]
    if isinstance(X, Constant) and hasattr(X.data, "tocsr"):
        from pytensor.sparse import as_sparse_variable  # imports scipy.sparse

        return family._replace(**changed), as_sparse_variable(X.data.tocsr()[rows])
    return family._replace(**changed), X[rows]
