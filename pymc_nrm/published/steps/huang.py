"""The published sampler of nested partitions, to reproduce results; it does not leave the posterior invariant."""

import warnings
from typing import Any

import numpy as np
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors

from pymc_nrm.common.checks import check_number
from pymc_nrm.common.pymc_internals import Competence
from pymc_nrm.families.conjugate import draw_parameters, parameters_size
from pymc_nrm.families.needs import COMPONENT_PANEL
from pymc_nrm.kernels.generic import precompile
from pymc_nrm.models.rvs import family_of, kind_of, mixtures_of
from pymc_nrm.nested.partitions.nested import KnownTree, WeightedNested
from pymc_nrm.nested.steps.nested_gibbs import NestedStep
from pymc_nrm.published.moves.huang_sweep import Repairs, published_sweep

_WARNING = (
    "PublishedNestedGibbs does not leave the posterior invariant: on 3 and 4 items its draws have a\n"
    "total variation distance of 0.06 to 0.21 from it, and on 30 items it finds 2.2 components where the\n"
    "posterior mean is 3.35. Use it to reproduce Huang et al. (2020); to sample from the posterior, use\n"
    "NestedGibbs or corrected=True"
)
_TRUNCATION = 0.01


class PublishedNestedGibbs(NestedStep):
    """Algorithm 2 of Huang et al. (2020), which does **not** leave the posterior invariant.

    With 3 and 4 items, the total variation distance between its draws and the posterior is 0.06 to 0.21, and it grows
    with the number of items and the depth.  The sampler favours few components: on 30 items it finds 2.2 where the
    posterior mean is 3.35.  It is included to reproduce published results, and the constructor warns about the bias.
    :class:`NestedGibbs` is exact, and so is this step with ``corrected=True``, a sampler for comparisons that shares no
    moves with it.  Both are irreducible.

    A draw has three parts.  It draws weights of components at all nodes given the partition, and parameters of the
    components given their data.  Then, for every item in random order, it proposes a path from the prior, accepts it by
    the ratio of the item's densities at the two leaves, and draws a component given the weights of the leaf.

    Parameters
    ----------
    vars : list of NestedPartition
        It must have weights, and fixed hyperparameters.
    truncation : float, optional
        Components without items are drawn until the weight of all others at the root is below this, between 0 and 1;
        0.01 by default.  None with ``corrected``, which does not need these components.
    corrected : bool
        Whether to use the exact form, which raises no warning: weights are drawn given numbers of tables, a new
        component counts as chosen at the nodes of its path, and a component is removed when its only item is removed.
    %(step_options)s

    Raises
    ------
    ValueError
        If the nested partition has no weights, a hyperparameter of its measure, its weights or a family is random,
        ``truncation`` is not allowed, or the step does not support how the model uses the labels.
    NotImplementedError
        If a family lacks log marginals, draws of parameters or densities given them.

    Warns
    -----
    UserWarning
        Unless ``corrected``.

    Notes
    -----
    The published sampler has three errors, each of which alone biases it.

    - Weights of an inner node are drawn given the numbers of its items (eqs. 7 and 8), as if items had drawn their
      components from these weights independently.  Items of one child share its weights; only the tables of the
      children are independent.  This error matters most.
    - The share that a new component gets of the remainder of a node on the path of its item is
      ``Beta(gamma b, gamma b')``, with the weights b and b' of the component and of all others in the parent.  The item
      has chosen the component there, which makes it ``Beta(gamma b + 1, gamma b')``.
    - A component keeps its weights when its only item is removed, so the draw of a new component cannot be reversed.

    The last two vanish as ``truncation`` tends to 0; the first does not.

    Where the paper is ambiguous, this implementation makes these choices.

    - The concentration of the root is gamma_0, and the number of components has no limit.
    - The component of an item is drawn directly after its path, not in a second pass over the items.
    - A rejected path restores the previous nodes with their previous weights.
    - Parameters of a new component are drawn given the data of its item.

    The value of the partition includes tables, which the published sampler lacks.  They are drawn given paths,
    components and weights at the end of a draw.  The published form never reads them; the corrected form begins the
    next draw with weights given these tables (Teh et al. 2006, section 5.3).  Only the value is kept from one draw to
    the next.  Without ``initval`` a chain starts from sequential allocation of the items, like :class:`NestedGibbs`.

    A draw has the statistics of :class:`NestedGibbs` and ``n_paths_accepted``, the number of items whose proposed path
    was accepted.

    References
    ----------
    Huang, Laitonjam, Piao & Hurley (2020), "Bayesian hierarchical mixture clustering using multilevel hierarchical
    Dirichlet processes"; Teh, Jordan, Beal & Blei (2006), "Hierarchical Dirichlet processes", for the correction.

    Examples
    --------
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> X = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]])
    >>> with pm.Model():
    ...     weights = nrm.nested.HierarchicalDirichletProcess(gamma=1.0, gamma_0=1.0)
    ...     h = nrm.nested.NestedPartition("h", nrm.DirichletProcess(1.0), depth=2, weights=weights, n=4)
    ...     x = nrm.Mixture("x", h, nrm.BernoulliBeta(0.6, 0.6), observed=X)
    ...     step = nrm.published.PublishedNestedGibbs([h], corrected=True)
    >>> [variable.name for variable in step.vars]
    ['h']
    """

    name = "published_nested_gibbs"
    needs = (*NestedStep.needs, parameters_size, draw_parameters, *COMPONENT_PANEL)
    stats_dtypes_shapes = {**NestedStep.stats_dtypes_shapes, "n_paths_accepted": (np.int64, [])}

    def __init__(
        self, vars: Any = None, *, truncation: float | None = None, corrected: bool = False, **kwargs: Any
    ) -> None:
        if corrected and truncation is not None:
            raise ValueError(
                f"truncation must be None with corrected=True, which represents all components; got {truncation!r}"
            )
        if truncation is None:
            truncation = np.inf if corrected else _TRUNCATION
        else:
            truncation = check_number("truncation", truncation, lambda x: 0.0 < x <= 1.0, "above 0 and at most 1")
        if not corrected:
            warnings.warn(_WARNING, UserWarning, stacklevel=2)
        options = {"truncation": float(truncation), "corrected": bool(corrected)}
        super().__init__(vars, options=options, **kwargs)

    def check_variable(self, model, partition):
        """Raise an error unless the nested partition has weights and all hyperparameters are fixed."""
        name = type(self).__name__
        if not isinstance(self.partition, WeightedNested):
            raise ValueError(
                f"vars of {name} must be a NestedPartition with weights; {partition.name!r} has none. Use NestedGibbs "
                "instead"
            )
        op = partition.owner.op
        if isinstance(self.partition, KnownTree):
            raise ValueError(
                f"vars of {name} must be a NestedPartition with a random tree; {partition.name!r} has known paths. "
                "Use NestedGibbs instead"
            )
        parts = [(partition, part) for part in op.priors(op.prior_inputs(partition.owner))]
        parts += [(mixture, family_of(mixture)) for mixture in mixtures_of(model, partition)]
        for variable, part in parts:
            for field, value in part._asdict().items():
                random = _free_variables(model, value)
                if random:
                    raise ValueError(
                        f"{field} of {type(part).__name__} of {variable.name!r} must be fixed for {name}; it depends "
                        f"on {', '.join(random)}. Use NestedGibbs for random hyperparameters"
                    )

    def precompile_moves(self, values, prior, family, data):
        """Compile the kernel for the types of the arguments."""
        precompile(published_sweep, self.rng, values, *prior, family, data, Repairs(), 1.0)

    def moves(self, values, prior, family, data):
        """Make one sweep; return the new value, the log density of the data, and the statistics of the sweep."""
        repairs = Repairs(*[self.options["corrected"]] * 3)
        values, log_likelihood, n_accepted = published_sweep(
            self.rng, values, *prior, family, data, repairs, self.options["truncation"]
        )
        return values, log_likelihood, {"n_paths_accepted": n_accepted}

    @classmethod
    def competence(cls, var, has_grad):
        # Partitions with a known tree derive from these, and are excluded.
        return Competence.COMPATIBLE if type(kind_of(var)) is WeightedNested else Competence.INCOMPATIBLE


def _free_variables(model, value):
    """Names of the free variables that a hyperparameter depends on."""
    if not isinstance(value, Variable):
        return []
    return sorted(repr(rv.name) for rv in set(ancestors([value])) & set(model.free_RVs))
