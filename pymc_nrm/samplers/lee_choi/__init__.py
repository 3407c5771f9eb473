"""The tree-guided sampler as published by Lee & Choi (2015), which is biased, and moves of its kind that are exact."""
