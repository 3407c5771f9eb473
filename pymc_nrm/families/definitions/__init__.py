"""Conjugate families: one file each with its prior, statistics, marginal likelihood and draws of parameters."""
