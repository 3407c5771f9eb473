"""Draws of a partition with weights of the user's own, whose values are components."""

import functools

import numpy as np

from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.partitions.weighted_components import draw_of_rows
from pymc_nrm.posterior.new_weights import NewWeights, WeightsOfNew
from pymc_nrm.posterior.slot_draws import SlotDraws, by_slot, slots_in_use
from pymc_nrm.posterior.tables import log_sum_rows


class ComponentDraws(SlotDraws):
    """Draws of a partition with ``log_weights``: an item joins a component whatever other items do.

    Data of new items, given to the model by ``pm.set_data``, have the weights that the model then computes.  New items
    of mixtures have the weights at new values of the data that weights depend on, or those of all items.
    """

    why_no_measure = "the weights of the components of {!r} are log_weights, in place of a measure"

    @classmethod
    def with_new_data(cls, idata, model, rv):
        draws = super().with_new_data(idata, model, rv)
        draws._new_weights.check(draws._new_weights.present_rows())
        return draws

    @functools.cached_property
    def _new_weights(self):
        return NewWeights(self.model, self.rv, self.posterior)

    @property
    def sources_of_prior(self):
        return self._new_weights.sources

    def for_rows(self, draw, rows):
        if not self.sources_of_prior:
            return draw
        if draw.index == 0:
            self._new_weights.check(rows)
        return draw._replace(prior=WeightsOfNew(self._new_weights.at(draw.index, rows)))

    def shares(self, draw):
        """Log probabilities of the components of each item, before its data are seen, shape (n_items, K)."""
        log_weights = draw.prior.log_weights
        return log_weights - log_sum_rows(log_weights)[:, None]

    def log_weights_of_new(self, draw):
        return self.shares(draw)

    def draw_new_slots(self, draw, rng):
        return draw_of_rows(rng, np.ascontiguousarray(self.shares(draw)))

    def leave_one_out(self, draw):
        table = self.shares(draw).copy()
        if self.indexed:
            table += self.log_densities(self.point(draw), self.indexed)
        if self.mixtures:
            of_clusters = self.leave_one_out_table(draw)
            # The component of an item that is alone there has no other data.
            alone = _alone(draw)
            of_clusters[alone, draw.labels[alone]] = of_clusters[alone, -1]
            table += by_slot(of_clusters, slots_in_use(draw), self.max_clusters)
        return log_sum_rows(table)

    def _shares_of_new(self, draw):
        """Log probabilities of the components of new items, (m, K), or (1, K) for all of them."""
        shares = self.shares(draw)
        if isinstance(draw.prior, WeightsOfNew):
            return shares
        if not np.allclose(shares, shares[:1], rtol=1e-12, atol=1e-12):
            sources = self.sources_of_prior
            remedy = (
                f"give new values of {sources}, where that is possible"
                if sources
                else "make the covariates pm.Data with a row for each item"
            )
            raise ValueError(
                f"new items of partition {self.partition!r} have no weights, since its log_weights differ between "
                f"items: {remedy}"
            )
        return shares[:1]

    def log_join(self, draw, n_new):
        shares, used_slots = self._shares_of_new(draw), slots_in_use(draw)
        is_free = ~np.isin(np.arange(self.max_clusters), used_slots)
        return np.column_stack([shares[:, used_slots], log_sum_rows(np.where(is_free, shares, -np.inf))])

    def weight_of_new(self, draw):
        weights = np.exp(self.log_join(draw, 1)[:, -1])
        return weights if isinstance(draw.prior, WeightsOfNew) else weights[0]

    def log_join_others(self, draw):
        """Weights of the clusters of the others for each item; its own, if it is alone there, is a new one."""
        shares, used_slots = self.shares(draw), slots_in_use(draw)
        join = np.empty((len(shares), len(used_slots) + 1))
        join[:, :-1] = shares[:, used_slots]
        alone = _alone(draw)
        join[alone, draw.labels[alone]] = -np.inf
        free = np.ones_like(shares, dtype=bool)
        free[:, used_slots] = False
        free[alone, draw.value[alone]] = True
        join[:, -1] = log_sum_rows(np.where(free, shares, -np.inf))
        return join

    def labels_with_new(self, draw, n_new, rng):
        share = np.repeat(self._shares_of_new(draw), n_new, axis=0)
        return canonical_labels(np.concatenate([draw.value, draw_of_rows(rng, np.ascontiguousarray(share))]))


def _alone(draw):
    """Whether each item is alone in its component."""
    return np.bincount(draw.labels)[draw.labels] == 1
