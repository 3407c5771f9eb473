"""Reference implementations for comparison with the bounds of trees."""
