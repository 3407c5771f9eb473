"""Growth mixtures: families."""
