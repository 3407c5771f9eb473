"""Rooms of nested partitions."""

from pymc_nrm import stats as stats
