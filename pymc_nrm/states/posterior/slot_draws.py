"""Draws of hidden states with slots, whose labels index parameters."""

import numpy as np

from pymc_nrm.posterior.slot_draws import SlotDraws, slots_in_use
from pymc_nrm.states.posterior.draws import StateDraws


class StateSlotDraws(StateDraws, SlotDraws):
    """Draws of hidden states with ``max_states``: new items are the next times, data have parameters of slots.

    Empty slots are exchangeable given the labels, and share equally what is the probability of a new state.
    """

    # All states are in the sums.
    level = 0.0

    @classmethod
    def with_new_data(cls, idata, model, rv):
        draws = super().with_new_data(idata, model, rv)
        if draws.kind.starts is not None:
            raise ValueError(
                f"sequences of {rv.name!r} belong to the old times: new ones, which would continue them, can only be "
                "drawn without sequences"
            )
        return draws

    def __iter__(self):
        # New times may be in the model in place of the old ones.
        starts = np.arange(self.n_old_items) == 0 if self.kind.starts is None else self.kind.starts
        for draw in super().__iter__():
            yield draw._replace(prior=draw.prior._replace(starts=starts))

    def new_slots(self, names):
        raise ValueError(
            f"known must be [] for {self.partition!r}, since states of times depend on each other: labels of the next "
            "times can only be drawn before their data are seen"
        )

    def weights_of_all(self, draw, counts, rng):
        weights, n_states = self.state_weights(draw, counts, rng), counts.shape[1]
        shapes = np.full(self.max_clusters - n_states, draw.prior.gamma / self.max_clusters)
        empty_shares = rng.dirichlet(shapes) if len(shapes) else shapes
        return np.concatenate([weights[:-1], weights[-1] * empty_shares, [0.0]])

    def densities_of_all(self, draw, n_all, rng):
        densities, parameters = super().densities_of_all(draw, n_all, rng)
        if self.indexed:
            used_slots = slots_in_use(draw)
            slots = np.append(used_slots, np.setdiff1d(np.arange(self.max_clusters), used_slots))
            densities += self.log_densities(self.point(draw), self.indexed)[:, slots]
        return densities, parameters
