"""The step that samples a partition of rows in chunks, whose labels never leave the chunks.

The chain keeps the counts and exact sums of statistics of its clusters; passes over blocks of rows, on several threads,
return sums.  Given the auxiliary variable u, a draw makes four moves:

1. labels of all rows given the jumps of the random measure above a fixed level and the parameters of their atoms;
2. splits and merges of disjoint pairs of clusters, launched from a sample of rows;
3. splits and merges of disjoint sets of clusters with labels summed out, by parameters with the same moments;
4. Gibbs updates of random rows.

Read next ``moves/chunks/sweep.py``, the moves of a draw and the start; ``moves/chunks/chain.py``, the state;
``moves/chunks/relabel.py``, moves 1 and 4; ``moves/chunks/splits.py``, moves 2 and 3; ``moves/chunks/engine.py``, the
passes over blocks.
"""

import contextvars
import logging
from functools import partial
from typing import Any

import numpy as np
from pymc.exceptions import SamplingError
from pymc.util import get_value_vars_from_user_vars

from pymc_nrm.common.checks import check_count
from pymc_nrm.common.marks import partition_number
from pymc_nrm.common.pymc_internals import Competence, dataclass_state
from pymc_nrm.families.base import check_resolution
from pymc_nrm.families.conjugate import draw_parameters, log_marginal, parameters_size
from pymc_nrm.families.needs import COMPONENT_PANEL, PREDICTIVE, check_needs
from pymc_nrm.families.product import product
from pymc_nrm.measures.base import weights
from pymc_nrm.models.chunked_mixture import ChunkedMixtureRV
from pymc_nrm.models.parts import ChunkedParts
from pymc_nrm.models.rvs import kind_of, mixtures_of, names_in_chunks
from pymc_nrm.models.values import Values
from pymc_nrm.moves.chunks.chain import Block, Chain, Preparations
from pymc_nrm.moves.chunks.engine import Engine
from pymc_nrm.moves.chunks.exact_sums import Quanta
from pymc_nrm.moves.chunks.relabel import LEVEL, label_by
from pymc_nrm.moves.chunks.splits import cluster_weights
from pymc_nrm.moves.chunks.sweep import draw_jump_law, draw_law, log_joint, start, sweep
from pymc_nrm.moves.slice_labels import check_gibbs_type, expected_proposals
from pymc_nrm.partitions.chunked import CLUSTER_COUNTS, CLUSTER_SUMS, FOLLOWED_LABELS, Chunked, given_labels
from pymc_nrm.partitions.labels import canonical_labels, smallest_type
from pymc_nrm.steps.base import PartitionStep, common_statistics, first_values
from pymc_nrm.steps.comparison import OwnMove
from pymc_nrm.steps.step import Draw, Step, StepState

# A child of PyMC's logger, which shows messages of level INFO.
_information = logging.getLogger("pymc.nrm_runs")
# The object that keeps the clusters that the step reports, and reads the labels of all rows from ``labels_of_rows``;
# None in runs without one.
keeper_of_clusters = contextvars.ContextVar("keeper_of_clusters", default=None)
# More jumps than this above the level take longer than the rows.
_MOST_JUMPS = 100_000


@dataclass_state
class ChunkedSamplerState(StepState):
    """Sampler state needed to resume a chain: also the labels of all rows, None before the chain has begun."""

    labels: Any


def _first_places(labels, n_clusters):
    """The first place of each cluster among the labels; the number of labels for clusters without any."""
    first = np.full(n_clusters, len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    return first


class ChunkedSampler(Step):
    """All labels of rows in chunks at once, splits and merges of clusters, and Gibbs updates of random rows.

    It leaves the posterior invariant and is irreducible.  Passes over the rows run on several threads; draws are
    bit-identical for any number of threads and any size of blocks.  :func:`~pymc_nrm.sample` chooses it for partitions
    of :class:`Chunks` and runs chains one after the other.

    The measure must be a prior of Gibbs type, as all measures of this package are.

    Parameters
    ----------
    vars : list, optional
        The partition and all its mixtures; by default the only ones of the model.
    n_pairs : int
        Number of split-merge proposals per draw from pairs of random rows, and again from larger sets of rows.
    n_redrawn : int
        Number of random rows that a draw updates one at a time.
    %(step_options)s

    Raises
    ------
    ValueError
        If the variables are not one partition of rows in chunks and all its mixtures, of which there must be one.
    NotImplementedError
        If a family lacks draws of parameters or densities given them, or the measure is not of Gibbs type.
    pymc.exceptions.SamplingError
        If over 100,000 jumps are expected above 1, in units of ``1 / (1 + u)``, or the log joint density is not finite.

    Notes
    -----
    A draw makes these moves given u; the explanation of rows in chunks proves that they are exact:

    1. labels of all rows given the jumps of the random measure above a fixed level and the parameters of their atoms;
    2. splits and merges of disjoint pairs of clusters, by halves that are launched from a sample;
    3. splits and merges of disjoint sets of clusters with labels summed out, by parameters with the same moments, for
       families that have them;
    4. Gibbs updates of ``n_redrawn`` random rows, parameters integrated out.

    Chains on increasing numbers of random rows find the initial clusters; the first of them starts with one cluster, or
    with the labels of all rows passed as ``initvals``.  A chain that does not tune keeps these labels unchanged, since
    merges are rare among many rows.

    Statistics of a draw, in addition to the ones that all steps report: ``n_splits`` and ``n_merges``, numbers of
    accepted proposals, and ``n_moved``, the number of rows that changed their cluster in the last move.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> rows = nrm.Chunks(np.arange(8.0))
    >>> with pm.Model():
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), chunks=rows)
    ...     x = nrm.Mixture("x", z, nrm.NormalGamma.from_data(rows), observed=rows)
    ...     step = nrm.steps.ChunkedSampler([z, x])
    >>> step.vars
    [z, x]
    """

    name = "chunked_sampler"
    needs = (*PREDICTIVE, log_marginal, parameters_size, draw_parameters, *COMPONENT_PANEL)
    stats_dtypes_shapes = {
        **PartitionStep.common_stats,
        "n_splits": (np.int64, []),
        "n_merges": (np.int64, []),
        "n_moved": (np.int64, []),
        CLUSTER_COUNTS: (object, []),
        CLUSTER_SUMS: (object, []),
        FOLLOWED_LABELS: (object, []),
    }
    _state_class = ChunkedSamplerState

    default_blocked = True
    # The user's source of rows may raise a ValueError of its own.
    kernel_errors = ()

    def __init__(self, vars: Any = None, *, n_pairs: int = 10, n_redrawn: int = 1000, **kwargs: Any) -> None:
        check_count("n_pairs of ChunkedSampler", n_pairs, 0)
        check_count("n_redrawn of ChunkedSampler", n_redrawn, 0)
        self._chain = self._restored = None
        super().__init__(vars, options={"n_pairs": n_pairs, "n_redrawn": n_redrawn}, **kwargs)

    @classmethod
    def value_variables(cls, vars, model):
        vars = [model[name] for name in names_in_chunks(model)] if vars is None else vars
        values = get_value_vars_from_user_vars(vars, model)
        _partition_and_mixtures(values, model)
        return values

    def read_model(self, model):
        partition, mixtures = _partition_and_mixtures(self.vars, model)
        self._partition, self._mixtures = partition.name, [rv.name for rv in mixtures]
        self._number, self._rows = partition_number(partition.name), kind_of(partition).rows
        family_classes = [rv.owner.op.family_class for rv in mixtures]
        for family_class in family_classes:
            check_needs(family_class, self.needs, type(self).__name__)
        measured = [rv.owner.op.measured for rv in mixtures]
        self._parts = tuple(measurement.preparation for measurement in measured)
        self._widths = np.cumsum([len(measurement.sums) for measurement in measured])[:-1]
        self._quanta = Quanta(*map(np.concatenate, zip(*(measurement.quanta for measurement in measured), strict=True)))
        self._followed = np.searchsorted(self._rows.sample, self._rows.followed)
        return family_classes

    @classmethod
    def competence(cls, var, has_grad):
        if isinstance(kind_of(var), Chunked) or isinstance(getattr(var.owner, "op", None), ChunkedMixtureRV):
            return Competence.IDEAL
        return Competence.INCOMPATIBLE

    _progressbar_config = PartitionStep._progressbar_config
    _make_progressbar_update_functions = PartitionStep._make_progressbar_update_functions

    def _chain_of(self, engine, family, sample, values):
        return Chain(engine, Preparations(family, self._parts), sample, values, self._quanta)

    def compile(self, model, point, compile_kwargs):
        """Compile all kernels, by a chain on eight sampled rows; check that the measure is of Gibbs type."""
        evaluate = partial(Values.at_points, model, compile_kwargs=compile_kwargs)
        self._laws = ChunkedParts(*_partition_and_mixtures(self.vars, model), evaluate)
        self._first_values = first_values(model, point)
        measure, families = self._laws.at(point)
        family, rng = product(families), np.random.default_rng(0)
        check_gibbs_type(measure, weights(measure, min(self._rows.n, 1000), 0.0), "ChunkedSampler needs")
        values = self._rows.sample_values[:8]
        chain = self._chain_of(Engine([Block(0, len(values), lambda: values)]), family, np.arange(len(values)), values)
        chain.begin_sweep(rng)
        intensity, _, u_term = draw_law(rng, measure, chain)
        label_by(chain, chain, rng, intensity)
        sweep(chain, rng, intensity, self.options["n_pairs"], self.options["n_redrawn"])
        log_joint(chain, intensity, u_term)

    def setup_chain(self, rng, tune, draws):
        keeper = keeper_of_clusters.get()
        if keeper is None:
            raise ValueError(
                f"draws of {self._partition!r}, a partition of rows in chunks, are kept by nrm.sample, without trace "
                "and return_inferencedata; pm.sample would keep the sizes of clusters alone"
            )
        if keeper.is_full:
            raise KeyboardInterrupt
        super().setup_chain(rng, tune, draws)
        self._laws.values.refresh()
        self._restored, self._tunes = None, tune > 0
        keeper.labels_of_rows = self._labels_of_draw

    def _labels_of_draw(self):
        """Labels of all rows in the order in which clusters are kept; None before the first draw of the chain."""
        return None if self._n_draws == 0 else self._names[self._chain.labels()]

    @property
    def labels(self):
        """Labels of all rows in the chain; None before it has started."""
        if self._n_draws == 0:
            return self._restored
        labels = self._chain.labels()
        return labels.astype(smallest_type(int(labels.max())))

    @labels.setter
    def labels(self, labels):
        self._n_draws, self._restored = 0, labels

    def read_point(self, point):
        measure, families = self._laws.at(point)
        return measure, product(families)

    def check_start(self, point, inputs):
        if self._restored is None:
            _, families = self._laws.at(point)
            for name, family, part in zip(self._mixtures, families, self._parts, strict=True):
                check_resolution(family, part(self._rows.extremes), f"data of {name!r}")

    def draw(self, point, inputs):
        measure, family = inputs
        if self._chain is None:
            self._chain = self._chain_of(self._rows.engine, family, self._rows.sample, self._rows.sample_values)
        chain = self._chain
        chain.preparation = Preparations(family, self._parts)
        if self._restored is not None:
            chain.restore(self._restored)
            self._restored = None
        elif self._n_draws == 0:
            self._start(chain, point, given_labels(point[self._partition]))
            chain.preparation = Preparations(family, self._parts)
        chain.begin_sweep(self.rng)
        intensity, log_u, u_term = draw_law(self.rng, measure, chain)
        if expected_proposals(intensity, LEVEL) > _MOST_JUMPS:
            raise SamplingError(
                f"ChunkedSampler would draw over {_MOST_JUMPS:,} jumps of the random measure of partition "
                f"{self._partition!r} at every draw, given {measure}. Take a prior that keeps these hyperparameters "
                "smaller"
            )
        moves = sweep(chain, self.rng, intensity, **self.options)
        counts, sums = chain.clusters
        value = log_joint(chain, intensity, u_term)
        of_mixtures = np.split(sums, self._widths, axis=1)
        drawn = dict(zip(self._mixtures, map(self._padded, of_mixtures), strict=True))
        # Clusters are kept in the order of their labels; clusters without followed rows come last.
        labels = chain.sample_labels()[self._followed]
        followed = canonical_labels(labels).astype(smallest_type(len(counts)))
        order = np.argsort(_first_places(labels, len(counts)), kind="stable")
        self._names = np.argsort(order)
        stats = dict(zip(("n_splits", "n_merges", "n_moved"), moves, strict=True))
        stats |= {CLUSTER_COUNTS: counts[order], CLUSTER_SUMS: sums[order], FOLLOWED_LABELS: followed}
        stats |= common_statistics(counts, value, self._number, log_u)
        return Draw({**point, self._partition: self._padded(counts), **drawn}, value, stats)

    def moves_to_compare(self, rng, point):
        """A move of rows between two clusters that share the sums of all rows in proportion to their sizes.

        The prior of partitions into two clusters depends on u by a factor that does not depend on sizes.
        """
        (measure, family), n = self.read_point(point), self._rows.n
        if n < 4:
            return
        total = np.concatenate([point[name].sum(axis=0) for name in self._mixtures]).astype(object)
        intensity, _, _ = draw_jump_law(rng, measure, n, 2)
        points, log_densities = [], []
        for m in (n // 4, n // 2):
            counts, first = np.array([n - m, m]), (total * (n - m)) // n
            sums = np.stack([first, total - first]).astype(np.int64)
            rows = sums * self._quanta.quantum
            log_densities.append(float(cluster_weights(intensity, family, counts, rows).sum()))
            of_mixtures = np.split(sums, self._widths, axis=1)
            values = dict(zip(self._mixtures, map(self._padded, of_mixtures), strict=True))
            points.append({**point, self._partition: self._padded(counts), **values})
        yield OwnMove(
            f"rows of {self._partition!r} move between two clusters", *points, log_densities[1] - log_densities[0]
        )

    def not_finite_error(self, point, value):
        measure, family = self.read_point(point)
        return SamplingError(
            f"the log joint density of partition {self._partition!r} and its data is not finite {self.when}: {value}, "
            f"given {measure} and {family}. Rescale the data, or change hyperparameters, or priors that allow such "
            "values of them"
        )

    def _start(self, chain, point, given):
        """Set the initial clusters of a chain; labels passed by the user are kept only if it does not tune."""
        if given is not None and not self._tunes:
            return chain.restore(given)
        measure, families = self._laws.at(point | self._first_values)
        chain.preparation = Preparations(product(families), self._parts)
        start(chain, self.rng, measure, self.options["n_pairs"], given)
        if given is not None:
            _information.info(
                f"{self._partition}: chains on random rows turned the {given.max() + 1} clusters of initvals into "
                f"{len(chain.clusters.counts)}; tune=0 keeps them."
            )

    def _padded(self, clusters):
        """An array with a row per cluster, padded with zeros to the length of the value."""
        most = min(self._rows.max_clusters, self._rows.n)
        if len(clusters) > most:
            raise SamplingError(
                f"a draw of partition {self._partition!r} has {len(clusters)} clusters, more than max_clusters={most} "
                "of its Chunks: raise it, or take a prior with fewer clusters"
            )
        return np.concatenate([clusters, np.zeros((most - len(clusters), *clusters.shape[1:]), dtype=np.int64)])


def _partition_and_mixtures(values, model):
    """The partition of rows in chunks and the mixtures that the value variables belong to; an error for others."""
    variables = [model.values_to_rvs[value] for value in values]
    partitions = [rv for rv in variables if isinstance(kind_of(rv), Chunked)]
    mixtures = mixtures_of(model, partitions[0]) if len(partitions) == 1 else []
    if not mixtures or {*partitions, *mixtures} != set(variables):
        raise ValueError(
            "vars must be one Partition of rows in chunks and all its mixtures, at least one; got "
            f"{[rv.name for rv in variables]}"
        )
    return partitions[0], mixtures
