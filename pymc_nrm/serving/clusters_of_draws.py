"""Clusters of all draws side by side, with the arrays of their predictive distributions, as files hold them."""

import numpy as np

from pymc_nrm.common.progress import tracked
from pymc_nrm.families.base import cache_size, refresh_cache
from pymc_nrm.families.erased.shared_kernel import shared_kernel
from pymc_nrm.models.origin import origin_of
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.grouped import family_of_rows
from pymc_nrm.posterior.draws import ChunkedDraws, Draws, shares
from pymc_nrm.posterior.layout import MixtureLayout, NewCovariates, NewItems
from pymc_nrm.recipes.regression_terms import RegressionTerms
from pymc_nrm.serving.predictive_distributions import PREDICTIVE
from pymc_nrm_predictor.reading.recorded import description_of
from pymc_nrm_predictor.regressions import covariates_of


def check_exportable(draws):
    """Refuse what a file cannot hold."""
    name = draws.partition
    if not draws.mixtures:
        raise NotImplementedError(
            f"no Mixture depends on partition {name!r}: densities of other likelihoods are graphs of PyTensor, which a "
            "file of predictions does not hold"
        )
    is_flat = type(draws).log_weights in (Draws.log_weights, ChunkedDraws.log_weights)
    if not is_flat or draws.takes_new_paths or draws.takes_sequence:
        raise NotImplementedError(
            f"the partition must be flat to be exported; {name!r} is {type(draws.kind).__name__}: predictions of its "
            "new items need nrm.load, with PyMC"
        )
    if draws.sources_of_prior:
        raise NotImplementedError(
            f"log_weights of {name!r} depend on {list(draws.sources_of_prior)}: they are a graph of PyTensor, which a "
            "file of predictions does not hold"
        )
    for mixture in draws.mixtures:
        family_class = MixtureLayout(draws.model, mixture, nested=True).family_class
        if family_class not in PREDICTIVE:
            raise NotImplementedError(
                f"Mixture {mixture!r} has the family {family_class.__name__}, whose predictive distribution a file "
                f"cannot hold; it can of {', '.join(sorted(cls.__name__ for cls in PREDICTIVE))}"
            )
        terms = origin_of(draws.model[mixture]).rows
        if NewCovariates(draws.model, mixture) and not isinstance(terms, RegressionTerms):
            raise NotImplementedError(
                f"covariates of Mixture {mixture!r} are a graph of PyTensor, which a file of predictions does not "
                "hold; it holds the covariates of a model of nrm.regression_model"
            )


class ClustersOfDraws:
    """Arrays of a file, and descriptions of its mixtures, from all draws of a partition.

    ``labels`` are those of the items in an estimate, 0, 1, ..., and ``kept`` says which items the estimate has.
    """

    def __init__(self, draws, labels, kept, n_labels, readings, progressbar):
        self._draws, self._readings = draws, readings
        self._layouts = [MixtureLayout(draws.model, name, nested=True) for name in draws.mixtures]
        sizes, log_weights, of_shares = [], [], []
        self._first, self._parts = None, [[] for _ in self._layouts]
        for draw in tracked(draws, "Reading draws", progressbar):
            # One row of weights: none depends on data of new items.
            [weights] = draws.log_join(draw, 1)
            sizes.append(len(weights))
            log_weights.append(weights)
            of_shares.append(shares(NewItems.places(draw)[kept], len(weights), labels, n_labels))
            self._first = draw if self._first is None else self._first
            for k, part in enumerate(self._parts):
                part.append(self._of_mixture(draw, k, len(weights)))
        self.arrays = {
            "start": np.concatenate([[0], np.cumsum(sizes)]),
            "log_weight": np.concatenate(log_weights),
            "share": np.concatenate(of_shares),
        }
        # Names of arrays that all clusters share.
        self.shared = set()
        self.mixtures = []
        for k, (layout, parts) in enumerate(zip(self._layouts, self._parts, strict=True)):
            arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            shared, further = PREDICTIVE[layout.family_class].shared(*self._family_and_rows(self._first, k))
            terms = origin_of(draws.model[layout.name]).rows
            if isinstance(terms, RegressionTerms):
                shared["covariate_center"] = self._covariate_center(k, terms)
                further = {"covariates": [_description_of_term(term) for term in terms.terms]}
            self.arrays |= {f"mixture_{k}_{name}": np.asarray(array) for name, array in (arrays | shared).items()}
            self.shared |= {f"mixture_{k}_{name}" for name in shared}
            self.mixtures.append(self._description(k, layout) | further)

    def _family_and_rows(self, draw, k):
        """Family and data of the rows of a mixture in a draw."""
        family, data = draw.families[k], draw.data[k]
        return family_of_rows(family), data.rows if family_of_rows(family) is not family else data

    def _of_mixture(self, draw, k, n):
        """Arrays of the clusters of a draw, the last of them new, in a mixture."""
        family, data = self._family_and_rows(draw, k)
        if isinstance(self._draws, ChunkedDraws):
            known = draw.value[1][k]
            statistics = np.concatenate([known, np.zeros((1, known.shape[1]))])
            caches = np.empty((n, cache_size(family)))
            _write_caches(family, data, statistics, caches)
        else:
            # The slot behind the last cluster is a cluster without data.
            state = build_state(draw.labels, draw.families[k], draw.data[k])
            statistics, caches = state.statistics[:n], state.cache[:n, : cache_size(family)]
        arrays = PREDICTIVE[type(family)].of_clusters(family, statistics, caches)
        center, first = (getattr(rows, "center", None) for rows in (data, self._family_and_rows(self._first, k)[1]))
        if center is not None and center is not first:
            # Data that are drawn have another centre in every draw.
            relative = "coefficient" if "coefficient" in arrays else "location"
            arrays[relative] = arrays[relative] + (center - first)
        return arrays

    def _covariate_center(self, k, terms):
        """What the model subtracts from covariates, after a check that they are these terms at all items."""
        design = self._family_and_rows(self._first, k)[0].covariates
        data = self._draws.rows_of_items(np.arange(self._draws.n_old_items))
        raw = covariates_of(data, [_description_of_term(term) for term in terms.terms])
        center = raw[0] - design[0, 1:]
        if design.shape[1] != raw.shape[1] + 1 or not np.allclose(
            design, np.column_stack([np.ones(len(raw)), raw - center]), rtol=1e-12, atol=1e-12 * np.abs(design).max()
        ):
            raise NotImplementedError(
                f"covariates of Mixture {self._layouts[k].name!r} are not those of its nrm.regression_model any more"
            )
        return center

    def _description(self, k, layout):
        about = {
            "name": layout.name,
            "distribution": PREDICTIVE[layout.family_class].distribution,
            "family": layout.family_class.__name__,
            "n_features": int(layout.n_features(self._first.families[k])),
            "univariate": bool(layout.univariate),
        }
        names = layout.feature_names()
        if names is not None:
            about["features"] = [name if isinstance(name, str | int) else str(name) for name in names]
        is_table = layout.name in self._readings
        # Other mixtures may have text.
        of_text = origin_of(self._draws.model[layout.name]).readings
        readings = self._readings[layout.name].values() if is_table else of_text
        if readings:
            about |= {"columns": [description_of(reading) for reading in readings], "table": is_table}
        return about


def _description_of_term(term):
    return {name: value for name, value in term._asdict().items() if value is not None}


@shared_kernel
def _write_caches(family, data, statistics, caches):
    """Write the rows of the cache of clusters with these statistics."""
    for k in range(statistics.shape[0]):
        refresh_cache(family, statistics[k], caches[k])
