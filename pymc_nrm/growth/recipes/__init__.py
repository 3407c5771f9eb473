"""Growth mixtures: recipes."""
