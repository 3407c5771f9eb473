"""Of nested/posterior."""
