"""Random examples of the public API, and checks that the suite finds the failures it looks for."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest
from attack import afterwards, models, tree_calls
from attack.campaign import Campaign
from attack.case import Case
from attack.judge import judge
from hypothesis import HealthCheck, given, settings

# Kernels that other tests compile as well.
FAMILY, STEP = ("NormalGamma",), ("MarginalGibbs",)


# Numbers of examples and where they come from.
CORE = {
    "steps": (40, models.step_cases(FAMILY, STEP)),
    "partitions without data": (15, models.prior_cases(STEP)),
    "trees": (30, tree_calls.tree_cases(FAMILY, ("bhc",))),
    "hyperparameters from data": (30, tree_calls.from_data_cases()),
    "functions of draws": (60, afterwards.statistic_cases()),
    "functions of draws and model": (40, afterwards.prediction_cases(FAMILY)),
    "plots": (8, afterwards.plot_cases()),
}


@pytest.mark.quick("functions of draws", "steps")
@pytest.mark.parametrize("name", CORE)
def test_examples(name):
    count, cases = CORE[name]

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(cases)
    def attack(case):
        outcome = judge(case)
        assert not outcome.failed, f"{outcome.verdict}: {outcome.message}\n{case!r}"

    attack()


@pytest.mark.slow
def test_campaign():
    campaign = Campaign(300, seed=1)
    campaign.run()
    assert campaign.verdicts.total() >= 300
    assert not campaign.failures, campaign.report()


PLAIN = """\
X = np.random.default_rng(1).normal(size=(4, 1))
measure = nrm.DirichletProcess(1.0)
family = nrm.NormalGamma(mu=0.0, kappa=1.0, alpha=1.0, beta=1.0)
with pm.Model() as model:
    z = nrm.Partition("z", measure, n=4)
    x = nrm.Mixture("x", z, family, observed=X)
    step = nrm.MarginalGibbs([z], initial_point={"z": np.zeros(4, dtype=int)})
point, [row] = step.step({"z": np.zeros(4, dtype=int)})
points, statistics = [{"z": np.zeros(4, dtype=int)}, point], [row]
"""


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ("", "right"),
        ("row['log_joint'] += 1e-4", "wrong result"),
        ("row['log_joint'] = np.nan", "wrong result"),
        ("row['n_clusters'] += 1", "wrong result"),
        ("row['entropy'] += 0.1", "wrong result"),
        ("point['z'] = point['z'] + 1", "wrong result"),
        ("point['z'] = np.array([0, 2, 1, 0])", "wrong result"),
        ("family = family._replace(beta=1.1)", "wrong result"),
    ],
)
def test_wrong_draws_are_found(change, verdict):
    assert judge(Case("steps", f"{PLAIN}{change}\n", models.NAMES)).verdict == verdict


# A function that looks like one of the package.
WITHIN = "exec(compile({source!r}, '/somewhere/pymc_nrm/part.py', 'exec'))\n"


@pytest.mark.parametrize(
    ("source", "is_plain", "verdict"),
    [
        ("raise ValueError('alpha must be positive')", False, "refused"),
        ("raise ValueError('alpha must be positive')", True, "plain input refused"),
        ("raise ValueError('cannot be broadcast')", False, "no argument named"),
        ("raise IndexError('alpha')", False, "internal error"),
        ("1 / 0", False, "internal error"),
        ("np.linalg.inv(np.zeros((2, 2)))", False, "internal error"),
        ("np.zeros(3) @ np.zeros(2)", False, "no argument named"),
        ("pd.to_numeric('alpha')", False, "error from below"),
        ("while True: pass", False, "too slow"),
    ],
)
def test_wrong_errors_are_found(source, is_plain, verdict):
    case = Case("steps", WITHIN.format(source=source), frozenset({"alpha"}), is_plain)
    assert judge(case, seconds=0.5).verdict == verdict


@pytest.mark.slow
def test_a_campaign_that_is_stopped_reports(tmp_path):
    command = [sys.executable, "-u", "-m", "tests.faults.attack", "--kinds", "from_data", "--processes", "1"]
    command += ["--examples", "1000000", "--report", str(tmp_path / "report.md")]
    root = pathlib.Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        last = process.communicate(timeout=60)[0].splitlines()[-1]
    assert "failures of" in last
    assert "of 20000 batches begun" in (tmp_path / "report.md").read_text()
