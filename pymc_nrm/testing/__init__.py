"""Tests of exactness, for the samplers of this package and for families, measures and models of your own."""

from pymc_nrm.partitions.labels import all_partitions
from pymc_nrm.testing.enumerated_evidence import log_evidence
from pymc_nrm.testing.enumeration import exact_posterior, kernel_inputs, total_variation
from pymc_nrm.testing.forward import ForwardDraw, geweke
from pymc_nrm.testing.scores import largest_z, mean_and_error, partition_frequencies, partition_index, z_scores

__all__ = [
    "ForwardDraw",
    "all_partitions",
    "exact_posterior",
    "geweke",
    "kernel_inputs",
    "largest_z",
    "log_evidence",
    "mean_and_error",
    "partition_frequencies",
    "partition_index",
    "total_variation",
    "z_scores",
]
