"""Walks through graphs, and graphs in which operations are replaced."""

from pytensor.compile.builders import OpFromGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import toposort


def postorder(variable, inputs_of, done):
    """Yield a variable and its ancestors, inputs first, without those that are done."""
    stack = [variable]
    while stack:
        last = stack[-1]
        pending = [] if last in done else [source for source in inputs_of(last) if source not in done]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        if last not in done:
            yield last


def rebuilt(graphs, replaced):
    """Graphs with operations replaced: ``replaced`` maps a node with new inputs to its new outputs, or None to keep
    it.
    """
    changed = {}
    for node in toposort(graphs):
        inputs = [changed.get(operand, operand) for operand in node.inputs]
        outputs = replaced(node, inputs)
        if outputs is None and any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
            outputs = node.clone_with_new_inputs(inputs, strict=False).outputs
        if outputs is not None:
            changed.update(zip(node.outputs, outputs, strict=True))
    return [changed.get(graph, graph) for graph in graphs]


def expanded(graphs):
    """Graphs in which operations that contain a graph are replaced by it."""

    def inner(node, inputs):
        if not isinstance(node.op, OpFromGraph):
            return None
        graph = node.op.fgraph
        replacements = dict(zip(graph.inputs, inputs, strict=True))
        if hasattr(graph, "bind"):
            return graph.bind(replacements)
        # Older releases of PyTensor allow changes to graphs of operations.
        return clone_replace(list(graph.outputs), replacements, rebuild_strict=False)

    # Such an operation may contain others.
    while any(isinstance(node.op, OpFromGraph) for node in toposort(graphs)):
        graphs = rebuilt(graphs, inner)
    return graphs
