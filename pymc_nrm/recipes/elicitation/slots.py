"""How many slots a partition needs."""

from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count, check_number
from pymc_nrm.measures.base import check_measure_hyperparameters, n_clusters_log_pmf


def suggest_max_clusters(measure: tuple[Any, ...], n: int, tail: float = 1e-4) -> int:
    """Suggest ``max_clusters`` of a :class:`Partition`: the least number that the prior exceeds with small probability.

    Parameters
    ----------
    measure : Measure
        With numbers as hyperparameters.
    n : int
        Number of items.
    tail : float
        Largest prior probability of more clusters, between 0 and 1.

    Returns
    -------
    int
        At most n, with which nothing is cut.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of this kind.

    Notes
    -----
    What matters is the posterior: if ``nrm.sample`` says that all slots were used, take more.

    Examples
    --------
    >>> from pymc_nrm.measures import DirichletProcess
    >>> suggest_max_clusters(DirichletProcess(1.0), 100)
    14
    """
    check_count("n", n, 1)
    check_number("tail", tail, lambda value: 0.0 < value < 1.0, "between 0 and 1")
    measure = check_measure_hyperparameters(measure)
    for name, value in measure._asdict().items():
        check_number(f"{name} of the measure", value, lambda value: True, "a number")
    measure = type(measure)(*[float(value) for value in measure])
    # Entry k is the probability of k + 1 clusters or more, summed from the small end.
    above = np.exp(n_clusters_log_pmf(measure, n))[::-1].cumsum()[::-1]
    return int(np.searchsorted(-above, -tail, side="left"))
