"""Whether two results of runs hold the same numbers, and runs that are stopped."""

import numpy as np

import pymc_nrm as nrm


def values_of(idata):
    """Every array of numbers that does not depend on time, by group and name."""
    return {
        f"{node.path}/{name}": array.values
        for node in idata.subtree
        for name, array in node.data_vars.items()
        if array.dtype.kind in "iufb" and not name.startswith(("perf_counter", "process_time"))
    }


def assert_same(found, expected, *, of_types=True):
    """Compare results, or values of results; types of labels may differ unless ``of_types``."""
    found, expected = (one if isinstance(one, dict) else values_of(one) for one in (found, expected))
    assert set(found) == set(expected)
    for path, values in expected.items():
        assert found[path].dtype == values.dtype or not of_types
        # Steps and diagnostics add up the entropy in different orders.
        tolerance = 1e-14 if "entropy" in path else 0.0
        np.testing.assert_allclose(found[path], values, rtol=tolerance, err_msg=path)


def stop_at(chain, iteration):
    """A callback that interrupts a run."""

    def stop(trace, draw):
        if (draw.chain, draw.draw_idx) == (chain, iteration):
            raise KeyboardInterrupt

    return stop


def assert_resumes_the_same(folder, **again):
    """A run that is stopped and resumed has the draws of one that is not, given arguments of both."""
    options = {"tune": 5, "chains": 2, "random_seed": 3}
    expected = nrm.sample(20, **options, **again)
    kept = {"checkpoint": folder, "callback": stop_at(1, 12), "seconds_between_checkpoints": 0}
    nrm.sample(20, **options, **again, **kept)
    assert_same(nrm.resume(folder, **again), expected)
