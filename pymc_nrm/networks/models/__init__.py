"""Block models as PyMC random variables, and how they are read."""
