"""Partitions and mixtures as PyMC random variables, how steps read models, and labels as an index."""
