"""Draws of fixed seeds: whether a change of the code altered them."""

import pathlib
import sys

# Tables of tests read rows of wings by this module.
sys.path.append(str(pathlib.Path(__file__).parents[1]))
