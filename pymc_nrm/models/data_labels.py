"""Labels of clusters that are data in a log-probability: observed, or set by ``pm.do``."""

from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.subtensor import Subtensor
from pytensor.tensor.variable import TensorVariable

from pymc_nrm.common.pymc_internals import ValuedRV
from pymc_nrm.models.known_labels import check_observed_labels
from pymc_nrm.models.partition import PartitionRV
from pymc_nrm.models.values import computed_by


def observed_labels(labels):
    """Labels in a graph of log-probabilities, as a constant if they are observed.

    PyTensor evaluates shapes that follow from constants, and PyMC warns if its ``ValuedRV`` is among them.
    """
    if computed_by(labels, ValuedRV) and isinstance(labels.owner.inputs[1], Constant):
        return labels.owner.inputs[1]
    return labels


def labels_message(kind, labels=None):
    """Message for labels that are no value of a kind of partition."""
    origins = [] if labels is None else [origin for origin in ancestors([labels]) if isinstance(origin, TensorVariable)]
    names = [origin.name for origin in origins if origin.name]
    return f"labels{f' {names[0]!r}' if names else ''} of a {kind.title} must be {kind.words_of_labels}"


def valid_labels(kind, labels):
    """:func:`observed_labels`, with an error if they are not valid and data, as after ``pm.observe`` and ``pm.do``.

    Free labels are not checked: the log-probability of their partition is minus infinity where they are not valid.
    """
    origin = labels.owner.inputs[0] if computed_by(labels, Subtensor) else labels
    value = origin.owner.inputs[1] if computed_by(origin, ValuedRV) else origin
    if isinstance(value, Constant) and value is not origin:
        check_observed_labels(kind, origin.name, value.data)
        return observed_labels(labels)
    is_data = all(isinstance(source, Constant | SharedVariable) for source in graph_inputs([value]))
    if computed_by(origin, PartitionRV) or (computed_by(origin, ValuedRV) and not is_data):
        return labels
    return CheckAndRaise(ValueError, labels_message(kind, origin))(labels, kind.symbolic_test(labels))
