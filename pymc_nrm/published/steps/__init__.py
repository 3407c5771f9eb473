"""Of published/steps."""
