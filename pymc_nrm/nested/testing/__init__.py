"""Of nested/testing."""
