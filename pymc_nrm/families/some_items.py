"""Data of some of the items."""

from typing import Any

from pymc_nrm.kernels.generic import generic


@generic
def take_items(data: Any, items: Any) -> Any:
    """The data of some items (m,), in the form of the prepared data of all."""
    return data._replace(values=data.values[items])
