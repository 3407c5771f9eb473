"""Distances of published samplers from enumerated posteriors, with what noise alone gives: tables of the paper.

``python -m tests.published.distances`` prints them and writes ``docs/paper/distances.json``, in some minutes.
"""

import json
import pathlib
import sys
from unittest import mock

import numpy as np

from pymc_nrm.testing import kernel_inputs, mean_and_error, total_variation
from tests.cases import MEASURES
from tests.nested import enumerated_posterior as nested
from tests.published import test_published, test_published_nested

ROOT = pathlib.Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "paper" / "distances.json"
# Concentrations of paths and weights of the nested sampler.
DEFAULT = {"ALPHA": nested.ALPHA, "GAMMAS": nested.GAMMAS}
EQUAL = {"ALPHA": np.array([0.3, 0.3]), "GAMMAS": np.array([1.0, 1.15, 1.15])}
CASES = ("3 items, depth 1", "4 items, depth 1", "4 items, depth 2")
NESTED = [(case, concentrations) for case in CASES for concentrations in (DEFAULT, EQUAL)]
FORMS = {
    "published": (test_published_nested.PUBLISHED, 0.01),
    "exact form": (test_published_nested.CORRECTED, np.inf),
}
DRAWS = 20_000
# Sets of the tree-guided sampler: counts in two dimensions.
COUNTS = ("4 items", "5 items")
# Numbers of items of simulated sets of six binary features, and of draws of each chain; depth 2.
LARGER = {10: 10_000, 30: 5_000, 100: 2_000}


def tree_guided(variation_of_noise):
    """Rows of the sampler of Lee & Choi (2015) and of its canonical form."""
    for case in COUNTS:
        for measure in MEASURES:
            partitions, p = test_published.posterior(measure, case)
            for form, options in (("published", {}), ("exact form", {"canonical": True})):
                if options and measure != "DP":
                    continue
                labels = test_published.draw(measure, case, **options)
                rows = {tuple(row): k for k, row in enumerate(partitions.tolist())}
                states = np.array([[rows[tuple(z)] for z in chain] for chain in labels.tolist()])
                yield {
                    "sampler": "tree-guided",
                    "case": case,
                    "measure": measure,
                    "form": form,
                    "variation": total_variation(np.bincount(states.ravel(), minlength=len(p)) / states.size, p),
                    "noise": variation_of_noise(states, len(p)),
                }


def nested_mixtures(variation_of_noise):
    """Rows of the sampler of Huang et al. (2020) and of its corrected form."""
    for case, concentrations in NESTED:
        with mock.patch.multiple(nested, **concentrations):
            nested.posterior.cache_clear()
            groups_of, law, of_values = test_published_nested.paths_and_components(case)
            for form, (repairs, truncation) in FORMS.items():
                draws = test_published_nested.draw("BernoulliBeta", case, repairs, truncation, DRAWS)
                states = groups_of(draws)
                found = np.bincount(states.ravel(), minlength=len(law)) / states.size
                yield {
                    "sampler": "nested",
                    "case": case,
                    "alpha": concentrations["ALPHA"].tolist(),
                    "gammas": concentrations["GAMMAS"].tolist(),
                    "form": form,
                    "variation": total_variation(found, law),
                    "noise": variation_of_noise(states, len(law)),
                    "components": float(found @ of_values),
                    "exact_components": float(law @ of_values),
                }
    nested.posterior.cache_clear()


def simulated(n):
    """Binary features of three groups of equal size, whose probabilities are 0.15 or 0.85."""
    rng = np.random.default_rng(n)
    probabilities = np.where(rng.random((3, 6)) < 0.5, 0.15, 0.85)
    return (rng.random((n, 6)) < probabilities[np.arange(n) % 3]).astype(np.int64)


def larger_sets():
    """Mean numbers of components of the sampler of Huang et al. (2020) and of its corrected form, on larger sets."""
    levels, gammas, _ = nested.law("4 items, depth 2")
    for n, n_draws in LARGER.items():
        family, data = kernel_inputs(nested.FAMILIES["BernoulliBeta"][0], simulated(n))
        for form, (repairs, truncation) in FORMS.items():
            start = np.zeros((n, 2 * len(gammas) - 1), dtype=np.int64)
            chains = [
                test_published_nested.published_chain(
                    rng, start, levels, gammas, family, data, repairs, truncation, n_draws
                )[n_draws // 10 :]
                for rng in np.random.default_rng(n).spawn(4)
            ]
            mean, error, _ = mean_and_error(np.array(chains)[:, :, :, -1].max(axis=2) + 1.0)
            yield {"sampler": "nested", "n": n, "form": form, "components": float(mean), "mcse": float(error)}


def main():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from common.noise import variation_of_noise

    rows = []
    for part in (nested_mixtures(variation_of_noise), larger_sets(), tree_guided(variation_of_noise)):
        for row in part:
            print(row, flush=True)
            rows.append(row)
    FIGURES.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
