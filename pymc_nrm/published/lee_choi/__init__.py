"""The tree-guided sampler of Lee & Choi (2015) as published, which is biased, and an exact version of its moves."""
