"""Of nested/plots."""
