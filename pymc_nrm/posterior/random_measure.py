"""Posterior draws of the random measure itself."""

import warnings
from typing import Any

import numpy as np
import xarray as xr
from pymc.model import Model
from pymc.util import get_random_generator

from pymc_nrm.common.checks import check_count, check_number, random_generator
from pymc_nrm.common.progress import tracked
from pymc_nrm.families.conjugate import restore_parameters
from pymc_nrm.families.needs import PARAMETERS, check_needs
from pymc_nrm.kernels.special import log_sum_exp
from pymc_nrm.measures.jumps import draw_jumps
from pymc_nrm.models.rvs import checked_model
from pymc_nrm.posterior.any_draws import draws_of
from pymc_nrm.posterior.layout import MixtureLayout, draws_dataset, padded
from pymc_nrm.posterior.tables import draw_cluster_rows


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
          process has no mass of its own; the unit is then that of cluster jumps that are gamma variables of rate 1.
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
    >>> measures = nrm.sample_random_measure(posterior, model, random_seed=1)
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
    # Jumps have a separate generator, so that they do not depend on the family.
    rng_jumps, rng_atoms = get_random_generator(random_generator(random_seed)).spawn(2)
    weights, rows, labels = [], [], []
    scalars = {name: np.empty(len(draws)) for name in ("tail_mass", "log_mass", "log_u")}
    for draw in tracked(draws, "Drawing random measures", progressbar):
        family, data = draws.mixture(draw, layout.name)
        drawn = draw_jumps(draw.prior, np.bincount(draw.labels), rng_jumps, tail_mass, max_new_atoms)
        n_new, log_tail = len(drawn.remaining), drawn.log_tail_mass
        order = np.argsort(-drawn.clusters)
        jumps = np.concatenate([drawn.clusters[order], drawn.remaining])
        atoms = restore_parameters(family, data, draw_cluster_rows(rng_atoms, draw.labels, family, data, n_new))
        atoms[: len(order)] = atoms[order]
        log_mass = log_sum_exp(jumps)
        scalars["log_u"][draw.index], scalars["log_mass"][draw.index] = drawn.log_u, log_mass + drawn.log_unit
        scalars["tail_mass"][draw.index] = np.exp(log_tail - np.logaddexp(log_mass, log_tail))
        weights.append(np.exp(jumps - log_mass))
        labels.append(np.concatenate([order, np.full(n_new, -1)]))
        rows.append(atoms)
    _warn_of_tails(scalars["tail_mass"], tail_mass, max_new_atoms)
    weight, label = padded(weights, 0.0), padded(labels, -1)
    exists = np.arange(label.shape[1]) < np.array([len(one) for one in weights])[:, None]
    variables = {
        "weight": (("atom",), weight),
        "is_new": (("atom",), exists & (label < 0)),
        "label": (("atom",), label),
        **{name: ((), values) for name, values in scalars.items()},
        **layout.split(layout.parameters(family), padded(rows, np.nan), "atom"),
    }
    coords = layout.coords({dim for dims, _ in variables.values() for dim in dims})
    return draws_dataset(draws.posterior, variables, coords, {"variable": layout.name})


def _warn_of_tails(tails, tail_mass, max_new_atoms):
    too_large = tails > tail_mass
    if too_large.any():
        warnings.warn(
            f"max_new_atoms={max_new_atoms} was reached in {too_large.sum()} of {len(tails)} draws: the expected share "
            f"of the atoms left out is up to {tails.max():.2g} there, not {tail_mass:.2g}; see the variable tail_mass",
            stacklevel=3,
        )
