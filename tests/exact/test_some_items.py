"""Data of some of the items are those of all, at their places."""

import numpy as np
import pytest

from pymc_nrm.families.base import add_item, statistics_size, take_items
from pymc_nrm.families.product import ProductData
from pymc_nrm.partitions.grouped import Grouped, grouped_rows
from pymc_nrm.trees.inputs import family_and_data
from tests.cases import SMALL

# What densities read of an item besides its statistics.
PER_ITEM = {"log_factorials", "totals", "log_coefficients", "residuals"}


def parts(data):
    return [data.first, data.second] if isinstance(data, ProductData) else [data]


def statistics(family, data, items):
    rows = np.zeros((len(items), statistics_size(family)))
    for row, item in zip(rows, items, strict=True):
        add_item(family, row, data, item, 1.0)
    return rows


@pytest.mark.parametrize("name", SMALL)
def test_statistics_are_those_of_the_items(name):
    family, data, n = family_and_data(*SMALL[name])
    items = np.array([3, 0, n - 1, 1])
    taken = take_items(data, items)
    assert type(taken) is type(data)
    expected = statistics(family, data, items)
    np.testing.assert_array_equal(statistics(family, taken, np.arange(len(items))), expected)
    for one, other in zip(parts(data), parts(taken), strict=True):
        for field in PER_ITEM & set(one._fields):
            np.testing.assert_array_equal(getattr(other, field), getattr(one, field)[items])
    groups = np.array([1, 0, 1, 3] + [0] * (n - 4))
    family, data = Grouped(family), grouped_rows(data, groups, 4)
    # Group 2 is empty.
    items = np.array([3, 2, 0])
    expected = statistics(family, data, items)
    np.testing.assert_array_equal(statistics(family, take_items(data, items), np.arange(3)), expected)
