"""Texts for the log and for warnings, in lines that fit a terminal."""

import textwrap

# Lines have at most so many characters.
WIDTH = 100


def wrapped(text):
    """A text in lines of at most 100 characters; indented lines are rows of a table and stay apart."""
    return "\n".join(map(_wrapped_line, text.splitlines()))


def _wrapped_line(line):
    indent = "    " if line.startswith("  ") else ""
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
