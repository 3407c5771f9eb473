"""The tree-guided sampler: a step, the tables of a guide tree, and the moves that read them."""
