"""Models of a table: a mixture of its rows, and the density of a column given all others; data of new rows."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr

from pymc_nrm.families import BernoulliBeta, CategoricalDirichlet, NormalRegression, PoissonGamma
from pymc_nrm.models.mixture import Mixture
from pymc_nrm.models.rvs import checked_model, find_partition, mixtures_of
from pymc_nrm.recipes.columns import (
    BINARY,
    CATEGORICAL,
    COUNT,
    KINDS,
    NUMERIC,
    check_columns,
    check_table,
    column_kinds,
    column_levels,
    first_few,
    item_names,
    level_codes,
    numbers_of,
    warn_user,
)
from pymc_nrm.recipes.gaussian_mixture import add_partition
from pymc_nrm.recipes.numeric_block import add_numeric_block, check_options
from pymc_nrm.recipes.ties import jitter_ties as with_jitter
from pymc_nrm.recipes.zeros import has_excess_zeros, poisson_share_of_zeros, share_of_zeros

_FAMILIES = {BINARY: BernoulliBeta, COUNT: PoissonGamma}


def mixture_model(
    df: pd.DataFrame,
    *,
    kinds: Mapping[Any, str] | None = None,
    covariance: str | None = None,
    n_components: int | str | None = None,
    measure: Any = None,
    together: Any = None,
    known: Any = None,
    only_known: bool = False,
    jitter_ties: bool = True,
) -> pm.Model:
    """Model of the rows of a table in clusters, with a family for each kind of column.

    All columns of one kind are one :class:`~pymc_nrm.Mixture`, named as the kind, and all of these share the partition
    ``z`` of the rows:

    ================  ========================================================  ==========================  =======
    kind              by default                                                family                      missing
    ================  ========================================================  ==========================  =======
    ``numeric``       numbers other than 0 and 1                                Gaussian, see `covariance`  yes
    ``binary``        booleans, and numbers that are all 0 or 1                 ``BernoulliBeta``           yes
    ``categorical``   strings and pandas categories                             ``CategoricalDirichlet``    yes
    ``count``         never: only by ``kinds``                                  ``PoissonGamma``            no
    ================  ========================================================  ==========================  =======

    Parameters
    ----------
    df : DataFrame
        One row for each item; NaN, None and ``pandas.NA`` mean missing. Missing numbers are drawn with the clusters, as
        ``numeric_missing``, if covariances are full; all other missing values are left out. The index becomes the
        coordinate ``item``, the columns become the coordinates ``numeric_feature``, ``binary_feature`` and so on, and
        the levels that occur in a categorical column the coordinate ``<column>_level``.
    kinds : mapping of {hashable : str}, optional
        The kind of some columns, or of all, by their names as they are: 2 and "2" are different names.
    covariance : {None, "full", "diagonal"}
        Of the numeric columns within a cluster, as in :func:`~pymc_nrm.recipes.gaussian_mixture`: full if possible.
    n_components : int or "auto", optional
        Number of principal directions of the numeric columns in which clusters differ, as in
        :func:`~pymc_nrm.recipes.gaussian_mixture`; by default all.
    measure : measure or ElicitedPrior, optional
        By default ``DirichletProcess(pm.Gamma.dist(2, 1))``, see :func:`~pymc_nrm.recipes.gaussian_mixture`.
    together : array_like of int or str, shape (n,), optional
        Groups of rows that always share a cluster, as in :class:`~pymc_nrm.Partition`.
    known : str or array_like of int or str, shape (n,), optional
        Labels of the rows whose cluster is known; -1, NaN or None for all others, as in :class:`~pymc_nrm.Partition`.
        Or the name of the column that has them, which is then not among the data.  If few are known, a line in the log
        says that the others may form clusters of their own.
    only_known : bool
        Whether all rows are in the clusters of known labels, as in :class:`~pymc_nrm.Partition`.
    jitter_ties : bool
        Whether items with the same value of a numeric column are spread over the width of its rounding, as in
        :func:`~pymc_nrm.recipes.gaussian_mixture`.

    Returns
    -------
    pymc.Model
        Hyperparameters are learned, see ``learned`` of each family, and named after the kind.

    Raises
    ------
    TypeError
        If ``df`` is not a DataFrame, a column has dates, complex numbers, or values of several types, or
        ``jitter_ties`` is not a bool.
    ValueError
        If a column does not allow its kind, is constant, has infinite values or a different string in every row; if
        columns of at most 20 different whole numbers, of text that is mostly numbers, or of more than 20 strings with
        fewer than 4 rows each on average, have no entry in ``kinds``; if names of columns occur twice; if ``known`` is
        a string that names no column; or if the data do not allow ``n_components``.  Messages name the columns and say
        what to do.

    See Also
    --------
    pymc_nrm.recipes.table_data : Data of new rows, for predictions.

    Notes
    -----
    Few different whole numbers may be counts, codes of categories or measurements, and Gaussian clusters of equal
    numbers have no width.  This is why ``kinds`` must say which they are, unless there are more than 5 that leave at
    least half of their range empty, as measurements do.  A column of floats with missing values, all of them whole, is
    treated alike, since pandas turns whole numbers with gaps into floats.

    Warns
    -----
    UserWarning
        If more than a quarter of the values of a count are zeros, and more than three times as many as a Poisson
        distribution with the mean of its other values has: clusters then differ in where zeros are.
        As in :func:`~pymc_nrm.recipes.gaussian_mixture`: if a numeric column without an entry in ``kinds`` looks like
        codes or like names of the rows, numeric columns get no covariances although ``covariance`` is None, some of
        them follow from others, or one value has more than a quarter of the items of such a column and is not spread.

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
    check_options(covariance, jitter_ties, n_components)
    if isinstance(known, str):
        df, known = _without_column(df, known)
    found = column_kinds(df, kinds)
    if n_components is not None and NUMERIC not in found.values():
        raise ValueError(f"n_components must be None without numeric columns; got {n_components!r}")
    with pm.Model(coords={"item": item_names(df, "df")}, model=None) as model:
        z = add_partition(measure, together=together, known=known, only_known=only_known)
        add_columns(model, z, df, found, covariance, jitter_ties, n_components)
    return model


def add_columns(model, z, df, kinds, covariance, jitter_ties, n_components=None):
    """Add the columns of a table to a model, given their kinds; return the mixture of each kind that there is."""
    columns = {kind: [name for name, own in kinds.items() if own == kind] for kind in kinds.values()}
    series, mixtures = {name: df.iloc[:, k] for k, name in enumerate(kinds)}, {}
    for kind in (NUMERIC, BINARY, CATEGORICAL, COUNT):
        if kind not in columns:
            continue
        if kind == CATEGORICAL:
            levels = {name: column_levels(series[name]) for name in columns[kind]}
            _add_levels(model, {str(name): values for name, values in levels.items()})
            block = {name: level_codes(series[name], name, levels[name]) for name in columns[kind]}
        else:
            block = {name: numbers_of(series[name], name, kind) for name in columns[kind]}
        X = pd.DataFrame(block)
        if kind == COUNT:
            _warn_of_zeros(X)
        if kind == NUMERIC:
            mixtures[kind] = add_numeric_block(kind, z, X, covariance, jitter_ties, n_components)
        else:
            family = _FAMILIES.get(kind, CategoricalDirichlet).learned(kind, X)
            mixtures[kind] = Mixture(kind, z, family, observed=X.to_numpy(), dims=("item", f"{kind}_feature"))
    return mixtures


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


def _without_column(df, name):
    """A table without the column of known labels, and that column."""
    check_table(df, "df")
    if name not in df.columns:
        raise ValueError(f"known must be labels or the name of a column of df, {df.columns.tolist()}; got {name!r}")
    return df.drop(columns=name), df[name].to_numpy(dtype=object)


def _add_levels(model, levels):
    for name, values in levels.items():
        model.add_coord(f"{name}_level", values)
    if len(set(levels.values())) == 1:
        # Parameters of components have the dimension `level`: its names are the levels, if all columns share them.
        model.add_coord("level", next(iter(levels.values())))


def regression_model(
    df: pd.DataFrame,
    target: Any,
    *,
    kinds: Mapping[Any, str] | None = None,
    covariance: str | None = None,
    measure: Any = None,
    jitter_ties: bool = True,
) -> pm.Model:
    """Model of a column of numbers given the other columns, with no form of the curve, the noise or its spread assumed.

    Rows are in clusters.  In each cluster the target has a linear regression on the covariates, and the covariates have
    laws of their own as in :func:`~pymc_nrm.mixture_model`, so that the probability of a cluster changes with
    them.  The density of the target given covariates is therefore a mixture of lines with weights that vary (Müller,
    Erkanli & West 1996, "Bayesian curve fitting using multivariate normal mixtures").

    Parameters
    ----------
    df : DataFrame
        One row for each item.  The target may have missing values, which are predicted; covariates may not.
    target : hashable
        Name of the column of numbers to predict, also that of its ``Mixture``; or, if the model has a variable or a
        dimension of this name, as of ``"count"`` or ``"alpha"``, with the end ``_target``.
    kinds : mapping of {hashable : str}, optional
        The kind of some columns, as in :func:`~pymc_nrm.mixture_model`; that of the target is always numeric.
    covariance : {None, "full", "diagonal"}
        Of the numeric covariates within a cluster, as in :func:`~pymc_nrm.gaussian_mixture`.
    measure : measure or ElicitedPrior, optional
        By default ``DirichletProcess(pm.Gamma.dist(2, 1))``, see :func:`~pymc_nrm.gaussian_mixture`.
    jitter_ties : bool
        Whether items with the same value are spread over the width of its rounding, see
        :func:`~pymc_nrm.jitter_ties`; also those of the target.

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
        If the target is no column, covariates have missing values, are constant or linear combinations of others, or as
        in :func:`~pymc_nrm.mixture_model`.

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
    check_columns(df, "df")
    check_options(covariance, jitter_ties)
    if target not in df.columns or df.shape[1] < 2:
        raise ValueError(f"target must be one of at least two columns {df.columns.tolist()}; got {target!r}")
    name, table = str(target), df.drop(columns=target)
    gaps = table.columns[table.isna().any()].tolist()
    if gaps:
        raise ValueError(f"covariates must be complete; columns {gaps} have gaps. Leave out these rows or columns")
    if isinstance(kinds, Mapping) and target in kinds:
        if kinds[target] != NUMERIC:
            raise ValueError(f"kinds[{target!r}] must be {NUMERIC!r}, since it is the target; got {kinds[target]!r}")
        kinds = {name: kind for name, kind in kinds.items() if name != target}
    y = numbers_of(df[target], target, NUMERIC)
    y = with_jitter(y) if jitter_ties else y
    found = column_kinds(table, kinds)
    with pm.Model(coords={"item": item_names(df, "df")}, model=None) as model:
        z = add_partition(measure)
        mixtures = add_columns(model, z, table, found, covariance, jitter_ties)
        blocks = [w.astype("float64") for kind, w in mixtures.items() if kind != CATEGORICAL]
        if CATEGORICAL in mixtures:
            codes = mixtures[CATEGORICAL]
            for k, column in enumerate(model.coords[f"{CATEGORICAL}_feature"]):
                levels = np.arange(1, len(model.coords[f"{column}_level"]))
                blocks.append(pt.eq(codes[:, k, None], levels).astype("float64"))
        # `table_data` reads names of kinds.
        if name in (*KINDS, *model.named_vars, *model.coords):
            name = f"{name}_target"
        family = NormalRegression.learned(name, y, pt.concatenate(blocks, axis=1))
        Mixture(name, z, family, observed=y, dims="item")
    return model


# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_tables")


def table_data(model: pm.Model, df: pd.DataFrame) -> dict[str, xr.DataArray]:
    """Data of new rows for the mixtures of a model of a table.

    Parameters
    ----------
    model : pymc.Model
        From :func:`~pymc_nrm.recipes.mixture_model`, or from :func:`~pymc_nrm.recipes.gaussian_mixture` of a DataFrame.
    df : DataFrame
        New rows with the columns of the model, in any order; missing values where the family allows them.  Further
        columns, such as the class of an item, are left out, and a line in the log names them.

    Returns
    -------
    dict of {str : DataArray}
        By mixture, dims (new_item, <mixture>_feature): what ``cluster_probabilities`` and
        ``log_predictive_density`` take as ``X_new``.  Categories are numbered, strings gone.

    Raises
    ------
    TypeError
        If ``df`` is not a DataFrame, or a column is not of its kind.
    ValueError
        If columns of the model are missing, or a value is outside the support of its kind or a new level.

    Examples
    --------
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({"length": [3.1, 2.9, 5.5, 5.2], "colour": ["red", "red", "blue", None]})
    >>> data = nrm.table_data(nrm.mixture_model(df), df.tail(2))
    >>> data["categorical"].values.tolist(), data["numeric"].new_item.values.tolist()
    ([[0.0], [nan]], [2, 3])
    """
    model = checked_model(model)
    check_table(df, "df")
    columns = {}
    for mixture in mixtures_of(model, find_partition(model, None)):
        features = model.coords.get(f"{mixture.name}_feature")
        if features is not None and all(isinstance(feature, str) for feature in features):
            columns[mixture.name] = list(features)
    if not columns:
        raise ValueError("model must be made of a DataFrame, by mixture_model or gaussian_mixture; it names no columns")
    _check_names(df, [name for names in columns.values() for name in names])
    df = df.rename(columns=str)
    items = item_names(df, "df")
    data = {}
    for mixture, names in columns.items():
        if mixture == CATEGORICAL:
            block = [level_codes(df[name], name, model.coords[f"{name}_level"]) for name in names]
        else:
            kind = mixture if mixture in KINDS else NUMERIC
            block = [numbers_of(df[name], name, kind, new=True) for name in names]
        coords = {"new_item": items, f"{mixture}_feature": names}
        data[mixture] = xr.DataArray(np.stack(block, axis=1), dims=list(coords), coords=coords)
    return data


def _check_names(df, names):
    given = [str(name) for name in df.columns]
    absent, others = [name for name in names if name not in given], [name for name in given if name not in names]
    if absent:
        raise ValueError(f"df must have the columns of the model, {names}; it lacks {absent}")
    if others:
        _log.info(f"Columns that the model does not have are left out: {', '.join(others)}.")
