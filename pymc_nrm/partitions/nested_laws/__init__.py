"""The laws of paths of items from the root of a tree to its leaves, and of the mixing weights of its nodes."""
