"""Random examples of the public API, and checks that the suite finds the failures it looks for."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.tools.attack import afterwards, models, tree_calls
from tests.tools.attack.campaign import Campaign
from tests.tools.attack.judge import judge

# Kernels that other tests compile as well.
FAMILY, STEP = ("NormalGamma",), ("MarginalGibbs",)


# Numbers of examples and where they come from.
CORE = {
    "steps": (40, models.step_cases(FAMILY, STEP)),
    "partitions without data": (15, models.prior_cases(STEP)),
    "trees": (30, tree_calls.tree_cases(FAMILY, ("bhc",))),
    "hyperparameters from data": (30, tree_calls.from_data_cases()),
    "functions of draws": (60, afterwards.cases_of("statistics")),
    "functions of draws and model": (40, afterwards.cases_of("predictions", FAMILY)),
    "plots": (8, afterwards.cases_of("plots")),
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
