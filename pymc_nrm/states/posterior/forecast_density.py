"""Predictive densities of the data of hidden states, several steps ahead."""

from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_count, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.models.parts import joint_data, joint_family
from pymc_nrm.models.rvs import checked_model, is_mixture
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.layout import MixtureLayout, NewItems, as_rows, draws_dataset, point_coords
from pymc_nrm.posterior.tables import log_predictive_table
from pymc_nrm.states.posterior.draws import StateDraws
from pymc_nrm.states.posterior.lagged_values import lagged_values, normal_densities


def forecast_density(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    grid: Any,
    steps: Any = (1,),
    *,
    sequence: Any = None,
    n_paths: int = 20,
    var_name: str | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Predictive density of the data of hidden states at the points of a grid, several steps ahead, for every draw.

    Parameters
    ----------
    %(idata)s
    %(model)s
    grid : array_like, DataArray or Dataset, shape (m, d), or (m,) for one feature
        Points in the units of the data, as in :func:`~pymc_nrm.predictive_density`.
    steps : int or sequence of int
        How many time points after the last one, each at least 1.
    %(sequence)s
    n_paths : int
        Number of paths of states that are drawn in each draw; more of them make densities of single draws smoother.
    %(mixture)s
    %(random_seed)s
    %(progressbar)s

    Returns
    -------
    Dataset
        ``density``, dims (chain, draw, step, point), per unit of the data and not in logs, or a probability for
        discrete families; ``new_state_probability``, dims (chain, draw, step), is the probability of a state that has
        no data.  Points have the coordinates of :func:`~pymc_nrm.predictive_density`, so that
        ``plots.plot_density(forecast.sel(step=5))`` shows one step.  The coordinate ``new_<dim of the times>`` of
        ``step`` continues the times of the model: dates by their frequency, numbers by their step, and otherwise 1, 2,
        ..., as for a new sequence.  A line in the log says which.

    Raises
    ------
    ValueError
        If the partition has no hidden states, a step is not a whole number of at least 1, there are several sequences
        and ``sequence`` does not name one, or as in :func:`~pymc_nrm.predictive_density`.

    Notes
    -----
    One step ahead, states have their exact predictive distribution, with transition probabilities and weights of
    states integrated out: the ratio of two probabilities of labels.  Further ahead, paths of states are drawn forward
    from this distribution, new states among them; the weights are means over paths of the probabilities of a state
    given those before it.  Given its state, the data have the predictive density of the items of this state, with
    parameters integrated out.  Of a switching autoregression of :func:`~pymc_nrm.states.regime_model`, parameters and
    the values in between are drawn along each path, and densities given these are averaged.

    The mean over draws is the forecast, and the spread over draws is that of its conditional means.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.states.HiddenStates("z", nrm.DirichletProcess(1.0), nrm.states.Transitions(1.0, 5.0), n=4)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9, 8])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 1, 1]]])})
    >>> ahead = nrm.states.forecast_density(posterior, model, np.arange(1000), [1, 50], random_seed=1)
    >>> ahead.density.sum("point").values.round(6).tolist()
    [[[1.0, 1.0]]]
    >>> (ahead.density * ahead.point).sum("point").values.round(1).tolist()
    [[[6.7, 4.3]]]
    """
    steps = np.atleast_1d(steps)
    if steps.ndim != 1 or not steps.size:
        raise ValueError(f"steps must be one or more whole numbers of at least 1; got shape {steps.shape}")
    for step in steps.tolist():
        check_count("steps", step, 1)
    check_count("n_paths", n_paths, 1)
    model = checked_model(model)
    if not any(is_mixture(rv) for rv in model.basic_RVs):
        raise ValueError(
            f"model must have a Mixture over HiddenStates; got one with the variables {sorted(model.named_vars)}. For "
            "likelihoods with labels as an index use sample_new_labels with known=[] and data of the next times, then "
            "pm.sample_posterior_predictive"
        )
    layout = MixtureLayout(model, var_name, nested=True)
    draws = draws_of(idata, model, layout.partition, sequence=sequence)
    if not isinstance(draws, StateDraws):
        raise ValueError(
            f"var_name must name a mixture over HiddenStates; the items of {layout.name!r}, over {layout.partition!r}, "
            "have no order: predictive_density is for one more item"
        )
    rng, lagged = random_generator(random_seed), lagged_values(draws, layout.name)
    densities, new = [], []
    if lagged is not None:
        points = as_rows(grid, 1, "grid")
        for draw in tracked(draws, "Evaluating densities", progressbar):
            paths = draws.paths(draw, int(steps.max()), n_paths, rng)
            _, *normals = lagged.draw(draw, paths, draws.last_item(draw), rng)
            densities.append(normal_densities(points[:, 0], *normals)[steps - 1])
            new.append((paths > draw.labels.max()).mean(axis=0)[steps - 1])
        return _dataset(draws, layout, densities, new, steps, points)
    items = NewItems(draws, {layout.name: grid}, "grid")
    for draw, families, data, points, n_points in items.at_draws("Evaluating densities", progressbar):
        family, rows, new_rows = joint_family(families), joint_data(data), joint_data(points)
        table = np.exp(log_predictive_table(draw.labels, family, rows, new_rows, n_points))
        weights = draws.probabilities_ahead(draw, int(steps.max()), n_paths, rng)
        weights[0] = np.exp(draws.log_join(draw, 1)[0])
        densities.append(weights[steps - 1] @ table.T)
        new.append(weights[steps - 1, -1])
    return _dataset(draws, layout, densities, new, steps, items.rows[layout.name])


def _dataset(draws, layout, densities, new, steps, points):
    variables = {
        "density": (("step", "point"), np.array(densities)),
        "new_state_probability": (("step",), np.array(new)),
    }
    ahead = draws.coords_of_new("step", int(steps.max()))
    ahead = {name: (dim, values[steps - 1]) for name, (dim, values) in ahead.items()}
    coords = {"step": steps} | ahead | point_coords(points)
    return draws_dataset(draws.posterior, variables, coords, layout.density_attrs())
