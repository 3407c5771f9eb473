"""Tables with text as tables of numbers, since blocks of rows hold floats."""

import numpy as np
import pandas as pd

from pymc_nrm_predictor.reading.column_contents import is_text, read_content
from pymc_nrm_predictor.reading.content import DATES, LEVELS, OTHER, Rule


def coded_columns(X):
    """Return a DataFrame of numbers, and the levels of columns that were none, by name: empty for dates and durations.

    Text and categories become numbers of their levels; categories that are numbers, and truth values, stay numbers.
    Values that are no numbers, text or dates stay as they are.
    """
    levels, numbers = {}, {}
    for place, name in enumerate(map(str, X.columns)):
        column = X.iloc[:, place]
        text, is_category = is_text(column), isinstance(column.dtype, pd.CategoricalDtype)
        if (is_category and not text) or column.dtype.kind == "b":
            numbers[place] = column.astype("float64").to_numpy()
        elif column.dtype.kind in "biuf":
            if not isinstance(column.dtype, np.dtype):
                # Rows of several types would be objects.
                numbers[place] = column.to_numpy("float64", na_value=np.nan)
        elif (content := read_content(column, Rule(LEVELS) if text else Rule())).form != OTHER:
            numbers[place] = content.values if content.is_number else content.codes(content.levels)
            if content.form in (DATES, LEVELS):
                levels[name] = () if content.is_number else content.levels
    if not numbers:
        return X, levels
    columns = [pd.Series(numbers[k], X.index) if k in numbers else X.iloc[:, k] for k in range(X.shape[1])]
    return pd.concat(columns, axis=1, keys=X.columns), levels
