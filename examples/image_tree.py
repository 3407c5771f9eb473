"""Images: a tree over handwritten digits, with the mean image of every node.

Three hundred images of digits, 8 x 8 pixels, reduced to ten principal components.  Nothing says which digit an image
shows.  Node means diffuse from parents to children, as in the example of animals; the concentration parameter and the
step of the diffusion are learned.

The tree is that of least expected variation of information, level by level.  Nodes of fewer than six images are left
out; their images belong to the node above.  Every node shows the mean of its images.  Images in no further node share
a row, and the text says which digits they show, and how many of each.  Sixes and fours share a node, and so do the
threes, some fives and some nines.  Two draws seldom agree about every single image of a large node, so that exact
probabilities of most nodes are small; they are not written.

The paper of Huang, Laitonjam, Piao & Hurley (2020) has such a picture of Fashion-MNIST, which is not part of this
package.  With the option ``--fashion FOLDER`` the script draws it from the files ``train-images-idx3-ubyte.gz`` and
``train-labels-idx1-ubyte.gz`` in a folder, in the format of MNIST: four bytes whose last two are the type of the
entries, 8 for bytes, and the number of axes; the length of each axis as a big-endian integer of four bytes; and the
entries.

Run with ``python examples/image_tree.py [FILE.png]``.
"""

import argparse
import gzip
import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_nrm as nrm

DEPTH, N_COMPONENTS, N_ITEMS, MIN_SIZE = 3, 10, 300, 6
FASHION = {"images": "train-images-idx3-ubyte.gz", "labels": "train-labels-idx1-ubyte.gz"}
CLOTHES = ("T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")


def read_idx(path):
    """Array of bytes in a compressed file of the format of MNIST.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If its content has another format.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; download {' and '.join(FASHION.values())} of Fashion-MNIST")
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise ValueError(f"{path} is not compressed by gzip: {error}") from None
    n_axes = content[3] if len(content) > 3 else 0
    start = 4 + 4 * n_axes
    shape = np.frombuffer(content[4:start], ">u4") if len(content) >= start else []
    if content[:3] != b"\0\0\x08" or n_axes == 0 or len(content) - start != math.prod(map(int, shape)):
        raise ValueError(f"{path} must hold bytes in the format of MNIST; it begins with {content[:4].hex(' ')}")
    return np.frombuffer(content, "u1", offset=start).reshape(tuple(map(int, shape)))


def fashion(folder):
    """Images and classes of Fashion-MNIST, shapes (60000, 28, 28) and (60000,)."""
    images, labels = (read_idx(Path(folder, name)) for name in FASHION.values())
    if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels) or labels.max(initial=0) >= len(CLOTHES):
        raise ValueError(f"{folder} must hold images of ten classes; got shapes {images.shape} and {labels.shape}")
    return images / 255.0, np.array(CLOTHES)[labels]


def digits():
    """Images and classes of scikit-learn's digits, shapes (1797, 8, 8) and (1797,)."""
    from sklearn.datasets import load_digits

    found = load_digits()
    return found.images / 16.0, found.target.astype(str)


def principal_components(images):
    """Coordinates of images along their first principal components, shape (n, 10)."""
    X = images.reshape(len(images), -1)
    left, lengths, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    share = (lengths[:N_COMPONENTS] ** 2).sum() / (lengths**2).sum()
    print(f"{N_COMPONENTS} principal components hold {100 * share:.0f} % of the variance")
    return left[:, :N_COMPONENTS] * lengths[:N_COMPONENTS]


def diffusion_model(X):
    nu = N_COMPONENTS + 4
    Psi = 0.2 * (nu - N_COMPONENTS - 1) * np.diag(X.var(axis=0))
    with pm.Model() as model:
        alpha = pm.Gamma("alpha", 2, 2)
        tau = pm.LogNormal("tau", 1, 1)
        tree = nrm.nested.NestedPartition("tree", nrm.DirichletProcess(alpha), depth=DEPTH, n=len(X))
        nrm.Mixture("x", tree, nrm.nested.NormalDiffusion(np.zeros(N_COMPONENTS), tau, Psi, nu), observed=X)
    return model


def node_images(tree, images):
    """Mean image of each node but the root, scaled to its own darkest pixel."""
    means = {node: images[tree.positions(node)].mean(axis=0) for node in range(1, tree.n_nodes)}
    return {node: mean / mean.max() for node, mean in means.items()}


def parse():
    parser = argparse.ArgumentParser(description="A tree over images, with the mean image of every node.")
    parser.add_argument("picture", nargs="?", type=Path, default=Path("image_tree.png"))
    parser.add_argument("--fashion", metavar="FOLDER", help="folder with files of Fashion-MNIST, instead of digits")
    return parser.parse_args()


def main():
    options = parse()
    images, classes = fashion(options.fashion) if options.fashion else digits()
    some = np.sort(np.random.default_rng(1).choice(len(images), N_ITEMS, replace=False))
    images, classes = images[some], classes[some]
    with diffusion_model(principal_components(images)):
        idata = nrm.sample(400, tune=400, chains=2, random_seed=1)
    print(nrm.summary(idata).to_string(), "\n")
    estimate = nrm.nested.nested_point_estimate(idata, max_draws=100, n_restarts=2, random_seed=1)
    tree = estimate.pruned(MIN_SIZE)
    pc = nrm.nested.plots.plot_tree(
        tree, names=classes, images=node_images(tree, images), collapse=True, visuals={"probabilities": False}
    )
    pc.savefig(options.picture, dpi=90)
    plt.close("all")
    print(f"Saved {options.picture}")


if __name__ == "__main__":
    main()
