"""Samplers as they were published, to reproduce results; as published they are biased."""

from pymc_nrm.common.pymc_internals import register_steps
from pymc_nrm.published.chang_fisher import PublishedSubclusters
from pymc_nrm.published.huang import PublishedNestedGibbs
from pymc_nrm.published.lee_choi import PublishedTreeGuided

__all__ = ["PublishedNestedGibbs", "PublishedSubclusters", "PublishedTreeGuided"]

register_steps(PublishedSubclusters, PublishedTreeGuided, PublishedNestedGibbs)
