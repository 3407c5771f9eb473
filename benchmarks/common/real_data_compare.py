"""Compare priors of families on real data: from this folder's parent, ``python -m common.real_data_compare``.

For example ``python -m common.real_data_compare --families published scale_of_each --sets iris crabs``.
"""

import argparse
from functools import partial

import numpy as np

from common.part import markdown
from common.real_data_families import FAMILIES
from common.real_data_fits import adjusted_rand_index, brier_score, held_out
from common.real_data_ours import fit, fit_for_density
from common.real_data_sets import load_all, names

TITLES = (
    *("Set", "family", "ARI", "clusters", "posterior mean", "Brier"),
    *("held-out", "log joint", "CPU s", "R-hat"),
)


def compare(families, sets, *, draws=500, tune=500, chains=2, with_density=True, seed=1):
    """Fit sets under several priors, and print one table."""
    lines = []
    for name, data in load_all(sets).items():
        for label, family in families.items():
            found = fit(data, seed, family=family, draws=draws, tune=tune, chains=chains)
            ari = brier = None
            if data.classes is not None:
                ari = adjusted_rand_index(found.labels, data.classes)
                brier = brier_score(found.similarity, data.classes)
            density = None
            if with_density:
                method = partial(fit_for_density, family=family, draws=draws // 2, tune=tune // 2)
                density = held_out(data, method)
            n_clusters = len(np.unique(found.labels))
            about = found.about
            line = (name, label, ari, n_clusters, about["mean_clusters"], brier, density, about["log_joint"])
            lines.append((*line, found.seconds, about["rhat"]))
            print(dict(zip(TITLES, lines[-1], strict=True)), flush=True)
    print(markdown(TITLES, lines))
    return lines


def main():
    parser = argparse.ArgumentParser(description="Compare priors on real data.")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--sets", nargs="+", choices=names(), default=names("continuous", with_classes=True))
    for name, default in (("draws", 500), ("tune", 500), ("chains", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--without-density", action="store_true", help="no held-out densities")
    options = parser.parse_args()
    families = {name: FAMILIES[name] for name in options.families}
    lengths = {"draws": options.draws, "tune": options.tune, "chains": options.chains}
    compare(families, options.sets, with_density=not options.without_density, **lengths)


if __name__ == "__main__":
    main()
