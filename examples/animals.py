"""Animals: clusters of binary features, with names.

The data are thirty-eight animals and thirty of their properties, written down for this example.  Do the properties
alone recover the kinds of animals?  Each cluster has its own probability of each feature, with prior Beta(1/2, 1/2),
and the partition follows a Dirichlet process with an unknown concentration parameter.

The picture shows two views of the same question.  On the left is a tree of Bayesian hierarchical clustering, which
takes a moment and no sampling; the dashed line cuts it into clusters, whose colours the branches have.  On the right
are the posterior probabilities that two animals share a cluster, in the order of the point estimate, whose clusters are
framed.  The two agree.  The tree cannot show what remains uncertain: whether sea mammals form a separate cluster, and
where the spider belongs.

Run with ``python examples/animals.py [FILE.png]``.
"""

import sys
from pathlib import Path

import arviz_plots as azp
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import xarray as xr

import pymc_nrm as nrm

GRAZERS = "horse cow deer giraffe elephant "
RODENTS = "mouse squirrel rabbit "
HUNTERS = "cat dog wolf lion bear "
APES = "chimpanzee gorilla "
SEA_MAMMALS = "seal dolphin whale "
BIRDS = "robin eagle owl chicken ostrich penguin "
REPTILES = "crocodile lizard snake turtle "
FISH = "salmon trout shark "
INSECTS = "ant bee butterfly beetle "
LAND_MAMMALS = GRAZERS + RODENTS + HUNTERS + APES + "bat "
MAMMALS = LAND_MAMMALS + SEA_MAMMALS
ANIMALS = (MAMMALS + BIRDS + REPTILES + "frog " + FISH + INSECTS + "spider").split()

FEATURES = {
    "is warm-blooded": MAMMALS + BIRDS,
    "gives milk": MAMMALS,
    "has a backbone": MAMMALS + BIRDS + REPTILES + FISH + "frog",
    "has lungs": MAMMALS + BIRDS + REPTILES + "frog",
    "has fur": RODENTS + HUNTERS + APES + "horse cow deer giraffe bat seal",
    "has feathers": BIRDS,
    "has scales": REPTILES + FISH,
    "has gills": FISH,
    "lays eggs": BIRDS + REPTILES + INSECTS + "frog salmon trout spider",
    "has an outer skeleton": INSECTS + "spider",
    "has antennae": INSECTS,
    "has two legs": BIRDS,
    "has four legs": GRAZERS + RODENTS + HUNTERS + "crocodile lizard turtle frog",
    "has six legs": INSECTS,
    "has hands": APES,
    "has hooves": "horse cow deer giraffe",
    "has horns": "cow deer giraffe",
    "has claws": HUNTERS + RODENTS + BIRDS + "crocodile lizard turtle bat",
    "has teeth": MAMMALS + FISH + "crocodile lizard snake",
    "has a tail": GRAZERS + RODENTS + HUNTERS + SEA_MAMMALS + BIRDS + REPTILES + FISH,
    "has wings": BIRDS + "bat bee butterfly beetle",
    "flies": "robin eagle owl bat bee butterfly beetle",
    "has fins or flippers": SEA_MAMMALS + FISH + "penguin turtle",
    "lives in water": SEA_MAMMALS + FISH + "penguin crocodile turtle frog",
    "eats animals": HUNTERS + SEA_MAMMALS + FISH + "bat robin eagle owl penguin crocodile snake lizard frog spider",
    "eats plants": GRAZERS + RODENTS + APES + "bear chicken robin ostrich turtle ant bee butterfly beetle",
    "is larger than a human": GRAZERS + "lion bear gorilla seal dolphin whale ostrich crocodile shark",
    "runs fast": HUNTERS + "horse deer giraffe rabbit ostrich",
    "lives in groups": APES + SEA_MAMMALS + "horse cow deer giraffe elephant wolf lion bat penguin salmon ant bee",
    "lives with people": "horse cow cat dog rabbit chicken bee",
}


def build_model(X):
    with pm.Model(coords={"animal": ANIMALS, "feature": list(FEATURES)}) as model:
        alpha = pm.Exponential("alpha", np.log(len(ANIMALS)))
        z = nrm.Partition("z", nrm.DirichletProcess(alpha), dims="animal")
        nrm.Mixture("x", z, nrm.BernoulliBeta(0.5, 0.5), observed=X, dims=("animal", "feature"))
    return model


def panel(axes, title):
    """One plot of a figure, to draw on."""
    axes.set_title(title, fontsize=11)
    viz = xr.Dataset({"figure": axes.figure, "plot": axes})
    return azp.PlotCollection(xr.Dataset(), xr.DataTree(viz), backend="matplotlib")


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "animals.png")
    X = np.array([[animal in having.split() for having in FEATURES.values()] for animal in ANIMALS], dtype=int)
    with build_model(X):
        idata = nrm.sample(1000, chains=4, random_seed=1)
    print(nrm.summary(idata).to_string(), "\n")

    estimate = nrm.stats.point_estimate(idata, random_seed=1)
    uncertainty = nrm.stats.assignment_uncertainty(idata, estimate)
    for k in range(int(estimate.n_clusters)):
        members = [animal for animal in ANIMALS if estimate.labels.sel(animal=animal) == k]
        print(f"cluster {k + 1}: {', '.join(members)}")
    unsure = uncertainty.sortby(uncertainty, ascending=False)[:3]
    print(f"least certain: {', '.join(unsure.animal.values)}")
    tree = nrm.trees.bhc(X, nrm.BernoulliBeta(0.5, 0.5), nrm.DirichletProcess(1.0), random_seed=1)
    agreement = nrm.stats.adjusted_rand(tree.labels, estimate.labels.values)
    print(f"the tree has {tree.labels.max() + 1} clusters; adjusted Rand index with the estimate {agreement:.2f}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(14, 6.6), layout="constrained", width_ratios=[1.05, 1])
    left.spines[["top", "right"]].set_visible(False)
    nrm.plots.plot_dendrogram(tree, names=ANIMALS, plot_collection=panel(left, "Bayesian hierarchical clustering"))
    pc = panel(right, "Probability of sharing a cluster")
    nrm.plots.plot_similarity(idata, estimate=estimate, plot_collection=pc)
    figure.savefig(path, dpi=90)
    print(f"Saved {path}")


if __name__ == "__main__":
    main()
