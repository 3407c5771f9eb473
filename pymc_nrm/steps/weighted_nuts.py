"""NUTS for models with weights of the user's own, with labels summed out.

A draw

1. swaps components, see ``component_swaps.py``;
2. draws the parameters of the components of mixtures over the partition, given labels, as in ``weighted_gibbs.py``;
3. makes one transition of NUTS, whose target has the labels summed out given these parameters;
4. draws all labels given where NUTS arrived and these parameters, and forgets the parameters.

Steps 3 and 4 leave the distribution of weights, parameters and labels given step 2 invariant: if the first two have
their marginal distribution, then labels drawn given them make a draw of the joint one.  The labels from before are not
read in step 3.

Read next ``models/itemwise/summed_out.py``, the target; ``steps/weighted_gibbs.py``, draws of labels.
"""

from typing import Any

import numpy as np
import pymc as pm
from pymc.util import get_value_vars_from_user_vars
from pytensor.graph.traversal import ancestors

from pymc_nrm.common.pymc_internals import ValueGradFunction
from pymc_nrm.families.needs import COMPONENT_PANEL, PARAMETERS, PREDICTIVE, check_needs
from pymc_nrm.models.itemwise.item_table import with_noise
from pymc_nrm.models.itemwise.summed_out import SummedOut, summed_out_total
from pymc_nrm.models.missing_entries import continuous_values
from pymc_nrm.models.rvs import checked_model, family_of, kind_of, mixtures_of, partitions_of
from pymc_nrm.partitions.weighted_components import WeightedComponents
from pymc_nrm.steps.comparison import OwnMove
from pymc_nrm.steps.component_swaps import ComponentSwaps
from pymc_nrm.steps.full_metric import FullMetric
from pymc_nrm.steps.nuts_step import NUTSStep
from pymc_nrm.steps.weighted_gibbs import ComponentLabels, values_for_weighted_nuts

# With at most so many coordinates, NUTS learns all covariances where items have weights of their own: a softmax
# of logits, all of which may be shifted together.  A diagonal metric takes 30 to 70 gradients a draw, this one 7.
_MOST_COVARIANCES = 20
# Standard deviation of a move of parameters that is compared with the model.
_SMALL = 0.1


class WeightedNUTS(NUTSStep):
    """NUTS for weights and parameters with labels summed out, followed by a draw of all labels.

    It samples all continuous variables but those that mixtures over the partition depend on: their hyperparameters, and
    latent data.  Before NUTS, random pairs of components swap their labels and parameters, which leads from one mode to
    another where weights treat components differently.  It leaves the posterior invariant, and is irreducible whenever
    NUTS is.  Where weights differ between items it learns the covariances of at most 20 values; otherwise their
    variances alone, as PyMC does.

    Parameters
    ----------
    vars : list of variables, optional
        Continuous variables; by default all that the step can sample.
    **kwargs
        As for ``pm.NUTS``; with ``check_moves=False`` the step is not compared with the model before its first draw.

    Raises
    ------
    ValueError
        If the model has no partition with ``log_weights``, uses its labels other than item by item, or if ``vars``
        has a variable that hyperparameters of a mixture depend on.
    NotImplementedError
        If the family of a mixture has no density given parameters of components.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import pymc_nrm as nrm
    >>> with pm.Model():
    ...     share = pm.Dirichlet("share", np.ones(2))
    ...     z = nrm.Partition("z", log_weights=pm.math.log(share), n=4)
    ...     rate = pm.Gamma("rate", 1, 1, shape=2)
    ...     x = pm.Poisson("x", rate[z], observed=[0, 1, 8, 9])
    ...     step = nrm.steps.WeightedNUTS()
    >>> [variable.name for variable in step.vars]
    ['share_simplex__', 'rate_log__']
    """

    name = "nuts"

    def __init__(self, vars: Any = None, *, model: pm.Model | None = None, **kwargs: Any) -> None:
        model = checked_model(model)
        if kwargs.get("logp_dlogp_func") is not None:
            raise ValueError(
                "logp_dlogp_func must be omitted, since labels are summed out of the target of WeightedNUTS; got "
                f"{kwargs['logp_dlogp_func']!r}"
            )
        self._partitions = partitions = list(partitions_of(model, WeightedComponents))
        if not partitions:
            raise ValueError("vars must be variables of a model that has a Partition with log_weights; it has none")
        needs = (*PREDICTIVE, *PARAMETERS, *COMPONENT_PANEL)
        for mixture in (rv for partition in partitions for rv in mixtures_of(model, partition)):
            check_needs(type(family_of(mixture)), needs, "WeightedNUTS", ["WeightedGibbs"])
        point = kwargs.pop("initial_point", None) or model.initial_point()
        compile_kwargs = kwargs.pop("compile_kwargs", None)
        values = continuous_values(model) if vars is None else get_value_vars_from_user_vars(vars, model)
        allowed = values_for_weighted_nuts(model, values)
        if vars is not None and len(allowed) < len(values):
            names = sorted(model.values_to_rvs[value].name for value in values if value not in allowed)
            raise ValueError(
                f"vars must not have {names}, since a Mixture over {partitions[0].name!r} depends on them: another "
                "step samples them given labels"
            )
        self._labels = [ComponentLabels(model, partition, point, compile_kwargs) for partition in partitions]
        self._swaps = [
            ComponentSwaps(model, partition, labels, allowed, point, compile_kwargs)
            for partition, labels in zip(partitions, self._labels, strict=True)
        ]
        self._summed = [SummedOut(model, partition, point) for partition in partitions]
        total = summed_out_total(model, self._summed)
        held = {v: point[v.name] for v in model.value_vars if v in set(ancestors([total])) and v not in allowed}
        function = ValueGradFunction(
            [total], allowed, held, model=model, initial_point=point, ravel_inputs=True, **(compile_kwargs or {})
        )
        function.trust_input = True
        function.set_extra_values(point)
        start = np.concatenate([np.ravel(point[value.name]) for value in allowed] or [np.empty(0)])
        is_small = 1 < len(start) <= _MOST_COVARIANCES
        if is_small and not {"potential", "scaling"} & kwargs.keys() and self._weights_differ_between_items(point):
            kwargs["potential"] = FullMetric(start)
        super().__init__(allowed, model=model, initial_point=point, logp_dlogp_func=function, **kwargs)
        for labels in self._labels:
            _, family, data = labels.target.at(point)
            labels.compile(self.rng, point[labels.name].astype("int64"), family, data)

    def _weights_differ_between_items(self, point):
        """Whether the weights of components differ between items, as with experts."""
        rng = np.random.default_rng(0)
        nearby = {name: with_noise(value, rng, _SMALL) for name, value in point.items()}
        shares = [labels.shares(labels.target.at(nearby)[0]) for labels in self._labels]
        return any(not np.allclose(table, table[:1]) for table in shares)

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        for labels in self._labels:
            labels.refresh()

    def check_start(self, point):
        for summed in self._summed:
            summed.refresh(point)
        super().check_start(point)

    def moves_to_compare(self, rng, point):
        """Moves of items between components, swaps of components, and a move of everything that the step draws."""
        for labels, swaps, partition in zip(self._labels, self._swaps, self._partitions, strict=True):
            yield from labels.moves_to_compare(rng, point, kind_of(partition))
            yield from swaps.moves_to_compare(rng, point, labels.shares(labels.target.at(point)[0]))
        moved = point | {name: with_noise(point[name], rng, _SMALL) for name in self.var_names}
        for labels, summed in zip(self._labels, self._summed, strict=True):
            shape = len(point[labels.name]), labels.n_components
            if summed.of_mixtures is None:
                moved[labels.name] = rng.integers(shape[1], size=shape[0])
            else:
                # The model has no parameters of mixtures: the data of these count as nothing, and labels stay.
                summed.of_mixtures.set_value(np.zeros(shape))
        # The joint density is the target, with labels summed out, times the probability of the labels given the rest.
        log_densities = [
            self.log_target(place) + sum(labels.log_probability_of_labels(place) for labels in self._labels)
            for place in (point, moved)
        ]
        yield OwnMove("parameters and labels move together", point, moved, log_densities[1] - log_densities[0])

    def before(self, point):
        drawn = []
        for labels, swaps, summed in zip(self._labels, self._swaps, self._summed, strict=True):
            prior, family, data = labels.target.at(point)
            point = swaps.redraw(self.rng, point, labels.shares(prior))
            drawn.append(labels.densities_of_mixtures(self.rng, point[labels.name], family, data))
            if summed.of_mixtures is not None:
                summed.of_mixtures.set_value(drawn[-1], borrow=True)
        return point, drawn

    def after(self, point, drawn):
        for labels, of_mixtures in zip(self._labels, drawn, strict=True):
            prior, _, _ = labels.target.at(point)
            new, _ = labels.draw(self.rng, point, labels.shares(prior), of_mixtures)
            point = {**point, labels.name: new}
        return point
