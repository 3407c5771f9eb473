"""Weights of components from logits of sticks."""

from typing import Any

import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable


def log_stick_breaking(logits: Any) -> TensorVariable:
    """Log weights of K components from logits of K - 1 sticks, each the share of what earlier components leave.

    ``log weight_k = log sigmoid(logit_k) + sum_(j<k) log sigmoid(-logit_j)``; the last component takes the rest.

    Parameters
    ----------
    logits : tensor or array_like, shape (..., K - 1)

    Returns
    -------
    TensorVariable, shape (..., K)
        Logarithms of weights that sum to one, for ``log_weights`` of a :class:`Partition`.

    Raises
    ------
    ValueError
        If logits have no axis.

    References
    ----------
    Ren, Du, Carin & Dunson (2011), "Logistic stick-breaking process", equation 2.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc_nrm as nrm
    >>> np.exp(nrm.log_stick_breaking(np.array([0.0, 0.0])).eval()).round(2).tolist()
    [0.5, 0.25, 0.25]
    """
    logits = pt.as_tensor(logits)
    if logits.ndim == 0:
        raise ValueError(f"logits must have shape (..., K - 1), one for each component but the last; got {logits}")
    taken, left = -pt.softplus(-logits), pt.cumsum(-pt.softplus(logits), axis=-1)
    # A column even where there are no sticks.
    first = pt.zeros_like(logits.sum(axis=-1, keepdims=True))
    return pt.concatenate([taken, first], axis=-1) + pt.concatenate([first, left], axis=-1)
