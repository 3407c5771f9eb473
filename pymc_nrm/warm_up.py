"""Compile the kernels of the package once, for images of containers, clusters and classrooms.

``python -m pymc_nrm.warm_up`` compiles for all families and recipes what is not on disk yet, and shows what it does.
Then the first model of a user starts in seconds.  Set ``NUMBA_CACHE_DIR`` to a folder that all users read.
"""

import contextlib
import importlib.util
import io
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm

import pymc_nrm as nrm
from pymc_nrm.kernels.layers import WINGS

_N = 24
_SHORT = {"draws": 4, "tune": 4, "chains": 1, "cores": 1, "random_seed": 1, "progressbar": False, "quiet": True}


def _tables():
    """Data of every kind: numbers, skewed numbers, amounts with zeros, counts, answers, categories and documents."""
    rng = np.random.default_rng(1)
    groups = np.arange(_N) % 2
    numbers = rng.normal(4.0 * groups[:, None], 1.0, size=(_N, 2))
    counts = rng.poisson(2.0 + 8.0 * groups[:, None], size=(_N, 3))
    amounts = np.where(rng.random((_N, 2)) < 0.4, 0.0, np.exp(numbers))
    return groups, numbers, counts, amounts


def _flat(family, observed, step):
    def run():
        with pm.Model():
            z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=_N)
            nrm.Mixture("x", z, family, observed=observed)
            step([z])

    return run


def _recipe(make, describe=None):
    def run():
        with make() as model:
            idata = nrm.sample(**_SHORT)
        if describe is not None:
            describe(idata, model)

    return run


def moves() -> Iterator[tuple[str, Callable[[], None]]]:
    """Titles of what depends on no family: the default step and point estimates, with functions that compile them."""

    def step():
        with pm.Model():
            nrm.steps.TreeGuided([nrm.Partition("z", nrm.DirichletProcess(1.0), n=_N)])

    def point_estimate():
        with pm.Model():
            nrm.Partition("z", nrm.DirichletProcess(1.0), n=_N)
            nrm.point_estimate(nrm.sample(**_SHORT), progressbar=False)

    yield "TreeGuided", step
    yield "point estimates", point_estimate


def parts() -> Iterator[tuple[str, Callable[[], None]]]:
    """Titles of what is compiled, each with a function that compiles it."""
    groups, numbers, counts, amounts = _tables()
    center, scatter = numbers.mean(axis=0), np.cov(numbers.T)
    gamma = {"mu": center, "kappa": 0.1, "alpha": 2.0, "beta": 1.0}
    wishart = {"mu": center, "kappa": 0.1, "Psi": scatter, "nu": 4.0}
    families = {
        "NormalWishart": (nrm.NormalWishart(**wishart), numbers),
        "NormalGamma": (nrm.NormalGamma(**gamma), numbers),
        "LogNormalWishart": (nrm.LogNormalWishart([1, 1], **wishart), np.exp(numbers)),
        "LogNormalGamma": (nrm.LogNormalGamma([1, 1], **gamma), np.exp(numbers)),
        "HurdleLogNormal": (nrm.HurdleLogNormal(ones=1.0, zeros=1.0, **gamma), amounts),
        "HurdlePoisson": (nrm.HurdlePoisson(ones=1.0, zeros=1.0, alpha=1.0, beta=0.2), counts),
        "PoissonGamma": (nrm.PoissonGamma(1.0, 0.2), counts),
        "BernoulliBeta": (nrm.BernoulliBeta(1.0, 1.0), counts % 2),
        "CategoricalDirichlet": (nrm.CategoricalDirichlet(0.5), counts % 3),
        "MultinomialDirichlet": (nrm.MultinomialDirichlet(0.5), counts),
    }
    steps = (nrm.steps.TreeGuided, nrm.steps.SplitMerge, nrm.steps.MarginalGibbs, nrm.steps.SliceSampler)
    for step in steps:
        for name, (family, observed) in families.items():
            yield f"{step.__name__} for {name}", _flat(family, observed, step)
    table = pd.DataFrame(numbers, columns=["height", "width"]).assign(
        visits=counts[:, 0], smokes=np.where(groups, "yes", "no"), city=np.array(["a", "b", "c"])[counts[:, 1] % 3]
    )
    yield from moves()
    for covariance in ("full", "diagonal"):
        options = {"covariance": covariance}
        yield f"gaussian_mixture, {covariance}", _recipe(partial(nrm.gaussian_mixture, numbers, **options))
        mixture = partial(nrm.mixture_model, table, **options)
        yield f"mixture_model, {covariance}", _recipe(mixture, nrm.describe)
    yield "gaussian_mixture, directions", _recipe(partial(nrm.gaussian_mixture, numbers, n_directions=1))
    yield "gaussian_mixture, rows in chunks", _recipe(lambda: nrm.gaussian_mixture(nrm.Chunks(numbers)))
    yield "mixture_model, rows in chunks", _recipe(partial(nrm.mixture_model, table, chunks=True), nrm.describe)
    yield "regression_model", _recipe(lambda: nrm.regression_model(table[["height", "width"]], "height"))
    for wing in WINGS:
        if importlib.util.find_spec(f"pymc_nrm.{wing}.warm_up") is not None:
            yield from importlib.import_module(f"pymc_nrm.{wing}.warm_up").parts(table, _recipe)


@contextlib.contextmanager
def _silence():
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        # Progress bars would stand between the lines.
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _print(line):
    print(line, flush=True)


def warm_up(what: Callable[[], Iterator[Any]] = parts, show: Callable[[str], None] = _print) -> float:
    """Compile kernels for all families and recipes, and keep them on disk; what is there already only loads.

    Parameters
    ----------
    what : callable
        ``parts``, or ``moves`` for what depends on no family.
    show : callable
        Gets one line of text for each part, when it is done.

    Returns
    -------
    float
        Seconds that it took.

    Examples
    --------
    >>> from pymc_nrm.warm_up import parts
    >>> next(iter(parts()))[0]
    'TreeGuided for NormalWishart'
    """
    began, all_parts = time.monotonic(), list(what())
    for number, (title, compile_part) in enumerate(all_parts, 1):
        before = time.monotonic()
        with _silence():
            compile_part()
        show(f"{number:3d} of {len(all_parts)}  {time.monotonic() - before:5.1f} s  {title}")
    seconds = time.monotonic() - began
    show(f"{seconds:.0f} s in all; the machine code is on disk")
    return seconds


if __name__ == "__main__":
    warm_up(moves if sys.argv[1:] == ["moves"] else parts)
