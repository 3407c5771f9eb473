"""The entry of a family for draws of missing entries."""

from pymc_nrm.families import base, gaps
from pymc_nrm.families.erased.entry import GAP_ENTRY
from pymc_nrm.kernels.addresses import doubles, load, random_entry_address
from pymc_nrm.kernels.generic import kernel


@kernel(inner_loop=True)
def gap_entry(method, place, rng, p, q, r, i, k, x, y):
    """Draw the missing entries of item i given the cache at address p."""
    family, data = load(place)
    gaps.draw_missing(family, doubles(p, base.cache_size(family)), data, i, rng)
    return 0.0


@kernel
def describe_gaps(family, data, row):
    """Fill in what draws of missing entries need, in the row of ``entry.describe``."""
    row[GAP_ENTRY] = random_entry_address(gap_entry, (family, data))
