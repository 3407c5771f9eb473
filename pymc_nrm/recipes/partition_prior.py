"""The partition of a recipe: a measure, whose hyperparameters may have priors, over the items."""

import copy

import pymc as pm
from pytensor.graph.basic import Constant, Variable
from pytensor.tensor.random.op import RandomVariable

from pymc_nrm.measures import DirichletProcess
from pymc_nrm.models.partition import Partition


def add_partition(measure, **options):
    """Add the partition ``z`` of the items to the model at hand."""
    if measure is None:
        measure = DirichletProcess(pm.Gamma.dist(2.0, 1.0))
    if isinstance(measure, tuple):
        measure = type(measure)(*[_field(name, value) for name, value in measure._asdict().items()])
    options = options if options.get("rows") is not None else {"dims": "item", **options}
    return Partition("z", measure, **options)


def _field(name, value):
    if not isinstance(value, Variable) or isinstance(value, Constant):
        return value
    if value.name is not None or value.owner is None or not isinstance(value.owner.op, RandomVariable):
        raise TypeError(
            f"{name} of measure must be a number or a distribution such as pm.Gamma.dist(2, 1); got {value}, a "
            "variable made elsewhere. To share variables write the model yourself, with Partition and Mixture"
        )
    # The variable is given a name: a copy leaves that of the caller as it was, for the next model.
    return pm.modelcontext(None).register_rv(copy.deepcopy(value), name)
