"""Models of a table: a mixture of its rows, and the density of a column given all others; data of new rows."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr

from pymc_nrm.common.checks import check_flag, numeric_array
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.common.wrapping import first_few, wrapped
from pymc_nrm.families import NormalRegression
from pymc_nrm.models.mixture import Mixture
from pymc_nrm.models.origin import Origin, origin_of
from pymc_nrm.models.row_arguments import check_numbers_of_observations
from pymc_nrm.models.rvs import checked_model, find_partition, is_mixture, mixtures_of
from pymc_nrm.recipes.columns import check_table, in_order_of_rows, item_names
from pymc_nrm.recipes.gaussian_mixture import add_partition
from pymc_nrm.recipes.messages import GatheredMessages
from pymc_nrm.recipes.numeric_block import check_options, of_all_observations
from pymc_nrm.recipes.reading.kinds import CATEGORICAL, KINDS, NUMERIC, SKIP, reading_of_feature
from pymc_nrm.recipes.reading.pairs import warn_of_determined_columns
from pymc_nrm.recipes.reading.panels import tell_of_units
from pymc_nrm.recipes.reading.table import (
    as_mapping,
    read_columns,
    read_table,
    reading_block,
    warn_of_columns,
)
from pymc_nrm.recipes.regression_terms import RegressionTerms, Term
from pymc_nrm.recipes.rows_in_chunks import WaitingColumns, are_in_chunks, asked_table
from pymc_nrm.recipes.table_mixtures import Options, TableRecipe, add_columns
from pymc_nrm.recipes.ties import jitter_ties as with_jitter

# Columns of rows with counts are read as a table of at most so many rows.
_MOST_OBSERVATIONS = 5_000_000
# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_recipes")


def mixture_model(
    df: Any,
    *,
    kinds: Mapping[Any, str] | pd.DataFrame | None = None,
    covariance: str | None = None,
    n_directions: int | str | None = None,
    measure: Any = None,
    together: Any = None,
    known: Any = None,
    only_known: bool = False,
    counts: Any = None,
    jitter_ties: bool = True,
    chunks: bool | None = None,
    strict: bool = False,
) -> pm.Model:
    """Model of the rows of a table in clusters, with a family for each kind of column.

    Columns are read as a person would, and the log says in one table what each became and why;
    :func:`~pymc_nrm.recipes.column_kinds` returns this table.  All columns of one kind are one
    :class:`~pymc_nrm.Mixture`, named as the kind, and all of these share the partition ``z`` of the rows:

    ====================  ========================================================  ==========================  =======
    kind                  by default                                                family                      missing
    ====================  ========================================================  ==========================  =======
    ``numeric``           measurements, dates and times, numbers in text            Gaussian, see `covariance`  yes
    ``positive``          never: only by ``kinds``                                  Gaussian of the logarithm   yes
    ``zero or positive``  numbers from 0, zero in more than a quarter of the rows   Bernoulli and log-normal,   yes
                                                                                    or Poisson of count less 1
    ``binary``            booleans, and numbers that are all 0 or 1                 ``BernoulliBeta``           yes
    ``categorical``       strings, pandas categories, few different numbers         ``CategoricalDirichlet``    yes
    ``count``             whole numbers from 0 that spread as counts do             ``PoissonGamma``            yes
    ``skip``              empty, constant, row numbers, identifiers, free text      left out
    ====================  ========================================================  ==========================  =======

    Parameters
    ----------
    df : DataFrame, path of Parquet files, Dask DataFrame, or Chunks
        One row for each item; NaN, None and ``pandas.NA`` mean missing.  Tables of other libraries, such as polars and
        pyarrow, are converted by pandas; files and Dask collections are read into memory; columns of several levels
        have tuples as names.  Missing numbers are drawn with the clusters, as ``numeric_missing``, if covariances are
        full and rows are not in chunks; all other missing values are left out.  The index becomes the coordinate
        ``item``, the columns become the coordinates ``numeric_feature``, ``binary_feature`` and so on, and the levels
        that occur in a categorical column the coordinate
        ``<column>_level``.
    kinds : mapping of {hashable : str} or DataFrame, optional
        The kind of some columns, or of all, by their names as they are: 2 and "2" are different names.  ``"skip"``
        leaves a column out.  Or the DataFrame of :func:`~pymc_nrm.recipes.column_kinds`, with changes.
    covariance : {None, "full", "diagonal"}
        Of the numeric columns within a cluster, as in :func:`~pymc_nrm.recipes.gaussian_mixture`: by default
        full if the data allow it, and diagonal where rows are few and it describes them better.
    n_directions : int or "auto", optional
        Number of principal directions of the numeric columns in which clusters differ, as in
        :func:`~pymc_nrm.recipes.gaussian_mixture`; by default all.
    measure : measure or ElicitedPrior, optional
        By default ``DirichletProcess(pm.Exponential.dist(log(n)))``, see :func:`~pymc_nrm.recipes.gaussian_mixture`.
    together : array_like of int or str, shape (n,), optional
        Groups of rows that always share a cluster, as in :class:`~pymc_nrm.Partition`.
    known : str or array_like of int or str, shape (n,), optional
        Labels of the rows whose cluster is known; -1, NaN or None for all others, as in :class:`~pymc_nrm.Partition`.
        Or the name of the column that has them, which is then not among the data.  If few are known, a line in the log
        says that the others may form clusters of their own.
    only_known : bool
        Whether all rows are in the clusters of known labels, as in :class:`~pymc_nrm.Partition`.
    counts : str or array_like of int, shape (n,), optional
        Number of equal observations that each row stands for, at least 1, as in :class:`~pymc_nrm.Mixture`; or the name
        of the column that has them, which is then not among the data.  Columns are read, and hyperpriors centred, as
        for the table with rows repeated, of at most 5,000,000; the prior of the partition counts each row once.  A
        Series of ``together``, ``known`` or ``counts`` is matched by its index.
    jitter_ties : bool
        Whether items with the same value of a numeric column are spread over the width of its rounding, as in
        :func:`~pymc_nrm.recipes.gaussian_mixture`.
    chunks : bool, optional
        Whether the rows are :class:`~pymc_nrm.Chunks`, so that one chain uses all cores and results have the labels of
        10,000 random rows and the sums of all clusters.  By default from 30,000 rows on, about where that is faster,
        unless an argument below does not allow it; a line in the log says so.  The columns are read as without chunks.
        In chunks missing numbers are not drawn: numeric columns with gaps are one mixture, ``numeric_with_gaps``, with
        columns independent within clusters.  ``together``, ``known``, ``n_directions`` and columns of the kind
        ``positive`` are not supported.  :class:`~pymc_nrm.Chunks` in place of ``df`` are Chunks of their table with the
        same options.
    strict : bool
        Whether a column whose kind is doubtful is an error unless ``kinds`` has it: all but booleans, strings, floats
        and whole numbers with many values.

    Returns
    -------
    pymc.Model
        Hyperparameters are learned, see ``learned`` of each family, and named after the kind.

    Raises
    ------
    TypeError
        If ``df`` is not a table in memory, a column does not hold what its kind in ``kinds`` needs, or ``jitter_ties``
        or ``strict`` is not a bool.
    ValueError
        If all columns are left out, if rows in chunks were asked for and do not support another argument, if a column
        does not allow its kind in ``kinds``, with ``strict`` if kinds are
        doubtful, if names of columns occur twice, if the variance of a numeric column is not between 2.2e-308 and
        1.8e308, if ``known`` or ``counts`` is a string that names no column, if ``counts`` are not whole numbers of at
        least 1, or if the data do not allow ``n_directions``.  Messages name the columns and say what to do.

    Warns
    -----
    UserWarning
        At most once, of all that may do harm: entries that became missing since they are not finite numbers; columns
        that determine each other, such as countries and their codes, or are functions of others, such as groups of an
        age; counts with zeros in more than a quarter of the rows, and more than three times as many as a Poisson
        distribution with the mean of the other values has, so that clusters differ in where zeros are; and what
        :func:`~pymc_nrm.recipes.gaussian_mixture` warns of, such as columns that follow from others, or a value with
        more than 5 % of the items.  With ``counts``, columns of measurements, since the observations of a row are exact
        equals, which jitter does not spread.

    See Also
    --------
    pymc_nrm.recipes.column_kinds : The table of kinds, to look at and to change.
    pymc_nrm.recipes.table_data : Data of new rows, for predictions.

    Notes
    -----
    Numbers with at most 10 different values, each with 4 rows or more on average, are categories, and so are numbers
    with at most 20 if each has 20 rows or more.  They may be counts or measurements as well, but that guess does least
    harm: taken as measurements, values that repeat make narrow clusters on which chains do not agree.

    Columns of the kind ``positive`` are in the mixture ``numeric``, with covariances on the scale of logarithms; data,
    densities, quantiles and missing values are in the units of the data.  :func:`~pymc_nrm.recipes.column_kinds`
    proposes it for positive columns whose logarithm has the higher likelihood under one normal distribution, by 0.1
    nats a row. A column is ``zero or positive`` if zero is at least twice as frequent as any other of more than 10
    values; and, where the other values are counts, more than three times as frequent as under a Poisson distribution
    with their mean.  Other values are counts if they are whole and few Poisson distributions side by side cover them:
    the square roots of their 5 % and 95 % quantiles differ by at most 4.  The mixtures are ``zero_or_positive`` for
    amounts and ``zero_or_positive_count`` for counts, independent across columns within a cluster; densities of amounts
    have a mass at zero.

    Columns of 0 and 1 have the same density as ``binary`` and as ``categorical``; descriptions say yes and no of the
    first.

    A text is free text if it has more than 20 different values with fewer than 4 rows each on average.

    Other whole numbers from 0 or 1 are counts if they are likelier under one Poisson cluster than under one normal
    cluster, by the Bayesian information criterion.  Where they spread more, many Poisson clusters would tile what few
    normal ones describe.  Of 40 columns of whole numbers in real data, half of the rows held out, 39 lose at most 0.06
    nats a row as measurements; as counts, 10 lose more than that, and up to 1.4.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({
    ...     "length": [3.1, 2.9, 5.5, 5.2, 5.0],
    ...     "colour": ["red", "red", "blue", "blue", None],
    ...     "visits": [0, 1, 7, 5, 5],
    ... })
    >>> model = nrm.mixture_model(df, kinds={"visits": "count"})
    >>> [variable.name for variable in model.observed_RVs]
    ['numeric', 'categorical', 'count']
    >>> model.coords["colour_level"]
    ('blue', 'red')
    """
    check_options(covariance, jitter_ties, n_directions)
    check_flag("strict", strict)
    asked = asked_table(df, chunks)
    df = asked.table
    if isinstance(known, str):
        df, known = _without_column(df, known, "known")
    if isinstance(counts, str):
        df, counts = _without_column(df, counts, "counts")
    known, together = in_order_of_rows("known", known, df), in_order_of_rows("together", together, df)
    counts = _checked_counts(in_order_of_rows("counts", counts, df), df)
    observations = of_all_observations(df, counts)
    readings = read_table(observations, kinds, strict)
    if n_directions is not None and NUMERIC not in {reading.kind for reading in readings}:
        raise ValueError(f"n_directions must be None without numeric columns; got {n_directions!r}")
    of_rows = {"together": together, "known": known, "counts": counts}
    recipe = TableRecipe(
        measure, jitter_ties, next((name for name, value in of_rows.items() if value is not None), None)
    )
    options = Options(covariance, jitter_ties, n_directions, counts, recipe)
    of_partition = {"together": together, "known": known, "only_known": only_known}
    with GatheredMessages() as told:
        in_chunks = are_in_chunks(asked, len(df), readings, options, told, **of_partition, counts=counts)
        # Results have numbers of rows in chunks.
        with pm.Model(coords=None if in_chunks else {"item": item_names(df, "df")}, model=None) as model:
            z = WaitingColumns() if in_chunks else add_partition(measure, len(df), **of_partition)
            determining = warn_of_determined_columns(observations, readings)
            if together is None and known is None and counts is None:
                tell_of_units(_log, readings, len(df), determining)
            add_columns(model, z, df, readings, options)
            if in_chunks:
                z.add_to_model(lambda rows: add_partition(measure, rows.n, chunks=rows), asked.options)
        tell_of_reading(readings, told)
    return model


def tell_of_reading(readings, told):
    """Log how columns were read, and what else there was to say, as one block."""
    head = "Columns as they were read; kinds={'column': 'numeric'} changes a kind, 'skip' leaves a column out:"
    _log.info("\n".join([head, *reading_block(readings, told.notes), *map(wrapped, told.lines)]))


def _without_column(df, name, argument):
    """A table without the column of an argument, and that column."""
    check_table(df, "df")
    if name not in df.columns:
        what = "labels" if argument == "known" else "numbers"
        raise ValueError(
            f"{argument} must be {what} or the name of a column of df, {df.columns.tolist()}; got {name!r}"
        )
    return df.drop(columns=name), df[name].to_numpy(dtype=object)


def _checked_counts(counts, df):
    """Number of observations of each row of a table, int64 of shape (n,), or None."""
    if counts is None:
        return None
    check_table(df, "df")
    values = numeric_array("counts", counts)
    if values.shape != (len(df),):
        raise ValueError(f"counts must have a number for each of the {len(df)} rows of df; got shape {values.shape}")
    check_numbers_of_observations("counts", values)
    total = int(values.sum(dtype="float64"))
    if total > _MOST_OBSERVATIONS:
        raise ValueError(
            f"counts must add up to at most {_MOST_OBSERVATIONS:,}, since columns are read as so many rows; got "
            f"{total:,}. Mixture takes larger counts, with a family of your choice"
        )
    return values.astype("int64")


def regression_model(
    df: Any,
    target: Any,
    *,
    kinds: Mapping[Any, str] | pd.DataFrame | None = None,
    covariance: str | None = None,
    measure: Any = None,
    jitter_ties: bool = True,
    strict: bool = False,
) -> pm.Model:
    """Model of a column of numbers given the other columns, with no form of the curve, the noise or its spread assumed.

    Rows are in clusters.  In each cluster the target has a linear regression on the covariates, and the covariates have
    distributions of their own as in :func:`~pymc_nrm.mixture_model`, so that the probability of a cluster changes with
    them.  The density of the target given covariates is therefore a mixture of lines with weights that vary (Müller,
    Erkanli & West 1996, "Bayesian curve fitting using multivariate normal mixtures").

    Parameters
    ----------
    df : DataFrame
        One row for each item.  The target may have missing values, which are predicted; covariates may not.
    target : hashable
        Name of the column of numbers to predict.  Its ``Mixture`` has the same name; if the model already has a
        variable or a dimension of this name, such as ``"count"`` or ``"alpha"``, the name ends in ``_target``.
    kinds : mapping of {hashable : str} or DataFrame, optional
        The kind of some columns, as in :func:`~pymc_nrm.mixture_model`; the target is always numeric.
    covariance : {None, "full", "diagonal"}
        Of the numeric covariates within a cluster, as in :func:`~pymc_nrm.gaussian_mixture`.
    measure : measure or ElicitedPrior, optional
        By default ``DirichletProcess(pm.Exponential.dist(log(n)))``, see :func:`~pymc_nrm.gaussian_mixture`.
    jitter_ties : bool
        Whether items with the same value are spread over the width of its rounding, see
        :func:`~pymc_nrm.recipes.jitter_ties`; this includes the target.
    strict : bool
        As in :func:`~pymc_nrm.mixture_model`.

    Returns
    -------
    pymc.Model
        With the partition ``z``, mixtures of the covariates by kind, and the :class:`~pymc_nrm.NormalRegression` of the
        target on all of them, categories as indicators of all levels but the first.

    Raises
    ------
    TypeError
        If ``df`` is not a DataFrame, or a column is not of its kind.
    ValueError
        If the target is not a column, covariates have missing values, are constant or linear combinations of others, or
        as in :func:`~pymc_nrm.mixture_model`.

    See Also
    --------
    pymc_nrm.conditional_quantiles : Curves of quantiles and of the mean.
    pymc_nrm.predictive_density : The density itself, with ``given``.
    pymc_nrm.table_data : Covariates of new rows, for both.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({"time": [0.1, 0.4, 0.7, 1.2, 1.9], "height": [1.2, 3.3, 3.9, 2.8, 0.3]})
    >>> model = nrm.regression_model(df, target="height")
    >>> [variable.name for variable in model.observed_RVs]
    ['numeric', 'height']
    """
    check_options(covariance, jitter_ties)
    check_flag("strict", strict)
    df = as_pandas("df", df)
    check_table(df, "df")
    if target not in df.columns or df.shape[1] < 2:
        raise ValueError(f"target must be one of at least two columns {df.columns.tolist()}; got {target!r}")
    name, table = str(target), df.drop(columns=target)
    kinds = {} if kinds is None else as_mapping(kinds)
    if kinds.get(target, NUMERIC) != NUMERIC:
        raise ValueError(f"kinds[{target!r}] must be {NUMERIC!r}, since it is the target; got {kinds[target]!r}")
    (of_target,) = read_columns(df[[target]], {target: NUMERIC})
    readings = read_table(table, {name: kind for name, kind in kinds.items() if name != target}, strict)
    gaps = [reading.name for reading in readings if reading.missing and reading.kind != SKIP]
    if gaps:
        raise ValueError(f"covariates must be complete; columns {gaps} have gaps. Leave out these rows or columns")
    y = of_target.values(df[target])
    with (
        GatheredMessages() as told,
        pm.Model(coords={"item": item_names(df, "df")}, model=None) as model,
    ):
        warn_of_columns([of_target])
        y = with_jitter(y) if jitter_ties else y
        z = add_partition(measure, len(df))
        warn_of_determined_columns(table, readings)
        mixtures = add_columns(model, z, table, readings, Options(covariance, jitter_ties))
        tell_of_reading([*readings, of_target], told)
        blocks = [w.astype("float64") for kind, w in mixtures.items() if kind != CATEGORICAL]
        others = [kind for kind in mixtures if kind != CATEGORICAL]
        terms = [Term(kind, j) for kind in others for j in range(len(model.coords[f"{kind}_feature"]))]
        if CATEGORICAL in mixtures:
            codes = mixtures[CATEGORICAL]
            for k, column in enumerate(model.coords[f"{CATEGORICAL}_feature"]):
                levels = np.arange(1, len(model.coords[f"{column}_level"]))
                blocks.append(pt.eq(codes[:, k, None], levels).astype("float64"))
                terms += [Term(CATEGORICAL, k, int(level)) for level in levels]
        # `table_data` reads names of kinds.
        if name in (*KINDS, *model.named_vars, *model.coords):
            name = f"{name}_target"
        family = NormalRegression.learned(name, y, pt.concatenate(blocks, axis=1))
        Mixture(name, z, family, observed=y, dims="item", origin=Origin(rows=RegressionTerms(tuple(terms))))
    return model


# What reads new rows of recipes that know more of their rows than columns, by what they keep; wings register theirs.
DATA_OF_ROWS: dict[type, Any] = {}


def table_data(model: pm.Model, df: Any) -> dict[str, xr.DataArray]:
    """Data of new rows for the mixtures of a model of a table.

    Parameters
    ----------
    model : pymc.Model
        From :func:`~pymc_nrm.recipes.mixture_model`, from :func:`~pymc_nrm.recipes.gaussian_mixture` of a DataFrame, or
        from :func:`~pymc_nrm.growth.growth_mixture`.
    df : DataFrame
        New rows with the columns of the model, in any order; missing values where the family allows them.  They are
        read as the table of the model was: dates from the same first one, numbers in text, the same levels.  Entries
        that were missing there are missing; others that are not numbers become missing with a warning.  Further
        columns, such as the class of an item, are left out, and a line in the log names them.  Of a growth mixture,
        rows of further subjects in any order, at most as many for each as the model has visits.

    Returns
    -------
    dict of {str : DataArray}
        By mixture, dims (new_item, <mixture>_feature): what ``cluster_probabilities`` and
        ``log_predictive_density`` take as ``X_new``.  Categories are numbered, strings gone.  Of a growth mixture
        ``trajectory`` and ``time``, dims (new_subject, visit), and with columns of membership also ``membership``, dims
        (new_subject, membership_term).

    Raises
    ------
    TypeError
        If ``df`` is not a DataFrame, or a column is not of its kind.
    ValueError
        If columns of the model are missing, or a value is infinite, outside the support of its kind, a number with a
        unit that the model does not have, or a new level.

    Examples
    --------
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({"length": [3.1, 2.9, 5.5, 5.2], "colour": ["red", "red", "blue", None]})
    >>> data = nrm.table_data(nrm.mixture_model(df), df.tail(2))
    >>> data["categorical"].values.tolist(), data["numeric"].new_item.values.tolist()
    ([[0.0], [nan]], [2, 3])
    """
    model = checked_model(model)
    for mixture in filter(is_mixture, model.basic_RVs):
        if type(origin_of(mixture).rows) in DATA_OF_ROWS:
            return DATA_OF_ROWS[type(origin_of(mixture).rows)](model, mixture, df)
    df = as_pandas("df", df)
    check_table(df, "df")
    readings = readings_of(model, find_partition(model, None, chunked=True))
    if not readings:
        raise ValueError("model must be made of a DataFrame, as by mixture_model; it names no columns")
    _check_names(df, [name for columns in readings.values() for name in columns])
    df = df.rename(columns=str)
    items = item_names(df, "df")
    data = {}
    for mixture, columns in readings.items():
        block = [reading.values(df[name]) for name, reading in columns.items()]
        coords = {"new_item": items, f"{mixture}_feature": list(columns)}
        data[mixture] = xr.DataArray(np.stack(block, axis=1), dims=list(coords), coords=coords)
    return data


def readings_of(model, partition):
    """Readings of the columns of the mixtures over a partition that were made of a table, by name of the column."""
    mixtures, readings = {f"{rv.name}_feature": rv for rv in mixtures_of(model, partition)}, {}
    # Copies of a model keep the order of its coordinates, but not of its variables.
    for dim, features in model.coords.items():
        if dim in mixtures and all(isinstance(feature, str) for feature in features):
            name = mixtures[dim].name
            readings[name] = origin_of(mixtures[dim]).readings_by_name or {
                feature: reading_of_feature(model, name, feature) for feature in features
            }
    return readings


def _check_names(df, names):
    given = [str(name) for name in df.columns]
    absent, others = [name for name in names if name not in given], [name for name in given if name not in names]
    if absent:
        raise ValueError(f"df must have the columns of the model, {names}; it lacks {absent}")
    if others:
        _log.info(wrapped(f"Columns that the model does not have are left out: {first_few(others)}."))
