"""Of nested/models."""
