"""The mixtures that take the columns of a table, by their kinds."""

import itertools
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymc_nrm.common.wrapping import first_few
from pymc_nrm.families import BernoulliBeta, CategoricalDirichlet, HurdleLogNormal, HurdlePoisson, PoissonGamma
from pymc_nrm.models.origin import Origin
from pymc_nrm.recipes.messages import tell_user, warn_user
from pymc_nrm.recipes.numeric_block import (
    add_numeric_block,
    of_all_observations,
    spread_ties,
    warn_of_equal_observations,
)
from pymc_nrm.recipes.reading.kinds import (
    BINARY,
    CATEGORICAL,
    COUNT,
    NUMERIC,
    POSITIVE,
    ZERO_OR_POSITIVE,
)
from pymc_nrm.recipes.reading.table import warn_of_columns
from pymc_nrm.recipes.rows_in_chunks import WaitingColumns, add_items
from pymc_nrm.recipes.zeros import are_counts, has_excess_zeros, poisson_share_of_zeros, share_of_zeros

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_recipes")


class TableRecipe(NamedTuple):
    """What makes a model of a table again with further rows, besides the columns and their readings."""

    # As given by the user, None for the default of the number of rows.
    measure: Any
    jitter_ties: bool
    # An argument with a value for each row, which further rows would need as well, or None.
    of_rows: str | None


class Options(NamedTuple):
    """What is made of columns."""

    covariance: str | None
    jitter_ties: bool
    n_directions: int | str | None = None
    # Number of observations of each row, int64 of shape (n,), or None if each is one.
    counts: Any = None
    # What the origin of each mixture keeps.
    recipe: Any = None


def _add_numeric(name, z, X, readings, options):
    gaps = X.isna().to_numpy().any(axis=0)
    if isinstance(z, WaitingColumns) and gaps.any() and X.shape[1] > 1 and options.covariance != "diagonal":
        return _add_apart_from_gaps(name, z, X, readings, options, gaps)
    log_columns = np.array([reading.kind == POSITIVE for reading in readings])
    chosen = options.covariance, options.jitter_ties, options.n_directions
    further = {"counts": options.counts, "recipe": options.recipe}
    return add_numeric_block(name, z, X, *chosen, log_columns=log_columns, readings=readings, **further)


def _add_apart_from_gaps(name, z, X, readings, options, gaps):
    """Numeric columns of rows in chunks, which draw no missing values: columns with gaps are a mixture of their own."""
    shown = first_few([repr(column) for column in X.columns[gaps]])
    tell_user(
        _log,
        f"Rows in chunks do not draw missing numbers: numeric columns with gaps, {shown}, are independent of each "
        "other and of all other columns within clusters. chunks=False draws missing numbers with the clusters",
    )
    for part, in_part, covariance in ((name, ~gaps, options.covariance), (f"{name}_with_gaps", gaps, "diagonal")):
        if in_part.any():
            readings_of_part = list(itertools.compress(readings, in_part))
            _add_numeric(part, z, X.loc[:, in_part], readings_of_part, options._replace(covariance=covariance))


def _adder(family_class):
    def add(name, z, X, readings, options, recorded=None):
        family = family_class.learned(name, of_all_observations(X, options.counts))
        origin = Origin(tuple(readings), recorded, recipe=options.recipe)
        return add_items(name, z, family, X.to_numpy(), origin, options.counts)

    return add


def _add_counts(name, z, X, readings, options):
    _warn_of_zeros(of_all_observations(X, options.counts))
    return _adder(PoissonGamma)(name, z, X, readings, options)


def _add_amounts(name, z, X, readings, options):
    """Amounts; repeated positive values are spread as in columns of measurements."""
    recorded = X.to_numpy()
    positive = X.where(X > 0.0)
    if options.jitter_ties:
        positive, _ = spread_ties(positive, np.ones(X.shape[1], dtype=bool))
    warn_of_equal_observations(options.counts)
    X = positive.where(X > 0.0, X)
    recorded = None if np.array_equal(X.to_numpy(), recorded, equal_nan=True) else recorded
    return _adder(HurdleLogNormal)(name, z, X, readings, options, recorded)


def _warn_of_zeros(X):
    """Poisson clusters of a column with far more zeros than they explain cut apart rows that differ in zeros only."""
    columns = {name: X[name].to_numpy() for name in X}
    columns = {name: values for name, values in columns.items() if has_excess_zeros(values)}
    if columns:
        shares = [
            f"{name!r} ({share_of_zeros(values):.0%}, expected {poisson_share_of_zeros(values):.0%})"
            for name, values in columns.items()
        ]
        warn_user(
            "Counts with far more zeros than a Poisson distribution with their other values has: "
            f"{first_few(shares, 3)}. Rows are then cut into many clusters by where they have zeros; "
            f"kinds={{{next(iter(columns))!r}: {ZERO_OR_POSITIVE!r}}} models zeros apart from the other values"
        )


class _Block(NamedTuple):
    """The columns of a mixture, and what adds it to the model at hand."""

    # Also the first part of the names of its variables and dimensions.
    name: str
    kinds: tuple[str, ...]
    # A function of the name, the partition, a table of floats, the readings of its columns and the options.
    add: Callable[..., Any]
    # Which columns of these kinds it takes, a function of their values.
    takes: Callable[[np.ndarray], bool] = lambda values: True


# In the order of the mixtures.
_BLOCKS = (
    _Block("numeric", (NUMERIC, POSITIVE), _add_numeric),
    _Block("zero_or_positive", (ZERO_OR_POSITIVE,), _add_amounts, lambda values: not are_counts(values)),
    _Block("zero_or_positive_count", (ZERO_OR_POSITIVE,), _adder(HurdlePoisson), are_counts),
    _Block("binary", (BINARY,), _adder(BernoulliBeta)),
    _Block("categorical", (CATEGORICAL,), _adder(CategoricalDirichlet)),
    _Block("count", (COUNT,), _add_counts),
)


def add_columns(model, z, df, readings, options):
    """Add the columns of a table to a model as they were read; return the mixtures that there are by their names."""
    warn_of_columns(readings)
    mixtures = {}
    for block in _BLOCKS:
        chosen = [
            (reading, reading.values(df.iloc[:, k]))
            for k, reading in enumerate(readings)
            if reading.kind in block.kinds
        ]
        chosen = {
            reading.name: (reading, values)
            for reading, values in chosen
            if block.takes(of_all_observations(values, options.counts))
        }
        if chosen:
            readings_of_block = [reading for reading, _ in chosen.values()]
            X = pd.DataFrame({name: values for name, (_, values) in chosen.items()})
            mixtures[block.name] = _add_block(model, z, block, X, readings_of_block, options)
    return mixtures


def add_read_columns(model, z, tables):
    """Add columns that are read to a model: their values, readings and options by the names of their mixtures."""
    for block in _BLOCKS:
        if block.name in tables:
            _add_block(model, z, block, *tables[block.name])


def _add_block(model, z, block, X, readings, options):
    if block.kinds == (CATEGORICAL,):
        _add_levels(model, {str(reading.name): reading.levels for reading in readings})
    # New rows are read in the same way, as the origin of the mixture says.
    return block.add(block.name, z, X, readings, options)


def _add_levels(model, levels):
    for name, values in levels.items():
        model.add_coord(f"{name}_level", values)
    if len(set(levels.values())) == 1:
        # Parameters of components have the dimension `level`: its names are the levels, if all columns share them.
        model.add_coord("level", next(iter(levels.values())))
