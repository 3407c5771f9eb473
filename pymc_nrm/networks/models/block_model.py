"""Data about pairs of items given their partition as a PyMC random variable, with parameters integrated out."""

import logging
from typing import Any

import numpy as np
import pytensor.tensor as pt
import scipy.sparse
from pymc import Distribution
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.op import Op
from pytensor.link.utils import compile_function_src
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from pymc_nrm.common.checks import check_flag, check_number, known_value, naming, plain_values
from pymc_nrm.common.named_dims import described, tensor_behind
from pymc_nrm.common.pymc_internals import check_parameters, logprob, support_point
from pymc_nrm.families.arguments import broadcast_hyperparameters, numeric_data
from pymc_nrm.families.base import complete, log_likelihood, prepare_data
from pymc_nrm.families.conjugate import log_marginal
from pymc_nrm.families.definitions.poisson_gamma import PoissonGamma
from pymc_nrm.families.needs import ITEMS, check_needs, is_family
from pymc_nrm.models.data_labels import labels_message, valid_labels
from pymc_nrm.models.item_counts import count_value
from pymc_nrm.models.partition import PartitionRV
from pymc_nrm.models.random_variables import printed_names, register_numba, with_conditions
from pymc_nrm.models.values import computed_by, kernel_family, kernel_values, without_casts
from pymc_nrm.networks.models.block_sums import log_block_likelihood
from pymc_nrm.networks.models.forward import draw_matrix
from pymc_nrm.networks.partitions.pair_data import place_of_value, read_pairs, with_places
from pymc_nrm.partitions.flat import Ordered, in_order

_log = logging.getLogger("pymc.nrm_models")
# Name of the step of a partition that block models depend on.
STEP = "block_sampler"


class MatrixOfPairs(Op):
    """The matrix of observed pairs, which nothing but results computes; NaN where a pair was not observed."""

    __props__ = ("pairs", "dtype")

    def __init__(self, pairs, dtype):
        self.pairs, self.dtype = pairs, dtype

    def make_node(self):
        return Apply(self, [], [pt.matrix(dtype=self.dtype, shape=self.pairs.shape)])

    def perform(self, node, inputs, storage):
        storage[0][0] = self.pairs.dense(diagonal=0.0).astype(self.dtype)


class BlockModelRV(RandomVariable):
    """Pairs given a partition of their items, or entries of a table given partitions of its rows and columns.

    Inputs are the labels, the hyperparameters of the family in their full shape, and the concentration of the degree
    correction.  The parameters of blocks are integrated out.
    """

    __props__ = ("name", "signature", "dtype", "inplace", "family_class", "kinds", "directed", "loops", "is_corrected")

    def __init__(self, family_class, kinds, directed, loops, is_corrected, **kwargs):
        self.family_class, self.kinds = family_class, kinds
        self.directed, self.loops, self.is_corrected = directed, loops, is_corrected
        kwargs["name"], self._print_name = printed_names("BlockModel", family_class)
        self._cores = [spec.core for spec in family_class.hyperparameters.values()]
        labels = ["(items)", "(columns)"][: len(kinds)]
        fields = [f"({','.join(core)})" for core in self._cores] + ["()"] * is_corrected
        output = "(items,columns)" if self.is_table else "(items,items)"
        kwargs["signature"] = f"{','.join([*labels, *fields])}->{output}"
        super().__init__(**kwargs)

    @property
    def is_table(self):
        """Whether rows and columns have partitions of their own."""
        return len(self.kinds) == 2

    def partitions(self, node):
        """Return the partition of a variable, or the partitions of rows and of columns, from its node."""
        return tuple(self.dist_params(node)[: len(self.kinds)])

    def partition(self, node):
        """Return the partition of the items, or of the rows, of a variable, from its node."""
        return self.partitions(node)[0]

    def family(self, node):
        """Return the family of a variable, from its node; the fields are tensors in their full shape."""
        start = len(self.kinds)
        return self.family_class(*self.dist_params(node)[start : start + len(self._cores)])

    def concentration(self, node):
        """Return the concentration of the degree correction of a variable, from its node, or None."""
        return self.dist_params(node)[-1] if self.is_corrected else None

    def pairs_of(self, value):
        """Return observed pairs, from the value of a variable."""
        origin = without_casts(value)
        if computed_by(origin, MatrixOfPairs):
            return origin.owner.op.pairs
        if isinstance(origin, Constant):
            return read_pairs("value of a BlockModel", origin.data, self.directed, self.loops, self.is_table)
        raise NotImplementedError("the log-probability of a BlockModel needs a constant matrix")

    def rng_fn(self, rng, *inputs_and_size):
        *inputs, size = inputs_and_size
        if size:
            raise NotImplementedError("batches of networks can only be drawn with the numba backend")
        source, environment, _ = self.draw_source()
        n_labels, n_fields = len(self.kinds), len(self._cores)
        fields = kernel_family(self.family_class, inputs[n_labels : n_labels + n_fields])
        further = [float(value) for value in inputs[n_labels + n_fields :]]
        arguments = (*kernel_values(inputs[:n_labels]), *fields, *further)
        return compile_function_src(source, "draw", environment)(rng, *arguments)

    def draw_source(self):
        """Return the source of a function that draws data, and the names that it uses, for numba."""
        check_needs(self.family_class, ITEMS, "a forward draw of a BlockModel")
        names = list(self.family_class._fields)
        labels = ["labels", "columns"][: len(self.kinds)]
        arguments = [name if core else f"float({name})" for name, core in zip(names, self._cores, strict=True)]
        mode = 2 if self.is_table else int(self.directed)
        further = ["concentration"] * self.is_corrected
        concentration = "float(concentration)" if self.is_corrected else "0.0"
        source = (
            f"def draw(rng, {', '.join([*labels, *names, *further])}):\n"
            f"    if not ({' and '.join(f'in_order({name})' for name in labels)}):\n"
            f"        raise ValueError({labels_message(self.kinds[0])!r})\n"
            f"    family = family_class({', '.join(arguments)})\n"
            f"    matrix = draw_matrix(rng, {labels[0]}, {labels[-1]}, family, {mode}, {self.loops}, {concentration})\n"
            "    return matrix.astype(dtype)\n"
        )
        environment = {"draw_matrix": draw_matrix, "dtype": np.dtype(self.dtype), "family_class": self.family_class}
        environment |= {"in_order": in_order}
        return source, environment, self.family_class


class BlockModel(Distribution):
    """Block model: data about pairs of items, given a random partition of the items, with parameters integrated out.

    Items of the same two clusters have pairs with the same parameter: with ``theta_rs`` drawn from the base measure of
    the family, ``A_ij ~ F(theta_rs)`` for an item i of cluster r and an item j of cluster s.  With two partitions the
    data are a table whose rows and columns are both clustered.

    Parameters
    ----------
    name : str
    partition : Partition, or tuple of two Partitions
        Partition of the items of a network, or of the rows and of the columns of a table.  Several block models and
        mixtures may share partitions.  Kinds without slots: plain ones, ``together`` and ``known``.
    family : BernoulliBeta, PoissonGamma, NormalGamma, LogNormalGamma, CategoricalDirichlet, HurdlePoisson, ...
        A family, whose hyperparameters are numbers, tensors or random variables, for one number for each pair.
    observed : array_like or sparse matrix, shape (n, n) or (n, m)
        Data.  NaN means that a pair was not observed; it is left out.  Entries that a sparse matrix does not store are
        zeros.  For an undirected network both triangles hold the data.
    directed : bool, optional
        Whether the pair (i, j) differs from (j, i).  By default a network is undirected if the matrix is symmetric,
        and a line in the log says so.
    loops : bool
        Whether pairs of an item with itself are data; by default the diagonal is left out.
    degree_corrected : positive float, tensor or random variable, optional
        Concentration c of the degree correction, for ``PoissonGamma``: rates are ``theta_i theta_j lambda_rs``, the
        thetas of a cluster of n items have the sum n, and their shares the distribution Dirichlet(c, ..., c).  Loops
        are part of this model, with ``loops=False`` as counts of 0.  All pairs must be observed.
    dims : tuple of str, optional
        Names of the two dimensions.

    Raises
    ------
    TypeError
        If ``partition`` is not one Partition or two, ``family`` is not a family, or ``observed`` is not data.
    ValueError
        If the shape of the data does not fit the partitions, the matrix is not symmetric with ``directed=False``, a
        value is outside the support of the family, no pair is observed, a hyperparameter is out of range, or
        ``degree_corrected`` is not a finite positive scalar.

    Notes
    -----
    The log-probability is ``sum_{r <= s} log m(S_rs)`` (directed networks and tables: all r, s), with m the marginal
    likelihood of the family and ``S_rs`` the sums of its statistics over the observed pairs of clusters r and s (Kemp
    et al. 2006; Nowicki & Snijders 2001; degree correction: Karrer & Newman 2011, with thetas integrated out).  An
    undirected loop counts twice in a degree.

    :class:`BlockSampler` samples the partition.  Forward draws draw new parameters of each block from the base
    measure.

    References
    ----------
    Kemp, C., Tenenbaum, J. B., Griffiths, T. L., Yamada, T., & Ueda, N. (2006). Learning systems of concepts with an
    infinite relational model. Proceedings of AAAI, 381-388.

    Karrer, B., & Newman, M. E. J. (2011). Stochastic blockmodels and community structure in networks. Physical Review
    E, 83, 016107, eq. 8.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> A = np.kron(np.eye(2, dtype=int), np.ones((3, 3), dtype=int))
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=6)
    ...     ties = nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=A, directed=False)
    >>> model.observed_RVs
    [ties]
    """

    rv_type = BlockModelRV

    def __new__(
        cls,
        name: str,
        partition: TensorVariable | tuple[TensorVariable, TensorVariable],
        family: tuple[Any, ...],
        *,
        observed: Any = None,
        directed: bool | None = None,
        loops: bool = False,
        degree_corrected: Any = None,
        dims: Any = None,
        **kwargs: Any,
    ) -> TensorVariable:
        for option in ("size", "shape", "total_size", "initval"):
            if kwargs.pop(option, None) is not None:
                raise ValueError(f"BlockModel {name!r} does not take {option}")
        title = f"observed of BlockModel {name!r}"
        if observed is None:
            raise ValueError(f"{title} must be a matrix; got None. BlockModel.dist makes unobserved networks")
        partitions = _checked_partitions(partition)
        _check_options(family, partitions, directed, loops, degree_corrected)
        pairs = _read(title, observed, partitions, directed, loops)
        if len(partitions) == 1 and directed is None:
            words = "directed, since its matrix is not symmetric" if pairs.directed else "undirected, since symmetric"
            _log.info("BlockModel %r is %s: directed=%s", name, words, pairs.directed)
        family = _full_family(title, family, pairs)
        gaps = np.isnan(_stored_values(pairs)).any()
        if degree_corrected is not None and gaps:
            raise ValueError(f"{title} must have no NaN with degree_corrected: thetas would not integrate out")
        dtype = "float64" if gaps or family.continuous else "int64"
        rv = super().__new__(
            cls,
            name,
            partition,
            family,
            observed=MatrixOfPairs(pairs, dtype)(),
            directed=pairs.directed,
            loops=loops,
            degree_corrected=degree_corrected,
            dims=dims,
            dtype=dtype,
            **kwargs,
        )
        for variable in partitions:
            variable.owner.op.own_step = STEP
        return rv

    @classmethod
    def dist(
        cls,
        partition: TensorVariable | tuple[TensorVariable, TensorVariable],
        family: tuple[Any, ...],
        *,
        directed: bool | None = False,
        loops: bool = False,
        degree_corrected: Any = None,
        shape: Any = None,
        dtype: str | None = None,
        rng: Any = None,
        return_next_rng: bool = False,
    ) -> Any:
        """Create data outside a model, for example for ``pm.draw``; arguments as in :class:`BlockModel`."""
        partitions = _checked_partitions(partition)
        _check_options(family, partitions, directed, loops, degree_corrected)
        family = broadcast_hyperparameters(plain_values(family), 1, 1)
        rng = pt.random.shared_rng(seed=None) if rng is None else rng
        dtype = dtype or ("float64" if family.continuous else "int64")
        register_numba(BlockModelRV, BlockModelRV.draw_source)
        kinds = tuple(variable.owner.op.kind for variable in partitions)
        is_directed = bool(directed) and len(partitions) == 1
        op = BlockModelRV(type(family), kinds, is_directed, loops, degree_corrected is not None, dtype=dtype)
        further = [] if degree_corrected is None else [pt.as_tensor(degree_corrected).astype("float64")]
        labels = [kind.cluster_labels(variable) for kind, variable in zip(kinds, partitions, strict=True)]
        fields = [pt.as_tensor(value) for value in family]
        next_rng, values = op(*labels, *fields, *further, rng=rng, return_next_rng=True)
        return (next_rng, values) if return_next_rng else values


def _checked_partitions(partition):
    """The partitions of a block model, one or two."""
    several = partition if isinstance(partition, tuple | list) else (partition,)
    variables = tuple(map(tensor_behind, several))
    if len(variables) not in (1, 2) or not all(map(_is_partition, variables)):
        raise TypeError(f"partition must be a Partition, or a pair of them for rows and columns; got {partition!r}")
    for variable in variables:
        if not isinstance(variable.owner.op.kind, Ordered):
            raise ValueError(
                f"partition must be a Partition without max_clusters, log_weights and chunks; got {variable.name!r}, a "
                f"{variable.owner.op.kind.title} {variable.owner.op.kind.description}"
            )
    if len(variables) == 2 and variables[0] is variables[1]:
        raise ValueError(
            f"partition must be a pair of different Partitions; got {variables[0].name!r} twice. A directed network "
            "with loops=True has one partition for rows and columns"
        )
    return variables


def _is_partition(variable):
    return isinstance(variable, Variable) and computed_by(variable, PartitionRV)


def _check_options(family, partitions, directed, loops, degree_corrected):
    if not is_family(family):
        raise TypeError(f"family must be a family such as BernoulliBeta(1.0, 1.0); got {family!r}")
    if getattr(type(family), "for_trees", False):
        raise TypeError(f"family must be a family of clusters; {type(family).__name__} is for the leaves of trees")
    per_item = [name for name, spec in family.hyperparameters.items() if "n" in spec.core]
    if per_item:
        raise TypeError(f"family must have no hyperparameters of items; {type(family).__name__} has {per_item}")
    check_needs(type(family), (prepare_data, log_likelihood, log_marginal), "BlockModel")
    check_flag("loops", loops)
    if directed is not None:
        check_flag("directed", directed)
    if len(partitions) == 2:
        given = {"directed": directed, "loops": loops, "degree_corrected": degree_corrected}
        wrong = [name for name, value in given.items() if value not in (None, False)]
        if wrong:
            raise ValueError(f"{' and '.join(wrong)} must be omitted for a table of rows and columns")
    if degree_corrected is not None:
        if type(family) is not PoissonGamma:
            raise ValueError(
                f"degree_corrected must be None unless the family is PoissonGamma; got {type(family).__name__}"
            )
        _check_concentration(degree_corrected)


def _check_concentration(value):
    """Check the concentration of the degree correction."""
    description, is_tensor = "a finite positive number, or a scalar tensor", isinstance(value, Variable)
    if (is_tensor and value.type.ndim != 0) or getattr(value, "dtype", None) == "bool":
        got = described(value) if is_tensor else repr(value)
        raise ValueError(f"degree_corrected must be {description}; got {got}")
    number = known_value(value)
    if number is not None:
        check_number("degree_corrected", number, lambda c: 0.0 < c < np.inf, description)


def _read(title, observed, partitions, directed, loops):
    """Observed pairs, after checking their shape."""
    if isinstance(observed, Variable) and not isinstance(observed, Constant):
        raise TypeError(f"{title} must be an array or a sparse matrix; got {observed} of type {observed.type}")
    matrix = numeric_data(title, observed)
    sizes = [count_value(partition.owner.op.n_items(partition.owner)) for partition in partitions]
    shape, names = (sizes[0], sizes[-1]), " and ".join(repr(partition.name) for partition in partitions)
    if matrix.shape != shape:
        what = "rows and columns" if len(partitions) == 1 else "rows, columns"
        raise ValueError(
            f"{title} must have the shape {shape}, {what} for the items of {names}; got shape {matrix.shape}"
        )
    if scipy.sparse.issparse(matrix):
        matrix.sum_duplicates()
    return read_pairs(title, matrix, directed, loops, len(partitions) == 2)


def _full_family(title, family, pairs):
    """The family with hyperparameters of full shape, complete for the values of pairs, which are checked."""
    X = pairs.values[:, None]
    with naming(title), with_places(lambda row: place_of_value(pairs, row)):
        family = complete(plain_values(family), X)
    family = broadcast_hyperparameters(family, len(X), 1)
    with naming(title), with_places(lambda row: place_of_value(pairs, row)):
        prepare_data(family, X)
    return family


def _stored_values(pairs):
    """Values of all pairs that are stored, of the loops, and of the others; NaN where they were not observed."""
    known = np.append(pairs.values, np.nan)
    is_complete = pairs.codes.nnz == np.prod(pairs.shape) - (0 if pairs.is_table else pairs.shape[0])
    others = [] if is_complete else [known[pairs.default]]
    return np.concatenate([known[pairs.codes.data - 1], known[pairs.diagonal], others])


@logprob.register(BlockModelRV)
def _block_model_logp(op, values, rng, size, *parameters, **kwargs):
    [value] = values
    pairs, labels = op.pairs_of(value), []
    for kind, parameter, n in zip(op.kinds, parameters, pairs.shape, strict=False):
        parameter = valid_labels(kind, parameter)
        words = f"a BlockModel of a matrix of shape {pairs.shape} must have one label for each row and column"
        parameter = CheckAndRaise(ValueError, words)(parameter, pt.eq(parameter.shape[0], n))
        labels.append(kind.symbolic_indices(parameter, parameter.shape[0])[0])
    start = len(op.kinds)
    family = op.family_class(*parameters[start : start + len(op.family_class._fields)])
    concentration = parameters[-1] if op.is_corrected else None
    log_probability = log_block_likelihood(family, pairs, labels[0], labels[-1], concentration)
    if concentration is not None:
        log_probability = check_parameters(log_probability, concentration > 0, msg="degree_corrected > 0")
    return with_conditions(log_probability, family, d=1)


@support_point.register(BlockModelRV)
def _block_model_support_point(op, rv, rng, size, *parameters):
    return pt.zeros_like(rv)
