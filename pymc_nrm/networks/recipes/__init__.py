"""Models of a network or a table in one call."""
