"""Peers: other people's programs on the same models, one file each, imported only when they run."""
