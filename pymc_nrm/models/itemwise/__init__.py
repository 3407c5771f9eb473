"""Labels as an index of parameters: which rows of a likelihood depend on each item's label, and their table."""
