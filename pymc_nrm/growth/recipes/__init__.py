"""Growth mixtures in one call."""
