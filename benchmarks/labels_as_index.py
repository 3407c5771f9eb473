"""Mixtures with any likelihood: labels that index parameters, against stick-breaking with labels summed out."""

import time
import warnings

import common  # noqa: F401
import numpy as np
from common.chains import first_draw, run_chain
from common.functionals import convergence
from common.part import Part, skipping
from common.slot_models import PROBLEMS, functionals, slot_model, stick_labels, stick_model
from common.slot_report import ALPHA, N_CHAINS, NUTPIE, PACKAGE, headline, table
from peers import nutpie_chain
from peers.stick_breaking import values_of
from pymc.step_methods import CompoundStep

import pymc_nrm as nrm

N_ITEMS, TUNE = 1000, 500


def package_chains(problem, n_slots, seconds):
    """Functionals of the draws of each chain, CPU seconds after tuning and of tuning, and those of compilation."""
    model = slot_model(problem, ALPHA, n_slots)
    start = time.perf_counter()
    with model:
        step = CompoundStep([nrm.SlotNUTS(), nrm.SlotGibbs([model["z"]])])
    point, state = model.initial_point(), step.sampling_state
    first_draw(step, point)
    compilation = time.perf_counter() - start
    chains = []
    for seed in range(N_CHAINS):
        chain = run_chain(step, state, point, np.random.default_rng(seed + 1), tune=TUNE, seconds=seconds)
        labels = [point["z"] for point in chain.points]
        drawn = [
            functionals(problem, z, values) for z, values in zip(labels, values_of(model, chain.points), strict=True)
        ]
        chains.append((drawn, chain.seconds[-1], chain.tuning_seconds))
    return chains, compilation


def nutpie_chains(problem, n_sticks, seconds):
    """The same with nutpie; labels are drawn afterwards for each draw, at no charge."""
    program, compilation = nutpie_chain.compiled(stick_model(problem, ALPHA, n_sticks))
    chains = []
    for seed in range(N_CHAINS):
        # Tuning takes as many draws; its seconds are not counted.
        points, spent, tuning, *_ = nutpie_chain.run(program, tune=TUNE, seconds=seconds, seed=seed + 1)
        rng = np.random.default_rng(100 + seed)
        drawn = [functionals(problem, stick_labels(problem, point, rng), point) for point in points]
        chains.append((drawn, spent, tuning))
    return chains, compilation


def measure(quick, note):
    warnings.filterwarnings("ignore", category=UserWarning)
    rows = []
    repeats = 1 if quick else 2
    for name, make in PROBLEMS.items():
        for repeat in range(repeats):
            problem = make(np.random.default_rng(repeat + 1), 200 if quick else N_ITEMS)
            for n_slots in (20,) if quick else (20, 60):
                seconds = (
                    {PACKAGE: 1.0, NUTPIE: 4.0} if quick else {PACKAGE: 8.0, NUTPIE: 30.0 if n_slots == 20 else 60.0}
                )
                for method, run in {PACKAGE: package_chains, NUTPIE: nutpie_chains}.items():
                    with skipping(method, note):
                        chains, compilation = run(problem, n_slots, seconds[method])
                        if any(len(drawn) < 10 for drawn, *_ in chains):
                            note(f"{method}, {name}, K = {n_slots}: tuning took the time given; no draws")
                            continue
                        rows.append(row(name, repeat, method, n_slots, chains, compilation))
                        print(rows[-1], flush=True)
    return rows


def row(name, repeat, method, n_slots, chains, compilation):
    found = convergence([np.array(drawn, dtype=float) for drawn, *_ in chains])
    shortest = min(len(drawn) for drawn, *_ in chains)
    seconds = sum(spent * shortest / len(drawn) for drawn, spent, _ in chains)
    values = {"problem": name, "repeat": repeat, "method": method, "n_slots": n_slots, "draws": shortest}
    values |= {"milliseconds": float(1e3 * seconds / (shortest * len(chains))), "compilation": compilation}
    values["tuning_seconds"] = float(sum(tuning for *_, tuning in chains))
    for j, functional in enumerate(("clusters", "log_likelihood", "largest")):
        values[functional] = float(found["mean"][j])
        values[f"rate_{functional}"] = float(np.nan_to_num(found["ess"][j] / seconds))
        values[f"r_hat_{functional}"] = float(np.nan_to_num(found["r_hat"][j], nan=9.0))
    return values


PART = Part("labels_as_index", measure, table, headline=headline)

if __name__ == "__main__":
    PART.main()
