"""Missing entries of data that a sampler draws, for families whose statistics need every entry of an item."""

import numpy as np

from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.base import CACHED, log_predictive
from pymc_nrm.families.shared.moments import range_of_grid, summation_grid
from pymc_nrm.families.shared.scale import to_scale
from pymc_nrm.kernels.generic import generic, lacking


@generic(agrees_with=[*CACHED, log_predictive])
def draw_missing(family, cache, data, item, rng):
    """Draw the missing entries of an item given its other entries and the items of a cluster, into the data in place.

    A family that defines it has densities of items with gaps in ``log_predictive``, and takes no gaps anywhere else.
    Its data are :class:`~pymc_nrm.families.base.Centred`.
    """


def filled_data(family, X, places, known):
    """Prepare data X (n, d), given those with NaN at ``places``: centre and grid of these serve all values of the
    entries that the grid holds.
    """
    values = to_scale(family, slice(None), X) - known.center
    if np.all(np.abs(values[places]) < range_of_grid(known.grid, len(X))[places[1]]):
        return known._replace(values=values)
    check_matrix(family, X)
    return known._replace(values=values, grid=summation_grid(values))


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
