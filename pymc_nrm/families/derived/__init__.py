"""Families that are another family behind a map of the data, such as the logarithm."""
