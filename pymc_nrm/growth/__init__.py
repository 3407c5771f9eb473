"""Growth mixtures: rooms of the wing."""
