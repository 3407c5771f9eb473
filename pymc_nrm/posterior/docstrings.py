"""What the docstrings of all functions of draws say of their common arguments, written once."""

import re
from collections.abc import Callable
from typing import Any

__all__ = ["documented"]

_COMMON = {
    "idata": """
idata : DataTree or Dataset
    Posterior draws.""",
    "model": """
model : pymc.Model
    The model that was sampled.""",
    "partition": """
var_name : str, optional
    Name of the partition, which may be nested; by default the only one of the model.""",
    "mixture": """
var_name : str, optional
    Name of the Mixture; by default the only one of the model.""",
    "measure_draws": """
measure_draws : Dataset
    Result of :func:`~pymc_nrm.sample_random_measure`; draws may be selected or thinned.""",
    "new_paths": """
new_paths : array_like of int or str, shape (m,) or (m, depth), optional
    Groups of the new items, known or new ones, for a nested partition with known paths, which needs them; one row
    stands for all new items.""",
    "random_seed": """
random_seed : int or numpy.random.Generator, optional
    By default draws differ from call to call.""",
    "progressbar": """
progressbar : bool
    Whether to show a bar if it takes longer than two seconds.""",
}


def documented[Function: Callable[..., Any]](function: Function) -> Function:
    """Replace each line ``%(name)s`` of a docstring by the text on a common argument."""

    def text(match):
        return "\n".join(match[1] + line for line in _COMMON[match[2]].strip().split("\n"))

    if function.__doc__ is not None:
        function.__doc__ = re.sub(r"^( *)%\((\w+)\)s$", text, function.__doc__, flags=re.MULTILINE)
    return function
