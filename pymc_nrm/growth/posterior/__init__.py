"""Growth mixtures: posterior."""
