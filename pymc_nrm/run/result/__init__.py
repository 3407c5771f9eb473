"""The result of a run: an ArviZ DataTree, and which variables depend on the labels."""
