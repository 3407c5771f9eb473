"""Of nested/steps."""
