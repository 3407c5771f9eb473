"""Convergence of quantities that do not depend on how clusters are named."""

import numpy as np
import xarray as xr


def convergence_table(quantities):
    """R-hat and effective sample sizes of scalar and array quantities.

    Parameters
    ----------
    quantities : dict of str to DataArray
        Each with dimensions ``chain`` and ``draw``, and any others.

    Returns
    -------
    Dataset
        Dimension ``quantity``; variables ``rhat``, ``ess_bulk`` and ``ess_tail``, the worst over all elements of a
        quantity, and ``constant``, whether no element varies over all draws (then the others are NaN).

    Notes
    -----
    Rank-normalised split R-hat, bulk and tail effective sample sizes of Vehtari et al. (2021), "Rank-normalization,
    folding, and localization: an improved R-hat".

    Examples
    --------
    >>> draws = xr.DataArray(np.random.default_rng(1).normal(size=(2, 500)), dims=("chain", "draw"))
    >>> bool(convergence_table({"x": draws}).rhat.sel(quantity="x") < 1.05)
    True
    """
    rows = {name: _worst(array) for name, array in quantities.items()}
    columns = ("rhat", "ess_bulk", "ess_tail", "constant")
    return xr.Dataset(
        {column: ("quantity", [row[k] for row in rows.values()]) for k, column in enumerate(columns)},
        coords={"quantity": list(rows)},
    )


def _worst(array):
    import arviz_stats  # which takes most of a second to import, and is needed after sampling only

    stacked = array.transpose("chain", "draw", ...).values
    elements = stacked.reshape(*stacked.shape[:2], -1)
    # A quantity that never changes has no R-hat: the ratio of its variances is 0 / 0.
    varying = elements[:, :, (elements != elements[:1, :1]).any(axis=(0, 1))]
    if varying.shape[2] == 0:
        return np.nan, np.nan, np.nan, True
    data = xr.Dataset({"x": (("chain", "draw", "element"), varying.astype("float64"))})
    return (
        float(arviz_stats.rhat(data)["x"].max()),
        float(arviz_stats.ess(data, method="bulk")["x"].min()),
        float(arviz_stats.ess(data, method="tail")["x"].min()),
        False,
    )
