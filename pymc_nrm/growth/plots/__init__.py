"""Growth mixtures: plots."""
