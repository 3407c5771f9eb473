"""Posterior draws of the random measure itself: their density, distribution function and mean."""

import math
import warnings
from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model

from pymc_nrm.common.checks import check_count, check_number, naming, numeric_array, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.common.result_names import added_dim
from pymc_nrm.common.text_levels import coded
from pymc_nrm.families.base import Centred, prepare_data
from pymc_nrm.families.components import (
    add_component_densities,
    component_cdf,
    component_mean,
    component_panel,
    write_component,
)
from pymc_nrm.families.conjugate import parameter_shapes, restore_parameters
from pymc_nrm.families.derived.log_columns import on_log_scale
from pymc_nrm.families.gaps import check_filled
from pymc_nrm.families.needs import COMPONENT_PANEL, PARAMETERS, check_needs
from pymc_nrm.kernels.generic import check_signals, kernel
from pymc_nrm.kernels.lanes import whole_lanes
from pymc_nrm.kernels.special import log_sum_exp
from pymc_nrm.measures.jumps import draw_jumps
from pymc_nrm.models.rvs import checked_model, family_of
from pymc_nrm.models.values import constant_value, kernel_family
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.layout import MixtureLayout, as_rows, draws_dataset, padded, point_coords, sizes_of
from pymc_nrm.posterior.tables import covariances_held, draw_cluster_rows
from pymc_nrm.stats.draws import stacked
from pymc_nrm.stats.result import posterior_of


def sample_random_measure(
    idata: xr.DataTree | xr.Dataset,
    model: Model,
    *,
    var_name: str | None = None,
    tail_mass: float = 1e-3,
    max_new_atoms: int = 1000,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Draw the random measure of a mixture once for every posterior draw of the partition.

    The measure is ``sum_h weight_h delta(theta_h)``.  Each cluster has an atom, whose parameters are drawn given the
    items of the cluster.  All other atoms are new: their parameters are drawn from the base measure.  There are
    infinitely many new atoms, and only the largest are kept.

    Parameters
    ----------
    %(idata)s
    %(model)s
    %(mixture)s
    tail_mass : float
        Expected share of the mass that omitted atoms may have in each draw, between 0 and 1.
    max_new_atoms : int
        Largest number of new atoms in a draw.
    %(random_seed)s
        If the same whole number is given for several mixtures over one partition, their measures have the same weights:
        they are draws of one joint measure.
    %(progressbar)s

    Returns
    -------
    Dataset
        Dimensions (chain, draw, atom).  Atoms of clusters come first, then new ones, both by decreasing weight.

        - ``weight``: the weights, which sum to one; 0 beyond the last atom.
        - the parameters of the family by their names, for example ``mean`` and ``covariance``, in the units of the
          data, dims (chain, draw, atom, ...); NaN beyond the last atom.
        - ``is_new``: whether an atom belongs to no cluster.
        - ``label``: the cluster of an atom; -1 for new atoms and beyond the last one.
        - ``tail_mass``, dims (chain, draw): expected share of the mass of the omitted atoms, given those kept.
        - ``log_mass``, dims (chain, draw): log of the mass of the kept atoms before normalisation.  The Pitman-Yor
          process has no mass of its own; the unit is then chosen so that cluster jumps are gamma variables of rate 1.
        - ``log_u``, dims (chain, draw): log of the auxiliary variable of the measure.

    Raises
    ------
    NotImplementedError
        If the measure registers no way to draw jumps, or the family lacks draws of parameters.
    ValueError
        If the draws or the model lack a variable, or an option is outside its range.

    Warns
    -----
    UserWarning
        If a draw reaches ``max_new_atoms``, so that its ``tail_mass`` is larger than requested.

    Notes
    -----
    For a generalized gamma measure, given the partition and u, the jump of cluster c before normalisation is a gamma
    variable of shape ``n_c - sigma`` and rate ``1 + u``, and new jumps have the Levy intensity ``exp(-u w) rho(w)``
    (James, Lijoi & Prünster 2009, theorem 1); u is drawn exactly.  For the Pitman-Yor process of discount d the rate is
    1, and new jumps have the intensity ``u / Gamma(1 - d) w^(-1-d) e^-w``, with u its auxiliary variable, also where
    the concentration is not positive.  New jumps are drawn in decreasing order (Ferguson & Klass 1972).  The number
    needed grows like ``tail_mass^(-sigma / (1 - sigma))``, times a factor that grows with ``alpha (1 + u)^sigma``: a
    few tens for the Dirichlet process, hundreds to thousands for sigma = 1/2, and more than can be kept for sigma near
    1.

    The result takes 8 bytes for each draw, parameter and atom (the largest number of any draw), and twice that while it
    is assembled.  If that is too much, thin the draws or lower ``max_new_atoms``.

    References
    ----------
    Ferguson, T. S., & Klass, M. J. (1972). A representation of independent increment processes without Gaussian
    components. Annals of Mathematical Statistics, 43, 1634-1643.

    James, L. F., Lijoi, A., & Prünster, I. (2009). Posterior analysis for normalized random measures with independent
    increments. Scandinavian Journal of Statistics, 36, 76-97.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> measures = nrm.random_measure.sample_random_measure(posterior, model, random_seed=1)
    >>> measures.weight.sum("atom").values.round(6).tolist()
    [[1.0, 1.0]]
    >>> (measures.label >= 0).sum("atom").values.tolist()
    [[1, 2]]
    """
    check_number("tail_mass", tail_mass, lambda mass: 0.0 < mass < 1.0, "between 0 and 1")
    check_count("max_new_atoms", max_new_atoms, 1)
    model = checked_model(model)
    layout = MixtureLayout(model, var_name)
    check_needs(layout.family_class, PARAMETERS, "sample_random_measure")
    draws = draws_of(idata, model, layout.partition)
    if draws.why_no_measure is not None:
        raise ValueError(f"there is no random measure: {draws.why_no_measure.format(draws.partition)}")
    # Jumps have a separate generator, so that they do not depend on the family.
    rng_jumps, rng_atoms = random_generator(random_seed).spawn(2)
    weights, rows, labels = [], [], []
    scalars = {name: np.empty(len(draws)) for name in ("tail_mass", "log_mass", "log_u")}
    for draw in tracked(draws, "Drawing random measures", progressbar):
        family, data = draws.mixture(draw, layout.name)
        drawn = draw_jumps(draw.prior, draws.kind.counts(draw.labels), rng_jumps, tail_mass, max_new_atoms)
        n_new, log_tail = len(drawn.remaining), drawn.log_tail_mass
        order = np.argsort(-drawn.clusters)
        jumps = np.concatenate([drawn.clusters[order], drawn.remaining])
        atoms = restore_parameters(family, data, draw_cluster_rows(rng_atoms, draw.labels, family, data, n_new, 1))
        atoms[: len(order)] = atoms[order]
        log_mass = log_sum_exp(jumps)
        scalars["log_u"][draw.index], scalars["log_mass"][draw.index] = drawn.log_u, log_mass + drawn.log_unit
        scalars["tail_mass"][draw.index] = np.exp(log_tail - np.logaddexp(log_mass, log_tail))
        weights.append(np.exp(jumps - log_mass))
        labels.append(np.concatenate([order, np.full(n_new, -1)]))
        rows.append(atoms)
    _warn_of_tails(scalars["tail_mass"], tail_mass, max_new_atoms)
    weight, label = padded(weights, 0.0), padded(labels, -1)
    exists = np.arange(label.shape[1]) < np.array([len(row) for row in weights])[:, None]
    [atom] = layout.added("atom")
    variables = {
        "weight": ((atom,), weight),
        "is_new": ((atom,), exists & (label < 0)),
        "label": ((atom,), label),
        **{name: ((), values) for name, values in scalars.items()},
        **layout.split(layout.parameters(family), padded(rows, np.nan), atom),
    }
    coords = layout.coords(sizes_of(variables))
    return draws_dataset(draws.posterior, variables, coords, {"variable": layout.name})


def _warn_of_tails(tails, tail_mass, max_new_atoms):
    too_large = tails > tail_mass
    if too_large.any():
        warnings.warn(
            f"max_new_atoms={max_new_atoms} was reached in {too_large.sum()} of {len(tails)} draws: the expected "
            f"share of the\natoms left out is up to {tails.max():.2g} there, not {tail_mass:.2g}; see the variable "
            "tail_mass",
            stacklevel=3,
        )


@kernel
def mixture_density(family, weights, rows, points, n_points):
    """Density of items under a discrete measure, shape (n_points,): ``sum_h weights[h] p(x | rows[h])``."""
    n_atoms = weights.shape[0]
    width = whole_lanes(n_atoms)
    panel, log_values = component_panel(family, width), np.empty(width)
    for h in range(n_atoms):
        write_component(family, rows[h], panel, h)
    total = np.zeros(n_points)
    for i in range(n_points):
        check_signals()
        log_values[:] = 0.0
        add_component_densities(family, panel, points, i, width, log_values)
        for h in range(n_atoms):
            total[i] += weights[h] * math.exp(log_values[h])
    return total


def measure_density(measure_draws: xr.Dataset, model: Model, grid: Any) -> xr.Dataset:
    """Density of the data of one item under each draw of the random measure: ``sum_h weight_h p(x | theta_h)``.

    Parameters
    ----------
    %(measure_draws)s
    %(model)s
    grid : array_like, sparse matrix, DataArray or Dataset, shape (m, d), or (m,) for one feature
        Points in the units of the data, as in :func:`~pymc_nrm.predictive_density`.

    Returns
    -------
    Dataset
        ``density``, dims (chain, draw, point), per unit of the data and not in logs, or a probability for discrete
        families.  Points have the coordinates of :func:`~pymc_nrm.predictive_density`.

    Raises
    ------
    ValueError
        If the grid and the mixture have different numbers of features, the grid has values outside the support of the
        family, the Dataset holds no draws of a random measure, or draws without atoms, or doubles do not hold the
        covariance of an atom.

    Notes
    -----
    The spread over draws is the posterior spread of the random density.  ``density`` integrates out the measure given
    the partition, so it has the same mean and less spread.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> measures = nrm.random_measure.sample_random_measure(posterior, model, random_seed=1)
    >>> found = nrm.random_measure.measure_density(measures, model, np.arange(1000))
    >>> found.density.sum("point").values.round(6).tolist()
    [[1.0, 1.0]]
    """
    draws = _MeasureDraws(measure_draws, model, COMPONENT_PANEL, "measure_density")
    layout, d = draws.layout, draws.n_features
    if draws.n_further_axes:
        raise NotImplementedError(
            f"measure_density does not take {layout.family_class.__name__}; predictive_density has its density with "
            "the measure integrated out"
        )
    rows = as_rows(coded("grid", grid, layout.readings), d, "grid", layout.feature_names())
    with naming("grid"):
        check_filled(type(draws.family), rows, "it")
        points = prepare_data(draws.family, rows)
    if isinstance(points, Centred):
        # Atoms have parameters in the units of kernels, and are not centred.
        is_log = getattr(draws.family, "log_columns", None)
        raw = rows if is_log is None else on_log_scale(type(draws.family), rows, is_log)
        points = points._replace(values=np.array(raw, dtype="float64", order="C"), center=np.zeros(d))
    values = []
    with covariances_held(f"the density of {layout.name!r} cannot be computed"):
        for weights, atoms in draws:
            table = np.concatenate([parameter.reshape(len(weights), -1) for parameter in atoms.values()], axis=1)
            values.append(mixture_density(draws.family, weights, table, points, rows.shape[0]))
    density = {"density": (("point",), np.array(values))}
    return draws_dataset(draws.dataset, density, point_coords(rows), layout.density_attrs())


def measure_cdf(measure_draws: xr.Dataset, model: Model, grid: Any, *, feature: int = 0) -> xr.Dataset:
    """Marginal distribution function of one feature under each draw of the random measure.

    Parameters
    ----------
    %(measure_draws)s
    %(model)s
    grid : array_like, shape (m,)
        Values of the feature.
    feature : int
        Position of the feature.

    Returns
    -------
    Dataset
        ``cdf``, dims (chain, draw, point): the probability that the feature is at most the value at ``point``.

    Raises
    ------
    NotImplementedError
        For families of categories or of vectors of counts.
    ValueError
        If the grid is not a vector of numbers, there is no such feature, or the Dataset holds no draws of a random
        measure, or draws without atoms.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.NormalGamma(0.0, 1.0, 2.0, 1.0), observed=[-1.0, 0.0, 9.0])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> measures = nrm.random_measure.sample_random_measure(posterior, model, random_seed=1)
    >>> nrm.random_measure.measure_cdf(measures, model, [-1e9, 1e9]).cdf.values.round(3).tolist()
    [[[0.0, 1.0], [0.0, 1.0]]]
    """
    draws = _MeasureDraws(measure_draws, model, [component_cdf], "measure_cdf")
    x = numeric_array("grid", grid)
    if x.ndim != 1 or not x.size or np.isnan(x).any():
        raise ValueError(f"grid must be a vector of numbers, shape (m,), without NaN; got shape {x.shape}")
    check_count("feature", feature, 0, draws.n_features - 1)
    x = x.astype("float64")
    values = np.array([weights @ component_cdf(draws.family, atoms, feature, x) for weights, atoms in draws])
    attrs = {"variable": draws.layout.name, "feature": feature}
    return draws_dataset(draws.dataset, {"cdf": (("point",), values)}, {"point": x}, attrs)


def measure_mean(measure_draws: xr.Dataset, model: Model) -> xr.Dataset:
    """Mean of the data of one item under each draw of the random measure.

    Parameters
    ----------
    %(measure_draws)s
    %(model)s

    Returns
    -------
    Dataset
        ``mean``, dims (chain, draw) and the dimension of the features, in the units of the data.

    Raises
    ------
    NotImplementedError
        For families of categories or of vectors of counts.
    ValueError
        If the Dataset holds no draws of a random measure, or draws without atoms.

    Examples
    --------
    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pymc_nrm as nrm
    >>> with pm.Model() as model:
    ...     z = nrm.Partition("z", nrm.DirichletProcess(1.0), n=3)
    ...     x = nrm.Mixture("x", z, nrm.PoissonGamma(1.0, 0.5), observed=[1, 0, 9])
    >>> posterior = xr.Dataset({"z": (("chain", "draw", "item"), [[[0, 0, 0], [0, 0, 1]]])})
    >>> measures = nrm.random_measure.sample_random_measure(posterior, model, random_seed=1)
    >>> nrm.random_measure.measure_mean(measures, model)["mean"].shape
    (1, 2)
    """
    draws = _MeasureDraws(measure_draws, model, [component_mean], "measure_mean")
    values = np.array([weights @ component_mean(draws.family, atoms) for weights, atoms in draws])
    layout = draws.layout
    dims = () if layout.univariate else (layout.feature_dim,)
    variables = {"mean": (dims, values[:, 0] if layout.univariate else values)}
    return draws_dataset(draws.dataset, variables, layout.coords(sizes_of(variables)), {"variable": layout.name})


class _MeasureDraws:
    """An iterable of the weights and the parameters, by name, of the atoms of each draw of a random measure."""

    def __init__(self, measure_draws, model, needed, user):
        self.dataset = posterior_of(measure_draws, by_chain=True)
        name = self.dataset.attrs.get("variable")
        atom = added_dim(self.dataset["weight"], "atom") if "weight" in self.dataset else None
        if name is None or atom is None:
            raise ValueError(
                "measure_draws must come from sample_random_measure, with the variable weight and the attribute "
                f"variable; got variables {sorted(map(str, self.dataset.data_vars))}"
            )
        self.dataset = self.dataset.transpose("chain", "draw", atom, ...)
        empty = ~(self.dataset["weight"] > 0.0).any(atom)
        if empty.any():
            raise ValueError(
                "measure_draws must have an atom of weight above 0 in every draw; "
                f"{int(empty.sum())} of {empty.size} draws have none"
            )
        self.layout = MixtureLayout(checked_model(model), name)
        check_needs(self.layout.family_class, [*needed, *PARAMETERS], user)
        for field, spec in self.layout.family_class.hyperparameters.items():
            if spec.core[:1] == ("n",) and len(spec.core) > 1:
                raise NotImplementedError(
                    f"{self.layout.family_class.__name__} has {field} of each item, which {user} does not take; give "
                    "them to predictive_density or conditional_quantiles"
                )
        self.n_features = 1 if self.layout.univariate else self.dataset.sizes[self.layout.feature_dim]
        self.family = self._family(checked_model(model))
        self._weights = stacked(self.dataset, "weight")
        shape = self._weights.shape
        self._parameters = {
            name: stacked(self.dataset, name).reshape(*shape, *parameter_shape)
            for name, parameter_shape in parameter_shapes(self.family).items()
        }

    def __iter__(self):
        for s, weights in enumerate(self._weights):
            kept = weights > 0.0
            yield weights[kept], {name: values[s, kept] for name, values in self._parameters.items()}

    def _family(self, model):
        """A family of full shape; given parameters, items do not depend on the values of its hyperparameters, but on
        which columns are logarithms.
        """
        family, specs = family_of(model[self.layout.name]), self.layout.family_class.hyperparameters
        sizes = {"n": 1, "d": self.n_features, "l": self.dataset.sizes.get(self.layout.added("level")[0], 1)}
        further = {
            axis: size
            for field, spec in specs.items()
            for axis, size in zip(spec.core, getattr(family, field).type.shape, strict=True)
            if axis not in sizes
        }
        self.n_further_axes, sizes = len(further), further | sizes
        fields = [
            constant_value(family.log_columns)
            if field == "log_columns"
            else np.full([sizes[axis] for axis in spec.core], float(sizes["l"]))
            for field, spec in specs.items()
        ]
        return kernel_family(self.layout.family_class, fields)
