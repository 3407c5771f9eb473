"""Reading of nested partitions, and quantities of levels, against counts one by one."""

import itertools

import numpy as np
import pytest
import xarray as xr

from pymc_nrm import stats
from pymc_nrm.common.marks import partition_number
from pymc_nrm.run.convergence_report import convergence_report, pair_findings
from pymc_nrm.stats.diagnostics import diagnose
from tests.helpers import refused
from tests.tools.nested_cases import canonical_levels, random_draws


def result(draws, **groups):
    return xr.DataTree.from_dict(
        {"posterior": xr.Dataset({"h": draws, "x": draws.isel(animal=0, column=0, drop=True)})} | groups
    )


def test_levels_are_canonical_and_keep_coordinates(rng):
    draws = random_draws(rng)
    found = stats.levels(result(draws))
    assert found.dims == ("chain", "draw", "level", "animal") and found.level.values.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(found, canonical_levels(draws))
    assert found.animal.equals(draws.animal) and found.name == "h"
    xr.testing.assert_identical(stats.levels(found), found)
    xr.testing.assert_identical(stats.levels(found.transpose("animal", "level", "draw", "chain")), found)
    np.testing.assert_array_equal(stats.levels(draws.isel(chain=0)), found.isel(chain=[0]))
    np.testing.assert_array_equal(stats.levels(draws.drop_vars("column")), found)
    renamed = draws.rename(column="h_column").transpose("h_column", ...)
    np.testing.assert_array_equal(stats.levels(renamed), found)


def test_columns_of_tables_are_left_out(rng):
    draws = random_draws(rng, n_levels=2)
    tables = draws.isel(column=[1, 0, 0]).assign_coords(column=["table_2", "table_1", "table_0"])
    whole = xr.concat([draws, tables], "column")
    whole.attrs = draws.attrs
    np.testing.assert_array_equal(stats.levels(whole), stats.levels(draws))
    np.testing.assert_array_equal(stats.levels(whole.drop_vars("column")), stats.levels(draws))
    assert stats.nested_names(xr.Dataset({"h": whole.assign_attrs({})})) == ["h"]
    quantities = stats.partition_quantities(whole)
    np.testing.assert_array_equal(quantities.n_components, quantities.n_nodes.sel(level=1))
    assert "n_components" not in stats.partition_quantities(draws)
    # Models with a number of items and no dimension have columns without names.
    for unnamed in (whole, whole.drop_vars("column"), whole.assign_coords(column=np.arange(5))):
        np.testing.assert_array_equal(stats.component_draws(unnamed), stats.levels(draws).sel(level=1))
    for without in (draws.drop_vars("column"), whole.drop_vars("column").drop_attrs()):
        assert "n_components" not in stats.partition_quantities(without.isel(column=[0]))
    with pytest.raises(ValueError, match="nested partition with weights: .*no column table_0"):
        stats.component_draws(draws)


test_errors = refused(
    lambda rng, change, name: stats.levels(change(random_draws(rng)), name),
    (lambda h: h.isel(column=[2, 0]).drop_vars("column"), None, ValueError, "h must be nested, .* in draw 0"),
    (lambda h: h.isel(column=0), None, ValueError, "h must have dimensions chain, draw, one of items and one of"),
    (lambda h: h.astype(float), None, TypeError, "h must hold integers; got float64"),
    (lambda h: h.isel(animal=[]), None, ValueError, "at least one draw, one item and one level"),
    (lambda h: xr.Dataset({"x": (("chain", "draw"), [[1]])}), None, ValueError, "idata has no nested partition"),
    (lambda h: xr.Dataset({"a": h, "b": h}), None, ValueError, "var_name must be given, one of 'a', 'b'"),
    (result, "y", ValueError, "var_name must be a variable of the posterior; got 'y'"),
    (lambda h: h, "y", ValueError, "var_name must be the name of the DataArray, 'h'; got 'y'"),
    (lambda h: [[0]], None, TypeError, "idata must be a DataTree"),
)


def test_functions_for_partitions_point_to_those_for_trees(rng):
    draws = random_draws(rng)
    draws.attrs["nested_partition"] = 3
    for idata, name in ((result(draws), None), (result(draws), "h"), (draws, None)):
        with pytest.raises(ValueError, match=r"h is a nested partition: .*levels\(idata, 'h'\)"):
            stats.point_estimate(idata, var_name=name)
    np.testing.assert_array_equal(
        stats.point_estimate(stats.levels(draws).sel(level=1))["labels"].shape, len(draws.animal)
    )


def test_quantities_and_depths_equal_counts(rng):
    draws = random_draws(rng, n=7)
    quantities, labels = stats.partition_quantities(draws), canonical_levels(draws)
    depth = np.zeros((2, 20, 7, 7))
    for chain, draw, level in itertools.product(range(2), range(20), range(3)):
        row = labels[chain, draw, level]
        shares = np.bincount(row) / 7
        assert quantities.n_nodes[chain, draw, level] == len(set(row.tolist()))
        assert quantities.entropy[chain, draw, level] == pytest.approx(-(shares * np.log(shares)).sum(), abs=1e-11)
        depth[chain, draw] += row[:, None] == row
    pairs = np.triu_indices(7, 1)
    np.testing.assert_allclose(quantities.mean_common_depth, depth[..., pairs[0], pairs[1]].mean(axis=-1))
    expected = stats.common_depth(draws)
    np.testing.assert_allclose(expected, depth.mean(axis=(0, 1)))
    assert expected.dims == ("animal", "animal_other") and expected.animal.equals(draws.animal)
    np.testing.assert_allclose(sum(stats.similarity(stats.levels(draws).sel(level=k)) for k in (1, 2, 3)), expected)
    convergence = stats.partition_convergence(draws)
    np.testing.assert_allclose(convergence.common_depth, depth.mean(axis=(0, 1))[pairs])
    np.testing.assert_allclose(convergence.common_depth_by_part, depth.mean(axis=1)[:, pairs[0], pairs[1]])
    assert int(convergence.n_constant) == int((depth == depth[:1, :1]).all(axis=(0, 1))[pairs].sum())


def test_linkage_reaches_mean_levels(rng):
    from scipy.cluster.hierarchy import cophenet, is_valid_linkage

    draws = random_draws(rng, n_draws=1, n_chains=1)
    depth = stats.common_depth(draws)
    linkage = stats.common_depth_linkage(depth, 3)
    assert is_valid_linkage(linkage) and linkage[-1, 3] == 9
    # One draw is an ultrametric tree, which average linkage reproduces.
    np.testing.assert_allclose(3 - cophenet(linkage), depth.values[np.triu_indices(9, 1)])
    with pytest.raises(ValueError, match="depth must be a square matrix of at least two items"):
        stats.common_depth_linkage([[1.0]])
    with pytest.raises(ValueError, match="depth must be between 0 and 2; got"):
        stats.common_depth_linkage([[3.0, 1.0], [1.0, 3.0]], 2)


def test_one_level_agrees_with_partitions(rng):
    """At depth 1 the depth of the lowest common node is the indicator of sharing a cluster."""
    draws = random_draws(rng, n_levels=1, n_draws=60)
    nested, flat = (
        stats.partition_convergence(draws),
        stats.partition_convergence(stats.levels(draws).sel(level=1, drop=True)),
    )
    for name in ("mcse", "rhat", "ess", "z", "max_z", "max_rhat", "n_constant"):
        np.testing.assert_allclose(nested[name], flat[name])


def test_summary_diagnostics_and_results_without_labels(rng):
    draws = random_draws(rng, n_draws=60)
    reported = xr.Dataset(
        {
            "partition_number": (("chain", "draw"), np.full((2, 60), partition_number("h"))),
            "log_joint": (("chain", "draw"), rng.normal(size=(2, 60))),
        },
        coords={"chain": [0, 1], "draw": np.arange(60)},
    )
    idata = result(draws, sample_stats=reported)
    assert stats.partition_names(idata) == [] and stats.nested_names(idata) == ["h"]
    rows = stats.summary(idata).index.tolist()
    assert rows[-1] == "x" and rows[:8] == [
        *("h[n_nodes level 1]", "h[n_nodes level 2]", "h[n_nodes level 3]"),
        *("h[entropy level 1]", "h[entropy level 2]", "h[entropy level 3]", "h[mean_common_depth]", "h[log_joint]"),
    ]
    assert rows[8].startswith("h[worst R-hat: animal ") and rows[9].startswith("h[largest z: animal ")
    table = stats.summary(idata, "h", round_to="none")
    convergence = stats.partition_convergence(draws)
    worst = int(np.nanargmax(convergence.rhat))
    assert table["mean"].iloc[8] == pytest.approx(float(convergence.common_depth[worst]))

    scalars = stats.without_labels(idata)["posterior"]
    assert set(scalars.data_vars) == {"x", "h_n_nodes", "h_entropy", "h_mean_common_depth", "h_log_joint"}
    np.testing.assert_array_equal(scalars["h_log_joint"], reported.log_joint)
    group = stats.add_diagnostics(idata)["partition_stats/h"]
    assert group["convergence"]["quantity"].values.tolist() == [row[2:-1] for row in rows[:8]]
    xr.testing.assert_identical(group["pairs"].to_dataset(inherit=False), convergence)
    # Another partition's number: the log joint is not known to be that of h.
    other = result(draws, sample_stats=reported.assign(partition_number=reported.partition_number + 1))
    assert "log_joint" not in stats.partition_quantities(other)


def test_report_of_chains_that_disagree(rng):
    """The report of a run names the pair whose depth differs, in levels."""
    draws = random_draws(rng, n=4, n_levels=2, n_draws=200)
    diagnostics = {"h": diagnose(result(draws), "h")}
    assert pair_findings(diagnostics["h"]["pairs"].to_dataset(), "h", 2) == []
    draws[1, :, 1] = draws[1, :, 0]  # always together in the second chain
    diagnostics = {"h": diagnose(result(draws), "h")}
    [finding] = pair_findings(diagnostics["h"]["pairs"].to_dataset(), "h", 2)
    together = stats.partition_convergence(draws).common_depth_by_part[:, 0].values
    assert finding.quantity == "items animal 0, animal 1 of h" and finding.disagree
    assert finding.diagnosis.startswith(f"lowest common node at mean level {together[0]:.2f} to 2.00 in the chains")
    report = convergence_report(result(draws), diagnostics)
    assert "items animal 0, animal 1 of h  lowest common node" in report and "the chains disagree" in report
    # Few draws that agree: the standard error is judged in levels too.
    slow = xr.concat([draws.isel(chain=[0], draw=[k // 40]) for k in range(200)], "draw")
    slow = xr.concat([slow, slow], "chain").assign_coords(chain=[0, 1], draw=np.arange(200))
    [finding] = pair_findings(stats.partition_convergence(slow), "h", 2)
    assert "level of the lowest common node has standard error" in finding.diagnosis
    assert finding.diagnosis.endswith(" 0.071")
