"""Hidden states of which some are known: known times share a state if and only if their labels are equal.

Known labels are data.  The density of a value that agrees with them is the density of the labels of all times, so that
hyperparameters learn from known labels, and its sum over values is the probability of the known labels.

Moves keep the labels of known times.  Given these, every value is reached by moves of single free times: a free time
may join any state, a known one among them, and open a new one.
"""

import numpy as np
import pytensor.tensor as pt

from pymc_nrm.partitions.known_labels import check_agreement, first_known, read_known_labels
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.states.partitions.chain import States


class KnownStates(States):
    """States without an upper limit of their number, some of which are known.

    ``known`` are whole numbers or strings, one for each item; -1, NaN and None represent unknown labels.
    """

    argument = "known"
    only_mixtures = "hidden states {name!r}, some of which are known: use a Mixture"
    no_draws = "hidden states of which some are known have no forward draws; draw from the same model without known"

    def __init__(self, sequences=None, known=None, titles=("sequences of HiddenStates", "known of HiddenStates")):
        super().__init__(sequences, titles[0])
        # Labels in order of appearance, -1 where unknown, and the labels of the user.
        self.known, self.known_names = read_known_labels(titles[1], known)
        if self.starts is not None and len(self.starts) != len(self.known):
            raise ValueError(
                f"{titles[1]} must have one label for each of the {len(self.starts)} items of sequences; got "
                f"{len(self.known)}"
            )
        self.n_items = len(self.known)
        self.key = (*self.key, self.known.tobytes(), self.known_names)

    @property
    def is_known(self):
        """Whether the state of each time is known, bool (n,)."""
        return self.known >= 0

    def with_known(self, labels):
        """Labels (n,) in which known times have states of their own, which other times share that have their label."""
        used = np.where(self.is_known, self.known, len(self.known_names) + labels)
        return canonical_labels(used)

    def default_start(self, zeros, priors):
        # The state of the last known time, and before the first one that of the first.
        last = np.maximum.accumulate(np.where(self.is_known, np.arange(len(self.known)), -1))
        first = int(np.argmax(self.is_known))
        states = self.known[np.where(last < 0, first, last)]
        return zeros + canonical_labels(np.maximum(states, 0))

    def renamed(self, labels, n, argument):
        canonical = super().renamed(labels, n, argument)
        check_agreement(argument, canonical, self.known, self.known_names, "state")
        return canonical

    def log_density(self, priors, labels, n):
        items, first = np.flatnonzero(self.is_known), first_known(self.known)
        # Another number of labels is not a value, but must not be read beyond their end.
        read = labels[pt.minimum(np.arange(len(self.known)), labels.shape[0] - 1)]
        together = pt.all(pt.eq(read[items], read[first[self.known[items]]]))
        apart = pt.all(pt.diff(pt.sort(read[first])) > 0)
        return pt.switch(together & apart, super().log_density(priors, labels, n), -np.inf)

    def log_join_others(self, labels, join):
        """Log probabilities that each time, left out, is in a state, given the known labels of all times."""
        held = np.zeros(join.shape[1], dtype=bool)
        held[labels[self.is_known]] = True
        number = np.bincount(self.known[self.is_known], minlength=len(self.known_names))
        for item in np.flatnonzero(self.is_known):
            is_other = np.arange(len(held)) != labels[item]
            # A time that shares its known label is told by the others; a single one is in no state of another label.
            join[item, is_other & (held | (number[self.known[item]] > 1))] = -np.inf
            join[item] -= np.logaddexp.reduce(join[item])
        return join
