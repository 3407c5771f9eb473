"""From a table to the description of its clusters, all with defaults, with the CPU seconds of each step."""

import time
import warnings
from typing import Any, NamedTuple

import pymc_nrm as nrm
from common.log_lines import logged

# CPU seconds within which a table is described.
TARGET = 60
# Two chains, one after the other, as many as `sample` draws by default on two cores.
CHAINS = {"chains": 2, "cores": 1}
# Few draws compile and load all kernels.
WARM = {"draws": 5, "tune": 5, "chains": 1, "cores": 1}


class Described(NamedTuple):
    """The description of a table."""

    idata: Any
    description: Any
    seconds: dict  # CPU seconds by step
    warnings: list  # texts
    verdict: str  # what the report says of the chains

    @property
    def cpu(self):
        return sum(self.seconds.values())


def describe(X, *, size=CHAINS, warm=True, seed=1):
    """Describe the clusters of a table; kernels are compiled before."""
    if warm:
        describe(X, size=WARM, warm=False)
    seconds, before = {}, time.process_time()

    def lap(name):
        nonlocal before
        now = time.process_time()
        seconds[name], before = now - before, now

    with logged() as lines, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = nrm.mixture_model(X)
        lap("model")
        idata = nrm.sample(**size, model=model, random_seed=seed, progressbar=False)
        lap("draws")
        description = nrm.describe(idata, model)
        lap("description")
    texts = [str(warning.message) for warning in caught if warning.category is UserWarning]
    return Described(idata, description, seconds, texts, lines.verdict())
