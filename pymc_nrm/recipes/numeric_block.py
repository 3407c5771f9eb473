"""Gaussian clusters for columns of numbers: which family, how many principal directions, and the data of the items."""

import logging
from functools import partial

import numpy as np
import pandas as pd

from pymc_nrm.common.checks import check_count, check_flag
from pymc_nrm.common.supports import LEAST_NORMAL
from pymc_nrm.common.wrapping import first_few
from pymc_nrm.families import NormalGamma, NormalWishart
from pymc_nrm.families.arguments import check_matrix
from pymc_nrm.families.definitions.principal_normal_wishart import PrincipalNormalWishart, principal_directions
from pymc_nrm.families.derived.log_normal_gamma import LogNormalGamma
from pymc_nrm.families.derived.log_normal_wishart import LogNormalWishart
from pymc_nrm.families.derived.spherical_principal_normal_wishart import SphericalPrincipalNormalWishart
from pymc_nrm.families.shared.sample_covariance import check_full_rank, check_two_values, dependent_columns
from pymc_nrm.models.mixture import Mixture
from pymc_nrm.models.origin import Origin
from pymc_nrm.models.row_arguments import rows_of_observations
from pymc_nrm.recipes.columns import name_of_column, warn_of_redundant_columns
from pymc_nrm.recipes.messages import tell_user, warn_user
from pymc_nrm.recipes.quick_mixtures import components_with_diagonal_covariances
from pymc_nrm.recipes.rows_in_chunks import add_items
from pymc_nrm.recipes.ties import with_jittered_ties

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_recipes")

# Share of the variance that "auto" keeps where there are more rows than columns.
_SHARE = 0.95

# Elsewhere, "auto" compares variances with the largest ones of so many tables of shuffled columns, and takes at most
# one direction for so many rows.
_N_SHUFFLED, _ROWS_PER_DIRECTION = 10, 5


def chosen_n_directions(X, n_directions, names):
    """The number of directions, given data (n, d) and a function that names columns by their places."""
    n, d = X.shape
    gaps = np.flatnonzero(np.isnan(X).any(axis=0))
    if len(gaps):
        raise ValueError(
            f"n_directions needs complete data; columns [{names(gaps)}] have missing values. Leave out these rows or "
            "columns"
        )
    if n > d and np.isfinite(X).all() and (X.min(axis=0) < X.max(axis=0)).all():
        dependent = dependent_columns(X)
        if len(dependent):
            raise ValueError(
                f"n_directions needs variance in every direction; columns [{names(dependent)}] are linear combinations "
                "of others. Leave them out"
            )
    most = d if n > d else max(1, n - 2)
    if n_directions == "auto":
        variances = principal_directions(check_matrix(PrincipalNormalWishart, X))[3]
        if n > d:
            n_directions = min(d, 1 + int(np.searchsorted(np.cumsum(variances), _SHARE * variances.sum())))
            why = f"with {_SHARE:.0%} of the variance of the scaled columns"
        else:
            n_directions = min(max(1, _n_above_noise(X, variances)), max(1, n // _ROWS_PER_DIRECTION))
            why = f"with {variances[:n_directions].sum() / d:.0%} of the variance of the scaled columns; all others "
            why += "share one noise"
        tell_user(_log, f"n_directions='auto' takes {n_directions} of {most} principal directions, {why}")
    check_count("n_directions", n_directions, 1, most)
    return int(n_directions)


def _n_above_noise(X, variances):
    """Number of leading variances of scaled columns (n, d) that exceed the variances of shuffled columns (Horn
    1965, "A rationale and test for the number of factors in factor analysis").
    """
    rng, scaled = np.random.default_rng(0), (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    largest = np.zeros(len(X))
    for _ in range(_N_SHUFFLED):
        shuffled = rng.permuted(scaled, axis=0)
        largest = np.maximum(largest, np.linalg.eigvalsh(shuffled @ shuffled.T)[::-1] / (len(X) - 1))
    below = variances <= largest[: len(variances)]
    return int(below.argmax()) if below.any() else len(variances)


COVARIANCES = ("full", "diagonal")


# A column of so many items warns if one value has more than a share of them, unless jitter makes it wider than this
# share of the standard deviation of the column: a normal distribution has at most 0.4 % of the items within it.
# Repeated values that are not spread may be rounded, and many may share one.
_ENOUGH_ITEMS, _FEWEST_EQUAL, _WIDE = 20, 10, 0.01
_SHARE_OF_SPREAD, _SHARE_OF_OTHERS = 1 / 20, 1 / 4


# A learned full covariance of d features has d (d + 1) / 2 variables, which NUTS draws with every partition.
_MOST_FULL_FEATURES = 30


def check_options(covariance, jitter_ties, n_directions=None):
    """Check those arguments of a recipe that say what is made of columns of numbers, before there are data."""
    check_flag("jitter_ties", jitter_ties)
    if covariance is not None and covariance not in COVARIANCES:
        raise ValueError(f"covariance must be None, 'full' or 'diagonal'; got {covariance!r}")
    if n_directions is None:
        return
    if covariance == "diagonal":
        raise ValueError("n_directions needs full covariances; got covariance='diagonal'")
    if isinstance(n_directions, int | np.integer) and not isinstance(n_directions, bool):
        check_count("n_directions", n_directions, 1)
    elif not isinstance(n_directions, str) or n_directions != "auto":
        raise ValueError(f"n_directions must be None, 'auto' or a whole number of at least 1; got {n_directions!r}")


def of_all_observations(X, counts):
    """Values of rows, an array or a DataFrame, repeated for their numbers of observations, if these are given."""
    if counts is None:
        return X
    rows = rows_of_observations(counts)
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


def warn_of_equal_observations(counts):
    """Warn that jitter spreads values of different rows, and not the observations of a row."""
    if counts is not None and counts.max() > 1:
        warn_user(
            "The observations of a row are exactly equal, in columns of measurements too, and Gaussian components "
            "shrink to equal values. Where they were rounded, repeat the rows, df.loc[df.index.repeat(counts)], and "
            "leave counts out: jitter then spreads them over the width of the rounding"
        )


def add_numeric_block(
    name,
    z,
    X,
    covariance,
    jitter_ties,
    n_directions=None,
    *,
    log_columns=None,
    readings=(),
    counts=None,
    recipe=None,
):
    """Add Gaussian data X (n, d) of the items of a partition to the model at hand, with learned hyperparameters.

    Columns of ``log_columns``, a mask of shape (d,), are positive; what is Gaussian is their logarithm.  ``readings``
    say how the columns of a table were read, ``counts`` how many observations a row stands for.
    """
    recorded = np.asarray(X, dtype="float64")
    columns = recorded.reshape(len(recorded), -1)
    is_log = np.zeros(columns.shape[1], dtype=bool) if log_columns is None else log_columns
    if is_log.any() and n_directions is not None:
        raise ValueError(
            f"n_directions must be None with columns of the kind 'positive'; got {n_directions!r}. Take logarithms of "
            f"columns {_names(X, np.flatnonzero(is_log))} before, as kind 'numeric'"
        )
    # What depends linearly on what is seen on the scale of the model.
    scaled = np.where(is_log, np.log(np.where(is_log, columns, 1.0)), columns)
    _check_spread(X, scaled)
    if n_directions is None and covariance is None and not is_log.any() and _takes_directions(columns):
        n_directions = "auto"
        tell_user(
            _log,
            f"There are {len(columns)} rows for {columns.shape[1]} numeric columns, too few for covariances: clusters "
            "differ along leading principal directions, n_directions='auto'. covariance='diagonal' makes columns "
            "independent within clusters instead, which cuts correlated ones into many clusters and is far slower",
        )
    if counts is not None and covariance is None and n_directions is None and np.isnan(columns).any():
        if columns.shape[1] > 1:
            _warn_of_independence("Missing values of rows with counts are left out of the likelihood")
        covariance = "diagonal"
    if n_directions is None:
        covariance = _chosen_covariance(X, scaled.reshape(recorded.shape), covariance)
        warn_of_redundant_columns(X, scaled)
    else:
        covariance, n_directions = "full", chosen_n_directions(columns, n_directions, partial(_names, X))
    widths = np.zeros(recorded[:1].size)
    if jitter_ties:
        X, widths = spread_ties(X, is_log)
        _tell_of_jitter(X, widths)
    if counts is None:
        _warn_of_repeated_values(X, recorded, widths)
    warn_of_equal_observations(counts)
    observations = of_all_observations(X, counts)
    if n_directions is not None and n_directions < columns.shape[1]:
        is_wide = len(columns) <= columns.shape[1]
        family_class = SphericalPrincipalNormalWishart if is_wide else PrincipalNormalWishart
        family = family_class.learned(name, observations, n_directions)
    else:
        if covariance == "full":
            _tell_of_gaps(name, X, np.isnan(columns))
        plain, with_logs = (NormalWishart, LogNormalWishart) if covariance == "full" else (NormalGamma, LogNormalGamma)
        family = with_logs.learned(name, observations, is_log) if is_log.any() else plain.learned(name, observations)
    # Descriptions show what was recorded.
    origin = Origin(tuple(readings), recorded if widths.any() else None, recipe=recipe)
    return add_items(name, z, family, np.asarray(X, dtype="float64"), origin, counts)


def _check_spread(X, values):
    """Check that variances of columns are neither too large nor too small for doubles. Shapes: ``values`` (n, d)."""
    for k, column in enumerate(values.T):
        present = column[~np.isnan(column)]
        if len(present) == 0 or np.isinf(present).any() or (present == present[0]).all():
            # Other messages are about these.
            continue
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            variance = np.var(present)
        if not LEAST_NORMAL <= variance < np.inf:
            raise ValueError(
                f"column {name_of_column(X, k)!r} must have a variance from {LEAST_NORMAL:.1e} to 1.8e308; it has "
                f"values such as {present[0]:.3g}. Give it in other units"
            )


def spread_ties(X, is_positive):
    """Jitter repeated values, and widths in each column; positive columns stay positive. ``is_positive``: mask (d,)."""
    jittered, widths = with_jittered_ties(X)
    for k in np.flatnonzero(is_positive):
        if (jittered.iloc[:, k] <= 0.0).any():
            # Wide gaps beside a small value: spread over the gap of logarithms.
            logs, width = with_jittered_ties(np.log(X.iloc[:, k]))
            jittered[X.columns[k]], widths[k] = np.exp(logs), X.iloc[:, k].min() * width[0]
    return jittered, widths


def _takes_directions(columns):
    """Whether clusters differ along principal directions by default: complete data of many columns and fewer rows."""
    n, d = columns.shape
    return n <= d and d > _MOST_FULL_FEATURES and not np.isnan(columns).any()


def add_rows(name, z, rows, covariance):
    """Add rows in chunks to the model at hand, with learned hyperparameters; repeated values stay as they are."""
    sample = pd.DataFrame(rows.sampled_values, columns=rows.columns)
    if covariance == "full":
        _check_complete(sample, sample.to_numpy())
    elif covariance is None and sample.size > len(sample) and sample.isna().to_numpy().any():
        _warn_of_independence(_gaps(sample, sample.isna().to_numpy()))
        covariance = "diagonal"
    covariance = _chosen_covariance(sample, sample.to_numpy(), covariance)
    _warn_of_repeated_values(sample, sample.to_numpy(), np.zeros(len(rows.columns)), "Spread such values")
    warn_of_redundant_columns(sample, sample.to_numpy(), in_chunks=True)
    family_class = NormalWishart if covariance == "full" else NormalGamma
    return Mixture(name, z, family_class.learned(name, rows), observed=rows)


def _chosen_covariance(X, recorded, covariance):
    """The covariance of clusters that the data allow, or that was asked for if they do."""
    # Whether columns are combinations of others is seen in what was recorded: jitter hides it.
    if covariance is None:
        obstacle = _obstacle_to_covariances(X, recorded)
        covariance = "diagonal" if obstacle or recorded.size == len(recorded) else "full"
        if obstacle:
            _warn_of_independence(obstacle)
        elif covariance == "full" and (k := components_with_diagonal_covariances(recorded)):
            covariance = "diagonal"
            tell_user(
                _log,
                f"Numeric columns are independent within clusters: {len(recorded)} rows are few for covariances of "
                f"{recorded.shape[1]} columns, and by BIC {k} components without covariances describe them better. "
                "covariance='full' allows for correlations within clusters",
            )
    elif covariance == "full" and recorded.ndim == 2 and not np.isinf(recorded).any():
        check_two_values(recorded)
        n, d = np.count_nonzero(~np.isnan(recorded).all(axis=1)), recorded.shape[1]
        if n <= d:
            raise ValueError(
                f"covariance='full' needs more rows than columns; got {n} rows and {d} columns. Take n_directions="
                "'auto', with which clusters differ along leading principal directions, or covariance='diagonal'"
            )
        check_full_rank(recorded)
    return covariance


def _warn_of_independence(obstacle):
    warn_user(
        f"{obstacle}. Numeric columns are therefore independent within clusters, which cuts a correlated cloud into "
        "many; covariance='diagonal' asks for this"
    )


def _obstacle_to_covariances(X, values):
    """Why the data of several columns allow no full covariance, and what to do about it; None if they do."""
    d = values[:1].size
    if d == 1 or np.isinf(values).any():
        return None
    n = np.count_nonzero(~np.isnan(values).all(axis=1))
    if n <= d:
        remedy = "Take n_directions='auto', with which clusters differ along leading principal directions"
        if np.isnan(values).any():
            remedy = "n_directions='auto' needs complete columns: leave out those with missing values, or fill them in"
        return f"There are {n} rows for {d} numeric columns, too few for covariances. {remedy}"
    if d > _MOST_FULL_FEATURES:
        return (
            f"There are {d} numeric columns, and full covariances are for at most {_MOST_FULL_FEATURES}. Take "
            "n_directions or fewer columns, or covariance='full', which is slow"
        )
    if not (np.fmin.reduce(values) < np.fmax.reduce(values)).all():
        return None
    dependent = dependent_columns(values)
    if len(dependent):
        return f"Linear combinations of other columns: {_names(X, dependent)}. Leave them out"
    return None


def _tell_of_gaps(name, X, missing):
    if missing.any():
        n_rows, columns = missing.any(axis=1).sum(), np.flatnonzero(missing.any(axis=0))
        tell_user(
            _log,
            f"Missing values are drawn with the clusters, as {name}_missing: {missing.sum()} in "
            f"{n_rows} of {len(missing)} rows, column{'s' * (len(columns) > 1)} {_names(X, columns)}. "
            "covariance='diagonal' leaves them out of the likelihood, with columns independent within clusters",
        )


def _gaps(X, missing):
    """Why rows in chunks with missing values get no covariances, and what to do about it."""
    n, gaps = len(missing), np.flatnonzero(missing.any(axis=0))
    rows, empty = missing.any(axis=1).sum(), missing.all(axis=1).sum()
    text = f"{rows} of {n} rows have no value in column{'s' * (len(gaps) > 1)} {_names(X, gaps)}"
    if empty and len(gaps) > 1:
        text += f", {empty} of them in no numeric column"
    return f"{text}. Leave out these rows, or these columns: rows in chunks with covariances must be complete"


def _check_complete(X, values):
    gaps = np.flatnonzero(np.isnan(values.reshape(len(values), -1)).any(axis=0))
    if len(gaps):
        raise ValueError(
            f"covariance='full' needs complete rows in chunks; columns [{_names(X, gaps)}] have missing values. Leave "
            "out these rows or columns, or take covariance='diagonal', which leaves them out of the likelihood"
        )


def _tell_of_jitter(X, widths):
    columns = np.flatnonzero(widths)
    if len(columns):
        shown = first_few([f"{name_of_column(X, k)} (by at most {widths[k] / 2:.2g})" for k in columns])
        what = "column" if len(columns) == 1 else "columns"
        text = f"Jittered repeated values of {what} {shown}. jitter_ties=False leaves them as they are"
        tell_user(_log, text, {name_of_column(X, k): f"jittered by up to {widths[k] / 2:.2g}" for k in columns})


def _warn_of_repeated_values(X, recorded, widths, spread="jitter_ties=True spreads such values"):
    """Components of items with the same value have a density without bounds, and such a column makes many of them."""
    texts = {True: [], False: []}
    for k, column in enumerate(np.atleast_2d(recorded.T)):
        different, counts = np.unique(column[np.isfinite(column)], return_counts=True)
        if counts.sum() < _ENOUGH_ITEMS or widths[k] > _WIDE * np.nanstd(column):
            continue
        largest = counts.max() / counts.sum()
        if largest > _SHARE_OF_OTHERS or (widths[k] and largest > _SHARE_OF_SPREAD and counts.max() >= _FEWEST_EQUAL):
            text = (
                f"{name_of_column(X, k)!r} has the value {different[counts.argmax()]:zg} in {largest:.0%} of its items"
            )
            texts[bool(widths[k])].append(text)
    for is_spread, columns in texts.items():
        if columns:
            remedy = "Make it two columns, whether it has this value and the others with NaN for it, or leave it out"
            remedy = remedy if is_spread else f"{spread} over the width of the rounding"
            shrink = "Gaussian components shrink to such values, and there may be many"
            warn_user(f"column {first_few(columns)}: {shrink}. {remedy}")


def _names(X, places):
    """The first few of some columns, as a user would write them."""
    return first_few([repr(name_of_column(X, k)) for k in places])
