"""Draws of hidden states: a new item is the next time of a sequence, whose state depends on the last one."""

import logging

import numpy as np

from pymc_nrm.common.wrapping import first_few, wrapped
from pymc_nrm.families.components import fill_component_densities
from pymc_nrm.models.parts import joint_data, joint_family
from pymc_nrm.posterior.draws import Draws
from pymc_nrm.posterior.layout import partition_coords
from pymc_nrm.posterior.tables import draw_cluster_rows, log_sum_rows
from pymc_nrm.states.partitions.chain import NEW_SEQUENCE
from pymc_nrm.states.partitions.columns import count_transitions
from pymc_nrm.states.partitions.tables import log_states
from pymc_nrm.states.partitions.urns import draw_states
from pymc_nrm.states.partitions.weights import draw_state_weights, draw_weights_above
from pymc_nrm.states.posterior.lagged_values import lagged_values
from pymc_nrm.states.posterior.next_times import next_times

_log = logging.getLogger("pymc.nrm_results")


class StateDraws(Draws):
    """Draws of hidden states. New items continue one of the sequences, or begin a new one.

    Weights of the states, which a draw does not hold, are drawn exactly given its labels where they are needed.
    """

    takes_sequence = True
    why_no_measure = (
        "the states of {!r} have transition probabilities for each state, not the weights of one measure; "
        "transition_matrix has these"
    )
    # States of smaller weight keep their times in a draw of the sums; a function of the weights alone.
    level = 0.01
    # Row of the starts or of the last item of a sequence, set by `take_sequence`.
    _sequence = None

    def take_sequence(self, sequence):
        names = self.kind.names
        if sequence in (None, NEW_SEQUENCE, *names):
            self._sequence = sequence
            return
        raise ValueError(
            f"sequence must be one of the sequences of {self.partition!r}, {first_few([*map(repr, names)])}, or "
            f"{NEW_SEQUENCE!r} for a further one; got {sequence!r}"
        )

    def last_item(self, draw):
        """The item that new ones follow; -1 if they begin a sequence."""
        names, starts = self.kind.names, np.flatnonzero(draw.prior.starts)
        if self._sequence is None and len(starts) > 1:
            raise ValueError(
                f"sequence must be given, since {self.partition!r} has {len(starts)} sequences: one of "
                f"{first_few([*map(repr, names)])}, or {NEW_SEQUENCE!r} for a further one"
            )
        if self._sequence == NEW_SEQUENCE:
            return -1
        place = 0 if self._sequence is None else names.index(self._sequence)
        return int(np.append(starts, len(draw.labels))[place + 1]) - 1

    def coords_of_new(self, dim, n):
        name, times = f"new_{self.item_dim}", partition_coords(self).get(self.item_dim)
        if self._sequence == NEW_SEQUENCE or times is None:
            return {name: (dim, np.arange(1, n + 1))}
        parts = np.split(times, [] if self.kind.starts is None else np.flatnonzero(self.kind.starts)[1:])
        place = 0 if self._sequence is None else self.kind.names.index(self._sequence)
        values, words = next_times(parts[place], n, max(parts, key=len))
        if not np.array_equal(times, np.arange(len(times))):
            _log.info(wrapped(f"{name} continues {self.item_dim} {words}."))
        return {name: (dim, values)}

    def counts(self, draw):
        """Numbers of transitions between the states, those from starts in the first row; shape (K + 1, K)."""
        n_states = int(draw.labels.max()) + 1
        counts = np.zeros((n_states + 1, n_states), dtype=np.int64)
        count_transitions(draw.labels, draw.prior.starts, n_states, counts)
        return counts

    def row(self, draw):
        """Row of the counts to which the transition to the next item belongs."""
        last = self.last_item(draw)
        return 0 if last < 0 else int(draw.labels[last]) + 1

    def state_weights(self, draw, counts, rng):
        """Draw the weights of the states and, last, of all others, shape (K + 1,)."""
        weights = np.empty(counts.shape[1] + 1)
        draw_state_weights(rng, counts, counts.shape[1], draw.prior, weights)
        return weights

    def weights_of_all(self, draw, counts, rng):
        """Draw the weights of the states, of new ones above the level, and of the rest; shape (A + 1,)."""
        weights = self.state_weights(draw, counts, rng)
        new, remaining_weight = draw_weights_above(rng, len(weights) - 1, weights[-1], draw.prior, self.level)
        return np.concatenate([weights[:-1], new, [remaining_weight]])

    def densities_of_all(self, draw, n_all, rng):
        """Log densities of all times in A states, old ones first, (n, A), given parameters, (A, parameters_size)."""
        family, data = joint_family(draw.families), joint_data(draw.data)
        parameters = draw_cluster_rows(rng, draw.labels, family, data, n_all - int(draw.labels.max()) - 1, 1)
        densities = np.empty((len(draw.labels), n_all))
        fill_component_densities(family, data, parameters, densities)
        return densities, parameters

    def log_join(self, draw, n_new):
        # Ratios of probabilities of labels, in which rows and weights are integrated out.
        counts, row = self.counts(draw), self.row(draw)
        n_states = counts.shape[1]
        weights = np.empty(n_states + 1)
        for k in range(n_states + 1):
            if k == self.kind.max_clusters:
                weights[k] = -np.inf
                break
            longer = np.pad(counts, (0, 1)) if k == n_states else counts.copy()
            longer[row, k] += 1
            weights[k] = log_states(longer, longer.shape[1], draw.prior)
        return (weights - log_sum_rows(weights[None]))[None]

    def log_join_others(self, draw):
        # Weights are a part of the state of which the label of an item is left out, so that any exact draw will do.
        counts = self.counts(draw)
        weights = self.state_weights(draw, counts, np.random.default_rng((0, draw.index)))
        return log_weights_left_out(draw.labels, draw.prior, counts, weights)

    def labels_with_new(self, draw, n_new, rng):
        new = np.empty(n_new, dtype=np.int64)
        if n_new:
            counts = self.counts(draw)
            self._add_path(draw, counts, rng, new, np.empty((0, counts.shape[1] + 1)))
        return np.concatenate([draw.labels, new])

    def probabilities_ahead(self, draw, n_steps, n_paths, rng):
        """Probabilities of the states and, last, of a new one at each of the next times, shape (n_steps, K + 1).

        They are means over paths that are drawn forward, each of a time given the states before it.
        """
        counts = self.counts(draw)
        probabilities, labels = np.zeros((n_steps, counts.shape[1] + 1)), np.empty(n_steps, dtype=np.int64)
        for _ in range(n_paths):
            self._add_path(draw, counts, rng, labels, probabilities)
        return probabilities / n_paths

    def draw_data(self, draw, layout, value, rng):
        n_old = len(draw.labels)
        lagged = lagged_values(self, layout.name)
        if lagged is None or len(value) == n_old:
            return super().draw_data(draw, layout, value, rng)
        old = super().draw_data(draw, layout, draw.labels, rng)
        new, *_ = lagged.draw(draw, value[None, n_old:], self.last_item(draw), rng)
        return np.concatenate([old, new.T])

    def paths(self, draw, n_steps, n_paths, rng):
        """Draw states of the next times, shape (n_paths, n_steps)."""
        return np.array([self.labels_with_new(draw, n_steps, rng)[len(draw.labels) :] for _ in range(n_paths)])

    def _add_path(self, draw, counts, rng, labels, probabilities):
        weights = self.state_weights(draw, counts, rng)
        one_sequence = np.zeros(len(labels), dtype=bool)
        draw_states(rng, self.row(draw), counts, weights, one_sequence, draw.prior, labels, probabilities)


class KnownStateDraws(StateDraws):
    """Draws of hidden states of which some are known."""

    def densities_of_all(self, draw, n_all, rng):
        densities, parameters = super().densities_of_all(draw, n_all, rng)
        is_other = np.arange(n_all) != draw.labels[:, None]
        densities[self.kind.is_known[:, None] & is_other] = -np.inf
        return densities, parameters

    def log_join_others(self, draw):
        return self.kind.log_join_others(draw.labels, super().log_join_others(draw))


def log_weights_left_out(labels, prior, counts, weights):
    """Log probabilities of the state of each item given all other states and weights, the last that of a new one.

    Shapes: ``labels`` (n,), ``counts`` (K + 1, K), ``weights`` (K + 1,); returns (n, K + 1).
    """
    # Section 5.3 of Teh et al. (2006), with the self-transitions of Fox et al. (2011): the transitions to and from the
    # item are taken out of the counts, and the first counts for the second where both are self-transitions.
    n, n_states, alpha, kappa = len(labels), counts.shape[1], prior.alpha, prior.kappa
    states, items = np.arange(n_states), np.arange(n)
    shares, sizes = weights[:-1], counts[1:].sum(axis=1)
    has_next = np.append(~prior.starts[1:], False)
    row = np.where(prior.starts, 0, np.roll(labels, 1) + 1)
    after = np.where(has_next, np.roll(labels, -1), -1)
    same, follows, in_state = row[:, None] == states + 1, after[:, None] == states, labels[:, None] == states
    into = counts[row] - in_state - (has_next & (row == labels + 1))[:, None] * follows
    into = into + alpha * shares + kappa * same
    out_of = counts[1:, np.where(has_next, after, 0)].T - in_state - same * (labels == after)[:, None] + same * follows
    out_of = out_of + alpha * shares[after][:, None] + kappa * follows
    out_of = np.where(has_next[:, None], out_of / (sizes - in_state + alpha + kappa), 1.0)
    table = np.empty((n, n_states + 1))
    # The weight of a state that has no other item belongs to new states.
    alone = np.bincount(labels, minlength=n_states)[labels] == 1
    new_weight = weights[-1] + np.where(alone, shares[labels], 0.0)
    leave = np.where(has_next, alpha * shares[after] / (alpha + kappa), 1.0)
    with np.errstate(divide="ignore"):
        table[:, :-1] = np.log(np.where(alone[:, None] & in_state, 0.0, into * out_of))
        table[items, -1] = np.log(alpha * new_weight * leave)
    return table - log_sum_rows(table)[:, None]
