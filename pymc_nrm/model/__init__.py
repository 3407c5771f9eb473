"""How PyMC models are read: what is a partition or a mixture, what depends on it, and what values it has."""
