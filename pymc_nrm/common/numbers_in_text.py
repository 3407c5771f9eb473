"""Numbers and dates written as text."""

import re

import numpy as np
import pandas as pd

# A number that begins with zero, such as 00501, is a code.
_CODE = re.compile(r"[+-]?0\d")
_SIGNS = re.compile(r"(?<![^+-])[$€£¥]\s*|\s*%$")
_DATE = re.compile(r"\d{4}([-/])\d{2}\1\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$")

# Digits in groups of three, and the decimal sign, as (group, decimals).
_STYLES = {".": (",", "."), ",": (".", ",")}


def numbers_in_text(texts, decimal=None, wanted=False):
    """Numbers in texts and their decimal sign, NaN for other texts; None if most texts are not numbers, or some are
    codes, unless numbers are wanted.
    """
    if not wanted and any(_CODE.match(text.strip()) for text in texts):
        return None
    cleaned = [_SIGNS.sub("", text.strip()) for text in texts]
    styles = [decimal] if decimal else list(_STYLES)
    read = {style: _numbers(cleaned, *_STYLES[style]) for style in styles}
    best = max(styles, key=lambda style: np.count_nonzero(~np.isnan(read[style])))
    if np.count_nonzero(~np.isnan(read[best])) <= (0.0 if wanted else 0.5) * len(texts):
        return None
    return read[best], best


def _numbers(texts, group, decimal):
    grouped = re.compile(rf"[+-]?[1-9]\d{{0,2}}(\{group}\d{{3}})+(\{decimal}\d*)?$")
    plain = [text.replace(group, "") if grouped.match(text) else text for text in texts]
    if decimal == ",":
        # A point that does not separate groups of three digits is invalid in this style.
        plain = ["" if "." in text else text.replace(",", ".") for text in plain]
    values = np.array(pd.to_numeric(pd.Series(plain, dtype=object), errors="coerce"), dtype="float64")
    return np.where(np.isinf(values), np.nan, values)


def are_dates(texts):
    """Whether all texts are ISO 8601 dates, or such dates with slashes instead of dashes."""
    return len(texts) > 0 and all(_DATE.match(text.strip()) for text in texts)
