"""``python -m tests.calibration``: calibrate all models and steps, print p-values, and draw the picture of the docs."""

import argparse
import pathlib
import time

import numpy as np

import pymc_nrm as nrm

from .chains import KEPT, STATISTICS, Calibration
from .models import FAMILIES, make_model
from .picture import LOOKS, draw
from .uniformity import p_value


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.calibration", description=__doc__)
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--steps", nargs="+", choices=list(LOOKS), default=list(LOOKS))
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=pathlib.Path, default=pathlib.Path("ranks"), help="folder that keeps the ranks")
    parser.add_argument("--picture", type=pathlib.Path, help="file for the picture, of all ranks in the folder")
    given = parser.parse_args()
    given.ranks.mkdir(exist_ok=True)
    for kind in given.families:
        calibration = None
        for step in given.steps:
            file = given.ranks / f"{kind}-{step}-{given.replications}-{given.seed}.npy"
            if not file.exists():
                calibration = calibration or Calibration(make_model(kind))
                start = time.perf_counter()
                ranks, thin = calibration.ranks(getattr(nrm.steps, step), given.replications, given.seed)
                np.save(file, ranks)
                print(f"{kind}, {step}: every draw of {thin} kept, {time.perf_counter() - start:.0f} s")
            ranks = np.load(file)
            values = [f"{name} {p_value(ranks[:, k], KEPT + 1):.3f}" for k, name in enumerate(STATISTICS)]
            print(f"{kind}, {step}, p-values: {', '.join(values)}", flush=True)
    if given.picture is not None:
        found = {
            (kind, step): np.load(file)
            for kind in FAMILIES
            for step in LOOKS
            if (file := given.ranks / f"{kind}-{step}-{given.replications}-{given.seed}.npy").exists()
        }
        draw(found, given.picture)


if __name__ == "__main__":
    main()
