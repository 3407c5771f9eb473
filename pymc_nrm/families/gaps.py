"""Missing entries of data that a sampler draws, for families whose statistics need every entry of an item."""

import numpy as np

from pymc_nrm.kernels.generic import generic, lacking


@generic
def draw_missing(family, cache, data, item, rng):
    """Draw the missing entries of an item given its other entries and the items of a cluster, into the data in place.

    A family that defines it has densities of items with gaps in ``log_predictive``, and takes no gaps anywhere else.
    """


def draws_gaps(family_class):
    """Whether missing entries are drawn; families that do not either leave them out or take none."""
    return not lacking(family_class, [draw_missing])


def check_filled(family_class, values, title):
    """Refuse missing entries where nothing draws them. Shapes: ``values`` (n, d)."""
    gaps = np.isnan(values) if draws_gaps(family_class) else np.empty(0)
    if gaps.any():
        row, column = np.argwhere(gaps)[0].tolist()
        raise ValueError(
            f"{title} must have no NaN; got one in row {row}, column {column}. {family_class.__name__} takes missing "
            "values in the array observed of a Mixture, as variables of the model, and in new items of predictions. "
            "Leave out these rows, or take NormalGamma, which leaves missing values out of the likelihood"
        )
