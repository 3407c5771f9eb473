"""How well Gaussian mixtures with different numbers of principal directions predict rows that they have not seen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from pymc_nrm.common.checks import check_count, check_flag, numeric_array, random_generator
from pymc_nrm.posterior.predictive_density import log_predictive_density
from pymc_nrm.recipes.gaussian_mixture import gaussian_mixture
from pymc_nrm.recipes.ties import jitter_ties as with_jitter
from pymc_nrm.run.sampling import sample


def held_out_density(
    X: Any,
    n_components: Sequence[int],
    *,
    n_folds: int = 2,
    measure: Any = None,
    jitter_ties: bool = True,
    random_seed: Any = None,
    **sample_options: Any,
) -> xr.DataArray:
    """Log predictive density of held-out rows, for several numbers of components of a Gaussian mixture.

    Rows are dealt into folds.  Each fold is predicted by :func:`~pymc_nrm.recipes.gaussian_mixture` of all other rows,
    whose directions are those of these rows alone.

    Parameters
    ----------
    X : array_like or DataFrame, shape (n, d)
        Complete rows of numbers.
    n_components : sequence of int
        What to compare, from 1 to d; d is the mixture without ``n_components``.
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
        In nats, dims (n_components, item); densities are per unit of the columns.

    Raises
    ------
    TypeError
        If X has anything but real numbers.
    ValueError
        If X is no complete matrix, a number of components or folds is not possible, or there are none.

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
    """
    check_flag("jitter_ties", jitter_ties)
    values = numeric_array("X", X)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError(f"X must be a complete matrix, shape (n, d); got shape {values.shape}, or missing values")
    n, d = values.shape
    check_count("n_folds", n_folds, 2, n)
    numbers = list(n_components)
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"n_components must be one or more different numbers; got {n_components!r}")
    for number in numbers:
        check_count("n_components", number, 1, d)
    rng = random_generator(random_seed)
    values = np.asarray(with_jitter(values) if jitter_ties else values, dtype="float64")
    fold = rng.permutation(n) % n_folds
    seeds = rng.integers(2**31, size=(len(numbers), n_folds))
    options = {"quiet": True, "progressbar": False, **sample_options}
    densities = np.empty((len(numbers), n))
    for k, number in enumerate(numbers):
        for part in range(n_folds):
            held_out = fold == part
            model = gaussian_mixture(values[~held_out], n_components=number, measure=measure, jitter_ties=False)
            idata = sample(model=model, random_seed=int(seeds[k, part]), **options)
            found = log_predictive_density(idata, model, values[held_out], progressbar=False)
            densities[k, held_out] = found.to_numpy()
    return xr.DataArray(
        densities,
        dims=("n_components", "item"),
        coords={"n_components": numbers},
        name="log_predictive_density",
    )
