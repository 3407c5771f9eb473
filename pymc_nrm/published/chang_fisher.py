"""Sub-cluster samplers as three programs have them, for reproducing results; none leaves the posterior invariant."""

import warnings
from typing import Any

import numpy as np

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.pymc_internals import dataclass_state
from pymc_nrm.families.conjugate import draw_parameters, log_marginal, parameters_size
from pymc_nrm.families.needs import COMPONENT_PANEL
from pymc_nrm.kernels.generic import precompile
from pymc_nrm.measures.generalized_gamma_measures import DirichletProcess
from pymc_nrm.partitions.clusters import build_state
from pymc_nrm.partitions.labels import canonical_labels
from pymc_nrm.published.chang_fisher_sweep import (
    CHANG_FISHER,
    DPMM_JL,
    DPMM_SUBCLUSTERS,
    Rules,
    new_subclusters,
    subcluster_sweep,
)
from pymc_nrm.steps.base import PartitionStep, PartitionStepState

_WARNING = (
    "PublishedSubclusters does not leave the posterior invariant: on 5 items the total variation distance of its draws "
    "to the posterior is 0.18 to 0.89. It is here to reproduce Chang & Fisher (2013) and programs after it; use "
    "TreeGuided to sample from the posterior"
)
_PROGRAMS = {"chang_fisher": CHANG_FISHER, "dpmm_jl": DPMM_JL, "dpmm_subclusters_jl": DPMM_SUBCLUSTERS}
# Values that a gate compares: those of DPMM.jl and of the default of DPMMSubClusters.jl.
_MEMORY = {"chang_fisher": 1, "dpmm_jl": 4, "dpmm_subclusters_jl": 20}


@dataclass_state
class PublishedSubclustersState(PartitionStepState):
    """What a chain needs to continue: its options, the halves of its clusters and their gates."""

    clusters: Any = None


class PublishedSubclusters(PartitionStep):
    """Sub-cluster samplers after Chang & Fisher (2013), which do **not** leave the posterior invariant.

    With 5 items, the total variation distance between draws and the posterior is 0.18 to 0.89, with too few clusters by
    0.2 to 1.4 of 2.5 or 3.3 on average.  The step is included to reproduce published results; a warning says so when it
    is constructed.  :class:`TreeGuided` is exact.

    Every cluster has two halves.  A draw redraws the clusters of all items given weights and parameters of the clusters
    that are there, and their halves given those of the halves; then clusters may be split along their halves, and pairs
    of clusters merged.

    Parameters
    ----------
    vars : list of Partition
        Its measure is a :class:`DirichletProcess`.
    rules : {"chang_fisher", "dpmm_jl", "dpmm_subclusters_jl"}
        Whose rules the step follows: the program that Chang published with the paper, DPMM.jl (Akyürek), or
        DPMMSubClusters.jl (Dinari et al. 2019).
    burnout : int, optional
        For DPMMSubClusters.jl, how many draws its gate looks back, at least 1; 20 by default.
    always_splittable : bool
        For the program of Chang & Fisher, whether splits do not wait for a gate.
    **kwargs
        ``model``, ``rng``, ``initial_point``, ``compile_kwargs`` as for any PyMC step.

    Raises
    ------
    ValueError
        If an option is not allowed or does not belong to the rules, the measure is no Dirichlet process, or the model
        uses the labels in a way that the step does not understand.
    NotImplementedError
        If a family lacks log marginals, draws of parameters or densities given them.

    Warns
    -----
    UserWarning
        Always.

    Notes
    -----
    Four rules change the stationary law.

    - Clusters that become empty are dropped, and the draw of labels never makes new ones, so that dropping them is
      never undone.
    - A split along the halves is accepted by the ratio of the posterior probabilities,
      ``alpha Gamma(n_l) Gamma(n_r) p(X_l) p(X_r) / (Gamma(n) p(X))``, without the probability that the halves are what
      they are.
    - Merges are accepted as the reverse of random splits, which the two Julia programs never propose, and that of
      Chang & Fisher in one draw of a hundred, for which their ratio has a factor 100.  That program also leaves out
      ``Gamma(n_l + alpha / 2) / Gamma(n_l)`` and the same of the right half.
    - Splits, and in the Julia programs merges, wait until the likelihood of the halves has stopped rising.

    Rules are those of the programs, read in their sources; the programs were not run.  What we changed: super-clusters
    are off, parameters are drawn where a sweep begins, clusters come in the order of their numbers, and halves of
    DPMM.jl are drawn with the right probability, where its code takes a logarithm for a probability if the second half
    is the more probable one.

    If another step has changed the labels, the step begins with random halves and closed gates.

    References
    ----------
    Chang & Fisher (2013), "Parallel sampling of DP mixture models using sub-cluster splits", NIPS 26, sections 3 and 4;
    Dinari, Yu, Freifeld & Fisher (2019), "Distributed MCMC inference in Dirichlet process mixture models using Julia".

    Examples
    --------
    >>> import warnings
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model(), warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.NormalGamma(0.0, 0.1, 2.0, 1.0), observed=[0.1, 0.2, 7.1, 7.3])
    ...     step = nrm.published.PublishedSubclusters([z], rules="dpmm_subclusters_jl", burnout=5)
    """

    name = "published_subclusters"
    _state_class = PublishedSubclustersState
    needs = (*PartitionStep.needs, log_marginal, parameters_size, draw_parameters, *COMPONENT_PANEL)
    stats_dtypes_shapes = {**PartitionStep.common_stats, "n_splits": (np.int64, []), "n_merges": (np.int64, [])}

    def __init__(
        self,
        vars: Any = None,
        *,
        rules: str = "chang_fisher",
        burnout: int | None = None,
        always_splittable: bool = False,
        **kwargs: Any,
    ) -> None:
        if not isinstance(rules, str) or rules not in _PROGRAMS:
            raise ValueError(f"rules must be one of {', '.join(map(repr, _PROGRAMS))}; got {rules!r}")
        if burnout is not None:
            check_count("burnout", burnout, 1)
            if rules != "dpmm_subclusters_jl":
                raise ValueError(f"burnout must be None unless rules='dpmm_subclusters_jl'; got {burnout!r}")
        if always_splittable and rules != "chang_fisher":
            raise ValueError(f"always_splittable must be False unless rules='chang_fisher'; got {always_splittable!r}")
        warnings.warn(_WARNING, UserWarning, stacklevel=2)
        options = {
            "rules": rules,
            "burnout": _MEMORY[rules] if burnout is None else int(burnout),
            "always_splittable": bool(always_splittable),
        }
        self.clusters = None
        super().__init__(vars, options=options, **kwargs)

    def check_variable(self, model, partition):
        """Check that the partition is one of a Dirichlet process."""
        super().check_variable(model, partition)
        measure_class = partition.owner.op.measure_class
        if not issubclass(measure_class, DirichletProcess):
            raise ValueError(
                f"vars of {type(self).__name__} must have a DirichletProcess; that of {partition.name!r} is a "
                f"{measure_class.__name__}. TreeGuided samples it"
            )

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self.clusters = None

    def _rules(self):
        return Rules(_PROGRAMS[self.options["rules"]], self.options["always_splittable"])

    def precompile_moves(self, state, table, family, data):
        """Compile the kernels for the types of the arguments."""
        rng = np.random.default_rng(0)
        precompile(new_subclusters, rng, state.labels, 1)
        clusters = new_subclusters(rng, state.labels, 1)
        precompile(subcluster_sweep, rng, clusters, table, family, data, self._rules())

    def moves(self, state, table, family, data):
        """Do one sweep; return the new state, and the numbers of splits and merges."""
        if self.clusters is None or not np.array_equal(canonical_labels(self.clusters.labels), state.labels):
            self.clusters = new_subclusters(self.rng, state.labels, self.options["burnout"])
        counts = subcluster_sweep(self.rng, self.clusters, table, family, data, self._rules())
        return build_state(canonical_labels(self.clusters.labels), family, data), counts._asdict()
