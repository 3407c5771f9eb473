"""Checks that the functions of a family agree with each other."""

from typing import Any, NamedTuple

import numpy as np
import pytensor
import pytensor.sparse as ps
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from scipy import sparse

from pymc_nrm.common.checks import plain_values
from pymc_nrm.common.supports import WholeNumber
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import complete, log_likelihood
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.fast import log_predictive_without, panel_shape
from pymc_nrm.families.needs import ITEMS, PREDICTIVE, check_needs
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.kernels.lanes import LANES
from pymc_nrm.testing import family_kernels as kernels
from pymc_nrm.testing.family_draw_checks import check_draws
from pymc_nrm.testing.scores import CheckError, assert_close, runner, slope
from pymc_nrm.trees.inputs import as_rows, family_and_data


class FamilyCase(NamedTuple):
    """A family and its data, in the user's form and in the form that kernels read."""

    # Complete, as a user writes it.
    family: Any
    # Ndarray or sparse matrix, shape (n, d).
    X: Any
    # Of full shape, in the coordinates of the user.
    full: Any
    # local, data: For kernels.
    local: Any
    data: Any
    # Takes a kernel and returns the kernel itself or its Python function.
    run: Any

    @property
    def owner(self):
        """Class of the family."""
        return type(self.family)

    @property
    def n(self):
        """Number of items."""
        return self.X.shape[0]

    def marginal(self, items):
        """Log marginal of a set of items by ``log_marginal``."""
        return self.run(kernels.marginal)(self.local, self.statistics(items))

    def statistics(self, items):
        """Statistics of a set of items."""
        return self.run(kernels.sum_statistics)(self.local, self.data, np.asarray(items, dtype=np.int64))

    def chain(self, items):
        """Log marginal of a set of items by the chain of predictive densities."""
        return self.run(kernels.walk)(self.local, self.data, np.asarray(items, dtype=np.int64), 0)[0]


def check_family(family: Any, X: Any, *, compiled: bool = True, random_seed: int = 0) -> None:
    """Check that the functions of a family agree with each other on the data you pass.

    - Rows of statistics are additive and do not depend on hyperparameters; adding an item and removing it again
      changes nothing.
    - ``update_cache``, ``log_predictive_without`` and the panel agree with ``refresh_cache`` and ``log_predictive``.
    - The chain of predictive densities, in any order, equals ``log_marginal`` and the symbolic ``log_likelihood``,
      whose gradients are finite and right.
    - Draws of parameters and items follow the predictive distribution, and agree with the functions of
      ``components.py``.
    - All functions return the same values compiled and interpreted.

    Optional functions that a family does not register are not checked.

    Parameters
    ----------
    family : Family
        As a user writes it, with fields that are numbers and arrays.
    X : array_like or sparse matrix, shape (n, d) or (n,)
        Data of at least 4 items; a few dozen are enough.  Include whatever the family allows: missing values, zeros,
        large and small values.
    compiled : bool
        Whether functions run compiled, as in samplers.  Otherwise they run in Python, with fewer draws, so that
        the traceback of an error ends in a line of the family.
    random_seed : int
        Seed of all draws; for a correct family the check fails for about one seed in ten thousand.

    Raises
    ------
    CheckError
        If two values disagree; the message names the function and shows both values.
    NotImplementedError
        If the family lacks a function that every family must define.

    See Also
    --------
    exact_posterior, z_scores : Whether samplers draw partitions of a few items with the right probabilities.

    Examples
    --------
    >>> from pymc_nrm.families import PoissonGamma
    >>> check_family(PoissonGamma(1.0, 0.5), [[0, 3], [1, 4], [7, 0], [2, 2]], compiled=False) is None
    True
    """
    local, data, n = family_and_data(family, X, needs=PREDICTIVE, user="check_family")
    if n < 4:
        raise ValueError(f"X must have at least 4 items; got {n}")
    X = as_rows(X)
    family = complete(plain_values(family), X)
    full = broadcast_hyperparameters(family, *X.shape)
    case = FamilyCase(family, X, full, local, data, runner(compiled))
    rng = np.random.default_rng(random_seed)
    _check_rows(case, rng)
    _check_marginals(case, rng)
    if compiled:
        _check_interpreted(case, rng)
    _check_formula_of_others(case, rng)
    _check_panel(case, rng)
    if not lacking(case.owner, ITEMS):
        check_draws(case, rng, 20_000 if compiled else 1_500)
    elif len(lacking(case.owner, ITEMS)) < len(ITEMS):
        check_needs(case.owner, ITEMS, "a draw of data")


def _check_rows(case, rng):
    order = rng.permutation(case.n)
    whole = case.statistics(order)
    half = case.n // 2
    if np.isnan(whole).any():
        gaps = np.isnan(case.X.data if sparse.issparse(case.X) else case.X).any()
        hint = "; with missing_allowed=True it must skip missing values (NaN)" if gaps else ""
        place = int(np.isnan(whole).argmax())
        raise CheckError(
            f"add_item of {case.owner.__name__} is wrong: a row of statistics is NaN at position {place}{hint}"
        )
    parts = case.statistics(order[:half]) + case.statistics(order[half:])
    assert_close("add_item", case.owner, "the sum of the rows of two halves of the data is", parts, whole)
    changed = type(case.local)(*[1.001 * field for field in case.local])
    rows = case.run(kernels.sum_statistics)(changed, case.data, order)
    assert_close("add_item", case.owner, "with other hyperparameters a row of statistics is", rows, whole, 0.0, 0.0)
    _check_for_draws_alone(case, whole)
    for n_removed in (1, half, case.n):
        _, added, removed, statistics = case.run(kernels.walk)(case.local, case.data, order, n_removed)
        left = case.statistics(order[n_removed:])
        scale = np.abs(whole).max() if whole.size else 0.0
        assert_close(
            "add_item",
            case.owner,
            f"after removing {n_removed} item{'s' if n_removed > 1 else ''} the row of statistics is",
            statistics,
            left,
            atol=1e-9 + 1e-12 * scale,
        )
        for values, rows, words in ((added, whole, "all items added"), (removed, left, f"{n_removed} items removed")):
            expected = case.run(kernels.fresh_predictives)(case.local, rows, case.data, case.n)[order]
            what = f"with {words} one by one, log_predictive is"
            assert_close("update_cache", case.owner, what, values, expected, rtol=1e-8, atol=1e-8)


def _check_for_draws_alone(case, whole):
    """Check that densities do not read hyperparameters that only draws may read."""
    names = [name for name, spec in case.family.hyperparameters.items() if spec.for_draws_alone]
    if names:
        without = case.local._replace(**{name: np.full_like(getattr(case.local, name), np.nan) for name in names})
        values = [
            case.run(kernels.fresh_predictives)(local, whole, case.data, case.n) for local in (without, case.local)
        ]
        what = f"with another {' and '.join(names)}, which only draw_item may read, it is"
        assert_close("log_predictive", case.owner, what, *values, 0.0, 0.0)


def _check_marginals(case, rng):
    order = np.arange(case.n)
    first = case.chain(order)
    for _ in range(3):
        order = rng.permutation(case.n)
        what = f"the chain of predictive densities of items {order.tolist()} is"
        assert_close("log_predictive", case.owner, what, case.chain(order), first)
    has_marginal = not lacking(case.owner, [log_marginal])
    if has_marginal:
        assert_close("log_marginal", case.owner, "of no data it is", case.marginal([]), 0.0)
    symbolic = SymbolicLikelihood(case)
    mixed = np.minimum(np.arange(case.n) % 4, np.arange(case.n))
    for labels in (np.zeros(case.n, dtype=np.int64), np.arange(case.n), mixed):
        clusters = [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]
        values = {
            "log_predictive": sum(case.chain(items) for items in clusters),
            "log_likelihood": symbolic.value(labels),
        }
        if has_marginal:
            values["log_marginal"] = sum(case.marginal(items) for items in clusters)
        _agree(case.owner, values, f"{len(clusters)} cluster{'s' if len(clusters) > 1 else ''}")
    symbolic.check_gradients(mixed, rng)


def _agree(owner, values, words):
    """Check that several functions agree on one number; name the one that differs if there are three."""
    names = list(values)
    close = [[np.isclose(values[a], values[b], rtol=1e-9, atol=1e-9) for a in names] for b in names]
    if np.all(close):
        return
    alone = [name for name, row in zip(names, close, strict=True) if sum(row) == 1]
    blamed = alone[0] if len(alone) == 1 else " or ".join(names)
    figures = ", ".join(f"{value} by {name}" for name, value in values.items())
    raise CheckError(f"{blamed} of {owner.__name__} is wrong: the log density of the data in {words} is {figures}")


def _check_formula_of_others(case, rng):
    if lacking(case.owner, [log_predictive_without]):
        return
    n_known = 0
    for size in (2, 3, case.n):
        items = rng.permutation(case.n)[:size]
        formula, removal = case.run(kernels.leave_one_out)(case.local, case.data, items)
        has_formula = ~np.isnan(formula)
        n_known += has_formula.sum()
        what = f"for items {items[has_formula].tolist()} given the others of {items.tolist()} it is"
        assert_close("log_predictive_without", case.owner, what, formula[has_formula], removal[has_formula], 1e-8, 1e-8)
    if not n_known:
        raise CheckError(f"log_predictive_without of {case.owner.__name__} is wrong: it is nan for every item")


def _check_panel(case, rng):
    if panel_shape(case.local)[0] == 0:
        return
    width = 2 * LANES
    clusters = [rng.permutation(case.n)[: rng.integers(0, case.n)] for _ in range(width)]
    statistics = np.array([case.statistics(items) for items in clusters])
    prior = rng.normal(size=width)
    prior[3] = -np.inf
    for item in range(min(case.n, 20)):
        before, after = case.run(kernels.panel_values)(case.local, statistics, prior, case.data, item)
        what = f"for item {item} the column of a cluster is"
        assert_close("add_log_predictives", case.owner, what, *before, 1e-10, 1e-10)
        what = f"after item {item} has joined, the column of a cluster is"
        assert_close("update_panel", case.owner, what, *after, 1e-10, 1e-10)


def _check_interpreted(case, rng):
    """Compare compiled functions with the same functions in Python."""
    order = rng.permutation(case.n)
    arguments = case.local, case.data, order, case.n // 2
    names = ("log_predictive", "update_cache", "update_cache", "add_item")
    results = zip(names, kernels.walk(*arguments), kernels.walk.__wrapped__(*arguments), strict=True)
    for name, compiled, python in results:
        assert_close(name, case.owner, "compiled values differ from Python: they are", compiled, python, 1e-10, 1e-9)
    if not lacking(case.owner, [log_marginal]):
        rows = case.statistics(order)
        python = kernels.marginal.__wrapped__(case.local, rows)
        what = "its compiled value differs from Python: it is"
        assert_close("log_marginal", case.owner, what, kernels.marginal(case.local, rows), python, 1e-10, 1e-9)


class SymbolicLikelihood:
    """Log-likelihood and gradients of a :class:`~pymc_nrm.testing.family_checks.FamilyCase`.

    Gradients are with respect to hyperparameters, except whole numbers, and to continuous data.
    """

    def __init__(self, case):
        self._owner = case.owner
        self._values, variables, fields = {}, {}, {}
        for name, value in case.family._asdict().items():
            fields[name] = value
            if value is not None and not isinstance(case.family.hyperparameters[name].support, WholeNumber):
                self._values[name] = np.asarray(value, dtype="float64")
                variables[name] = fields[name] = pt.tensor(name, shape=np.shape(value), dtype="float64")
        labels = pt.lvector("labels")
        if sparse.issparse(case.X):
            X = ps.as_sparse_variable(sparse.csr_matrix(case.X))
        elif case.family.continuous:
            X = variables["X"] = pt.dmatrix("X")
            self._values["X"] = np.asarray(case.X, dtype="float64")
        else:
            X = pt.as_tensor(case.X)
        family = broadcast_hyperparameters(type(case.family)(**fields), *case.X.shape)
        logp = log_likelihood(family, X, labels)
        gradients = pt.grad(logp, list(variables.values()))
        # Interpreted: every backend gives the same values, and nothing is compiled.
        mode = Mode(linker="py", optimizer="fast_run").excluding("fusion")
        inputs = [labels, *variables.values()]
        self._function = pytensor.function(inputs, [logp, *gradients], mode=mode, on_unused_input="ignore")
        self._specifications = case.family.hyperparameters

    def value(self, labels):
        """Log-likelihood of the data."""
        return float(self._function(labels, *self._values.values())[0])

    def check_gradients(self, labels, rng):
        """Compare gradients with differences along random directions."""
        value, *gradients = self._function(labels, *self._values.values())
        for (name, at), gradient in zip(self._values.items(), gradients, strict=True):
            title = f"log_likelihood of {self._owner.__name__} is wrong: its gradient in {name}"
            if not np.isfinite(gradient).all():
                raise CheckError(f"{title} is not finite: {gradient}")
            direction = self._direction(name, at, rng)

            def along(step, name=name, at=at, direction=direction):
                return self._function(labels, *(self._values | {name: at + step * direction}).values())[0]

            with np.errstate(invalid="ignore"):
                expected = slope(along, 1e-4)
            # Between whole numbers counts have no density; what check_draws says of them is clearer.
            if name == "X" and not np.isfinite(expected) and not np.nan_to_num(at % 1.0).any():
                continue
            along_gradient = float(np.sum(gradient * direction))
            if not np.isclose(along_gradient, expected, rtol=1e-5, atol=1e-6 * (1.0 + abs(float(value)))):
                raise CheckError(f"{title} along {direction.tolist()} is {along_gradient}, the slope {expected}")

    def _direction(self, name, at, rng):
        """Return a random direction within the support: it preserves zeros, missing values and symmetry."""
        direction = rng.normal(size=at.shape)
        if name in self._specifications and self._specifications[name].support.name == "real":
            direction = direction * np.maximum(np.abs(at), 1.0)
        else:
            direction = np.where(np.isnan(at), 0.0, direction * np.abs(at))
        return 0.5 * (direction + direction.T) if self._is_square(name) else direction

    def _is_square(self, name):
        core = self._specifications[name].core if name in self._specifications else ()
        return len(set(core)) < len(core)
