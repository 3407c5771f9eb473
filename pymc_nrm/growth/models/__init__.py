"""Growth mixtures: models."""
