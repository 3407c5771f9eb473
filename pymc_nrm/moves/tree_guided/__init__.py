"""The tree-guided sampler: its step, the tables of a guide tree, and the moves that read them."""
