"""Operations on labels in a model: the mark of a default start, and labels that only own steps may sample."""

import functools

import numpy as np
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.graph.traversal import ancestors

from pymc_nrm.common.pymc_internals import JOINED_INPUTS
from pymc_nrm.kernels.fingerprints import source_fingerprint

_DEFAULT = np.dtype("int64", metadata={"pymc_nrm": "default start"})


class DefaultStart(Op):
    """Copy labels, and mark the copy as a default start."""

    __props__ = ()

    def make_node(self, labels):
        return Apply(self, [labels], [labels.type()])

    def perform(self, node, inputs, output_storage):
        marked = np.empty(inputs[0].shape, dtype=_DEFAULT)
        marked[...] = inputs[0]
        output_storage[0][0] = marked

    def do_constant_folding(self, fgraph, node):
        # PyTensor merges equal constants, and the user may give the same labels.
        return False


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
        _register_numba()

    def __reduce__(self):
        return type(self), (self.name,)

    def make_node(self, labels):
        return Apply(self, [labels], [labels.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0]

    def prepare_node(self, node, storage_map, compute_map, impl):
        self.refuse_generic_steps(node)
        super().prepare_node(node, storage_map, compute_map, impl)

    def refuse_generic_steps(self, node):
        """Raise an error if the labels are a part of the vector that PyMC's generic steps propose."""
        if any(one.owner is None and one.name == JOINED_INPUTS for one in ancestors(node.inputs[:1])):
            raise ValueError(
                f"step must not sample {self.name!r}: steps of PyMC such as Metropolis cannot move a partition. Leave "
                "it out, or take one of this package: TreeGuided, SplitMerge, MarginalGibbs or SliceSampler, SlotGibbs "
                "with max_clusters, NestedGibbs for nested partitions"
            )


@functools.cache
def _register_numba():
    # Importing PyTensor's numba backend takes as long as importing PyMC, so wait until a model needs it.
    from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_and_cache_key

    @register_funcify_and_cache_key(OfOwnStep)
    def funcify(op, node, **kwargs):
        op.refuse_generic_steps(node)

        @numba_njit
        def labels_as_they_are(labels):
            return labels

        # The code on disk names this module, which another version may not have.
        return labels_as_they_are, f"{__name__} {source_fingerprint('models')}"


def of_own_step(labels):
    """The labels of a value variable, for the log-probability of a partition."""
    return OfOwnStep(labels.name)(labels)
