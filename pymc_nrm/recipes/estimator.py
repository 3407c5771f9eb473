"""A mixture with the interface of scikit-learn."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

import cloudpickle
import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

from pymc_nrm.common.checks import check_count, check_flag, check_probability, random_generator
from pymc_nrm.common.tables import as_pandas
from pymc_nrm.models.empty_items import items_with_values
from pymc_nrm.models.rvs import find_partition
from pymc_nrm.posterior.conditional_distributions import conditional_quantiles
from pymc_nrm.posterior.fused_estimate import fused_estimate
from pymc_nrm.posterior.new_items import cluster_probabilities
from pymc_nrm.posterior.predictive_density import log_predictive_density
from pymc_nrm.recipes.estimator_inputs import (
    Parameters,
    as_array,
    as_matrix,
    check_n_features,
    class_estimate,
    cluster_names,
    known_labels,
    named_clusters,
    not_fitted,
)
from pymc_nrm.recipes.gaussian_mixture import few_known, gaussian_mixture
from pymc_nrm.recipes.messages import AllMessages, warn_user
from pymc_nrm.recipes.reading.kinds import NUMERIC
from pymc_nrm.recipes.table_models import mixture_model, table_data
from pymc_nrm.run.sampling import sample
from pymc_nrm.stats.draws import partition_draws, stack_draws
from pymc_nrm.stats.losses import check_loss
from pymc_nrm.stats.point_estimate import evenly_spaced, left_out_words, point_estimate

__all__ = ["MixtureEstimator"]


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class MixtureEstimator(Parameters):
    """Clustering and density estimation with the interface of scikit-learn, which need not be installed.

    ``fit`` builds the model, with :func:`~pymc_nrm.recipes.mixture_model` for a DataFrame and with
    :func:`~pymc_nrm.recipes.gaussian_mixture` for any other matrix, samples it, and finds a point estimate of the
    clustering.  Model and draws are attributes, for everything that is not in this interface.

    Parameters
    ----------
    kinds : mapping of {hashable : str} or DataFrame, optional
        Kinds of columns of a DataFrame, see :func:`~pymc_nrm.mixture_model` and :func:`~pymc_nrm.recipes.column_kinds`.
    strict : bool
        Whether a column of a DataFrame whose kind is doubtful is an error unless ``kinds`` has it.
    covariance : {None, "full", "diagonal"}
        Of numeric features within a cluster; by default full for up to 30 features, if the data allow it, and diagonal
        where rows are few and it describes them better, see :func:`~pymc_nrm.recipes.gaussian_mixture`.
    n_directions : int or "auto", optional
        Number of principal directions of the numeric features in which clusters differ, by default all, see
        :func:`~pymc_nrm.recipes.gaussian_mixture`.
    measure : measure or ElicitedPrior, optional
        By default ``DirichletProcess(pm.Exponential.dist(log(n)))`` for n rows.
    jitter_ties : bool
        Whether repeated numbers are spread over the width of their rounding, see :func:`~pymc_nrm.recipes.jitter_ties`.
    draws, tune : int, optional
        Number of draws of each chain, and of tuning draws before them, which are discarded; by default as in
        :func:`~pymc_nrm.sample`.
    chains, cores : int, optional
        As in ``pm.sample``.
    loss : str
        Loss of the point estimate, see :func:`~pymc_nrm.stats.point_estimate`.
    fuse : bool
        Whether clusters are components of the mixture that :func:`~pymc_nrm.fused_estimate` has joined
        where they overlap, so that a cluster may have any shape, or the components themselves.  Known labels tell
        components apart, so that ``fit(X, y)`` joins none.
    only_known : bool
        Whether ``fit(X, y)`` puts every item into the cluster of a known label, as in :class:`~pymc_nrm.Partition`;
        otherwise items without a label may form clusters of their own.
    max_draws : int, optional
        How many draws predictions average over, evenly spaced in every chain; None for all.
    verbose : bool
        Whether ``fit`` logs and warns as the functions that it calls do.  By default it logs nothing, and warns once at
        most, of all that these functions warn of.
    sample_options : mapping of {str : Any}, optional
        Further arguments of :func:`~pymc_nrm.sample`, such as ``{"progressbar": True}``, but not those that are
        parameters of the estimator.
    random_state : int, Generator, RandomState or None
        Seed.  The same number gives the same draws.

    Attributes
    ----------
    model_ : pymc.Model
    idata_ : DataTree
        Draws, as from :func:`pymc_nrm.sample`.
    estimate_ : Dataset
        The result of :func:`~pymc_nrm.fused_estimate`, which holds the components as well.  Without ``fuse`` or
        with known labels, the result of :func:`~pymc_nrm.stats.point_estimate`.  With ``only_known``, ``labels``
        and ``probability``, the share of draws in which an item is in the cluster of each known label.
    labels_ : ndarray of int64, or of str if known labels are strings, shape (n,)
        Clusters of the estimate, from 0, in order of appearance.  If labels are known, a cluster has the label of
        most of its known items; clusters without known items have the numbers after the largest, or the names
        ``"other 1"``, ``"other 2"`` and so on.  With ``only_known``, the most probable known label of each item.
        Otherwise -1, or ``"none"`` among strings, for rows without any value, which the estimate leaves out.
    n_clusters_ : int
    classes_ : ndarray
        What columns of ``predict_proba`` stand for: the clusters, then -1 or ``"new"``, a new one.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X was a DataFrame.

    Raises
    ------
    ValueError
        By ``fit``, and by nothing before it, if a parameter is not allowed.

    See Also
    --------
    pymc_nrm.recipes.mixture_model : The model of a DataFrame, and the kinds of columns.

    Notes
    -----
    Labels of new data come from :func:`~pymc_nrm.cluster_probabilities`: each item is predicted as one more item.
    For the data of ``fit``, ``predict`` therefore need not agree with ``labels_``, which ``fit_predict`` returns.  A
    new item far from all others gets the label -1.

    Examples
    --------
    >>> import pymc_nrm as nrm
    >>> estimator = nrm.MixtureEstimator(covariance="diagonal", draws=200, random_state=1)
    >>> estimator
    MixtureEstimator(covariance='diagonal', draws=200, random_state=1)
    >>> estimator.set_params(draws=500).get_params()["draws"]
    500

    Labels, probabilities and log densities::

        labels = estimator.fit_predict(X)
        probabilities = estimator.predict_proba(X_new)
        nrm.plots.plot_clusters(estimator.idata_, X)
    """

    kinds: Mapping[Any, str] | pd.DataFrame | None = None
    strict: bool = False
    covariance: str | None = None
    n_directions: int | str | None = None
    measure: Any = None
    jitter_ties: bool = True
    draws: int | None = None
    tune: int | None = None
    chains: int | None = None
    cores: int | None = None
    loss: str = "variation_of_information"
    fuse: bool = True
    only_known: bool = False
    max_draws: int | None = 500
    verbose: bool = False
    sample_options: Mapping[str, Any] | None = None
    random_state: Any = None

    model_: pm.Model = dataclasses.field(init=False)
    idata_: xr.DataTree = dataclasses.field(init=False)
    estimate_: xr.Dataset = dataclasses.field(init=False)
    labels_: np.ndarray = dataclasses.field(init=False)
    classes_: np.ndarray = dataclasses.field(init=False)
    n_clusters_: int = dataclasses.field(init=False)
    n_features_in_: int = dataclasses.field(init=False)
    feature_names_in_: np.ndarray = dataclasses.field(init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Sample the posterior and find a point estimate of the clustering.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n, d)
        y : array_like of int or str, shape (n,), optional
            Known labels, and -1, NaN or None for all other items: ``known`` of :class:`~pymc_nrm.Partition`.

        Returns
        -------
        MixtureEstimator
            Itself.

        Raises
        ------
        TypeError, ValueError
            If X, y or a parameter is not allowed; messages name the column or the parameter.

        Warns
        -----
        UserWarning
            Once at most, unless ``verbose``: what is doubtful about the table, few known labels, and chains that
            disagree.
        """
        check_flag("verbose", self.verbose)
        if self.verbose:
            return self._fit(X, y)
        with AllMessages("messages of this fit (verbose=True shows them as they come)"):
            self._fit(X, y)
        return self

    def _fit(self, X, y):
        check_count("max_draws", self.max_draws, 1, optional=True)
        check_count("draws", self.draws, 1, optional=True)
        _check_sample_options(self.sample_options)
        loss, _ = check_loss(self.loss, {})
        check_flag("fuse", self.fuse)
        check_flag("strict", self.strict)
        seeds = random_generator(self.random_state, "random_state").integers(2**31, size=3)
        X = as_pandas("X", X)
        if not isinstance(X, pd.DataFrame):
            for name in ("kinds", "strict"):
                if getattr(self, name) is not None and getattr(self, name) is not False:
                    raise ValueError(f"{name} is for columns of a DataFrame; X is of type {type(X).__name__}")
            X = as_matrix(X, least_samples=2)
        check_flag("only_known", self.only_known)
        if self.only_known and y is None:
            raise ValueError("only_known must be False without y, the labels that are known")
        known, names = (None, ()) if y is None else known_labels(y, len(X))
        shared = ("covariance", "n_directions", "measure", "jitter_ties", "only_known")
        options = {name: getattr(self, name) for name in shared}
        if isinstance(X, pd.DataFrame):
            model = mixture_model(X, kinds=self.kinds, strict=self.strict, known=known, chunks=False, **options)
        else:
            model = gaussian_mixture(X, known=known, **options)
        options = {"progressbar": False, "chains": self.chains, "cores": self.cores, **(self.sample_options or {})}
        text = few_known(find_partition(model, None).owner.op.kind)
        if text and not self.verbose:
            warn_user(text)
        idata = sample(self.draws, tune=self.tune, model=model, random_seed=int(seeds[0]), **options)
        if self.only_known:
            estimate = class_estimate(stack_draws(partition_draws(idata, "z")), known)
        else:
            estimate = point_estimate(idata, loss=loss, random_seed=int(seeds[1]), progressbar=False)
        if self.fuse and known is None:
            estimate = fused_estimate(idata, model, estimate, loss=loss, random_seed=int(seeds[2]), progressbar=False)
        self.model_, self.idata_, self.estimate_ = model, idata, estimate
        codes, kept = estimate["labels"].to_numpy().astype("int64"), np.ones(len(X), dtype=bool)
        if len(codes) < len(X):
            kept = items_with_values(model, find_partition(model, None))
            if not self.verbose:
                text = left_out_words(np.count_nonzero(~kept), "rows")
                warn_user(f"{text}: labels_ has -1 for them, or 'none' among strings")
        self._codes = codes if self.only_known else named_clusters(codes, known if known is None else known[kept])
        names, clusters = cluster_names(self._codes.max() + 1, names), pd.unique(self._codes)
        no_cluster = -1 if names.dtype.kind == "i" else "none"
        self.labels_, self.classes_ = np.full(len(kept), no_cluster, dtype=names.dtype), names[[*clusters, -1]]
        self.labels_[kept] = names[self._codes]
        self.n_clusters_ = len(clusters)
        self.n_features_in_ = X.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if isinstance(X, pd.DataFrame):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the labels of the point estimate.

        Parameters
        ----------
        X : DataFrame or array_like, shape (n, d)
        y : array_like of int or str, shape (n,), optional
            Known labels, as for ``fit``.

        Returns
        -------
        ndarray of int64 or str, shape (n,)
        """
        return self.fit(X, y).labels_

    def predict(self, X: Any) -> np.ndarray:
        """Most probable cluster of new items, each taken by itself.

        Parameters
        ----------
        X : DataFrame or array_like, shape (m, d)

        Returns
        -------
        ndarray of int64 or str, shape (m,)
            Clusters of the point estimate; -1 or ``"new"`` for a new one.

        Raises
        ------
        TypeError, ValueError
            If the columns of X differ from those given to ``fit``, or ``fit`` was not called.
        """
        places = self.predict_proba(X).argmax(axis=1)
        return self.classes_[places]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities that new items belong to the clusters of the point estimate, averaged over draws.

        Parameters
        ----------
        X : DataFrame or array_like, shape (m, d)

        Returns
        -------
        ndarray, shape (m, n_clusters_ + 1)
            The last column is for a new cluster, zero with ``only_known``; rows add up to one.

        Raises
        ------
        TypeError, ValueError
            If the columns of X differ from those given to ``fit``, or ``fit`` was not called.
        """
        data = self._new_data(X)
        predicted = cluster_probabilities(self._draws(), self.model_, data, self._codes, progressbar=False)
        known, new = predicted["probability"].to_numpy(), predicted["new_cluster_probability"].to_numpy()
        if self.only_known:
            # The posterior given that the new item is not in a new cluster either.
            known, new = known / known.sum(axis=1, keepdims=True), np.zeros(len(new))
        return np.column_stack([known, new])

    def predict_column(self, X: Any, column: Any, *, interval: float = 0.9) -> pd.DataFrame:
        """Predict a numeric column of new items from their other columns, each item by itself.

        Parameters
        ----------
        X : DataFrame or array_like, shape (m, d)
            A DataFrame may lack the column; its values are not read.
        column : hashable
            Its name in the DataFrame of ``fit``, or its number in a matrix.
        interval : float
            Probability of the interval, which has equal tails.

        Returns
        -------
        DataFrame
            With the rows of X and the columns ``mean``, ``median``, ``lower`` and ``upper``, in units of the column.

        Raises
        ------
        TypeError, ValueError
            If the columns of X differ from those given to ``fit``, the column is not numeric, or ``fit`` was not
            called.

        Notes
        -----
        Given the other columns, the predictive distribution is a mixture of Student t distributions over the clusters
        of all draws, which count by the density of the other columns.  See :func:`~pymc_nrm.conditional_quantiles` for
        curves draw by draw, and :func:`~pymc_nrm.regression_model` for a model in which the column is a target.
        """
        check_probability(interval, name="interval")
        self._check_fitted()
        is_table = hasattr(self, "feature_names_in_")
        name, feature = (NUMERIC, str(column)) if is_table else ("x", column)
        features = list(self.model_.coords.get(f"{name}_feature", ()))
        if feature not in features:
            raise ValueError(f"column must be a numeric one, {features}; got {column!r}")
        if is_table and isinstance(X, pd.DataFrame):
            X = X.rename(columns=str).assign(**{feature: np.nan})
        data = self._new_data(X)
        tails = [0.5, 0.5 - 0.5 * interval, 0.5 + 0.5 * interval]
        given = data if is_table else {name: data}
        distribution = conditional_quantiles(
            self._draws(), self.model_, given, tails, var_name=name, feature=feature, average=True, progressbar=False
        )
        columns = dict(zip(("median", "lower", "upper"), distribution["quantile"].values.T, strict=True))
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame({"mean": distribution["mean"].values, **columns}, index=index)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log posterior predictive density of new items.

        Parameters
        ----------
        X : DataFrame or array_like, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)
            In nats, see :func:`~pymc_nrm.log_predictive_density`.

        Raises
        ------
        TypeError, ValueError
            If the columns of X differ from those given to ``fit``, or ``fit`` was not called.
        """
        data = self._new_data(X)
        return log_predictive_density(self._draws(), self.model_, data, progressbar=False).to_numpy()

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log posterior predictive density of new items.

        Parameters
        ----------
        X : DataFrame or array_like, shape (m, d)
        y : object
            Ignored.

        Returns
        -------
        float
            In nats.  Compare scores of held-out data only: higher is better.

        Raises
        ------
        TypeError, ValueError
            If the columns of X differ from those given to ``fit``, or ``fit`` was not called.
        """
        return float(self.score_samples(X).mean())

    def _draws(self):
        check_count("max_draws", self.max_draws, 1, optional=True)
        return evenly_spaced(self.idata_.posterior.to_dataset(), self.max_draws)

    def _check_fitted(self):
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)

    def _new_data(self, X):
        self._check_fitted()
        X = as_pandas("X", X)
        names = getattr(self, "feature_names_in_", None)
        if names is not None and not isinstance(X, pd.DataFrame):
            values = as_array(X)
            X = pd.DataFrame(values.astype(object) if values.ndim == 2 else as_matrix(X))
            check_n_features(self, X.shape[1])
            X.columns = names
            warn_user(f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names")
        if names is None:
            if isinstance(X, pd.DataFrame):
                warn_user(f"X has feature names, but {type(self).__name__} was fitted without feature names")
            X = as_matrix(X)
            check_n_features(self, X.shape[1])
            return X
        others = [str(name) for name in X.columns if str(name) not in names]
        if others:
            raise ValueError(f"X must have the columns seen in fit, {list(names)}; it has also {others}")
        return table_data(self.model_, X)

    def __getstate__(self):
        # Models of PyMC hold functions that pickle cannot store.
        return {"cloudpickle": cloudpickle.dumps(self.__dict__)}

    def __setstate__(self, state):
        self.__dict__.update(cloudpickle.loads(state["cloudpickle"]))

    def __sklearn_is_fitted__(self):
        return hasattr(self, "labels_")

    def __sklearn_tags__(self):
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type="clusterer",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(allow_nan=True, categorical=True),
        )


def _check_sample_options(options):
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise TypeError(f"sample_options must be a mapping of arguments of sample; got {options!r}")
    argument_of = {
        "draws": "draws",
        "tune": "tune",
        "chains": "chains",
        "cores": "cores",
        "random_seed": "random_state",
    }
    for name in options:
        if name in argument_of:
            raise ValueError(f"sample_options must not have {name!r}: give {argument_of[name]} to the estimator itself")
        if name in ("model", "return_inferencedata", "var_names"):
            raise ValueError(f"sample_options must not have {name!r}, which the estimator chooses")
    if options.get("label_storage") == "none":
        raise ValueError("sample_options must not have label_storage='none': the estimator needs the labels of draws")
