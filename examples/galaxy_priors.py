"""Galaxies: one density, three priors over partitions.

The model of ``examples/galaxies.py``, with the prior over partitions of a Dirichlet process, of a normalized inverse
Gaussian measure, or of a normalized generalized gamma measure (NGG), which contains both.

For each prior, the picture shows the predictive density of the velocity of one more galaxy, and the number of clusters.
The data determine the density well, and it hardly depends on the prior.  They do not determine the number of clusters,
which depends on the prior: mixtures with more or fewer overlapping components describe the density about equally well.
Leave-one-out cross-validation therefore prefers none of the priors clearly: differences are below one, and below two of
their standard errors.

Run with ``python examples/galaxy_priors.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz as az
import matplotlib.pyplot as plt
import pymc as pm
from galaxies import GRID, build_model, draw_density, draw_n_clusters

import pymc_nrm as nrm

MEASURES = {
    "Dirichlet process": nrm.DirichletProcess,
    "normalized inverse Gaussian": nrm.NormalizedInverseGaussian,
    "NGG": nrm.NormalizedGeneralizedGamma,
}


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "galaxy_priors.png")
    velocities = nrm.datasets.galaxies() / 1000
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    figure, (top, bottom) = plt.subplots(2, 3, figsize=(12, 6.6), sharey="row", layout="constrained")
    results = {}
    for i, (name, measure) in enumerate(MEASURES.items()):
        with build_model(velocities, measure) as model:
            idata = nrm.sample(2000, chains=4, random_seed=1, target_accept=0.95)
            prior = pm.sample_prior_predictive(5_000, var_names=["z"], random_seed=1)
        print(f"{name}:\n{nrm.summary(idata, n_sizes=2).to_string()}\n")
        results[name] = nrm.compute_log_likelihood(idata.sel(draw=slice(None, None, 2)), model)
        density = nrm.predictive_density(idata.sel(draw=slice(None, None, 5)), model, GRID)
        draw_density(top[i], density, velocities, title=name, has_legend=i == 0)
        draw_n_clusters(bottom[i], idata, prior, has_legend=i == 0, has_published=name == "NGG")
    print(az.compare(results, round_to=2).to_string())
    figure.savefig(path, dpi=100)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
