"""Exact laws of two slots whose parameters lie on grids, and the comparison of draws with them."""

import itertools

import numpy as np
from scipy import stats
from scipy.special import logsumexp

from pymc_nrm.measures.base import log_eppf
from pymc_nrm.partitions.labels import canonical_labels, label_counts
from pymc_nrm.testing import mean_and_error


def law_of_slots(n, measure, log_joint_of_pair):
    """Slots, 0 or 1, of all items, their probabilities, and the means of both parameters.

    ``log_joint_of_pair`` gives, for the slots of all items, grids of both parameters and log densities on them.
    """
    slots = np.array(list(itertools.product(range(2), repeat=n)))
    totals, means = [], []
    for row in slots:
        grids, log_p = log_joint_of_pair(row)
        # Both ways to number two clusters, and both slots of a single one, share the probability of a partition.
        log_p = log_p + log_eppf(measure, label_counts(canonical_labels(row))) - np.log(2)
        totals.append(logsumexp(log_p))
        means.append([(np.exp(log_p - totals[-1]) * values).sum() for values in grids])
    p = np.exp(totals - logsumexp(totals))
    return slots, p, p @ np.array(means)


def check_mean(name, values, expected, least_error=0.0):
    """Compare the mean of draws, shape (chains, draws), with its exact value."""
    mean, error, degrees = mean_and_error(values)
    assert abs(mean - expected) / max(error, least_error) < stats.t.isf(5e-6, degrees), (name, mean, expected, error)


def check_slots(drawn, parameters, slots, p, means):
    """Compare slots, shape (chains, draws, n), and parameters, shape (chains, draws, 2), with their law."""
    for row, probability in zip(slots, p, strict=True):
        share = (drawn == row).all(axis=-1).astype(float)
        check_mean(row, share, probability, np.sqrt(probability * (1 - probability) / share.size))
    for k in range(2):
        check_mean(f"parameter {k}", parameters[..., k], means[k])
