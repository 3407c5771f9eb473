"""The mixture that takes all columns of a kind of a table."""

from typing import NamedTuple

import pandas as pd

from pymc_nrm.families import BernoulliBeta, CategoricalDirichlet, PoissonGamma
from pymc_nrm.models.mixture import Mixture
from pymc_nrm.recipes.columns import first_few
from pymc_nrm.recipes.messages import warn_user
from pymc_nrm.recipes.numeric_block import add_numeric_block
from pymc_nrm.recipes.reading.kinds import BINARY, CATEGORICAL, COUNT, KINDS, NUMERIC
from pymc_nrm.recipes.reading.table import warn_of_lost_entries
from pymc_nrm.recipes.zeros import has_excess_zeros, poisson_share_of_zeros, share_of_zeros


class Options(NamedTuple):
    """What is made of columns of numbers."""

    covariance: str | None
    jitter_ties: bool
    n_components: int | str | None = None


def _add_numeric(kind, z, X, options):
    return add_numeric_block(kind, z, X, *options)


def _adder(family_class):
    def add(kind, z, X, options):
        family = family_class.learned(kind, X)
        return Mixture(kind, z, family, observed=X.to_numpy(), dims=("item", f"{kind}_feature"))

    return add


def _add_counts(kind, z, X, options):
    _warn_of_zeros(X)
    return _adder(PoissonGamma)(kind, z, X, options)


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
            f"Counts with far more zeros than a Poisson distribution with their other values has: {first_few(shares)}. "
            "Rows are then cut into many clusters by where they have zeros. Make each such column two, whether it is "
            "zero (binary) and the logarithm of its other values with NaN for zero (numeric); or use labels as an "
            "index of parameters of pm.ZeroInflatedPoisson"
        )


# What adds the mixture of all columns of a kind to the model at hand: a function of the kind, the partition, a table of
# floats and the options.
_ADD = {
    NUMERIC: _add_numeric,
    BINARY: _adder(BernoulliBeta),
    CATEGORICAL: _adder(CategoricalDirichlet),
    COUNT: _add_counts,
}


def add_columns(model, z, df, readings, options):
    """Add the columns of a table to a model as they were read; return the mixture of each kind that there is."""
    warn_of_lost_entries(readings)
    mixtures = {}
    for kind in KINDS:
        columns = {k: reading for k, reading in enumerate(readings) if reading.kind == kind}
        if not columns:
            continue
        if kind == CATEGORICAL:
            _add_levels(model, {str(reading.name): reading.levels for reading in columns.values()})
        X = pd.DataFrame({reading.name: reading.values(df.iloc[:, k]) for k, reading in columns.items()})
        mixtures[kind] = _ADD[kind](kind, z, X, options)
        # New rows are read in the same way.
        mixtures[kind].tag.readings = {str(reading.name): reading for reading in columns.values()}
    return mixtures


def _add_levels(model, levels):
    for name, values in levels.items():
        model.add_coord(f"{name}_level", values)
    if len(set(levels.values())) == 1:
        # Parameters of components have the dimension `level`: its names are the levels, if all columns share them.
        model.add_coord("level", next(iter(levels.values())))
