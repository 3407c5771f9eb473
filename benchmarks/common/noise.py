"""What noise alone makes of a total variation distance."""

import math

import numpy as np


def variation_of_noise(states, n_states):
    """Expected total variation of chains that are exact, with the autocorrelation of these chains.

    ``states`` has the number of the state of each draw, shape (chains, draws).  Frequencies of an exact chain have
    about normal errors, whose standard deviations are those of the means of batches.
    """
    chains, draws = states.shape
    n_batches = max(int(draws / math.ceil(draws ** (2 / 3))), 2)
    length = draws // n_batches
    batches = states[:, : n_batches * length].reshape(chains * n_batches, length)
    frequencies = np.array([np.bincount(batch, minlength=n_states) for batch in batches]) / length
    errors = frequencies.std(axis=0, ddof=1) / math.sqrt(len(batches))
    return 0.5 * math.sqrt(2.0 / math.pi) * errors.sum()
