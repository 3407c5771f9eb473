"""Draws of a partition with weights of the user's own, whose values are components."""

import numpy as np

from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.partitions.weighted_components import draw_of_rows
from pymc_nrm.posterior.slot_draws import SlotDraws, by_slot, slots_in_use
from pymc_nrm.posterior.tables import log_sum_rows


class ComponentDraws(SlotDraws):
    """Draws of a partition with ``log_weights``: an item joins a component whatever other items do.

    Data of new items, given to the model by ``pm.set_data``, have the weights that the model then computes.  Where all
    items have the same weights, new items of mixtures have these, too.
    """

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

    def _share_of_all(self, draw):
        """Log probabilities of the components of every item, (K,); an error if they differ between items."""
        shares = self.shares(draw)
        if not np.allclose(shares, shares[:1], rtol=1e-12, atol=1e-12):
            raise ValueError(
                f"new items of partition {self.partition!r} have no weights, since its log_weights differ between "
                "items: give their covariates to the model by pm.set_data, and use sample_new_labels"
            )
        return shares[0]

    def _join(self, draw):
        shares, own = self._share_of_all(draw), slots_in_use(draw)
        others = np.delete(shares, own)
        return np.append(shares[own], np.logaddexp.reduce(others) if len(others) else -np.inf)

    def log_join(self, draw, n_new):
        return self._join(draw)[None]

    def log_join_others(self, draw):
        """Weights of the clusters of the others for each item; its own, if it is alone there, is a new one."""
        shares, own = self.shares(draw), slots_in_use(draw)
        join = np.empty((len(shares), len(own) + 1))
        join[:, :-1] = shares[:, own]
        alone = _alone(draw)
        join[alone, draw.labels[alone]] = -np.inf
        free = np.ones_like(shares, dtype=bool)
        free[:, own] = False
        free[alone, draw.value[alone]] = True
        join[:, -1] = log_sum_rows(np.where(free, shares, -np.inf))
        return join

    def labels_with_new(self, draw, n_new, rng):
        share = np.repeat(self._share_of_all(draw)[None], n_new, axis=0)
        return canonical_labels(np.concatenate([draw.value, draw_of_rows(rng, np.ascontiguousarray(share))]))


def _alone(draw):
    """Whether each item is alone in its component."""
    return np.bincount(draw.labels)[draw.labels] == 1
