"""Texts for the log, warnings, errors and descriptions: lines that fit a terminal, few of many names, shares."""

import math
import os
import textwrap
import warnings

from pymc_nrm_predictor.checks import first_few as first_few

# Lines have at most so many characters.
WIDTH = 100


def wrapped(text):
    """A text in lines of at most 100 characters; indented lines are rows of a table and stay apart."""
    return "\n".join(map(_wrapped_line, text.splitlines()))


def warn(text):
    """Warn at the line outside this package that leads here."""
    package = os.path.dirname(os.path.dirname(__file__))
    warnings.warn(wrapped(text), UserWarning, skip_file_prefixes=(package,))


def cut(text, width):
    """A text of at most so many characters."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def percent(share):
    """A share in per cent, with a digit that is not 0, and 100 only if it is all."""
    left_out = 1.0 - share
    # What rounding errors leave is nothing.
    if 1e-9 < left_out < 0.005:
        return f"{100 * share:.{-math.floor(math.log10(100 * left_out))}f} %"
    return f"{100 * share:.{0 if share >= 0.01 else 1}{'f' if share >= 0.001 else 'g'}} %"


def whole_percent(probability):
    """A share or an estimated probability in whole per cent, without digits that are Monte Carlo error."""
    return f"{100 * probability:.0f} %"


def _wrapped_line(line):
    indent = "    " if line.startswith("  ") else ""
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
