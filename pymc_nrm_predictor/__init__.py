"""What is shared with predictions without PyMC, and imports nothing of it: the reading of columns, and quantiles."""
