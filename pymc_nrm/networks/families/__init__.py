"""Families behind block models: of clusters of rows of a table, of degrees, and of networks with attributes."""
