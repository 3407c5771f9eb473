"""Groups of trajectories: growth mixtures and latent class growth models of a table with rows of subjects over time."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr

from pymc_nrm.common.checks import check_count, check_flag
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.common.wrapping import first_few
from pymc_nrm.growth.families import NormalTrajectory
from pymc_nrm.growth.models.growth import Growth
from pymc_nrm.growth.recipes.long_table import long_table
from pymc_nrm.growth.recipes.trajectory_table import (
    check_names,
    choose_curve,
    design_of,
    read_membership,
    read_target,
    read_times,
    read_trajectories,
)
from pymc_nrm.models.mixture import Mixture
from pymc_nrm.models.origin import Origin, origin_of
from pymc_nrm.models.partition import Partition
from pymc_nrm.recipes.columns import check_columns, check_table
from pymc_nrm.recipes.gaussian_mixture import default_measure, with_fields_in_model
from pymc_nrm.recipes.ties import jitter_ties as with_jitter
from pymc_nrm_predictor.reading.kinds import values_of

# Standard deviations of logits of groups, and of their levels if there may be fewer groups.
_WIDTH, _WIDTH_OF_MANY = 1.5, 4.0


def growth_mixture(
    df: Any,
    *,
    subject: Any,
    time: Any,
    target: Any,
    degree: int | str | None = None,
    n_groups: int | None = None,
    max_groups: int | None = None,
    membership: Any = None,
    random_intercept: bool = True,
    measure: Any = None,
    jitter_ties: bool = True,
) -> pm.Model:
    """Model of groups of trajectories, whose number, curves and members are unknown.

    ``growth_mixture(df, subject="id", time="age", target="height", degree=1)`` is short for the following model, with a
    row of ``times`` and ``heights`` for each subject, padded by NaN::

        with pm.Model(coords={"subject": ids, "visit": range(1, d + 1)}) as model:
            alpha = pm.Exponential("alpha", np.log(len(ids)))
            z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="subject")
            time = pm.Data("time", times, dims=("subject", "visit"))
            family = nrm.growth.NormalTrajectory.learned("trajectory", heights, time)
            nrm.Mixture("trajectory", z, family, observed=heights, dims=("subject", "visit"))

    Parameters
    ----------
    df : DataFrame
        One row for each visit of each subject, in any order and any number, at any times.  Without the columns time and
        target, columns that share a name and a number, such as ``y0`` and ``y1``, are visits, and a line in the log
        says so.
    subject, time, target : hashable
        Columns, or levels of the index, with the subject of a row, numbers or text; the time, numbers or dates; and the
        response, a number.  Rows where one of them is missing are left out, and a line in the log says how many.
    degree : int or "spline", optional
        Degree of the polynomial of time in each group, or natural cubic splines with five knots.  By default the least
        degree, up to 3, whose residuals about each subject's own polynomial are as small as those of the next one, by
        an F test at 1 %.
    n_groups : int, optional
        Exact number of groups, some of which may be empty.  By default the number is unknown.
    max_groups : int, optional
        Most groups, if membership depends on covariates and the number is unknown.  More groups than there are remain
        empty in most draws.
    membership : str or list of str, optional
        Columns with one value for each subject on which the probabilities of the groups depend, numbers or levels.
        Needs ``n_groups`` or ``max_groups``.
    random_intercept : bool
        Whether subjects of a group differ in level, by an intercept of each subject that is integrated out: a growth
        mixture model.  Without it, all subjects of a group follow its curve but for independent errors: a latent class
        growth model, which needs more groups to describe subjects who differ in level.
    measure : measure or ElicitedPrior, optional
        Prior of an unknown number of groups; by default ``DirichletProcess(pm.Exponential.dist(log(n)))``, see
        :func:`~pymc_nrm.gaussian_mixture`.
    jitter_ties : bool
        Whether rows with the same value of the target are spread over the width of its rounding, see
        :func:`~pymc_nrm.recipes.jitter_ties`.

    Returns
    -------
    pymc.Model
        With the partition ``z`` of the subjects, the data ``trajectory``, and their hyperparameters, of which
        ``trajectory_ratio`` is the variance of the intercepts of subjects relative to the noise.  With ``n_groups``,
        ``share`` are the probabilities of the groups; with ``membership``, these follow from the coefficients ``gate``
        of standardised columns.  Sample it with :func:`pymc_nrm.sample`.

    Raises
    ------
    TypeError
        If times are neither numbers nor dates.
    ValueError
        If an argument is not a column, the target is binary or text, a column of ``membership`` is constant, missing
        for a subject or has several values for one, or arguments do not go together.

    See Also
    --------
    pymc_nrm.describe : What the groups are like, and who belongs to them.
    pymc_nrm.growth.plots.plot_trajectories : The picture.
    pymc_nrm.table_data : Data of further subjects, for :func:`~pymc_nrm.cluster_probabilities`.

    Notes
    -----
    Subjects differ in level in nearly all studies.  A model without intercepts of subjects describes such differences
    by groups, which follow each other in parallel; their number then grows with the number of visits (Bauer & Curran
    2003, "Distributional assumptions of growth mixture models").  Differences of slope within a group are part of the
    noise.  Curves have normal errors with a variance of each group.

    With ``membership``, groups have the weights ``softmax(level + X gate)``, which treat groups alike.  Coefficients
    have normal priors of standard deviation 1.5, for one standard deviation of a column, or between its two values, and
    so have levels; with ``max_groups`` levels have standard deviation 4, so that groups may be empty.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> df = pd.DataFrame({
    ...     "child": ["a", "a", "a", "b", "b", "b", "c", "c"],
    ...     "age": [8, 10, 12, 8, 10, 12, 8, 12],
    ...     "length": [21.0, 20.2, 21.5, 20.1, 23.0, 26.2, 21.3, 27.1],
    ... })
    >>> model = nrm.growth.growth_mixture(df, subject="child", time="age", target="length", degree=1)
    >>> [variable.name for variable in model.free_RVs][:3], model.coords["subject"]
    (['alpha', 'z', 'trajectory_ratio'], ('a', 'b', 'c'))
    """
    check_flag("random_intercept", random_intercept)
    check_flag("jitter_ties", jitter_ties)
    columns = _checked_groups(n_groups, max_groups, membership, measure)
    df = as_pandas("df", df)
    check_columns(df, "df")
    df = long_table(df, subject, time, target)
    check_names(df, subject=subject, time=time, target=target)
    for name in columns:
        if name not in df.columns:
            names = first_few(list(map(repr, df.columns)))
            raise ValueError(f"membership must be columns of df, {names}; got {name!r}")
        if name in (subject, time, target):
            raise ValueError(f"membership must be other columns than subject, time and target; got {name!r}")
    times, rule, unit, divisor, start = read_times(df[time])
    values, reading = read_target(df[target])
    values = np.asarray(with_jitter(values)) if jitter_ties else values
    rows = read_trajectories(df, subject, times, values)
    if len(rows.ids) < 2 or not (~np.isnan(rows.values)).sum(axis=1).max() > 1:
        raise ValueError(
            f"subject must be a column with at least two subjects, and a subject with two rows; {subject!r} has "
            f"{len(rows.ids)} in {np.isfinite(rows.values).sum()} complete rows"
        )
    curve = choose_curve(degree, rows)
    terms, design = read_membership(df, columns, rows, subject) if columns else ((), None)
    coords = {"subject": rows.ids, "visit": np.arange(1, rows.time.shape[1] + 1)}
    with pm.Model(coords=coords, model=None) as model:
        z = _add_groups(model, n_groups, max_groups, measure, terms, design)
        when = pm.Data("time", rows.time, dims=("subject", "visit"))
        covariates = pt.stack(curve.columns(when, pt.maximum), axis=-1)
        ratio = None if random_intercept else 0.0
        family = NormalTrajectory.learned("trajectory", rows.values, covariates, ratio)
        origin = Origin(rows=Growth(subject, time, target, rule, unit, divisor, start, curve, reading, terms))
        Mixture("trajectory", z, family, observed=rows.values, dims=("subject", "visit"), origin=origin)
    return model


def _checked_groups(n_groups, max_groups, membership, measure):
    """Check arguments about groups; return the columns of membership."""
    check_count("n_groups", n_groups, 1, optional=True)
    check_count("max_groups", max_groups, 2, optional=True)
    if n_groups is not None and max_groups is not None:
        raise ValueError(f"n_groups and max_groups must not both be given; got {n_groups} and {max_groups}")
    columns = [] if membership is None else [membership] if isinstance(membership, str) else list(membership)
    if len(set(columns)) < len(columns):
        raise ValueError(f"membership must be different columns; got {columns}")
    if columns and n_groups is None and max_groups is None:
        raise ValueError(
            "membership needs n_groups, if you know their number, or max_groups, if you do not: probabilities of an "
            "unlimited number of groups have no covariates"
        )
    if max_groups is not None and not columns:
        raise ValueError(f"max_groups must be None without membership, as the number is unlimited; got {max_groups}")
    if measure is not None and (n_groups is not None or max_groups is not None):
        raise ValueError("measure must be None with n_groups or max_groups: it is the prior of an unlimited number")
    return columns


def _add_groups(model, n_groups, max_groups, measure, terms, design):
    """Add the partition ``z`` of the subjects to the model at hand."""
    if n_groups is None and max_groups is None:
        measure = default_measure(len(model.coords["subject"])) if measure is None else measure
        return Partition("z", with_fields_in_model(measure), dims="subject")
    n = n_groups or max_groups
    model.add_coord("group", np.arange(n))
    if not terms:
        # A simplex of one number has no coordinate, so that NUTS would have nothing to sample.
        if n == 1:
            share = pm.Deterministic("share", pt.ones(1), dims="group")
        else:
            share = pm.Dirichlet("share", np.ones(n), dims="group")
        return Partition("z", log_weights=pt.log(share), dims="subject")
    model.add_coord("membership_term", [term.label for term in terms])
    # Groups that are not needed have a weight below 1 / n, far below the others on the scale of logarithms.
    level = pm.Normal("level", 0.0, _WIDTH if max_groups is None else _WIDTH_OF_MANY, dims="group")
    gate = pm.Normal("gate", 0.0, _WIDTH, dims=("membership_term", "group"))
    X = pm.Data("membership", design, dims=("subject", "membership_term"))
    log_weights = level + (X[:, :, None] * gate).sum(axis=1)
    return Partition("z", log_weights=log_weights, max_clusters=n, dims="subject")


def data_of_trajectories(model, mixture, df):
    """Data of further subjects: ``trajectory`` and ``time``, and ``membership`` with columns of membership."""
    growth = origin_of(mixture).rows
    df = as_pandas("df", df)
    check_table(df, "df")
    df = long_table(df, growth.subject, growth.time, growth.target)
    names = [growth.subject, growth.time, growth.target, *dict.fromkeys(term.column for term in growth.membership)]
    absent = [name for name in names if name not in df.columns]
    if absent:
        raise ValueError(f"df must have the columns of the model, {names}; it lacks {absent}")
    times = read_times(df[growth.time], growth)[0]
    n_visits = len(model.coords["visit"])
    rows = read_trajectories(df, growth.subject, times, values_of(growth.reading, df[growth.target]), n_visits)
    coords = {"new_subject": rows.ids, "visit": list(model.coords["visit"])}
    data = {
        name: xr.DataArray(values, dims=list(coords), coords=coords)
        for name, values in (("trajectory", rows.values), ("time", rows.time))
    }
    if growth.membership:
        coords = {"new_subject": rows.ids, "membership_term": list(model.coords["membership_term"])}
        data["membership"] = xr.DataArray(design_of(df, growth, rows), dims=list(coords), coords=coords)
    return data
