"""A Gaussian mixture of the rows of a matrix, and how well it predicts rows that it has not seen."""

import copy
import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr
from pytensor.graph.basic import Constant, Variable
from pytensor.tensor.random.op import RandomVariable

from pymc_nrm.common.checks import check_count, check_flag, numeric_array, random_generator
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.common.wrapping import wrapped
from pymc_nrm.measures import DirichletProcess
from pymc_nrm.models.partition import Partition
from pymc_nrm.models.values import computed_by
from pymc_nrm.partitions.chunked import Rows
from pymc_nrm.partitions.known_labels import KnownLabels
from pymc_nrm.posterior.predictive_density import log_predictive_density
from pymc_nrm.recipes.columns import in_order_of_rows, item_names, warn_of_doubtful_numbers
from pymc_nrm.recipes.numeric_block import add_numeric_block, add_rows, check_options
from pymc_nrm.recipes.reading.table import numeric_columns
from pymc_nrm.recipes.ties import jitter_ties as with_jitter
from pymc_nrm.run.sampling import sample

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_recipes")
# Share of items with known labels below which many of the others are likely to form clusters of their own.
_FEW_KNOWN = 0.25


def default_measure(n):
    """Prior of a partition of n items: about a geometric number of clusters, one with probability 1/2, two in the mean.

    Given the concentration of a Dirichlet process, the number of clusters less one is about Poisson with mean ``alpha
    log n``, and an exponential mixture of Poisson distributions is geometric.
    """
    return DirichletProcess(pm.Exponential.dist(math.log(max(n, 2))))


def add_partition(measure, n, **options):
    """Add the partition ``z`` of n items to the model at hand."""
    measure = with_fields_in_model(default_measure(n) if measure is None else measure)
    options = options if options.get("chunks") is not None else {"dims": "item", **options}
    z = Partition("z", measure, **options)
    if text := few_known(z.owner.op.kind):
        _log.info(wrapped(text))
    return z


def with_fields_in_model(measure, **names):
    """A measure whose distributions are variables of the model at hand, named as its fields unless ``names`` differ."""
    if not isinstance(measure, tuple):
        return measure
    return type(measure)(*[_field(names.get(name, name), value) for name, value in measure._asdict().items()])


def few_known(kind):
    """A line about a partition of which few labels are known, and whose other items may be anywhere; None otherwise."""
    if not isinstance(kind, KnownLabels) or kind.only_known:
        return None
    n_known, n = np.count_nonzero(kind.known >= 0), len(kind.known)
    if not 0 < n_known < _FEW_KNOWN * n:
        return None
    return (
        f"{n_known:,} of {n:,} items have a known label; the others may form clusters of their own. only_known=True "
        "puts every item into the cluster of a known label."
    )


def _field(name, value):
    if not isinstance(value, Variable) or isinstance(value, Constant):
        return value
    if value.name is not None or not computed_by(value, RandomVariable):
        raise TypeError(
            f"{name} of measure must be a number or a distribution such as pm.Gamma.dist(2, 1); got {value}, a "
            "variable made elsewhere. To share variables write the model yourself, with Partition and Mixture"
        )
    # A copy gets the name, so that the caller's variable stays usable in the next model.
    return pm.modelcontext(None).register_rv(copy.deepcopy(value), name)


def gaussian_mixture(
    X: Any,
    *,
    covariance: str | None = None,
    n_directions: int | str | None = None,
    measure: Any = None,
    together: Any = None,
    known: Any = None,
    only_known: bool = False,
    jitter_ties: bool = True,
) -> pm.Model:
    """Model of rows of numbers in Gaussian clusters, whose number, places and shapes are unknown.

    ``gaussian_mixture(X)`` is short for the following model, with ``NormalGamma`` in place of ``NormalWishart`` where
    the data do not allow full covariances::

        X = nrm.recipes.jitter_ties(X)
        with pm.Model(coords={"item": range(n)}) as model:
            alpha = pm.Exponential("alpha", np.log(n))
            z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="item")
            family = nrm.NormalWishart.learned("x", X)
            nrm.Mixture("x", z, family, observed=X, dims=("item", "x_feature"))

    Parameters
    ----------
    X : array_like, DataFrame, DataArray or Chunks, shape (n, d), or (n,) for one feature
        Numbers in any units; NaN means missing.  The index and the columns of a DataFrame become the coordinates
        ``item`` and ``x_feature``.  Missing values are drawn with the clusters, as ``x_missing``, if covariances are
        full, and otherwise left out of the likelihood.  With :class:`~pymc_nrm.Chunks`, what follows looks at the
        sampled rows, repeated values stay as they are, and rows with missing values allow no full covariances.
    covariance : {None, "full", "diagonal"}
        ``"full"`` is :class:`~pymc_nrm.NormalWishart`, ``"diagonal"`` is :class:`~pymc_nrm.NormalGamma`.  None is full
        if there are 2 to 30 features, more items than features, and no column is a linear combination of others;
        otherwise diagonal, or ``n_directions="auto"`` for complete data of more than 30 features and at most as many
        items.  It is diagonal, too, if items are few for covariances, fewer than ``5 d (d + 3) / 2``, and of mixtures
        fitted by EM one with diagonal covariances and several components has the smallest BIC, by 10 less than
        one component.

        With d features, a full one has d (d + 1) / 2 hyperparameters to learn: for many features take
        ``n_directions``.  A diagonal one takes each feature by itself, so that correlated features give many clusters,
        and costs time in proportion to d.
    n_directions : int or "auto", optional
        Number k of principal directions in which clusters differ, not of clusters.  With columns divided by their
        standard deviations, scores along the k directions of largest variance follow full Gaussian clusters;
        scores along the others are independent normal noise, of variances that are learned and that all clusters
        share.  This is one distribution of the columns, and predictions are in their units, so that densities of
        models with different k compare: :func:`~pymc_nrm.recipes.held_out_density` shows which k predicts best.
        ``"auto"`` is the least k with 95 % of the variance of the scaled columns; it is cheap, and wrong where
        clusters differ in directions of little variance.  By default, and with as many as there are columns,
        clusters differ in all. With n rows of at least as many columns, k is at most n - 2, all other directions
        share a single variance, and ``"auto"`` takes the directions with more variance than any in 10 tables of
        shuffled columns (Horn 1965), at most n / 5.  Needs complete rows.
    measure : measure or ElicitedPrior, optional
        By default ``DirichletProcess(pm.Exponential.dist(log(n)))`` for n items: a number of clusters that is about
        geometric, one with probability 1/2 and two in the mean, for any n.  Hyperparameters are numbers, or
        distributions such as ``pm.Beta.dist(1, 4)``, which become variables of the model with the names of the
        hyperparameters.
    together : array_like of int or str, shape (n,), optional
        Groups of items that always share a cluster, as in :class:`~pymc_nrm.Partition`.
    known : array_like of int or str, shape (n,), optional
        Labels of the items whose cluster is known; -1, NaN or None for all others, as in :class:`~pymc_nrm.Partition`.
        If few are known, a line in the log says that the others may form clusters of their own.
    only_known : bool
        Whether all items are in the clusters of known labels, as in :class:`~pymc_nrm.Partition`.
    jitter_ties : bool
        Whether items with the same value of a column are spread over the width of its rounding, see
        :func:`~pymc_nrm.recipes.jitter_ties`.  A line in the log names the columns.  The observed data of the model are
        then the spread values.

    Returns
    -------
    pymc.Model
        With the partition ``z``, the data ``x``, and the hyperparameters of both.  Sample it with
        :func:`pymc_nrm.sample`, look at it with ``model.to_graphviz()``, and add to it as to any other model.

    Raises
    ------
    TypeError
        If X has anything but real numbers, ``measure`` is not a measure, or ``jitter_ties`` is not a bool.
    ValueError
        If a column is constant or has infinite values, there are fewer than two items, or the data do not allow the
        covariance or ``n_directions`` asked for.

    Warns
    -----
    UserWarning
        If a feature looks like codes of categories, with at most 20 different whole numbers or 5 others, some of them
        repeated, or like names of the rows, whole numbers that all differ.  If there are several features whose data
        allow no full covariance, and ``covariance`` is None: the message says why, in which columns, and what to do.
        If columns follow from others: the adjusted R^2 of a column on all others is above 0.99.  The message says from
        which, and what to do.
        If one value has more than 5 % of the items of a column, and at least 10, but jitter spreads it over less than a
        hundredth of the column's standard deviation, so that components shrink to it; without jitter, more than a
        quarter of the items.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc_nrm as nrm
    >>> model = nrm.gaussian_mixture(np.random.default_rng(1).normal(size=(50, 2)))
    >>> [variable.name for variable in model.observed_RVs], model.coords["x_feature"]
    (['x'], (0, 1))
    """
    check_options(covariance, jitter_ties, n_directions)
    options = {"together": together, "known": known, "only_known": only_known}
    if isinstance(X, Rows):
        if n_directions is not None:
            raise ValueError(f"n_directions must be None for Chunks; got {n_directions!r}")
        with pm.Model(model=None) as model:
            add_rows("x", add_partition(measure, X.n, chunks=X, **options), X, covariance)
        return model
    if isinstance(X, xr.DataArray) and X.ndim in (1, 2):
        X = X.to_pandas()
    X, readings = as_pandas("X", X), ()
    if isinstance(X, pd.DataFrame):
        values, readings = numeric_columns("X", X)
        items = item_names(X, "X")
        options |= {name: in_order_of_rows(name, options[name], X) for name in ("together", "known")}
    else:
        values = numeric_array("X", X)
        if values.ndim not in (1, 2) or 0 in values.shape[1:] or len(values) < 2:
            raise ValueError(
                "X must be a matrix with a row for each of at least two items, shape (n, d), or a vector, shape (n,); "
                f"got shape {values.shape}"
            )
        items = item_names(X, "X") if isinstance(X, pd.Series) else range(len(values))
    table = values if isinstance(values, pd.DataFrame) else pd.DataFrame(values, dtype="float64")
    warn_of_doubtful_numbers({name: table[name].to_numpy() for name in table}, table.shape[1])
    with pm.Model(coords={"item": items}, model=None) as model:
        z = add_partition(measure, len(table), **options)
        add_numeric_block("x", z, values, covariance, jitter_ties, n_directions, readings=readings)
    return model


def held_out_density(
    X: Any,
    n_directions: Sequence[int],
    *,
    n_folds: int = 2,
    measure: Any = None,
    jitter_ties: bool = True,
    random_seed: Any = None,
    **sample_options: Any,
) -> xr.DataArray:
    """Log predictive density of held-out rows, for several numbers of components of a Gaussian mixture.

    Rows are dealt into folds.  Each fold is predicted by :func:`~pymc_nrm.recipes.gaussian_mixture` of all other rows,
    which alone determine the principal directions.

    Parameters
    ----------
    X : array_like or DataFrame, shape (n, d)
        Complete rows of numbers.
    n_directions : sequence of int
        What to compare, from 1 to d; d is the mixture without ``n_directions``.
    n_folds : int
        Number of folds, at least 2.  More of them cost more time, and leave more rows to learn from.
    measure, jitter_ties
        As in :func:`~pymc_nrm.recipes.gaussian_mixture`.  Ties are jittered before rows are dealt.
    random_seed : int, Generator or None
        For folds and draws.  The same number gives the same result.
    **sample_options
        Arguments of :func:`~pymc_nrm.sample`, such as ``draws``, ``tune`` and ``chains``.

    Returns
    -------
    DataArray
        In nats, dims (n_directions, item); densities are per unit of the columns.

    Raises
    ------
    TypeError
        If X has anything but real numbers.
    ValueError
        If X is not a complete matrix, a number of components or folds is not possible, or no number is given.

    See Also
    --------
    pymc_nrm.plots.plot_held_out_density : The picture, by which to choose.

    Notes
    -----
    Densities of all numbers of components are of the same columns in the same units, and therefore compare.  Their
    differences, row by row, say what is gained or lost by calling directions noise.  They say nothing about known
    classes: clusters that predict best need not be classes.

    Examples
    --------
    Three fits of each number of components, and their picture::

        held_out = nrm.recipes.held_out_density(X, [2, 4, 6], n_folds=3, draws=500, tune=500, random_seed=1)
        nrm.plots.plot_held_out_density(held_out)

    The result of two fits of two numbers:

    >>> import numpy as np
    >>> import pymc_nrm as nrm
    >>> X = np.random.default_rng(1).normal(size=(8, 2))
    >>> options = {"draws": 2, "tune": 0, "chains": 1, "quiet": True}
    >>> held_out = nrm.recipes.held_out_density(X, [1, 2], random_seed=1, **options)  # doctest: +SKIP
    >>> held_out.dims, held_out.shape  # doctest: +SKIP
    (('n_directions', 'item'), (2, 8))
    """
    check_flag("jitter_ties", jitter_ties)
    values = numeric_array("X", X)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError(f"X must be a complete matrix, shape (n, d); got shape {values.shape}, or missing values")
    n, d = values.shape
    check_count("n_folds", n_folds, 2, n)
    numbers = list(n_directions)
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"n_directions must be one or more different numbers; got {n_directions!r}")
    for number in numbers:
        check_count("n_directions", number, 1, d)
    rng = random_generator(random_seed)
    values = np.asarray(with_jitter(values) if jitter_ties else values, dtype="float64")
    fold = rng.permutation(n) % n_folds
    seeds = rng.integers(2**31, size=(len(numbers), n_folds))
    options = {"quiet": True, "progressbar": False, **sample_options}
    densities = np.empty((len(numbers), n))
    for k, number in enumerate(numbers):
        for part in range(n_folds):
            held_out = fold == part
            model = gaussian_mixture(values[~held_out], n_directions=number, measure=measure, jitter_ties=False)
            idata = sample(model=model, random_seed=int(seeds[k, part]), **options)
            log_density = log_predictive_density(idata, model, values[held_out], progressbar=False)
            densities[k, held_out] = log_density.to_numpy()
    return xr.DataArray(
        densities,
        dims=("n_directions", "item"),
        coords={"n_directions": numbers},
        name="log_predictive_density",
    )
