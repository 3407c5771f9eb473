"""Reference implementations that bounds of trees are compared with."""
