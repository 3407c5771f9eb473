"""Predictions of new rows from a file, without the model and without PyMC."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm_predictor.checks import first_few, numeric_array
from pymc_nrm_predictor.components import log_mean
from pymc_nrm_predictor.contents import contents_of
from pymc_nrm_predictor.file_format import read_file
from pymc_nrm_predictor.recorded_columns import coded
from pymc_nrm_predictor.student_mixtures import components_of, mixture_means, mixture_quantiles

# Entries of arrays that are in memory at a time.
_BLOCK = 2**21


class ClusterProbabilities(NamedTuple):
    """Probabilities that new rows belong to the clusters of the estimate in a file."""

    # Shape (m, n_clusters).
    probability: np.ndarray
    # Probabilities of a cluster without rows of the estimate, shape (m,).
    new_cluster_probability: np.ndarray
    # The label that is most probable, -1 for a new cluster, shape (m,).
    labels: np.ndarray
    # Labels of the clusters, in the order of the columns of `probability`.
    clusters: np.ndarray


class Quantiles(NamedTuple):
    """Quantiles and means of a feature of new rows, for each draw or over all of them."""

    # Shape (n_draws, m, q), or (m, q) over all draws.
    quantile: np.ndarray
    # Shape (n_draws, m), or (m,) over all draws; NaN for a feature whose logarithm is modelled.
    mean: np.ndarray
    # Shape (q,).
    probabilities: np.ndarray


class Predictor:
    """Predictions of new rows from a file of :func:`pymc_nrm.serving.export`, with NumPy and SciPy alone.

    Methods take new rows as a table, such as a DataFrame, with the columns of the model, if it was made of one; as a
    dict with the data of each mixture by its name; or, if there is one mixture, as its data.  Tables need pandas.
    Objects do not change, so that threads may share one.

    Parameters
    ----------
    path : path
        The file.

    Attributes
    ----------
    mixtures : tuple of str
        Names of the mixtures.
    columns : dict of {str : tuple of str}
        Names of the columns of each mixture, if the model was made of a table.
    clusters : ndarray of int
        Labels of the clusters of the estimate.
    n_draws : int
        Number of posterior draws in the file.
    description : dict
        What the file says of itself.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, is no file of predictions, or has a format that a later version has written.

    See Also
    --------
    pymc_nrm.serving.export : Writes the file.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from pymc_nrm_predictor import Predictor
    >>> from pymc_nrm_predictor.file_format import write_file
    >>> mixture = {"name": "x", "distribution": "count", "n_features": 1, "univariate": True}
    >>> arrays = {
    ...     "start": np.array([0, 2]), "log_weight": np.log([0.75, 0.25]),
    ...     "share": np.eye(2), "clusters": np.array([0]),
    ...     "mixture_0_shape": np.array([[11.0], [1.0]]), "mixture_0_rate": np.array([[3.5], [0.5]]),
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "counts.nrm")
    ...     n_bytes = write_file(path, {"mixtures": [mixture]}, arrays)
    ...     predictor = Predictor(path)
    >>> predictor.log_density([0, 10]).round(2).tolist()
    [-2.04, -5.52]
    """

    def __init__(self, path: str | os.PathLike) -> None:
        description, arrays = read_file(path)
        contents = contents_of(path, description, arrays)
        self.description: dict[str, Any] = description
        self._draws, self._mixtures, self._readings = contents.draws, contents.mixtures, contents.readings
        self.mixtures: tuple[str, ...] = tuple(self._mixtures)
        self.columns: dict[str, tuple[str, ...]] = {
            name: tuple(str(reading.name) for reading in self._readings[name]) for name in contents.tables
        }
        self.clusters: np.ndarray = contents.clusters
        self.n_draws: int = len(self._draws)

    def __repr__(self):
        n_clusters = len(self.clusters)
        return f"Predictor({', '.join(self.mixtures)}; {self.n_draws} draws, {n_clusters} clusters of the estimate)"

    def read(self, table: Any, *, without: Any = None) -> dict[str, np.ndarray]:
        """Data of the mixtures from a table of new rows, as ``pymc_nrm.table_data`` reads them.

        Parameters
        ----------
        table : DataFrame, table of another library, or mapping of columns
            New rows with the columns of the model, in any order; further columns are left out.  They are read as the
            table of the model was: dates from the same first one, numbers in text, the same levels; missing values
            where the family allows them.  Entries that were missing there are missing; others that are not numbers
            become missing with a warning.
        without : hashable, optional
            A column that the table may lack, since it is to be predicted; it is then missing.

        Returns
        -------
        dict of {str : ndarray}
            By mixture, floats of shape (m, d).

        Raises
        ------
        TypeError
            If it is not a table, or a column is not of its kind.
        ValueError
            If the model was not made of a table, columns are missing, or a value is infinite, outside the support of
            its kind, a number with a unit that the model does not have, or a new level.
        """
        from pymc_nrm_predictor.reading.tables import check_table, table_as_pandas  # imports pandas

        if not self.columns:
            raise ValueError("the model must be made of a table to read one; give arrays by mixture, as X_new")
        table = table_as_pandas("table", table)
        check_table(table, "table")
        given = {str(name): place for place, name in enumerate(table.columns)}
        names = [name for columns in self.columns.values() for name in columns]
        absent = [name for name in names if name not in given and (without is None or name != str(without))]
        if absent:
            raise ValueError(f"table must have the columns of the model, {names}; it lacks {first_few(absent)}")
        data = {}
        for mixture, names in self.columns.items():
            columns = []
            for reading, name in zip(self._readings[mixture], names, strict=True):
                is_known = name in given and (without is None or name != str(without))
                columns.append(reading.values(table.iloc[:, given[name]]) if is_known else np.full(len(table), np.nan))
            data[mixture] = np.stack(columns, axis=1)
        return data

    def log_density(self, X_new: Any, *, given: Any = None) -> np.ndarray:
        """Log posterior predictive density of new rows, each predicted by itself.

        Parameters
        ----------
        X_new : table, dict of array_like by mixture, or array_like
            New rows.  Mixtures that a dict omits count as unknown, and so do NaN and masked entries where the family
            allows them.
        given : dict of array_like by mixture, optional
            Data of further mixtures, given which the density is conditional.

        Returns
        -------
        ndarray, shape (m,)
            In nats; densities are per unit of the data, and discrete features count with probabilities.  The same as
            ``pymc_nrm.log_predictive_density`` of the draws in the file.

        Raises
        ------
        TypeError
            If data are not numbers, or a column is not of its kind.
        ValueError
            If columns or mixtures are missing or unknown, or data have the wrong shape or values outside the support.

        Notes
        -----
        This is ``log mean over draws of sum_k P(join k) p(x | k)``, with k over the clusters of a draw and a new one.
        """
        data = self._data("X_new", X_new)
        if given is None:
            return self._log_density(data)
        known = self._given(given, data)
        joint = self._same_length(data | known)
        return self._log_density(joint) - self._log_density(known)

    def cluster_probabilities(self, X_new: Any) -> ClusterProbabilities:
        """Probabilities that new rows belong to the clusters of the estimate, each predicted by itself.

        Parameters
        ----------
        X_new : table, dict of array_like by mixture, or array_like
            New rows.  Mixtures that a dict omits count as unknown, and so do NaN and masked entries where the family
            allows them.

        Returns
        -------
        ClusterProbabilities
            ``probability``, shape (m, n_clusters), ``new_cluster_probability``, shape (m,), the most probable
            ``labels``, -1 for a new cluster, and the labels ``clusters`` of the columns.  The same as
            ``pymc_nrm.cluster_probabilities`` of the draws in the file.

        Raises
        ------
        TypeError, ValueError
            As :meth:`log_density`.
        """
        data, rows = self._data("X_new", X_new), []
        for table in self._tables(data):
            joined = np.exp(table - self._draws.spread(self._draws.log_sums(table)))
            rows.append(joined @ self._draws.share / self.n_draws)
        total = np.concatenate(rows)
        labels = np.append(self.clusters, -1)[np.argmax(total, axis=1)]
        return ClusterProbabilities(total[:, :-1], total[:, -1], labels, self.clusters)

    def conditional_quantiles(
        self,
        given: Any,
        probabilities: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95),
        *,
        var_name: str | None = None,
        feature: Any = None,
        average: bool = False,
    ) -> Quantiles:
        """Quantiles and mean of one feature of new rows given the others.

        Parameters
        ----------
        given : table, or dict of array_like by mixture
            Data of new rows; with ``feature`` also data of its own mixture, in which its values are not read, and
            which a table may lack.  Masked entries are missing, as is NaN.
        probabilities : array_like of float, shape (q,)
            Between 0 and 1.
        var_name : str, optional
            Name of the mixture; by default the only one that has the feature, or that is not given.
        feature : hashable, optional
            The feature, by its name, or its number if features have none.
        average : bool
            Whether to average over draws before quantiles are taken, for predictions with their intervals.

        Returns
        -------
        Quantiles
            ``quantile``, shape (n_draws, m, q), and ``mean``, shape (n_draws, m), in units of the data; with
            ``average`` (m, q) and (m,).  The same as ``pymc_nrm.conditional_quantiles`` of the draws in the file.

        Raises
        ------
        NotImplementedError
            If the predictive distribution of the mixture is no Student t.
        TypeError, ValueError
            As :meth:`log_density`; and if the mixture has several features and no such feature, or probabilities are
            not between 0 and 1.
        """
        mixture, place, data = self._asked(given, var_name, feature)
        q = np.atleast_1d(numeric_array("probabilities", probabilities)).astype("float64")
        if not ((q > 0.0) & (q < 1.0)).all():
            raise ValueError(f"probabilities must be between 0 and 1; got {q.tolist()}")
        quantiles, means = [], []
        for rows in self._blocks(data):
            table = self._table(rows)
            students = mixture.one_feature_of(rows, place)
            if average:
                components = components_of(table, *students)
                quantiles.append(mixture_quantiles(components, q))
                means.append(mixture_means(components))
                continue
            last, of_draws, of_means = None, [], []
            for part in self._draws.slices():
                components = components_of(table[:, part], *(field[:, part] for field in students))
                # Successive draws are similar.
                last = mixture_quantiles(components, q, last)
                of_draws.append(last)
                of_means.append(mixture_means(components))
            quantiles.append(np.array(of_draws))
            means.append(np.array(of_means))
        axis = 0 if average else 1
        quantile, mean = np.concatenate(quantiles, axis=axis), np.concatenate(means, axis=axis)
        return Quantiles(*mixture.in_units(place, quantile, mean), q)

    # Data

    def _data(self, argument, X):
        """Checked data (m, d) of mixtures by name."""
        if isinstance(X, dict):
            unknown = [name for name in X if name not in self._mixtures]
            if unknown or not X:
                raise ValueError(
                    f"{argument} must have data of mixtures, {list(self.mixtures)}; got {unknown or 'none'}. A table "
                    "may be a DataFrame; read() takes a dict of its columns"
                )
            by_name = X
        elif self.columns and (hasattr(X, "columns") or hasattr(X, "__arrow_c_stream__")):
            by_name = self.read(X)
        elif len(self._mixtures) == 1:
            by_name = {self.mixtures[0]: X}
        else:
            raise ValueError(f"{argument} must be a table, or a dict with data of the mixtures {list(self.mixtures)}")
        titles = {name: f"{argument}[{name!r}]" if isinstance(X, dict) else argument for name in by_name}
        data = {name: self._rows(titles[name], name, values) for name, values in by_name.items()}
        return self._same_length(data)

    def _rows(self, title, name, values):
        if name in self._readings:
            values = coded(title, values, self._readings[name])
        return self._mixtures[name].rows(title, values)

    def _same_length(self, data):
        lengths = {len(rows) for rows in data.values()}
        if len(lengths) > 1:
            raise ValueError(f"X_new must have the same number of rows for every mixture; got {sorted(lengths)}")
        return data

    def _given(self, given, asked):
        if not isinstance(given, dict) or not given:
            raise ValueError(f"given must be a dict with data of mixtures by name; got {given!r}")
        both = [name for name in asked if name in given]
        if both:
            raise ValueError(f"given must not have data of {both}, whose distribution is asked for")
        return self._data("given", given)

    def _asked(self, given, var_name, feature):
        """The mixture and the place of a feature that is asked for, and the data of all that is given."""
        if not isinstance(given, dict):
            given = self.read(given, without=feature)
        if feature is None:
            names = [name for name in self.mixtures if name not in given] if var_name is None else [var_name]
        else:
            owners = [name for name, candidate in self._mixtures.items() if feature in _names_of(candidate)]
            names = owners if var_name is None else [var_name]
        if len(names) != 1 or names[0] not in self._mixtures:
            known = {name: _names_of(candidate) for name, candidate in self._mixtures.items()}
            raise ValueError(
                f"feature and var_name must name one feature of one mixture, of {known}; got feature={feature!r}, "
                f"var_name={var_name!r}"
            )
        mixture = self._mixtures[names[0]]
        if not mixture.has_quantiles:
            with_quantiles = [name for name, candidate in self._mixtures.items() if candidate.has_quantiles]
            raise NotImplementedError(
                f"conditional_quantiles needs a Student t as predictive distribution, which {mixture.name!r} does not "
                f"have; mixtures that have one: {with_quantiles}"
            )
        if feature is None:
            if mixture.n_features > 1:
                raise ValueError(f"feature must be given, one of {_names_of(mixture)} of {mixture.name!r}; got None")
            data = self._given(given, [mixture.name])
            m = len(next(iter(data.values())))
            return mixture, 0, data | {mixture.name: np.full((m, 1), np.nan)}
        if mixture.is_univariate or feature not in _names_of(mixture):
            raise ValueError(f"feature must be a feature of {mixture.name!r}, {_names_of(mixture)}; got {feature!r}")
        place = _names_of(mixture).index(feature)
        if mixture.name not in given:
            raise ValueError(f"given must have the other features in the data of {mixture.name!r}; got {list(given)}")
        others = mixture.matrix(f"given[{mixture.name!r}]", given[mixture.name])
        if others.ndim == 2 and others.shape[1] == mixture.n_features:
            others[:, place] = np.nan
        return mixture, place, self._data("given", given | {mixture.name: others})

    # Densities

    def _blocks(self, data):
        """Rows of all mixtures in blocks that fit into memory."""
        for name in data:
            self._mixtures[name].check_given(data)
        width = len(self._draws.log_weight) * max(self._mixtures[name].n_features for name in data)
        size, n = max(1, _BLOCK // width), len(next(iter(data.values())))
        for start in range(0, n, size):
            yield {name: rows[start : start + size] for name, rows in data.items()}

    def _table(self, data):
        """Log joint weights of components and of the data of rows there, shape (m, N)."""
        return self._draws.log_weight + sum(self._mixtures[name].log_density_of(data) for name in data)

    def _tables(self, data):
        return map(self._table, self._blocks(data))

    def _log_density(self, data):
        return np.concatenate([log_mean(self._draws.log_sums(table)) for table in self._tables(data)])


def _names_of(mixture):
    """Names of the features, or their numbers."""
    return list(range(mixture.n_features) if mixture.features is None else mixture.features)
