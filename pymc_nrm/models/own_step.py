"""An operation that keeps labels of a partition out of the steps that PyMC would choose."""

from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.graph.traversal import ancestors

from pymc_nrm.common.pymc_internals import JOINED_INPUTS
from pymc_nrm.kernels.kernel_cache import code_fingerprint
from pymc_nrm.kernels.kernel_op import register_numba as register_op


class OfOwnStep(Op):
    """Return labels unchanged; refuse graphs that generic steps compile, which join their variables to one vector."""

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
        return code_fingerprint([__name__])

    def refuse_generic_steps(self, node):
        """Raise an error if the labels are part of the vector that PyMC's generic steps propose."""
        if any(ancestor.owner is None and ancestor.name == JOINED_INPUTS for ancestor in ancestors(node.inputs[:1])):
            raise ValueError(
                f"step must not sample {self.name!r}: PyMC's steps such as Metropolis cannot update a partition. Omit "
                "step, or use a step of this package: TreeGuided, SplitMerge, MarginalGibbs or SliceSampler, SlotGibbs "
                "with max_clusters, WeightedGibbs with log_weights, NestedGibbs for nested partitions, StateSampler "
                "for hidden states, StateGibbs for hidden states with max_states"
            )
