"""Partitions and mixtures as random variables: names, ranges, draws by numba; marks of default starts, own steps."""

import functools
import hashlib

import numpy as np
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.graph.traversal import ancestors

from pymc_nrm.common.pymc_internals import JOINED_INPUTS, check_parameters
from pymc_nrm.kernels.generic import prepare_numba
from pymc_nrm.kernels.kernel_cache import class_fingerprint, source_fingerprint
from pymc_nrm.kernels.kernel_op import register_numba as register_op
from pymc_nrm.partitions.kind import MarkedStart


def printed_names(name, kind):
    """Names of a random variable that show its measure or family: that in graphs, and those in text and LaTeX."""
    title, subtitle = name.capitalize(), kind.__name__
    return f"{name}[{subtitle}]", (
        f"{title}[{subtitle}]",
        f"\\operatorname{{{title}}}[\\operatorname{{{subtitle}}}]",
    )


def with_conditions(log_probability, parameters, d=None):
    """Attach checks of the ranges of hyperparameters that are no constants to a log-probability. Outside of the ranges
    it raises ``ParameterValueError``, or is minus infinity if PyMC asks for that.
    """
    conditions, messages = [], []
    for name, specification in getattr(parameters, "hyperparameters", {}).items():
        support = specification.support.given(parameters)
        conditions.append(support.condition(getattr(parameters, name), d))
        messages.append(f"{name} {support.description}")
    if not conditions:
        return log_probability
    return check_parameters(log_probability, *conditions, msg=", ".join(messages))


@functools.cache
def register_numba(op_class, describe):
    """Register the draw of a random variable with PyTensor's numba backend, which else falls back to Python code."""
    # Importing PyTensor's numba backend takes as long as importing PyMC, so wait until a model needs it.
    from pytensor.link.numba.dispatch.basic import numba_njit
    from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
    from pytensor.link.utils import compile_function_src

    @numba_core_rv_funcify.register(op_class)
    def funcify(op, node):
        prepare_numba()
        source, environment, hyperparameter_class = describe(op)
        draw = numba_njit(compile_function_src(source, "draw", environment))
        # PyTensor's disk cache stores the draw under this key, which changes with the code that the draw calls.
        key = f"{source_fingerprint('models')}{class_fingerprint(hyperparameter_class)}{source}"
        return draw, int(hashlib.sha256(key.encode()).hexdigest()[:15], 16)


_DEFAULT = np.dtype("int64", metadata={"pymc_nrm": "default start"})


class DefaultStart(MarkedStart):
    """Copy labels, and mark the copy as a default start."""

    __props__ = ()
    marked = _DEFAULT


def is_default_start(labels):
    """Return whether labels are the default start of a partition."""
    metadata = getattr(getattr(labels, "dtype", None), "metadata", None)
    return metadata is not None and metadata == _DEFAULT.metadata


class OfOwnStep(Op):
    """Labels of a partition, as they are; refuses graphs that generic steps compile, which join what they sample."""

    __props__ = ("name",)
    view_map = {0: [0]}

    def __init__(self, name):
        self.name = name
        register_op(OfOwnStep)

    def __reduce__(self):
        return type(self), (self.name,)

    def make_node(self, labels):
        return Apply(self, [labels], [labels.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0]

    def prepare_node(self, node, storage_map, compute_map, impl):
        self.refuse_generic_steps(node)
        super().prepare_node(node, storage_map, compute_map, impl)

    def numba_source(self, node):
        self.refuse_generic_steps(node)
        return "def call(labels):\n    return labels\n", {}

    def fingerprint(self):
        return source_fingerprint("models")

    def refuse_generic_steps(self, node):
        """Raise an error if the labels are a part of the vector that PyMC's generic steps propose."""
        if any(one.owner is None and one.name == JOINED_INPUTS for one in ancestors(node.inputs[:1])):
            raise ValueError(
                f"step must not sample {self.name!r}: steps of PyMC such as Metropolis cannot move a partition. Leave "
                "it out, or take one of this package: TreeGuided, SplitMerge, MarginalGibbs or SliceSampler, SlotGibbs "
                "with max_clusters, NestedGibbs for nested partitions"
            )
