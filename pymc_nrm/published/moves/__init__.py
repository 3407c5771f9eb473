"""Of published/moves."""
