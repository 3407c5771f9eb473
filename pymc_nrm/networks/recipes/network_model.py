"""Models of a network or of a table in one call: block models with learned families."""

import logging
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm

from pymc_nrm.common.checks import check_flag, naming
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.common.wrapping import wrapped
from pymc_nrm.models.partition import Partition
from pymc_nrm.networks.models.block_model import BlockModel
from pymc_nrm.networks.partitions.pair_data import read_pairs
from pymc_nrm.networks.recipes.degrees import uneven_degrees
from pymc_nrm.networks.recipes.kinds_of_ties import (
    check_ties,
    family_class_of,
    kind_of_ties,
    read_matrix,
    read_network,
)
from pymc_nrm.recipes.gaussian_mixture import default_measure, few_known, with_fields_in_model
from pymc_nrm.recipes.messages import GatheredMessages, tell_user
from pymc_nrm.recipes.numeric_block import check_options
from pymc_nrm.recipes.reading.kinds import BINARY, COUNT
from pymc_nrm.recipes.reading.table import read_table
from pymc_nrm.recipes.table_mixtures import Options, add_columns
from pymc_nrm.recipes.table_models import tell_of_reading

# A child of PyMC's logger, which shows messages of level INFO.
_log = logging.getLogger("pymc.nrm_recipes")

# Concentration of the shares of nodes in the ties of their block: all shares are as probable.
_CONCENTRATION = 1.0
# Hyperpriors are centred at so many values at most.
_MOST_VALUES = 2**20


def network_model(
    A: Any,
    attributes: Any = None,
    *,
    kind: str | None = None,
    directed: bool | None = None,
    degree_corrected: bool = False,
    kinds: Any = None,
    covariance: str | None = None,
    measure: Any = None,
    together: Any = None,
    known: Any = None,
    only_known: bool = False,
    jitter_ties: bool = True,
) -> pm.Model:
    """Model of a network whose nodes are in clusters, which differ in whom they are tied to; their number is unknown.

    ``network_model(A)``, of ties that are 0 or 1, is short for the following model::

        with pm.Model(coords={"node": names, "node_to": names}) as model:
            alpha = pm.Exponential("alpha", np.log(n))
            z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="node")
            family = nrm.BernoulliBeta.learned("ties", values_of_all_pairs)
            nrm.networks.BlockModel("ties", z, family, observed=A, dims=("node", "node_to"))

    Parameters
    ----------
    A : array_like, sparse matrix, DataFrame or networkx graph, shape (n, n)
        Ties of all pairs of nodes: entry (i, j) leads from i to j.  NaN is a pair that was not observed; entries that a
        sparse matrix does not store are 0.  The diagonal is left out.  The coordinate ``node`` is the index of a
        DataFrame, whose columns have the same names, or the names of the nodes of a graph, whose weights are the ties.
    attributes : DataFrame, shape (n, d), optional
        Attributes of the nodes, data of the clusters too, in mixtures as in :func:`~pymc_nrm.mixture_model`.  Rows are
        put into the order of ``A`` if their index has the names of the nodes, 0 to n - 1 for an array.  They must be in
        this order if the index is a default one and nodes have other names, or if ``A`` is an array and the index has
        other names.  A line in the log says so, and also where numbers are taken for names.
    kind : {None, "binary", "count", "zero or positive", "numeric"}
        What ties are: 0 or 1, ``BernoulliBeta``; counts, ``PoissonGamma``; amounts of ties that may be absent,
        ``HurdlePoisson`` if amounts are counts that few Poisson distributions describe, else ``HurdleLogNormal``; real
        numbers, ``NormalGamma``.  By default guessed from the values; a line in the log says what and why.
    directed : bool, optional
        Whether ties have a direction; by default unless the matrix is symmetric, or as the graph says.
    degree_corrected : bool
        Whether nodes of a cluster differ in how many ties they have, for ties that are counts, or 0 or 1 and taken as
        counts; shares of nodes have a uniform prior.  Otherwise clusters differ in degrees as well, and where these
        vary a lot within groups a line in the log says so.
    kinds, covariance, jitter_ties
        Of attributes, as in :func:`~pymc_nrm.mixture_model`.
    measure : measure or ElicitedPrior, optional
        By default ``DirichletProcess(pm.Exponential.dist(log(n)))``, see :func:`~pymc_nrm.recipes.gaussian_mixture`.
    together, known, only_known
        Nodes that share a cluster, and nodes whose cluster is known, as in :class:`~pymc_nrm.Partition`.

    Returns
    -------
    pymc.Model
        With the partition ``z`` of the nodes, the ``ties``, the mixtures of attributes, and the hyperparameters of all.
        Sample it with :func:`pymc_nrm.sample`.

    Raises
    ------
    TypeError
        If ties are not numbers, or attributes are not a table.
    ValueError
        If ``A`` is not a square matrix with the same names of rows and columns, each once, has fewer than two observed
        values, or values that its kind does not allow; if real numbers or positive amounts are all equal; if
        ``directed`` is False and ``A`` is not symmetric; if ``degree_corrected`` is True and a pair was not observed or
        ties are neither counts nor 0 and 1; if attributes have other rows.

    See Also
    --------
    pymc_nrm.describe : Whom clusters are tied to, and how strongly.
    pymc_nrm.networks.plots.plot_blocks : The picture.
    pymc_nrm.networks.two_way_model : Tables whose rows and columns are both clustered.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> names = ["Ann", "Bob", "Cem", "Dan"]
    >>> A = pd.DataFrame([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], names, names)
    >>> model = nrm.networks.network_model(A)
    >>> [variable.name for variable in model.free_RVs], model.coords["node"]
    (['alpha', 'z', 'ties_concentration'], ('Ann', 'Bob', 'Cem', 'Dan'))
    """
    check_flag("degree_corrected", degree_corrected)
    check_options(covariance, jitter_ties)
    matrix = read_network("A", A)
    kind, why = kind_of_ties("A", matrix, True, kind)
    if directed is False:
        # A is refused unless it is symmetric.
        read_pairs("A", matrix.values, directed, loops=False, is_table=False)
    directed = matrix.directed if directed is None else directed
    n = matrix.values.shape[0]
    if degree_corrected and kind not in (BINARY, COUNT):
        raise ValueError(f"degree_corrected must be False for ties that are {kind!r}; it is for counts, or 0 and 1")
    if degree_corrected and (gap := matrix.first_wrong(np.isnan, True)):
        raise ValueError(f"A must have no NaN with degree_corrected=True; got {gap}")
    check_ties("A", matrix, True, kind)
    attributes = None if attributes is None else _aligned(attributes, matrix)
    family_class = family_class_of(COUNT if degree_corrected else kind, matrix.known(True)[0])
    tell_user(_log, f"Ties are {kind!r}, {family_class.__name__}: {why}.")
    if not degree_corrected and kind in (BINARY, COUNT):
        _advise_correction(matrix)
    with pm.Model(coords={"node": matrix.rows, "node_to": matrix.rows}, model=None) as model:
        measure = with_fields_in_model(default_measure(n) if measure is None else measure)
        z = Partition("z", measure, dims="node", together=together, known=known, only_known=only_known)
        if text := few_known(z.owner.op.kind):
            _log.info(wrapped(text))
        family = learned_family("A", family_class, "ties", matrix, True)
        corrected = _CONCENTRATION if degree_corrected else None
        options = {"directed": directed, "degree_corrected": corrected, "dims": ("node", "node_to")}
        BlockModel("ties", z, family, observed=matrix.values, **options)
        if attributes is not None:
            _add_attributes(model, z, attributes, kinds, Options(covariance, jitter_ties))
    return model


def two_way_model(X: Any, *, kind: str | None = None, measure: Any = None, column_measure: Any = None) -> pm.Model:
    """Model of a table whose rows and columns are both in clusters, whose numbers are unknown: co-clustering.

    Entries of a cluster of rows and a cluster of columns have one distribution.  ``two_way_model(X)``, of counts, is
    short for the following model::

        with pm.Model(coords={"row": X.index, "column": X.columns}) as model:
            alpha_rows = pm.Exponential("alpha_rows", np.log(len(X)))
            alpha_columns = pm.Exponential("alpha_columns", np.log(X.shape[1]))
            rows = nrm.Partition("rows", nrm.DirichletProcess(alpha_rows), dims="row")
            columns = nrm.Partition("columns", nrm.DirichletProcess(alpha_columns), dims="column")
            family = nrm.PoissonGamma.learned("x", values_of_all_entries)
            nrm.networks.BlockModel("x", (rows, columns), family, observed=X, dims=("row", "column"))

    Parameters
    ----------
    X : array_like, sparse matrix or DataFrame, shape (n, m)
        The table, in which all entries are of one kind; NaN is an entry that was not observed.  Names are those of a
        DataFrame.
    kind : {None, "binary", "count", "zero or positive", "numeric"}
        What entries are, as in :func:`~pymc_nrm.networks.network_model`.
    measure, column_measure : measure, optional
        Priors of the partitions of rows and of columns; by default ``DirichletProcess(pm.Exponential.dist(log(n)))``
        for n of them.

    Returns
    -------
    pymc.Model
        With the partitions ``rows`` and ``columns`` and the data ``x``.  Sample it with :func:`pymc_nrm.sample`.

    Raises
    ------
    TypeError
        If entries are not numbers.
    ValueError
        If ``X`` is not a matrix of at least two rows and two columns, has rows or columns of equal names, fewer than
        two observed values, or values that its kind does not allow; if real numbers or positive amounts are all equal.

    See Also
    --------
    pymc_nrm.networks.network_model : Ties between items of one kind.

    Examples
    --------
    >>> import pandas as pd
    >>> import pymc_nrm as nrm
    >>> X = pd.DataFrame([[1, 1, 0], [1, 1, 0], [0, 0, 1]], ["Ann", "Bob", "Cem"], ["tea", "walk", "chess"])
    >>> model = nrm.networks.two_way_model(X)
    >>> [variable.name for variable in model.free_RVs]
    ['alpha_rows', 'rows', 'alpha_columns', 'columns', 'x_concentration']
    """
    matrix = read_matrix("X", X)
    n, m = matrix.values.shape
    if min(n, m) < 2:
        raise ValueError(f"X must have at least two rows and two columns; got shape {(n, m)}")
    kind, why = kind_of_ties("X", matrix, False, kind)
    check_ties("X", matrix, False, kind)
    family_class = family_class_of(kind, matrix.known(False)[0])
    tell_user(_log, f"Entries are {kind!r}, {family_class.__name__}: {why}.")
    with pm.Model(coords={"row": matrix.rows, "column": matrix.columns}, model=None) as model:
        partitions = []
        for name, dim, size, prior in (("rows", "row", n, measure), ("columns", "column", m, column_measure)):
            prior = default_measure(size) if prior is None else prior
            fields = {field: f"{field}_{name}" for field in getattr(prior, "_fields", ())}
            partitions.append(Partition(name, with_fields_in_model(prior, **fields), dims=dim))
        family = learned_family("X", family_class, "x", matrix, False)
        BlockModel("x", tuple(partitions), family, observed=matrix.values, dims=("row", "column"))
    return model


def learned_family(argument, family_class, name, matrix, one_partition):
    """A family whose hyperpriors are centred at all observed values, zeros of sparse matrices among them."""
    values, n_zeros = matrix.known(one_partition)
    # Shares and means of many pairs are computed from every k-th pair.
    k = 1 + (len(values) + n_zeros) // _MOST_VALUES
    values = np.concatenate([np.sort(values)[::k], np.zeros(n_zeros // k)])
    with naming(argument):
        return family_class.learned(name, values)


def _advise_correction(matrix):
    """Say that degrees vary a lot within groups, where they do."""
    ratio = uneven_degrees(matrix.values)
    if ratio is not None:
        tell_user(
            _log,
            f"Degrees vary a lot: within groups their variance is {ratio:.1f} times as large as for independent ties. "
            "Clusters will differ in degrees; degree_corrected=True finds clusters with different patterns of ties.",
        )


def _aligned(attributes, matrix):
    """Attributes in the order of the nodes."""
    table, n = as_pandas("attributes", attributes), matrix.values.shape[0]
    if isinstance(table, pd.Series):
        table = table.to_frame(table.name if table.name is not None else "attribute")
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"attributes must be a DataFrame; got {type(table).__name__}")
    if len(table) != n:
        raise ValueError(f"attributes must have a row for each of {n} nodes; got {len(table)}")
    names, numbers = table.index.tolist(), list(range(n))
    is_numbered = isinstance(table.index, pd.RangeIndex) and names == numbers
    if set(names) == set(matrix.rows):
        if names != matrix.rows and (is_numbered or matrix.rows == numbers):
            tell_user(_log, "Rows of attributes are put into the order of the nodes by the numbers in their index.")
        place = {name: row for row, name in enumerate(names)}
        return table.iloc[[place[node] for node in matrix.rows]]
    if is_numbered or not matrix.has_names:
        nameless = "their index has" if is_numbered else "A has"
        tell_user(_log, f"Rows of attributes are taken in the order of the nodes, since {nameless} no names.")
        return table.set_axis(matrix.rows)
    missing = next(node for node in matrix.rows if node not in names)
    raise ValueError(f"attributes must have each node once in its index; got none for {missing!r}")


def _add_attributes(model, z, table, kinds, options):
    """Add mixtures of the attributes, and log how they were read."""
    if "node" in map(str, table.columns):
        raise ValueError("attributes must have no column 'node', which is the name of a dimension of the model")
    readings = read_table(table, kinds)
    with GatheredMessages() as told:
        add_columns(model, z, table, readings, options)
    tell_of_reading(readings, told)
