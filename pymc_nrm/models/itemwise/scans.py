"""The rule of scans: what a step hands on depends on the same items as what it is handed."""

import numpy as np

from pymc_nrm.models.itemwise.rows import FREE, NotItemwise, combine, uniform_along


def items_of_scan(op, node, items, flow):
    """Find whose labels the outputs of a scan depend on, by following the inner graph until nothing changes."""
    info, inputs, outputs = op.info, op.inner_inputs, op.inner_outputs
    states = [
        *zip(op.inner_mitsot_grouped(inputs), op.outer_mitsot(node.inputs), op.inner_mitsot_outs(outputs), strict=True),
        *zip(
            [[one] for one in op.inner_sitsot(inputs)],
            op.outer_sitsot(node.inputs),
            op.inner_sitsot_outs(outputs),
            strict=True,
        ),
    ]
    new = op.inner_nitsot_outs(outputs)
    of = dict(zip(node.inputs, items, strict=True))
    if info.n_mit_mot or info.as_while or of[node.inputs[0]] is not None or len(states) + len(new) < len(node.outputs):
        raise NotItemwise("a scan has states or a number of steps that labels cannot be followed through")
    found, given = {}, {}
    stepwise = [*zip(op.inner_seqs(inputs), op.outer_seqs(node.inputs), strict=True)]
    stepwise += [(one, outer) for inner, outer, _ in states for one in inner]
    for inner, outer in stepwise:
        given[inner] = flow.present(outer)[0]
        found[inner] = None if of[outer] is None else uniform_along(of[outer], [0], "Scan runs over items")[0]
    for inner, outer in zip(op.inner_non_seqs(inputs), op.outer_non_seqs(node.inputs), strict=True):
        given[inner], found[inner] = flow.present(outer), of[outer]
    before = None
    while before != _as_lists(found):
        before = _as_lists(found)
        inside = flow.within({one: of_one for one, of_one in found.items() if of_one is not None}, given)
        for inner, _, out in states:
            known = [of_one for of_one in (inside(out), *[found[one] for one in inner]) if of_one is not None]
            if known:
                found.update(dict.fromkeys(inner, combine(known, "Scan")))
    last = [found[inner[0]] for inner, _, _ in states] + [inside(out) for out in new]
    return [
        np.full((1,) * output.type.ndim, FREE) if one is None else np.expand_dims(one, 0)
        for one, output in zip(last, node.outputs, strict=True)
    ]


def _as_lists(found):
    return {variable: None if items is None else items.tolist() for variable, items in found.items()}
