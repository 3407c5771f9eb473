"""Features for methods that need numbers without gaps, prepared as their users would."""

import numpy as np
import pandas as pd


class Standardised:
    """Numeric features less their mean and divided by their standard deviation."""

    def __init__(self, X):
        values = np.asarray(X, dtype=float)
        self.mean, scale = values.mean(axis=0), values.std(axis=0)
        self.scale = np.where(scale > 0, scale, 1.0)

    def __call__(self, X):
        return (np.asarray(X, dtype=float) - self.mean) / self.scale

    @property
    def log_volume(self):
        """What to add to a log density of standardised features to have that of the features: the log Jacobian."""
        return -np.log(self.scale).sum()


def euclidean(data):
    """Items as points in a Euclidean space, shape (n, m).

    Numeric features are standardised, with means in place of missing values; categories become one column of zeros and
    ones for each level, as do missing ones; binary features stay as they are.
    """
    if data.kind == "binary":
        return data.values
    numeric = data.X.select_dtypes("number")
    parts = []
    if numeric.shape[1]:
        parts.append(Standardised(numeric.fillna(numeric.mean()))(numeric.fillna(numeric.mean())))
    if numeric.shape[1] < data.X.shape[1]:
        others = data.X.drop(columns=numeric.columns)
        parts.append(pd.get_dummies(others, dummy_na=bool(others.isna().any(axis=None))).to_numpy(dtype=float))
    return np.hstack(parts)
