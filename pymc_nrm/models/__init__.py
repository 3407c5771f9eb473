"""What PyMC sees: partitions and mixtures as random variables, how models are read, and labels as an index."""
