"""Moves of published samplers."""
