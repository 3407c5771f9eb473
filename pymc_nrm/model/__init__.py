"""Reading PyMC models: which variables are partitions and mixtures, what depends on them, and their values."""
