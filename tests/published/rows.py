"""Rows of published samplers in tables of other tests."""

import pymc_nrm as nrm

STEP = nrm.published.PublishedTreeGuided
# Options with few moves per draw.
STARTED = {STEP: {"canonical": True, "n_global": 0}}
# Steps that need marginal likelihoods.
OF_MARGINALS = {"PublishedTreeGuided": STEP}
INTERRUPTED = {"published.PublishedTreeGuided": None}
