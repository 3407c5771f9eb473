"""Block models of a PyMC model: which there are, their families, and their data."""

import dataclasses
from typing import Any

from pymc_nrm.models.values import computed_by
from pymc_nrm.networks.models.block_model import BlockModelRV
from pymc_nrm.networks.models.block_sums import block_sums, layer_of, prepared_values


def is_block_model(variable):
    """Whether a variable is the data of a block model."""
    return computed_by(variable, BlockModelRV)


def block_models(model: Any, partition: Any = None) -> list[Any]:
    """List the block models of a model, or those over one of its partitions.

    Parameters
    ----------
    model : pymc.Model
    partition : Partition, optional
        A variable of the model; by default all block models are listed.

    Returns
    -------
    list of random variables

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     ties = nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=np.eye(3), directed=False)
    >>> block_models(model)
    [ties]
    """
    variables = [rv for rv in model.basic_RVs if is_block_model(rv)]
    return [rv for rv in variables if partition is None or partition in rv.owner.op.partitions(rv.owner)]


@dataclasses.dataclass(frozen=True, eq=False)
class BlockData:
    """Data and family of a block model."""

    name: str
    variable: Any
    # Variables of the partition, or of the partitions of rows and of columns.
    partitions: tuple
    # Fields are tensors in their full shape.
    family: Any
    # Concentration of the degree correction, a tensor, or None.
    degree_corrected: Any
    # Observed pairs, see `PairData`.
    observed: Any

    @property
    def is_table(self):
        return self.observed.is_table

    @property
    def directed(self):
        return self.observed.directed

    @property
    def loops(self):
        return self.observed.loops

    @property
    def shape(self):
        return self.observed.shape

    @property
    def values(self):
        """Observed values without repetition, float64 (n_values,)."""
        return self.observed.values

    def dense(self):
        """The matrix of data, float64 (n, m), with NaN where there are none."""
        return self.observed.dense()

    def mask(self):
        """Whether each pair was observed, bool (n, m)."""
        return self.observed.mask()

    def pairs(self):
        """Items i, j and values x of all observed pairs, each undirected pair once, with i <= j."""
        return self.observed.pairs()

    def prepared(self, family):
        """The values, (n_values, 1), in the form that kernels read, for a family of numbers or tensors."""
        return prepared_values(family, self.observed)

    def layer(self, family, prepared):
        """Rows of statistics of the values, for a family of numbers and prepared values."""
        return layer_of(family, prepared, self.observed, self.degree_corrected is not None)

    def sums(self, family, prepared, labels, columns=None):
        """Sums of statistics of blocks (K, K, size), or (K, L, size) given labels of rows and of columns of a table.

        Symmetric for undirected networks, with each pair once on the diagonal.
        """
        return block_sums(self.layer(family, prepared), labels, columns)


def block_data(model: Any, name: Any) -> BlockData:
    """Data and family of a block model of a model.

    Parameters
    ----------
    model : pymc.Model
    name : str or random variable
        The block model.

    Returns
    -------
    BlockData

    Raises
    ------
    ValueError
        If the variable is not a block model.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     nrm.networks.BlockModel("ties", z, nrm.BernoulliBeta(1.0, 1.0), observed=1 - np.eye(3), directed=False)
    ties
    >>> block_data(model, "ties").mask().sum()
    np.int64(6)
    """
    variable = model.named_vars.get(name) if isinstance(name, str) else name
    if variable is None or not is_block_model(variable):
        names = [rv.name for rv in block_models(model)]
        raise ValueError(f"name must be a block model of the model, one of {names}; got {name!r}")
    op, node = variable.owner.op, variable.owner
    value = model.rvs_to_values[variable]
    return BlockData(
        variable.name, variable, op.partitions(node), op.family(node), op.concentration(node), op.pairs_of(value)
    )
