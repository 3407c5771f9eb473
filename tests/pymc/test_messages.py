"""Lines that users see unasked: none is wider than 100 characters, and no message is longer than four lines."""

import logging
import re
import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pymc_nrm as nrm
from pymc_nrm.run.chains import progress_log

N = 120
RUN = {"tune": 0, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}


@pytest.fixture
def messages(caplog, monkeypatch):
    """Texts of the log and of warnings of this package, in the order in which functions that are called give them."""
    monkeypatch.setattr(logging.getLogger("pymc"), "propagate", True)
    caplog.set_level(logging.INFO)

    def gather(function):
        caplog.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            function()
        ours = [record for record in caplog.records if re.match(r"pymc_nrm|pymc\.nrm_", record.name)]
        return [record.getMessage() for record in ours] + [
            str(warning.message) for warning in caught if warning.category is UserWarning
        ]

    return gather


def check(texts):
    for text in texts:
        assert max(map(len, text.splitlines())) <= 100, text
        if text.startswith("Convergence of "):
            # A sentence, then rows, whose further lines are indented deeper.
            assert len(re.split(r"\n  (?! )", text)) <= 6, text
        elif text.startswith("Columns as they were read"):
            # A line for each column, before which it is not known what a reader wants to change.
            assert len(text.splitlines()) <= 1 + 40 + 8, text
        else:
            # A list of remarks on columns has a number before each.
            assert all(len(part.splitlines()) <= 4 for part in re.split(r"(?m)^\d+\. ", text)), text


def awkward_table():
    rng = np.random.default_rng(1)
    length = rng.normal(size=N)
    return pd.DataFrame({
        "length of the left wing in millimetres": length.round(1), "twice as long as the left wing": 2 * length,
        "gaps": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
        "text": np.where(np.arange(N) == 7, "?", rng.normal(size=N).astype(str)),
        "code": rng.integers(3, size=N), "zeros": rng.poisson(3.0, size=N) * rng.integers(2, size=N),
        "a name that is so long that no table of columns has room for all of it, not even here": rng.normal(size=N),
        "identifier": [f"row {k}" for k in range(N)], "mostly one value": np.where(rng.random(N) < 0.6, 4.5, length),
        "visits": rng.poisson(4.0, size=N),
    })  # fmt: skip


TABLES = {
    "guesses": lambda: nrm.mixture_model(awkward_table()),
    "counts": lambda: nrm.mixture_model(awkward_table(), kinds={"zeros": "count", "visits": "count"}),
    "known": lambda: nrm.mixture_model(awkward_table(), known=np.where(np.arange(N) < 5, 1, -1)),
    "directions": lambda: nrm.mixture_model(
        pd.DataFrame(np.random.default_rng(1).normal(size=(30, 40))).add_prefix("gene "), n_directions="auto"
    ),
    "few rows": lambda: nrm.mixture_model(pd.DataFrame(np.random.default_rng(1).normal(size=(20, 40)))),
    "matrix": lambda: nrm.gaussian_mixture(
        np.column_stack([np.arange(N), np.arange(N) % 3, np.random.default_rng(1).normal(size=N).round(1)])
    ),
    "new rows": lambda: nrm.recipes.table_data(
        nrm.mixture_model(awkward_table()[["code", "visits"]]), awkward_table()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_recipes(name, messages):
    texts = messages(TABLES[name])
    assert texts
    check(texts)


def counts():
    """A model with long names, and a step with which its chains disagree."""
    with pm.Model() as model:
        z = nrm.Partition("partition_of_the_visitors_of_the_museum", nrm.DirichletProcess(1.0), n=12)
        x = np.repeat([0, 6, 40], 4)
        nrm.Mixture("visits", z, nrm.PoissonGamma(1.0, 0.1), observed=x)
        pm.Deterministic("largest_label_of_the_visitors", z.max())
        return model, [nrm.steps.SplitMerge([z], n_moves=0, n_items=1)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"draws": 110}, "the chains disagree about "),
        ({"draws": 110, "label_storage": "none"}, "Labels were not kept"),
        ({"draws": 40}, "Only 40 draws per chain"),
        ({"draws": 110, "chains": 1}, "halves of the chain disagree"),
    ],
    ids=["disagree", "no labels", "few draws", "one chain"],
)
def test_runs(options, expected, messages, monkeypatch):
    model, step = counts()
    monkeypatch.setattr(progress_log, "MANY_ITEMS", 3)
    with model:
        texts = messages(lambda: nrm.sample(**RUN | options, step=step))
    assert texts[0].startswith("Sampling partition_of_the_visitors_of_the_museum (12 items): ")
    assert expected in " ".join(texts)
    check(texts)
