"""Models without discrete variables, for samplers that need gradients alone."""

import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors
from pytensor.raise_op import CheckAndRaise

from pymc_nrm.common.pymc_internals import (
    ModelDeterministic,
    ModelObservedRV,
    clone_model,
    fgraph_from_model,
    model_from_fgraph,
)
from pymc_nrm.models.imputed_entries import integrate_out_imputed
from pymc_nrm.models.itemwise.summed_out import SummedOut
from pymc_nrm.models.rvs import checked_model, kind_of, mixtures_of, partitions_of
from pymc_nrm.models.values import in_value_space
from pymc_nrm.partitions.weighted_components import WeightedComponents


def summed_out(model: pm.Model | None = None) -> pm.Model:
    """Make a model with the labels of all partitions with ``log_weights`` summed out, which has no discrete variable.

    Given the weights items are independent, so that the sum over all labels is a product over items.  The result is an
    ordinary PyMC model for nutpie, NumPyro, blackjax or ``pm.sample``; :func:`draw_labels` adds labels to its draws.

    Parameters
    ----------
    model : pm.Model, optional
        By default the model of the context.  It is not changed.

    Returns
    -------
    pm.Model
        Without the partitions, and with a potential ``<name>_summed_out`` for each of them in place of the data that
        depend on its labels.  Deterministics that depend on labels are left out.  ``pm.set_data`` may change its data,
        but not what indexes labels, the item of each row: then make it anew.  Missing entries of data that PyMC imputes
        are integrated out as well, as by :func:`~pymc_nrm.sample`.

    Raises
    ------
    TypeError
        If ``model`` is not a model.
    ValueError
        If the model has no such partition, or another one, whose labels depend on each other, or if data or latent
        variables use labels in a way that cannot be summed.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", log_weights=np.log([0.5, 0.5]), n=4)
    ...     rate = pm.Gamma("rate", 1, 1, shape=2)
    ...     pm.Poisson("x", rate[z], observed=[0, 1, 8, 9])
    x
    >>> summed = nrm.summed_out(model)
    >>> [variable.name for variable in summed.basic_RVs], list(summed.named_vars)
    (['rate'], ['rate', 'z_summed_out'])
    """
    model = checked_model(model)
    others = {rv.name: kind for rv, kind in partitions_of(model).items() if not isinstance(kind, WeightedComponents)}
    if others:
        name, kind = next(iter(others.items()))
        raise ValueError(
            f"model must have no partitions but those with log_weights: labels of the {kind.title} {name!r} depend on "
            "each other given its prior, so that no sum over items replaces the sum over partitions"
        )
    if not partitions_of(model):
        raise ValueError(f"model must have a Partition with log_weights; got one with {sorted(model.named_vars)}")
    for rv in partitions_of(model):
        for mixture in mixtures_of(model, rv):
            raise ValueError(
                f"model must have no Mixture over {rv.name!r}; got {mixture.name!r}, whose parameters are integrated "
                "out, so that labels depend on each other: use parameters that labels index"
            )
    # The labels have no other initial value, which copies of models cannot hold.
    integrated = integrate_out_imputed(model)
    copied = clone_model(integrated.model)
    point, left_out = copied.initial_point(), set()
    values = {copied.rvs_to_values[rv]: in_value_space(copied, rv) for rv in copied.free_RVs if not kind_of(rv)}
    potentials = {}
    for rv in partitions_of(copied):
        part = SummedOut(copied, rv, point)
        latent = sorted(part.names & {other.name for other in copied.free_RVs})
        if latent:
            raise ValueError(
                f"{latent[0]!r} must not be latent, since it depends on the labels of {rv.name!r}: its values would "
                "have no density of their own"
            )
        if left_out & part.names:
            raise ValueError(f"{sorted(left_out & part.names)[0]!r} must depend on the labels of one partition")
        left_out |= {rv.name, *part.names}
        density = _with_present_indices(part.log_density(), part.index_data, rv.name)
        used = set(ancestors([density]))
        replacements = {value: graph for value, graph in values.items() if value in used}
        [potentials[f"{rv.name}_summed_out"]] = graph_replace([density], replacements, strict=False)
    gone = {
        *partitions_of(copied),
        *(variable for variable in copied.deterministics if variable.name in integrated.names),
    }
    left_out |= {variable.name for variable in copied.deterministics if gone & set(ancestors([variable]))}
    with copied:
        for name, graph in potentials.items():
            pm.Potential(name, pt.as_tensor(graph))
    graph, _ = fgraph_from_model(copied)
    for place in reversed(range(len(graph.outputs))):
        if graph.outputs[place].name in left_out:
            graph.remove_output(place)
    _replace_left_out(graph)
    return model_from_fgraph(graph, mutate_fgraph=True)


def _replace_left_out(graph):
    """Let what reads a variable that is left out read its data, or its definition, so that it is gone."""
    kept = set(graph.outputs)
    for node in graph.toposort():
        [variable] = node.outputs[:1]
        if variable in kept:
            continue
        if isinstance(node.op, ModelDeterministic):
            graph.replace(variable, node.inputs[0])
        elif isinstance(node.op, ModelObservedRV):
            graph.replace(variable, variable.type.filter_variable(node.inputs[1], allow_convert=True))


def _with_present_indices(density, index_data, name):
    """A density that fails if data that index labels have changed, since rows would count for other items."""
    for data in index_data:
        present = pt.constant(data.get_value().ravel())
        values, n = data.ravel(), len(present.data)
        same = pt.and_(pt.eq(values.shape[0], n), pt.all(pt.eq(values[:n], present[: values.shape[0]])))
        check = CheckAndRaise(
            ValueError,
            f"{data.name!r} must not change, since it indexes labels of {name!r}, which are summed out of this model: "
            "set it in the model with labels, and call nrm.summed_out again",
        )
        density = check(density, same)
    return density
