"""The variables that depend on the labels of a partition."""

from pytensor.graph.traversal import ancestors

from pymc_nrm.models.rvs import family_of, is_mixture, kind_of, partition_of


def mixtures_of(model, partition):
    """List the mixtures of a model that share a partition."""
    return [rv for rv in model.basic_RVs if is_mixture(rv) and partition_of(rv) is partition]


def other_uses(model, partition):
    """List the random variables and potentials that use the labels of a partition, except as mixtures do. They depend
    on the labels directly, not through another random variable.  A mixture is among them if its hyperparameters depend
    on the labels.
    """
    return [
        variable
        for variable in (*model.basic_RVs, *model.potentials)
        if variable is not partition and depends_on(_parameters(model, variable, partition), partition, model)
    ]


def check_uses(model, partition):
    """Check that nothing except the data of mixtures depends on a partition, if its kind says so."""
    remedy = kind_of(partition).only_mixtures
    for variable in other_uses(model, partition) if remedy else []:
        raise ValueError(
            f"{variable.name!r} depends on the labels of {remedy.format(name=partition.name)}. Deterministics may use "
            "the labels"
        )


def _parameters(model, variable, partition):
    """What a variable depends on, except the labels that a mixture may use."""
    if variable in model.potentials:
        return [variable]
    if is_mixture(variable) and partition_of(variable) is partition:
        return list(family_of(variable))
    return variable.owner.inputs


def depends_on(variables, partition, model):
    """Whether variables depend on a partition directly, not through the value of another random variable."""
    blockers = [rv for rv in model.basic_RVs if rv is not partition]
    return partition in set(ancestors(variables, blockers=blockers))
