"""Texts for the log, warnings and errors: lines that fit a terminal, the first few of many names."""

import textwrap

# Lines have at most so many characters.
WIDTH = 100


def wrapped(text):
    """A text in lines of at most 100 characters; indented lines are rows of a table and stay apart."""
    return "\n".join(map(_wrapped_line, text.splitlines()))


def first_few(texts, most=6):
    """The first few of some texts, and how many more there are."""
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def _wrapped_line(line):
    indent = "    " if line.startswith("  ") else ""
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
