"""How a LearnedGibbs reads the statistics of a block model."""

from functools import partial

import numpy as np

from pymc_nrm.families.base import localise
from pymc_nrm.models.values import Values, kernel_family
from pymc_nrm.networks.models.block_data import block_data
from pymc_nrm.networks.models.block_sums import block_sums, layer_of
from pymc_nrm.networks.steps.block_target import LabelsAtPoints


class SumsOfBlocks:
    """Statistics of the blocks of a block model at points, for a family with other hyperparameters."""

    def __init__(self, model, variable, family, compile_kwargs):
        evaluate = partial(Values.at_points, model, compile_kwargs=compile_kwargs)
        self._data, self._family_class = block_data(model, variable), type(family)
        self._values = evaluate([*family])
        self._labels = [LabelsAtPoints(partition, evaluate) for partition in self._data.partitions]
        self._prepared = self._layer = None

    def refresh(self):
        """Read constants again, since ``pm.set_data`` may have changed them."""
        for part in (self._values, *self._labels):
            part.refresh()
        self._prepared = self._layer = None

    def at(self, point):
        """The localised family, and a row of statistics for each block with data."""
        family = kernel_family(self._family_class, self._values(point))
        observed = self._data.observed
        if self._prepared is None:
            self._prepared = self._data.prepared(family)
            self._layer = layer_of(family, self._prepared, observed, self._data.degree_corrected is not None)
        labels = [labels.at(point) for labels in self._labels]
        sums = block_sums(self._layer, *labels)
        if not (observed.is_table or observed.directed):
            sums = sums[np.triu_indices(len(sums))]
        rows = sums.reshape(-1, sums.shape[-1])
        return localise(family, self._prepared), np.ascontiguousarray(rows[(rows != 0.0).any(axis=1)])
