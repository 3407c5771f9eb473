"""Published samplers whose draws of fixed seeds are compared."""

from functools import partial

import pymc_nrm as nrm
from tests.cases import MEASURES
from tests.nested.same_draws import nested
from tests.tools.same_draws.models import flat

LEE_CHOI, HUANG = nrm.published.PublishedTreeGuided, nrm.published.PublishedNestedGibbs
STEPS = {
    "PublishedTreeGuided/published": (partial(flat, MEASURES["NGG"]), LEE_CHOI, {"canonical": False}),
    "PublishedTreeGuided/corrected": (partial(flat, MEASURES["NGG"]), LEE_CHOI, {"canonical": True}),
    "PublishedNestedGibbs/published": (nested, HUANG, {"corrected": False}),
    "PublishedNestedGibbs/corrected": (nested, HUANG, {"corrected": True}),
}
