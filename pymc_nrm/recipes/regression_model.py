"""Density regression: a column of a table given all others."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt

from pymc_nrm.common.checks import check_flag
from pymc_nrm.families import NormalRegression
from pymc_nrm.models.mixture import Mixture
from pymc_nrm.recipes.columns import CATEGORICAL, KINDS, NUMERIC, check_columns, column_kinds, item_names, numbers_of
from pymc_nrm.recipes.mixture_model import add_columns
from pymc_nrm.recipes.numeric_block import check_covariance
from pymc_nrm.recipes.partition_prior import add_partition
from pymc_nrm.recipes.ties import jitter_ties as with_jitter


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
        Name of the column of numbers to predict, also that of its ``Mixture``.
    kinds : mapping of {hashable : str}, optional
        The kind of some covariates, as in :func:`~pymc_nrm.mixture_model`.
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
    check_covariance(covariance)
    check_flag("jitter_ties", jitter_ties)
    if target not in df.columns or df.shape[1] < 2:
        raise ValueError(f"target must be one of at least two columns {df.columns.tolist()}; got {target!r}")
    name, table = str(target), df.drop(columns=target)
    if name in (*KINDS, "z"):
        raise ValueError(f"target must have another name than {name!r}, which a variable of the model has; rename it")
    gaps = table.columns[table.isna().any()].tolist()
    if gaps:
        raise ValueError(f"covariates must be complete; columns {gaps} have gaps. Leave out these rows or columns")
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
        family = NormalRegression.learned(name, y, pt.concatenate(blocks, axis=1))
        Mixture(name, z, family, observed=y, dims="item")
    return model
