"""Labels of groups from a user, in canonical form."""

import numbers

import numpy as np
import pandas as pd
from pytensor.graph.basic import Variable


def canonical_paths(title, labels, known=()):
    """Number the nodes of each level in order of appearance, from a user's labels of groups. Also returns the parent
    and the label of each node, for each level. Shapes: ``labels`` (n,) or (n, depth); returns ``paths`` (n, depth).
    """
    if isinstance(labels, Variable):
        raise TypeError(f"{title} must be an array of known labels; got {labels} of type {labels.type}")
    array = np.asarray(labels, dtype=object)
    n_missing = int(np.ma.count_masked(labels)) if np.ma.is_masked(labels) else int(pd.isna(array).sum())
    if n_missing:
        raise ValueError(f"{title} must have no missing labels; got {n_missing} missing of {array.size}")
    fits = array.ndim in (1, 2) and array.size > 0
    if fits and known:
        fits = len(known) == (1 if array.ndim == 1 else array.shape[1])
    if not fits:
        allowed = f"(n, {len(known)})" if known else "(n, depth)"
        allowed = f"(n,) or {allowed}" if len(known) <= 1 else allowed
        raise ValueError(f"{title} must have shape {allowed}, with at least one item; got shape {array.shape}")
    array = array.reshape(len(array), -1)
    numbered = [{node: k for k, node in enumerate(level)} for level in known or ((),) * array.shape[1]]
    paths = np.empty(array.shape, dtype=np.int64)
    for row, path in zip(array, paths, strict=True):
        parent = 0
        for level, label in enumerate(row):
            nodes = numbered[level]
            parent = path[level] = nodes.setdefault((parent, _plain(title, label)), len(nodes))
    for nodes in numbered:
        check_different(title, nodes)
    return paths, tuple(map(tuple, numbered))


def stripped(labels):
    """Labels (n,) as objects, text without spaces around it."""
    labels = np.asarray(labels, dtype=object)
    return np.array([*(label.strip() if isinstance(label, str) else label for label in labels), None], object)[:-1]


def check_different(title, labels):
    """Check that no two labels are a number and the text of this number; ``labels`` may be pairs with a parent."""
    written = {}
    for label in labels:
        text = tuple(map(str, label)) if isinstance(label, tuple) else str(label)
        other = written.setdefault(text, label)
        if other != label:
            number, name = (pair[-1] if isinstance(pair, tuple) else pair for pair in (other, label))
            raise ValueError(
                f"{title} must not have a number and its text as different labels; got {number!r} and {name!r}. Make "
                "all of them text, or all numbers"
            )


def numbered_if_text(title, labels):
    """Number labels (n,) in order of appearance if they are text; all others are returned as they are."""
    if isinstance(labels, Variable):
        return labels
    array = np.asarray(labels, dtype=object)
    if array.ndim != 1 or not any(isinstance(label, str) for label in array):
        return labels
    n_missing = np.count_nonzero(pd.isna(array))
    if n_missing:
        raise ValueError(
            f"{title} must have a label for every item; got {n_missing} missing of {len(array)}. The argument known "
            "takes labels of which some are unknown"
        )
    return canonical_paths(title, array)[0][:, 0]


def _plain(title, label):
    """A label as a string or an int of Python."""
    if isinstance(label, str):
        return str(label).strip()
    is_whole = isinstance(label, float | np.floating) and float(label).is_integer()
    if isinstance(label, numbers.Integral | np.bool_) or is_whole:
        return int(label)
    raise TypeError(f"{title} must be whole numbers or strings; got {label!r} of type {type(label).__name__}")
