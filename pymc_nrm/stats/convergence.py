"""Convergence of quantities that do not depend on how clusters are named."""

import contextlib
import warnings

import numpy as np
import xarray as xr


def convergence_table(quantities):
    """R-hat, effective sample sizes and Monte Carlo standard errors of scalar and array quantities. Variables are
    ``rhat``, ``ess_bulk``, ``ess_tail`` and ``mcse_mean``, the worst over all elements of a quantity, and ``constant``,
    whether no element varies.  With fewer than four draws per chain, the first four are NaN.
    """
    # Rank-normalised split R-hat, bulk and tail effective sample sizes of Vehtari et al. (2021), "Rank-normalization,
    # folding, and localization: an improved R-hat".  R-hat is infinite if chains are constant at different values. For
    # R-hat, a single chain is cut into two halves, each of which is split again.
    rows = {name: _worst(array) for name, array in quantities.items()}
    columns = ("rhat", "ess_bulk", "ess_tail", "mcse_mean", "constant")
    return xr.Dataset(
        {column: ("quantity", [row[k] for row in rows.values()]) for k, column in enumerate(columns)},
        coords={"quantity": list(rows)},
    )


def _worst(array):
    stacked = array.transpose("chain", "draw", ...).values
    elements = stacked.reshape(*stacked.shape[:2], -1)
    # A quantity that never changes has no R-hat: the ratio of its variances is 0 / 0.
    varying = elements[:, :, (elements != elements[:1, :1]).any(axis=(0, 1))]
    if varying.shape[2] == 0:
        return np.nan, np.nan, np.nan, np.nan, True
    values = (
        sampling_diagnostic("rhat", varying if len(varying) > 1 else halves(varying)).max(),
        sampling_diagnostic("ess", varying, method="bulk").min(),
        sampling_diagnostic("ess", varying, method="tail").min(),
        sampling_diagnostic("mcse", varying, method="mean").max(),
    )
    return *(float(value) for value in values), False


def halves(draws):
    """Cut a single chain into two halves; with an odd number of draws, the one in the middle is left out. Shapes:
    ``draws`` (1, n_draws, ...); returns (2, n_draws // 2, ...).
    """
    n_draws = draws.shape[1]
    half = n_draws // 2
    return np.concatenate([draws[:, :half], draws[:, n_draws - half :]])


@contextlib.contextmanager
def suppress_division_warnings():
    """Silence divisions by zero: chains that are constant at different values rightly have an infinite R-hat."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "divide by zero|invalid value", RuntimeWarning)
        yield


def as_number(array):
    """Turn truth values into 0 and 1, which ArviZ needs; leave any other array as it is."""
    return array.astype("int64") if array.dtype == bool else array


def sampling_diagnostic(name, draws, **kwargs):
    """Compute ``arviz_stats.rhat``, ``ess`` or ``mcse`` for every element of an array of draws; NaN for elements that
    never change, and with fewer than four draws. Shapes: ``draws`` (n_chains, n_draws, n); returns (n,).
    """
    draws = np.asarray(draws, dtype="float64")
    found, varying = np.full(draws.shape[2], np.nan), (draws != draws[:1, :1]).any(axis=(0, 1))
    if draws.shape[1] >= 4 and varying.any():
        import arviz_stats  # takes most of a second to import, and is needed only after sampling

        data = xr.Dataset({"x": (("chain", "draw", "element"), draws[:, :, varying])})
        with suppress_division_warnings():
            found[varying] = getattr(arviz_stats, name)(data, **kwargs)["x"].values
    return found
