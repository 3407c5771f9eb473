"""Published samplers, to reproduce results; in their published form they are biased."""

from pymc_nrm.common.docstrings import document_all
from pymc_nrm.common.pymc_internals import register_steps
from pymc_nrm.published.steps.huang import PublishedNestedGibbs
from pymc_nrm.published.steps.lee_choi import PublishedTreeGuided

__all__ = ["PublishedNestedGibbs", "PublishedTreeGuided"]

register_steps(PublishedTreeGuided, PublishedNestedGibbs)

document_all(globals())
