"""Replications: draw everything from the model, sample given the data, and rank the truth among the draws."""

import math

import numpy as np
import pymc as pm
from pymc.step_methods import CompoundStep
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import graph_inputs
from scipy.special import logit

import pymc_nrm as nrm
from pymc_nrm.stats.convergence import sampling_diagnostic

# Number of stored draws per chain; the truth has one of KEPT + 1 ranks among them.
KEPT = 19
TUNE = 150
# Separate replications, which show how many draws make an independent one.
PILOTS = 12
HYPERPARAMETERS = ("alpha", "sigma", "scale")
STATISTICS = (*HYPERPARAMETERS, "number of clusters", "entropy", "log joint", "items 0 and 1 together")


FORWARD = {"log": np.log, "logodds": logit}


class Calibration:
    """A model whose step for hyperparameters and log-probability are compiled once.

    It has some of ``HYPERPARAMETERS`` and perhaps others, partition ``z``, mixture ``x`` and perhaps one of covariates,
    ``w``.  Hyperparameters are sampled by NUTS, or by ``LearnedGibbs`` if it is given.
    """

    def __init__(self, model, hyperparameter_step=pm.NUTS):
        self.model = model
        self.start = model.initial_point()
        # Hyperparameters by name, and their names on the line.
        first = [name for name in HYPERPARAMETERS if name in model.named_vars]
        own = [rv.name for rv in model.free_RVs if rv.name not in (*HYPERPARAMETERS, "z", "x_missing")]
        self.lines = {name: model.rvs_to_values[model[name]].name for name in (*first, *own)}
        self.names = (*first, *STATISTICS[len(HYPERPARAMETERS) :], *own)
        self._n_first = len(first)
        with model:
            variables = [model[name] for name in self.lines]
            self.hyperparameter_step = hyperparameter_step(variables, initial_point=self.start)
        self.log_joint = model.compile_logp()
        self.data = {name: self._shared(model[name]) for name in ("w", "x") if name in model.named_vars}
        # Indices of missing entries, of most models none.
        self.gaps = np.nonzero(np.isnan(self.data["x"].get_value()))

    def _shared(self, mixture):
        graph = graph_inputs([self.model.rvs_to_values[mixture]])
        [data] = [variable for variable in graph if isinstance(variable, SharedVariable)]
        return data

    def set_data(self, X):
        for name, values in X.items():
            self.data[name].set_value(values)

    def statistics(self, point):
        """Values of ``names`` at a point: those of hyperparameters on the line, whose ranks are the same."""
        shares = np.bincount(point["z"]) / len(point["z"])
        first, own = np.split([np.asarray(point[name]).item() for name in self.lines.values()], [self._n_first])
        together = float(point["z"][0] == point["z"][1])
        entropy = -(shares * np.log(shares)).sum()
        return [*first, len(shares), entropy, float(self.log_joint(point)), together, *own]

    def truths(self, count, seed):
        """Draws of all variables from the model: points, and their data."""
        with self.model:
            names = [*self.lines, "z", *self.data]
            idata = pm.sample_prior_predictive(count, var_names=names, random_seed=seed)
        prior = idata["prior"].isel(chain=0)
        drawn = idata["prior_predictive"].isel(chain=0)
        for k in range(count):
            X = {name: drawn[name].values[k] for name in self.data}
            truth = {"z": prior["z"].values[k]}
            for name, line in self.lines.items():
                truth[line] = FORWARD[line.removeprefix(f"{name}_").removesuffix("__")](prior[name].values[k])
            if len(self.gaps[0]):
                truth["x_missing"], X["x"] = X["x"][self.gaps], X["x"].copy()
                X["x"][self.gaps] = np.nan
            yield truth, X

    def chain(self, step, rng, draws):
        """Statistics of the draws of a chain after tuning, shape (draws, n_statistics)."""
        step.setup_chain(rng, TUNE, draws)
        step.reset_tuning()
        point, rows = dict(self.start), []
        for i in range(TUNE + draws):
            if i == TUNE:
                step.stop_tuning()
            point, _ = step.step(point)
            if i >= TUNE:
                rows.append(self.statistics(point))
        return np.array(rows)

    def ranks(self, partition_step, replications, seed, thin=None):
        """Ranks of the truth from 0 to ``KEPT``, shape (replications, n_statistics), and how far draws were thinned.

        By default draws of the slowest statistic are about independent.  Ties are broken at random.
        """
        rng = np.random.default_rng(seed)
        with self.model:
            missing = [nrm.steps.MissingGibbs()] if len(self.gaps[0]) else []
            step = CompoundStep([partition_step([self.model["z"]]), *missing, self.hyperparameter_step])
        truths = list(self.truths(PILOTS + replications, seed))
        thin = self._thinning(step, rng, truths[:PILOTS]) if thin is None else thin
        ranks = np.empty((replications, len(self.names)), dtype=int)
        for k, (truth, X) in enumerate(truths[PILOTS:]):
            self.set_data(X)
            kept = self.chain(step, rng, KEPT * thin)[thin - 1 :: thin]
            true = np.array(self.statistics(truth))
            # Rounding must not break ties of the log joint or the entropy.
            equal = np.isclose(kept, true, rtol=1e-9, atol=1e-9)
            less = (kept < true) & ~equal
            ranks[k] = less.sum(axis=0) + rng.integers(0, equal.sum(axis=0) + 1)
        return ranks, thin

    def _thinning(self, step, rng, truths, draws=400):
        shares = []
        for _, X in truths:
            self.set_data(X)
            rows = self.chain(step, rng, draws)
            varying = rows[None, :, rows.std(axis=0) > 0.0]
            shares.append(sampling_diagnostic("ess", varying, method="mean").min() / draws)
        return math.ceil(1.0 / np.median(shares))
