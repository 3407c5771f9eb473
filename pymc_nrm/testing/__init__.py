"""Tests of exactness for the package's samplers and for your own families, measures and models."""

from pymc_nrm.partitions.labels import all_partitions
from pymc_nrm.testing.enumeration import exact_posterior, kernel_inputs, log_evidence, total_variation
from pymc_nrm.testing.family_checks import check_family
from pymc_nrm.testing.forward import ForwardDraw, geweke
from pymc_nrm.testing.measure_checks import check_measure
from pymc_nrm.testing.scores import (
    CheckError,
    largest_z,
    mean_and_error,
    partition_frequencies,
    partition_index,
    z_scores,
)

__all__ = [
    "CheckError",
    "ForwardDraw",
    "all_partitions",
    "check_family",
    "check_measure",
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
