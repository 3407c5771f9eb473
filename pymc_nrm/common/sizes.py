"""Sizes from which on the package works in another way."""

# With more items than this, runs have fewer draws by default and say how long they take, and point estimates come from
# fewer searches.
MANY_ITEMS = 20_000
