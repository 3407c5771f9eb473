"""Peers: other people's programs on the same models, one file each, imported only where they run."""
