"""Checks of user arguments of functions of trees, and their conversion to the form that kernels take."""

import numpy as np
import scipy
from pytensor.graph.basic import Variable

from pymc_nrm.common.checks import naming, numeric_array, plain_values
from pymc_nrm.common.text_levels import read_levels
from pymc_nrm.families.arguments import broadcast_hyperparameters
from pymc_nrm.families.base import check_resolution, complete, localise, prepare_data
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.definitions.categorical_dirichlet import CategoricalDirichlet
from pymc_nrm.families.needs import PREDICTIVE, check_needs, is_family
from pymc_nrm.families.product import product, product_data
from pymc_nrm.kernels.generic import lacking
from pymc_nrm.measures.base import check_measure_hyperparameters, weights

# Functions of a family that trees need.
NEEDS = (*PREDICTIVE, log_marginal)


def measure_of_numbers(measure):
    """Check a measure whose hyperparameters must be numbers, and convert them to floats."""
    if lacking(type(measure), [weights]):
        raise TypeError(f"measure must be a measure such as DirichletProcess(1.0); got {measure!r}")
    _reject_tensors(measure)
    return check_measure_hyperparameters(measure)


def family_and_data(family, X, argument="X", needs=NEEDS, user="Bayesian hierarchical clustering"):
    """Check a family with numeric hyperparameters, and data (n, d) or (n,); convert both to the form of kernels."""
    if isinstance(family, list):
        if not family or not isinstance(X, list) or len(X) != len(family):
            got = f"a list of {len(X)}" if isinstance(X, list) else type(X).__name__
            raise ValueError(f"{argument} must be a list of {len(family)} data sets, one for each family; got {got}")
        parts = [
            family_and_data(f, data, f"{argument}[{k}]", needs, user)
            for k, (f, data) in enumerate(zip(family, X, strict=True))
        ]
        families, data, sizes = zip(*parts, strict=True)
        if len(set(sizes)) > 1:
            raise ValueError(f"data sets of {argument} must have the same items; got {list(sizes)} rows")
        return product(families), product_data(data), sizes[0]
    check_numeric_family(family)
    check_needs(type(family), needs, user)
    if isinstance(family, CategoricalDirichlet) and read_levels(argument, X, argument) is not None:
        raise TypeError(
            f"{argument} must be numbers of levels; got text. Number the levels of each column with "
            "pandas.factorize(column, sort=True)[0], and make -1, a missing value, NaN"
        )
    X = as_rows(X, argument)
    n, d = X.shape
    if n == 0:
        raise ValueError(f"{argument} must have at least one row; got shape {X.shape}")
    family = plain_values(family)
    with naming(argument):
        family = complete(family, X)
    full = broadcast_hyperparameters(family, n, d)
    with naming(argument):
        data = prepare_data(full, X)
    local = localise(full, data)
    check_resolution(local, data, argument)
    return local, data, n


def check_numeric_family(family):
    """Check that an object, or each object of a list, is a family without tensors as hyperparameters."""
    for member in family if isinstance(family, list) else [family]:
        if not is_family(member):
            raise TypeError(f"family must be a family such as NormalWishart(...); got {member!r}")
        _reject_tensors(member)


def select_items(family, X, items):
    """Families and data of a subset of the items. Shapes: ``X`` (n, d) or (n,)."""
    if isinstance(family, list):
        families, parts = zip(*(select_items(*pair, items) for pair in zip(family, X, strict=True)), strict=True)
        return list(families), list(parts)
    changed = {}
    for name, value in family._asdict().items():
        core = family.hyperparameters[name].core
        if value is not None and core[:1] == ("n",) and np.ndim(value) == len(core):
            changed[name] = np.asarray(value)[items]
    return family._replace(**changed), as_rows(X)[items]


def as_rows(X, argument="X"):
    """Convert data (n, d) or (n,) to a sparse or dense matrix (n, d) with one row per item; missing values are NaN."""
    if scipy.sparse.issparse(X):
        numeric_array(argument, X.data)
        return scipy.sparse.csr_array(X)
    X = numeric_array(argument, X)
    if X.ndim not in (1, 2):
        raise ValueError(f"{argument} must have shape (n, d) or (n,); got shape {X.shape}")
    return X[:, None] if X.ndim == 1 else X


def names_per_item(family):
    """Names of hyperparameters with one value per item, which belong to the data; covariates are refused."""
    names = [name for name, spec in family.hyperparameters.items() if spec.core[:1] == ("n",)]
    for name in names:
        if len(family.hyperparameters[name].core) > 1:
            raise NotImplementedError(
                f"{type(family).__name__} has {name} of each item: trees neither learn hyperparameters nor predict new "
                "items with it. Sample a model instead"
            )
    return names


def completed(family, X):
    """A family, or each of a list, with what it takes from the data, but None for values that belong to their items."""
    if isinstance(family, list):
        return [completed(member, part) for member, part in zip(family, X, strict=True)]
    return complete(plain_values(family), as_rows(X))._replace(**dict.fromkeys(names_per_item(family)))


def with_more_rows(family, X, new, argument):
    """Data, or each data set for a list of families, followed by new rows; X is None if there are no data yet."""
    if isinstance(family, list):
        if not isinstance(new, list) or len(new) != len(family):
            raise ValueError(f"{argument} must be a list of {len(family)} data sets, one for each family; got {new!r}")
        sets = zip(family, [None] * len(new) if X is None else X, new, strict=True)
        return [with_more_rows(*data_set, argument) for data_set in sets]
    new = as_rows(new, argument)
    if X is None:
        return new
    X = as_rows(X)
    if X.shape[1] != new.shape[1]:
        raise ValueError(f"{argument} must have {X.shape[1]} features like the earlier data; got {new.shape[1]}")
    if scipy.sparse.issparse(X) or scipy.sparse.issparse(new):
        return scipy.sparse.vstack([scipy.sparse.csr_array(X), scipy.sparse.csr_array(new)], format="csr")
    return np.concatenate([X, new])


def _reject_tensors(parameters):
    for name, value in parameters._asdict().items():
        if isinstance(value, Variable):
            raise TypeError(f"{name} of {type(parameters).__name__} must be a number or an array here; got {value}")
