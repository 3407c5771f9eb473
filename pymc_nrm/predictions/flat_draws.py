"""Draws of a flat partition, where the measure's prediction rule says what one more item does."""

import numpy as np

from pymc_nrm.partitions.labels import label_counts
from pymc_nrm.predictions.draws import Draws
from pymc_nrm.predictions.prediction_rule import draw_new_labels, log_join_without, log_prediction_rule

__all__ = ["FlatDraws"]


class FlatDraws(Draws):
    """Draws of a partition with one label for each item."""

    def log_join(self, draw, n_new):
        return log_prediction_rule(draw.prior, label_counts(draw.labels))[None]

    def log_join_others(self, draw):
        return log_join_without(draw.prior, label_counts(draw.labels))[draw.labels]

    def labels_with_new(self, draw, n_new, rng):
        new = draw_new_labels(draw.prior, label_counts(draw.labels), n_new, rng)
        return np.concatenate([draw.labels, new])
