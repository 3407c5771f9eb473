"""Labels as an index of parameters: which rows of a likelihood depend on the label of which item, and their table."""
