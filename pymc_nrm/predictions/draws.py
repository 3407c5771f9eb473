"""What every posterior draw says about one partition: labels, measure, families and data."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from pymc.pytensorf import compile as compile_function
from pytensor.compile.mode import Mode
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors

from pymc_nrm.checks import check_name
from pymc_nrm.distributions.mixture import MixtureRV, kernel_family
from pymc_nrm.distributions.model import checked_model
from pymc_nrm.distributions.observed import sparse_origin
from pymc_nrm.distributions.partition import PartitionRV, known_length
from pymc_nrm.families.base import check_resolution, localise, prepare_data
from pymc_nrm.families.no_data import NoData, NoRows
from pymc_nrm.families.product import product, product_data
from pymc_nrm.partitions.labels import canonical_labels

_INTERPRETED = Mode(linker="py", optimizer="minimum_compile")


class PartitionDraw(NamedTuple):
    """One posterior draw, in the form that kernels read.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
        In order of appearance.
    measure : Measure
        With float fields.
    families : tuple of Family
        One for each mixture, hyperparameters of full shape and localised, see :func:`~pymc_nrm.families.base.localise`.
    data : tuple of NamedTuple
        Prepared data of each mixture.
    """

    labels: Any
    measure: Any
    families: tuple
    data: tuple

    @property
    def family(self):
        """One family for all mixtures: a ``Product`` of several, ``NoData`` of none."""
        return product(self.families) if self.families else NoData(0.0)

    @property
    def family_data(self):
        """The data of :attr:`family`."""
        return product_data(self.data) if self.data else NoRows(0.0)


class PartitionDraws:
    """The posterior draws of one partition of a model, to be iterated over, one :class:`PartitionDraw` each.

    Draws come chain after chain.  Hyperparameters and latent mixtures are functions of the other variables in the
    posterior; what depends on none of them is evaluated once.  Data are read from the model, as ``pm.set_data`` left
    them.

    Parameters
    ----------
    idata : DataTree or Dataset
        With the group ``posterior``, or that group; dimensions ``chain`` and ``draw``.
    model : pymc.Model
        The model that was sampled; None for the model of the context.
    partition : str, optional
        Name of the partition; the only one of the model by default.

    Attributes
    ----------
    partition : str
    mixtures : list of str
        Names of the mixtures over the partition, in the order of ``families`` and ``data`` of a draw.
    item_dim : str
        Dimension of the items in the posterior.
    posterior : Dataset
    n_chains, n_draws, n_items : int

    Raises
    ------
    TypeError
        If ``idata`` is neither a DataTree nor a Dataset.
    ValueError
        If the model or the draws lack a variable, or the numbers of items disagree.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     alpha = pm.Gamma("alpha", 2, 1)
    ...     z = nrm.Partition("z", nrm.DirichletProcess(alpha), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({
    ...     "alpha": (("chain", "draw"), [[1.5, 2.5]]),
    ...     "z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]]),
    ... })
    >>> for draw in PartitionDraws(posterior, model):
    ...     print(draw.labels, draw.measure)
    [0 0 0] DirichletProcess(alpha=1.5)
    [0 0 1] DirichletProcess(alpha=2.5)
    """

    def __init__(self, idata, model, partition=None):
        self.model = checked_model(model)
        self.posterior = posterior_of(idata)
        rv = find_variable(self.model, PartitionRV, partition)
        rvs = mixtures_of(self.model, rv)
        self.partition, self.mixtures = rv.name, [mixture.name for mixture in rvs]
        self.n_chains, self.n_draws = self.posterior.sizes["chain"], self.posterior.sizes["draw"]
        free = set(self.model.free_RVs)

        parts = [[rv, *rv.owner.inputs[3:]]]
        parts += [[_data_of(self.model, mixture, free), *mixture.owner.inputs[3:]] for mixture in rvs]
        self._classes = [rv.owner.op.measure_class, *[mixture.owner.op.family_class for mixture in rvs]]
        self._values = [_Values(self.model, self.posterior, variables) for variables in parts]

        self.n_items = known_length(rv.owner.inputs[2])
        self.item_dim = self._item_dim(rv in free)

    def _item_dim(self, sampled):
        if not sampled:
            named = self.model.named_vars_to_dims.get(self.partition)
            return named[0] if named else f"{self.partition}_dim_0"
        labels = self.posterior[self.partition]
        dims = [dim for dim in labels.dims if dim not in ("chain", "draw")]
        if labels.dtype.kind not in "iu" or len(dims) != 1 or labels.sizes[dims[0]] != self.n_items:
            raise ValueError(
                f"draws of {self.partition!r} must be whole numbers with dimensions (chain, draw, item), one item for "
                f"each of the {self.n_items} of the model; got {labels.dtype} with sizes {dict(labels.sizes)}"
            )
        return dims[0]

    def __len__(self):
        return self.n_chains * self.n_draws

    def __iter__(self):
        families, data = [None] * len(self.mixtures), [None] * len(self.mixtures)
        measure = labels = None
        for s in range(len(self)):
            (new_labels, *hyperparameters), varies = self._values[0].at(s)
            if s == 0 or varies[0]:
                labels = canonical_labels(new_labels)
            measure = self._classes[0](*[float(value) for value in hyperparameters])
            for k, (family_class, values) in enumerate(zip(self._classes[1:], self._values[1:], strict=True)):
                (X, *hyperparameters), varies = values.at(s)
                if s > 0 and not any(varies):
                    continue
                family = kernel_family(family_class, hyperparameters)
                if s == 0 or varies[0]:
                    data[k] = self._prepare(self.mixtures[k], family, X)
                families[k] = localise(family, data[k])
                if s == 0 or varies[0]:
                    check_resolution(families[k], data[k], f"data of {self.mixtures[k]!r}")
            yield PartitionDraw(labels, measure, tuple(families), tuple(data))

    def _prepare(self, name, family, X):
        if X.shape[0] != self.n_items:
            raise ValueError(
                f"Mixture {name!r} has {X.shape[0]} rows, partition {self.partition!r} {self.n_items} items: set the "
                "data with which the draws were made"
            )
        return prepare_data(family, X[:, None] if X.ndim == 1 else X)


class _Values:
    """Values of variables at the draws of a posterior; those that do not depend on a draw are computed once."""

    def __init__(self, model, posterior, variables):
        free = model.free_RVs
        # Labels and latent data are free variables themselves; observed ones are replaced by their values.
        observed = {rv: model.rvs_to_values[rv] for rv in model.observed_RVs}
        variables = [sparse_origin(variable) for variable in variables]
        used = set(ancestors(variables, blockers=free))
        replace = {rv: value.astype(rv.dtype) for rv, value in observed.items() if rv in used}
        if replace:
            variables = graph_replace(variables, replace, strict=False)
        inputs = [rv for rv in free if rv in set(ancestors(variables, blockers=free))]
        self._draws = [_stacked(posterior, rv.name) for rv in inputs]
        self._varies = [any(rv in set(ancestors([v], blockers=free)) for rv in inputs) for v in variables]
        self._fixed = [None if varies else _constant(v) for v, varies in zip(variables, self._varies, strict=True)]
        moving = [v for v, varies in zip(variables, self._varies, strict=True) if varies]
        self._direct = [inputs.index(v) if v in inputs else None for v in moving]
        graphs = [v for v, direct in zip(moving, self._direct, strict=True) if direct is None]
        self._function = None
        if graphs:
            self._function = compile_function(inputs, graphs, on_unused_input="ignore")
            self._function.trust_input = True
        self._dtypes = [rv.dtype for rv in inputs]

    def at(self, s):
        """Values at draw s, and whether each depends on the draw."""
        values = [np.asarray(d[s], dtype=dtype) for d, dtype in zip(self._draws, self._dtypes, strict=True)]
        computed = iter(self._function(*values) if self._function else ())
        moving = iter([next(computed) if k is None else values[k] for k in self._direct])
        fixed = zip(self._fixed, self._varies, strict=True)
        return [next(moving) if varies else value for value, varies in fixed], self._varies


def _constant(variable):
    data = getattr(variable, "data", None)
    # One evaluation does not pay for compilation.
    return data if data is not None else compile_function([], variable, mode=_INTERPRETED)()


def _stacked(posterior, name):
    """Draws of a variable, shape (chains * draws, ...)."""
    if name not in posterior:
        raise ValueError(
            f"the posterior has no draws of {name!r}, which the model needs; it has {sorted(map(str, posterior))}"
        )
    values = posterior[name].transpose("chain", "draw", ...).to_numpy()
    return values.reshape(-1, *values.shape[2:])


def _data_of(model, mixture, free):
    return mixture if mixture in free else sparse_origin(model.rvs_to_values[mixture])


def posterior_of(idata):
    """The posterior draws of a DataTree, or a Dataset of draws as it is.

    Parameters
    ----------
    idata : DataTree or Dataset

    Returns
    -------
    Dataset
        With dimensions ``chain`` and ``draw``.

    Raises
    ------
    TypeError
        If ``idata`` is neither.
    ValueError
        If it has no posterior, or no draws.
    """
    if isinstance(idata, xr.DataTree):
        if "posterior" in idata.children:
            idata = idata["posterior"]
        elif not idata.data_vars:
            raise ValueError(f"idata must have the group posterior; it has {sorted(idata.children)}")
        idata = idata.to_dataset()
    if not isinstance(idata, xr.Dataset):
        raise TypeError(f"idata must be a DataTree or a Dataset of posterior draws; got {type(idata).__name__}")
    if not {"chain", "draw"} <= set(idata.dims) or not idata.sizes["chain"] * idata.sizes["draw"]:
        raise ValueError(f"idata must have draws with dimensions chain and draw; got sizes {dict(idata.sizes)}")
    return idata


_KINDS = {PartitionRV: "Partition", MixtureRV: "Mixture"}


def find_variable(model, op_class, name=None):
    """A random variable of a model by its kind, and by its name where there are several.

    Parameters
    ----------
    model : pymc.Model
    op_class : type
        ``PartitionRV`` or ``MixtureRV``.
    name : str, optional

    Returns
    -------
    TensorVariable

    Raises
    ------
    ValueError
        If there is none, there are several and no name is given, or the name is none of theirs.
    """
    if name is not None:
        check_name("var_name", name, f"a {_KINDS[op_class]}")
    found = {rv.name: rv for rv in model.basic_RVs if rv.owner is not None and isinstance(rv.owner.op, op_class)}
    kind = _KINDS[op_class]
    if not found:
        raise ValueError(f"model must have a {kind}; got one with the variables {sorted(model.named_vars)}")
    if name is None and len(found) == 1:
        [name] = found
    if name is None:
        raise ValueError(f"var_name must be given, one of {sorted(found)}: the model has several of kind {kind}")
    if name not in found:
        raise ValueError(f"var_name must be that of a {kind} of the model, one of {sorted(found)}; got {name!r}")
    return found[name]


def mixtures_of(model, partition):
    """The mixtures of a model over a partition.

    Parameters
    ----------
    model : pymc.Model
    partition : TensorVariable

    Returns
    -------
    list of TensorVariable
    """
    candidates = [rv for rv in model.basic_RVs if rv.owner is not None and isinstance(rv.owner.op, MixtureRV)]
    return [rv for rv in candidates if rv.owner.inputs[2] is partition]
