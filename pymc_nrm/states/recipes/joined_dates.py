"""Dates from columns of years and of quarters or months."""

import numpy as np
import pandas as pd

from pymc_nrm_predictor.reading.column_contents import read_content
from pymc_nrm_predictor.reading.content import NUMBERS

# Names of columns, and their values.
_PARTS = {"year": "year", "quarter": "quarter", "qtr": "quarter", "month": "month"}
_VALUES = {"year": np.arange(1700, 2260), "quarter": np.arange(1, 5), "month": np.arange(1, 13)}


def joined_dates(series):
    """Dates of columns of years and of quarters or months, and the names of these; None and [] if there are none.

    A quarter beside its month says nothing more.
    """
    pairs = [(_PARTS[str(name).lower()], name) for name in series if str(name).lower() in _PARTS]
    named, numbers = dict(pairs), {}
    if len(named) < len(pairs) or "year" not in named:
        return None, []
    for part, name in named.items():
        content = read_content(series[name])
        if content.form == NUMBERS and not content.missing.any() and np.isin(content.values, _VALUES[part]).all():
            numbers[part] = content.values.astype(np.int64)
    month = numbers.get("month", 3 * numbers["quarter"] - 2 if "quarter" in numbers else None)
    if month is None or len(numbers) < len(named):
        return None, []
    if "quarter" in numbers and ((month - 1) // 3 + 1 != numbers["quarter"]).any():
        return None, []
    dates = pd.to_datetime(pd.DataFrame({"year": numbers["year"], "month": month, "day": 1}))
    return pd.DatetimeIndex(dates), list(named.values())
