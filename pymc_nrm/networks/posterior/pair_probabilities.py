"""Predictions of pairs: the probability of a tie, its mean, and densities of values, averaged over draws."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from pymc.model import Model
from scipy import stats

from pymc_nrm.common.checks import naming, numeric_array, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.common.result_names import result_dataset
from pymc_nrm.families.base import prepare_alike
from pymc_nrm.families.components import component_mean
from pymc_nrm.families.needs import PARAMETERS
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.networks.partitions.pair_data import with_places
from pymc_nrm.networks.posterior.block_draws import draws_of_blocks
from pymc_nrm.networks.posterior.block_tables import fill_predictive
from pymc_nrm.networks.posterior.degree_shares import draw_pair_rates


def pair_probabilities(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    pairs: Any = None,
    values: Any = None,
    *,
    var_name: str | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Predict pairs, such as those that were held out: probabilities of ties, means, and densities of values.

    Parameters
    ----------
    %(idata)s
    %(model)s
    pairs : array_like or DataFrame, shape (m, 2), optional
        Pairs of nodes, or of a row and a column, by their names in the coordinates of the model, or by their positions
        if they have none.  By default all pairs that were not observed, NaN in the data.
    values : array_like, shape (m,), optional
        Values of the pairs, for their density.
    %(block_model)s
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    Dataset
        Along ``pair``, whose items are in the coordinates ``first`` and ``second``: ``tie_probability`` is the
        probability that the value is not 0, for families of whole numbers.  ``mean`` is the expected value, where the
        family has one in closed form.  With ``values``, ``log_density`` is the log of the posterior predictive density
        of each value, or of its probability.

    Raises
    ------
    TypeError
        If values are not numbers.
    ValueError
        If there is no such block model or item, several items have the name of an item of a pair, a node is paired with
        itself although the model has no such ties, no pair is missing and none is given, values have another length or
        are outside the support of the family, or the draws or the model lack a variable.

    Notes
    -----
    Given a draw, the density of a pair is that of its block given all observed pairs of the block, with the parameters
    of the family integrated out; it is averaged over draws.  Each pair is predicted by itself.  A prediction of an
    observed pair knows its value: densities that do not are those of
    :func:`~pymc_nrm.networks.pair_log_likelihood`.

    Means are averages over parameters drawn in each draw.  So are all numbers with degree correction, where the ties of
    a node and the rates of blocks are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> A = [[0, 1, 0, np.nan], [1, 0, 0, 0], [0, 0, 0, 1], [np.nan, 0, 1, 0]]
    >>> with pm.Model(coords={"person": ["Ann", "Bob", "Cem", "Dan"]}) as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), dims="person")
    ...     ties = nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A)
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "person"), [[[0, 0, 1, 1]] * 4])})
    >>> found = nrm.networks.pair_probabilities(posterior, model)
    >>> found["first"].item(), found["second"].item(), round(found["tie_probability"].item(), 2)
    ('Ann', 'Dan', 0.2)
    """
    draws = draws_of_blocks(idata, model, var_name)
    first, second = missing_pairs(draws) if pairs is None else read_pairs(draws, pairs)
    values = None if values is None else _read_values(values, len(first))
    rng = random_generator(random_seed)
    total = _Totals(draws, first, second, values)
    for draw in tracked(draws, "Predicting pairs", progressbar):
        total.add(draw, rng)
    pair, coords = draws.pair_coords(first, second)
    variables = {name: (pair, array) for name, array in total.results().items()}
    return result_dataset(variables, coords, {"variable": draws.name})


class _Totals:
    """Sums over draws of what is predicted of some pairs."""

    def __init__(self, draws, first, second, values):
        self._draws, self._first, self._second, self._values = draws, first, second, values
        family_class = draws.family_class
        self._is_discrete = not family_class.continuous
        self._has_mean = not lacking(family_class, [component_mean, *PARAMETERS])
        self._points = None
        self._mean, self._zero, self._log_density = (np.zeros(len(first)) for _ in range(3))
        self._log_density -= np.inf
        self._n = 0

    def add(self, draw, rng):
        self._n += 1
        if self._points is None:
            self._points = self._prepare(draw.family)
        if draw.degree_corrected is not None:
            self._add_corrected(draw, rng)
            return
        cells = draw.cells(self._first, self._second)
        if self._is_discrete:
            self._zero += np.exp(self._log_predictive(draw, cells, 0))
        if self._values is not None:
            self._log_density = np.logaddexp(self._log_density, self._log_predictive(draw, cells, 1))
        if self._has_mean:
            parameters = self._draws.draw_parameters(draw, rng)
            # One row for each block, with the one feature of a pair.
            rows = {name: array.reshape(-1, 1, *array.shape[2:]) for name, array in parameters.items()}
            self._mean += component_mean(draw.family, rows)[cells, 0]

    def _add_corrected(self, draw, rng):
        rates = draw_pair_rates(self._draws, draw, self._first, self._second, rng)
        self._mean += rates
        self._zero += np.exp(-rates)
        if self._values is not None:
            self._log_density = np.logaddexp(self._log_density, stats.poisson.logpmf(self._values, rates))

    def _prepare(self, family):
        """Data of zeros and of the values, as kernels read them, or None."""
        zeros = np.zeros((len(self._first), 1)) if self._is_discrete else None
        values = None if self._values is None else self._values[:, None]
        with naming("values"), with_places(lambda row: f"at position {row}"):
            return [
                None if column is None else prepare_alike(family, column, self._draws.data)
                for column in (zeros, values)
            ]

    def _log_predictive(self, draw, cells, place):
        log_densities = np.empty(len(cells))
        points = self._points[place]
        fill_predictive(cells, draw.flat_statistics(), draw.family, self._draws.data, points, log_densities)
        return log_densities

    def results(self):
        variables = {}
        if self._is_discrete:
            variables["tie_probability"] = 1.0 - self._zero / self._n
        if self._has_mean:
            variables["mean"] = self._mean / self._n
        if self._values is not None:
            variables["log_density"] = self._log_density - np.log(self._n)
        return variables


def missing_pairs(draws):
    """Pairs that were not observed, each undirected pair once."""
    is_missing = ~draws.blocks.mask()
    if not draws.is_table:
        if not draws.blocks.loops:
            np.fill_diagonal(is_missing, False)
        is_missing = is_missing if draws.directed else np.triu(is_missing)
    if not is_missing.any():
        raise ValueError(f"pairs must be given: all pairs of {draws.name!r} were observed; NaN marks those to predict")
    return np.nonzero(is_missing)


def read_pairs(draws, pairs):
    """Positions of the items of pairs, from names or positions (m, 2)."""
    table = pairs.to_numpy() if isinstance(pairs, pd.DataFrame) else np.asarray(pairs, dtype=object)
    if table.ndim != 2 or table.shape[1] != 2 or len(table) == 0:
        raise ValueError(f"pairs must have a row of two items for each pair, shape (m, 2); got shape {table.shape}")
    positions = []
    for column, dim, names in zip(table.T, draws.dims, draws.item_names(), strict=True):
        index = pd.Index(names)
        is_repeated = pd.Index(column).isin(index[index.duplicated()])
        if is_repeated.any():
            name = column[is_repeated][0]
            raise ValueError(f"pairs must be of names that one item of {dim!r} has; got {name!r}, which several have")
        first_of_name = np.flatnonzero(~index.duplicated())
        places = index[first_of_name].get_indexer(column)
        if (places < 0).any():
            what = "names" if draws.model.coords.get(dim) is not None else "positions"
            ends = " to ".join(repr(name) for name in names[[0, -1]].tolist())
            raise ValueError(f"pairs must be of {what} of {dim!r}, {ends}; got {column[places < 0][0]!r}")
        positions.append(first_of_name[places])
    first, second = positions
    if not draws.is_table and not draws.blocks.loops and (first == second).any():
        wrong = table[first == second][0, 0]
        raise ValueError(f"pairs must be of two nodes, since {draws.name!r} has no loops; got {wrong!r} twice")
    return first, second


def _read_values(values, n):
    values = np.asarray(numeric_array("values", values), dtype="float64")
    if values.shape != (n,) or np.isnan(values).any():
        raise ValueError(f"values must have one number for each of the {n} pairs; got shape {values.shape}, or NaN")
    return values
