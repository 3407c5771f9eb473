"""Kernels compiled once for all families: calls from Python pass the family and its data behind addresses."""

import inspect
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pymc_nrm.families.erased.entry import N_COLUMNS, N_LANE_ROWS, N_ROWS, N_STATISTICS, describe
from pymc_nrm.families.erased.erased import Erased, ErasedData
from pymc_nrm.families.erased.with_components import ErasedWithComponents, ErasedWithDraws, ErasedWithGaps
from pymc_nrm.families.product import unfolded, unfolded_data
from pymc_nrm.kernels.argument_types import is_own, known_to_numba
from pymc_nrm.kernels.generic import Kernel, generic


class _Memory(bytearray):
    """Memory of an array of addresses, and all that they lead to: every array over this memory holds both."""

    def __init__(self, n_bytes):
        super().__init__(n_bytes)
        self.leads_to = []


@generic
def erase(family, data, form):
    """Family and data behind addresses, whose array holds all that they lead to, as does every array over its memory.

    The form is the class of the result.  A partition that wraps a family keeps its own form around it.
    """
    families, parts = unfolded(family), unfolded_data(family, data)
    memory = _Memory(8 * len(families) * N_COLUMNS)
    table = np.ndarray((len(families), N_COLUMNS), dtype=np.int64, buffer=memory)
    for row, part_family, rows in zip(table, families, parts, strict=True):
        memory.leads_to.append((describe(part_family, rows, row), part_family, rows))
        for describe_further in form.describers:
            describe_further(part_family, rows, row)
    return form(table, _totals(table)), ErasedData(table)


def _totals(table):
    """Sizes of rows, and the shape of the panel, of all families together."""
    totals = table[0, N_STATISTICS:]
    if len(table) > 1:
        totals = table[:, N_STATISTICS:].sum(axis=0)
        # Panels stand below each other, each as deep as the deepest.
        totals[-1] = table[:, N_LANE_ROWS].max()
        if not table[:, N_ROWS].all():
            # A family without a panel is weighed cluster by cluster, and so are the others beside it.
            totals[N_ROWS - N_STATISTICS :] = 0
    return totals


class _Record(NamedTuple):
    """What a call passed, and whether the same values may be passed again."""

    family: Any
    data: Any
    form: type[Erased]
    # Classes from outside of this package, with those that numba knew in their place.
    classes: list
    erased_family: Any
    erased_data: Any
    # Weak references, which keep arrays from getting other memory.
    kept: list
    # Arrays, with their shapes and types.
    headers: list

    def serves(self, family, data, form):
        return (
            self.family is family
            and self.data is data
            and self.form is form
            and all(known_to_numba(cls) is known for cls, known in self.classes)
            and all(_header(array) == header for array, header in self.headers)
        )


class _Last(threading.local):
    """What the last calls of a thread have passed: the calls of a draw pass the same values."""

    def __init__(self):
        self.records = []


# Values of more bytes are not kept from one call to the next, which they outlast by far.
_MOST_BYTES = 2**24
_last = _Last()


def erased(family, data, form):
    """A record of :func:`erase`, the same again for the same values.

    Entries of arrays are read when a kernel runs.  If a notebook edits a class in place, or an array gets another shape
    or type, a new record is made.
    """
    for record in _last.records:
        if record.serves(family, data, form):
            return record
    values = list(_nested((family, data)))
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    # NumPy gives no other memory to an array with weak references.
    kept = [weakref.ref(array) for array in arrays]
    result = erase(family, data, form)
    classes = {type(value) for value in values if isinstance(value, tuple)} - {tuple}
    others = [(cls, known_to_numba(cls)) for cls in classes if not is_own(cls)]
    record = _Record(family, data, form, others, *result, kept, [(array, _header(array)) for array in arrays])
    are_few = sum(array.nbytes for array in arrays) <= _MOST_BYTES
    _last.records = [record, *_last.records[:2]] if are_few else []
    return record


def _header(array):
    return array.shape, array.strides, array.dtype, array.flags.writeable


def _nested(value):
    yield value
    if isinstance(value, tuple):
        for element in value:
            yield from _nested(element)


class SharedKernel(Kernel):
    """A kernel that sees every family behind an address, see :func:`shared_kernel`."""

    def __init__(self, function: Callable[..., Any], form: type[Erased], **options: Any) -> None:
        super().__init__(function, **options)
        self._form = form
        names = list(inspect.signature(function).parameters)
        self._family, self._data = names.index("family"), names.index("data")
        # Further data of the family.
        self._points = names.index("points") if "points" in names else None

    def passed(self, arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        passed = list(arguments)
        family = arguments[self._family]
        records = [erased(family, arguments[self._data], self._form)]
        passed[self._family], passed[self._data] = records[0].erased_family, records[0].erased_data
        if self._points is not None:
            records.append(erased(family, arguments[self._points], self._form))
            passed[self._points] = records[1].erased_data
        return tuple(passed), records


def shared_kernel(
    function: Callable[..., Any] | None = None,
    *,
    draws: bool = False,
    components: bool = False,
    gaps: bool = False,
    inner_loop: bool = False,
    threaded: bool = False,
) -> Any:
    """Make a :func:`~pymc_nrm.kernels.generic.kernel` of arguments ``family`` and ``data`` that serves all families.

    Calls from Python pass these behind addresses, so that its machine code depends on no family and on no combination
    of families; what the addresses lead to is kept alive until the call returns.  Further data of the family may be its
    argument ``points``.  Other kernels call it with families of any form.

    Parameters
    ----------
    function : callable
        Function in the subset of Python that numba compiles.
    draws, components, gaps : bool
        Whether it draws parameters, draws them and weighs items given them, or draws missing entries; at most one.
    inner_loop, threaded : bool
        As for :func:`~pymc_nrm.kernels.generic.kernel`.
    """
    forms = ((components, ErasedWithComponents), (draws, ErasedWithDraws), (gaps, ErasedWithGaps), (True, Erased))
    form = next(form for is_needed, form in forms if is_needed)
    make = lambda function: SharedKernel(function, form, inner_loop=inner_loop, threaded=threaded)  # noqa: E731
    return make if function is None else make(function)
