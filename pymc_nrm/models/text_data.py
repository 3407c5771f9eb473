"""Observed text of a mixture, as numbers of the levels that its family knows or that the data have."""

import dataclasses
import logging
from typing import Any

import numpy as np
import pymc as pm

from pymc_nrm.common.text_levels import NumbersOfLevels, coded, read_levels
from pymc_nrm.common.wrapping import first_few, wrapped
from pymc_nrm.families.definitions.categorical_dirichlet import CategoricalDirichlet, warn_of_absent_levels
from pymc_nrm.models.origin import Origin

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_models")


def read_text(name: str, family: Any, observed: Any) -> tuple[Any, Origin | None]:
    """Data of a mixture without text, and their origin, which has the names of levels; None if there are none."""
    if not isinstance(family, CategoricalDirichlet):
        return observed, None
    title = f"observed data of Mixture {name!r}"
    if isinstance(family.n_levels, NumbersOfLevels):
        columns, remarks = family.n_levels.columns, family.n_levels.remarks
        observed = coded(title, observed, columns)
    else:
        read = read_levels(title, observed, name)
        if read is None:
            return observed, None
        if getattr(family.alpha, "ndim", np.ndim(family.alpha)) > 0:
            raise TypeError(
                f"{title} must be numbers of levels, since alpha of CategoricalDirichlet has a weight for each number; "
                "got text. Use CategoricalDirichlet.learned of the same text, or a scalar alpha, or number the levels "
                "with pandas.factorize(column, sort=True)[0]"
            )
        columns, remarks, observed = read.columns, read.remarks, read.values
    if remarks:
        _log.info(wrapped(f"Text of Mixture {name!r}: {first_few(remarks)}."))
    if len(np.shape(observed)) == 1:
        columns = tuple(dataclasses.replace(column, name=name) for column in columns)
    name_levels(name, columns)
    return observed, Origin(columns)


def warn_of_holes(title: str, family: Any, X: Any) -> None:
    """Warn of levels that no row has if the family takes their number from the data (n, d), which are checked."""
    if isinstance(family, CategoricalDirichlet) and family.n_levels is None and np.ndim(family.alpha) == 0:
        warn_of_absent_levels(title, np.where(np.isnan(X), -1, X).astype("int64"))


def name_levels(name, columns):
    """Add coordinates with the names of levels to the model at hand, unless it uses their names otherwise."""
    model = pm.modelcontext(None)
    for column in columns:
        coordinate = f"{column.name if isinstance(column.name, str) else f'{name}_{column.name}'}_level"
        if column.levels and coordinate not in model.coords and coordinate not in model.named_vars:
            model.add_coord(coordinate, column.levels)
