"""Random attacks on the public API: every example ends in a right result, or in an error that names the argument."""

import pathlib
import sys

# Tables of this tool read rows of wings by the module ``wings`` beside it.
sys.path.append(str(pathlib.Path(__file__).parents[1]))
