"""Families behind addresses, so that the machine code of a move serves all of them."""
