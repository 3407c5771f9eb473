"""What is said to be safe to use although chains disagree."""

import re

import numpy as np
import pytest
import xarray as xr

from pymc_nrm.run.convergence_report import convergence, convergence_report
from pymc_nrm.run.safe_to_use import safe_to_use
from pymc_nrm.stats.convergence import agreement_of_parts
from pymc_nrm.stats.diagnostics import diagnose

N, DIMS = 30, ("chain", "draw")
GROUPS = np.arange(N) // 10
# Two of three groups are one.
JOINED = np.where(GROUPS == 2, 1, GROUPS)


def result(rng, chains, log_joint=(0.0, 0.0, 0.0, 0.0), **others):
    """Draws in which each chain has clusters of its own, of which two items move."""
    labels = np.tile(np.array(chains)[:, None], (1, 400, 1))
    labels[:, :, [0, 15]] = rng.integers(2, size=(*labels.shape[:2], 2))
    # Items 1 and 9 keep labels in order of appearance.
    labels = np.concatenate([labels[..., 1:], labels[..., :1]], axis=2)
    stats = np.array(log_joint)[: len(labels), None] + 3.0 * rng.normal(size=labels.shape[:2])
    posterior = xr.Dataset(
        {"z": ((*DIMS, "item"), labels, {"partition": "z"})} | {name: (DIMS, values) for name, values in others.items()}
    ).assign_coords(chain=np.arange(len(labels)), draw=np.arange(400))
    idata = xr.DataTree.from_dict({"posterior": posterior, "sample_stats": xr.Dataset({"log_joint": (DIMS, stats)})})
    return idata, {"z": diagnose(idata, "z")}


ALIKE, APART = [GROUPS] * 4, [GROUPS, GROUPS, JOINED, 2 - GROUPS]


@pytest.mark.parametrize(
    ("chains", "log_joint", "expected"),
    [
        (
            ALIKE,
            (0, 0, 0, 0),
            "Safe to use: densities and predictions, averaged over chains; which items share a cluster",
        ),
        (
            APART,
            (0, 8, 3, 0),
            "Safe to use: densities and predictions, averaged over chains.\nNot safe: which",
        ),
        (APART, (0, 0, -90, 0), "Safe to use, of idata.sel(chain=[0, 1, 3]): densities and predictions, averaged over"),
        (APART, (0, -40, -90, -70), "Safe to use: nothing yet; take idata.sel(chain=[0]) if you must, which no other"),
    ],
    ids=["shared clusters", "other clusters", "one chain is stuck", "one chain is ahead"],
)
def test_what_is_safe_to_use(chains, log_joint, expected, rng):
    text = safe_to_use(*result(rng, chains, log_joint), others={})
    assert text.startswith(expected)
    assert ("Not safe" in text) == (chains is APART and log_joint[2] > -50)
    assert ("Chain 2 found no clusters as good as the best" in text) == (log_joint[1:3] == (0, -90))
    assert ("Chains 1, 2 and 3 found" in text) == (log_joint[1] == -40)


def test_nothing_is_said_without_grounds(rng):
    idata, diagnostics = result(rng, APART)
    assert safe_to_use(idata, diagnostics | {"w": diagnostics["z"]}, {}) == ""
    assert safe_to_use(idata, {}, {}) == ""
    assert safe_to_use(xr.DataTree.from_dict({"posterior": idata["posterior"].to_dataset()}), diagnostics, {}) == ""
    alone = idata.isel(chain=[0])
    assert safe_to_use(alone, {"z": diagnose(alone, "z")}, {}) == ""


def test_the_report_begins_with_it(rng):
    idata, diagnostics = result(rng, APART)
    lines = convergence_report(idata, diagnostics).splitlines()
    assert lines[0].startswith("Safe to use: ") and lines[1].startswith("Not safe: ")
    assert max(len(line) for line in lines if not line.startswith("  ")) <= 100
    assert "the chains disagree" in " ".join(lines[2:4]) and "not from the posterior yet" not in " ".join(lines)
    # Other variables that disagree, unless they do so in a chain that is left out.
    far = np.array([0.0, 0.0, 1.0, 0.0])[:, None] + 0.1 * rng.normal(size=(4, 400))
    report = convergence_report(*result(rng, APART, theta=far))
    first = " ".join(report.split("\nConvergence of")[0].split())
    assert first.startswith("Safe to use: only clusters that nrm.fused_estimate finds") and first.endswith("are not.")
    assert ": densities" in convergence_report(*result(rng, APART, (0, 0, -90, 0), theta=far))
    idata, diagnostics = result(rng, APART)
    idata["posterior"]["z"].attrs["not_fused"] = "its family has no affinity"
    assert "clusters that nrm.point_estimate finds" in " ".join(convergence_report(idata, diagnostics).split())


def test_the_sentence_that_is_logged_says_it(rng):
    sentence, *rows = re.split(r"\n  (?! )", convergence(*result(rng, APART), ()).brief())
    end = " quantities; safe to use: densities and predictions, averaged over chains."
    assert sentence.replace("\n", " ").endswith(end)
    assert len(rows) <= 5 and rows[-1].startswith("full report: ")
    stuck = convergence(*result(rng, APART, (0, 0, -90, 0)), ()).brief().replace("\n", " ")
    assert "safe to use, of idata.sel(chain=[0, 1, 3]): densities" in stuck


def test_agreement_of_parts_is_that_of_their_draws(rng):
    """The adjusted Rand index of indicators of pairs, on average over independent draws of parts."""
    by_part = rng.uniform(size=(3, 40_000))
    together = rng.uniform(size=(2, 3, 40_000)) < by_part
    mean = by_part.mean(axis=1)

    def index(a, b):
        shared = (together[0, a] & together[1, b]).mean()
        return (shared - mean[a] * mean[b]) / (0.5 * (mean[a] + mean[b]) - mean[a] * mean[b])

    within, between = agreement_of_parts(by_part)
    assert within == pytest.approx(np.mean([index(part, part) for part in range(3)]), abs=0.02)
    assert between == pytest.approx(min(index(a, b) for a, b in ((0, 1), (0, 2), (1, 2))), abs=0.02)
    assert agreement_of_parts(np.ones((2, 5))) == (1.0, 1.0)
