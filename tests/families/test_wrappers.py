"""A wrapper of families defines what the families define, or a table says why it does not."""

import inspect

import pytest

import pymc_nrm as nrm
from pymc_nrm.families.counted import Counted
from pymc_nrm.families.erased.erased import Erased
from pymc_nrm.families.erased.with_components import ErasedWithComponents
from pymc_nrm.families.product import NoData, Product
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.kernels.kernel_cache import dispatchers
from pymc_nrm.partitions.grouped import Grouped
from pymc_nrm.partitions.known_labels import KnownGrouped
from tests.cases import PrincipalNormalWishart, SphericalPrincipalNormalWishart
from tests.tools.wings import rows_of_wings


def is_function_of_families(function):
    module, (first, *_) = function.__module__, inspect.signature(function.__wrapped__).parameters
    is_own = any(part in module for part in (".definitions.", ".derived.", ".diffusion."))
    return module.startswith("pymc_nrm.families.") and not is_own and first == "family"


# What a family may define; functions of a single definition or of tree families are left out.
FUNCTIONS = {function.__name__: function for function in dispatchers if is_function_of_families(function)}


def because(reason, names):
    return dict.fromkeys(names.split(), reason)


# Why a wrapper does not define a function.
BY_ITSELF = because(
    "models and readers of draws take each family by itself, before it is wrapped",
    "canonical complete log_likelihood log_marginals_with_gradient to_scale from_scale log_likelihood_on_scale "
    "component_cdf component_mean draw_item log_affinities log_marginals_of_feature",
)
ROWS = because("rows are prepared before they are grouped", "prepare_data localise")
ONE_ROW = because(
    "only partitions of rows in chunks use it, whose items are single rows",
    "log_parameter_density split_parameters join_parameters add_densities_of_items",
)
MISSING = because("missing entries are drawn given the cluster of their row", "draw_missing")
SEVERAL_ROWS = because(
    "the predictive density of several rows is a chain: it has no column of a panel, and no formula for a removal",
    "log_predictive_without panel_shape write_panel update_panel add_log_predictives",
)
# The likelihood of observed data has its gradient from sums of clusters, whatever was added.
BY_ITSELF_BUT_SUMS = {name: why for name, why in BY_ITSELF.items() if name != "log_marginals_with_gradient"}
DIFFERENT = because("missing entries of the observations of a row differ: they are refused", "draw_missing")
SEVERAL_OBSERVATIONS = because(
    "the predictive density of equal observations is a ratio of marginals: it has no column of a panel",
    "panel_shape write_panel update_panel add_log_predictives",
)
ONE_ENTRY = because("with the family in it, it lies behind one address", "erase")
UNITS = because(
    "only the moves of a partition see units, all others see items",
    "check_resolution prepare_alike restore_parameters student_predictive",
)
WITHOUT_GAPS = because("it takes no missing entries", "draw_missing student_predictive")
TWO_PARTS = because("a value of a mixture of zero and a positive variable is not a Student t", "student_predictive")
BY_PARTS = because("LearnedGibbs draws concentrations of each part by itself", "log_marginals_of_feature")
ITEM_BY_ITEM = because("one item or one cluster after the other, as by default, is as fast", "add_all weigh")
UNFOLDED = because("each of its families lies behind an address of its own", "erase")
BEFORE = because(
    "data are prepared, and parameters restored, before and after families lie behind addresses",
    "prepare_data prepare_alike localise check_resolution restore_parameters erase",
)
OTHER_FORM = because("families whose missing entries are drawn have a form of their own", "draw_missing")
ONE_FAMILY = because("quantiles take a family by itself", "student_predictive")
ONE_SCALE = because("mixtures of rows in chunks refuse families of logarithms", "add_densities_of_items")

# The families that each wrapper holds, or None for any of them, and what it need not define.
WRAPPERS = {
    Product: (
        None,
        BY_ITSELF
        | ITEM_BY_ITEM
        | UNFOLDED
        | because("checks and predictions take each by itself", "check_resolution prepare_alike student_predictive"),
    ),
    Grouped: (None, BY_ITSELF | ROWS | ONE_ROW | MISSING | SEVERAL_ROWS | ITEM_BY_ITEM),
    Counted: (None, BY_ITSELF_BUT_SUMS | ROWS | ONE_ROW | DIFFERENT | SEVERAL_OBSERVATIONS | ITEM_BY_ITEM | ONE_ENTRY),
    KnownGrouped: (None, BY_ITSELF | ROWS | ONE_ROW | MISSING | UNITS | ITEM_BY_ITEM),
    ErasedWithComponents: (None, BY_ITSELF | BEFORE | OTHER_FORM | ONE_FAMILY),
    PrincipalNormalWishart: ([nrm.NormalWishart], WITHOUT_GAPS),
    SphericalPrincipalNormalWishart: ([nrm.NormalWishart], WITHOUT_GAPS),
    nrm.LogNormalWishart: ([nrm.NormalWishart], ONE_SCALE),
    nrm.LogNormalGamma: ([nrm.NormalGamma], {}),
    nrm.HurdleLogNormal: ([nrm.BernoulliBeta, nrm.NormalGamma], TWO_PARTS | BY_PARTS),
    nrm.HurdlePoisson: ([nrm.BernoulliBeta, nrm.PoissonGamma], BY_PARTS),
}
# Families that hold no other; a product with no data is one.
PLAIN = {
    nrm.BernoulliBeta,
    nrm.CategoricalDirichlet,
    nrm.MultinomialDirichlet,
    NoData,
    nrm.NormalGamma,
    nrm.NormalRegression,
    nrm.NormalWishart,
    nrm.PoissonGamma,
    *rows_of_wings("PLAIN"),
}


def defined(cls):
    return {name for name, function in FUNCTIONS.items() if not lacking(cls, [function])}


def test_every_class_with_statistics_is_a_wrapper_or_holds_no_family():
    with_rows = {cls for cls in tuple.__subclasses__() if cls.__module__.startswith("pymc_nrm.")}
    assert {cls for cls in with_rows if hasattr(cls, "add_item")} == PLAIN | set(WRAPPERS) - {ErasedWithComponents} | {
        Erased
    }


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_defines_what_its_families_define(wrapper):
    held, reasons = WRAPPERS[wrapper]
    wanted = set(FUNCTIONS) if held is None else set.union(*map(defined, held))
    if "component_panel" in defined(wrapper):
        # Only a default panel needs it.
        wanted = wanted - {"log_density"}
    missing = wanted - defined(wrapper) - set(reasons)
    assert not missing, f"{wrapper.__name__} must define {sorted(missing)}, or the table must say why not"
    settled = set(reasons) - (wanted - defined(wrapper))
    assert not settled, f"the table says why {wrapper.__name__} does not define {sorted(settled)}, which it need not"
