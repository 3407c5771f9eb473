"""Change points of series that people annotated: hidden states against published scores of change point methods."""

import json
import logging
import time

import arviz_stats
import numpy as np
from common.part import Part, columns, rows_to_keep, where
from common.segmentations import FOLDER, cover_score, f1_score, load_series, published_scores

import pymc_nrm as nrm

# Arguments of the recipe, the same for all series: its default, and one alternative.
MODELS = {"default": {}, "lags": {"lags": 1}}
PEERS = ("bocpd", "binseg", "zero")
TITLES = {
    "default": "`regime_model(series)`",
    "bocpd": "BOCPD, default",
    "binseg": "binary segmentation, default",
    "zero": "no change points",
}
SIZE, CHAINS = {"draws": 250, "tune": 250}, 2
# Published averages of BOCPD over the 32 real univariate series without gaps.
SCORES, PUBLISHED, N_PUBLISHED = {"f1": "F1", "cover": "cover"}, {"f1": 0.662, "cover": 0.594}, 32


def change_points(values, quick, **options):
    """Times at which the point estimate of the hidden states changes, its number of states, and R-hat of the number."""
    model = nrm.states.regime_model(values, **options)
    size = {key: number // 5 for key, number in SIZE.items()} if quick else SIZE
    idata = nrm.sample(**size, chains=CHAINS, cores=1, model=model, random_seed=1, progressbar=False)
    labels = nrm.point_estimate(idata, random_seed=1, progressbar=False)["labels"].to_numpy()
    changes = 1 + np.flatnonzero(np.diff(labels)) + options.get("lags", 0)
    r_hat = float(arviz_stats.rhat(idata.posterior["z_n_clusters"].values))
    return changes.tolist(), len(np.unique(labels)), r_hat if np.isfinite(r_hat) else None


def measure(quick, note, sets=None, methods=None):
    logging.disable(logging.WARNING)
    rows = [row for row in rows_to_keep("segmentation", quick, note, sets, methods) if row["method"] in MODELS]
    for series in sorted(load_series(note), key=lambda series: len(series.values))[:: 6 if quick else 1]:
        about = {"set": series.name, "n": len(series.values), "simulated": series.is_simulated}
        for method in methods or MODELS:
            if sets and series.name not in sets:
                continue
            if method == "lags" and np.isnan(series.values).any():
                note(f"{series.name} has gaps: no lags")
                continue
            begin = time.process_time()
            changes, n_states, r_hat = change_points(series.values, quick, **MODELS[method])
            seconds = time.process_time() - begin
            scores = {
                "f1": f1_score(changes, series.annotations),
                "cover": cover_score(changes, series.annotations, len(series.values)),
            }
            found = {"seconds": seconds, "states": n_states, "r_hat": r_hat, "changes": changes}
            rows.append(about | {"method": method} | scores | found)
            print(rows[-1], flush=True)
    return rows + published_rows(rows)


def published_rows(rows):
    """Published scores of other methods on the series of the rows."""
    published, found = published_scores(), {row["set"]: row for row in rows}
    return [
        {key: row[key] for key in ("set", "n", "simulated")}
        | {"method": method}
        | dict(zip(SCORES, scores, strict=True))
        for name, row in found.items()
        for method, scores in published[name].items()
        if scores[0] is not None
    ]


def compared(rows):
    """Rows of real series without gaps, which all methods have."""
    names = {row["set"] for row in where(rows, method="bocpd", simulated=False)}
    return [row for row in rows if row["set"] in names]


def averages(rows, method):
    """Mean F1 and cover of a method over series."""
    return {score: float(np.mean([row[score] for row in where(rows, method=method)])) for score in SCORES}


def differences(rows):
    """Difference of F1 of the default model from BOCPD, by series, from the worst."""
    peers = {row["set"]: row["f1"] for row in where(rows, method="bocpd")}
    found = {row["set"]: row["f1"] - peers[row["set"]] for row in where(rows, method="default")}
    return sorted(found.items(), key=lambda item: item[1])


def table(rows):
    real, simulated = compared(rows), where(rows, simulated=True)
    lines = []
    for method in ("default", *PEERS):
        line = {"": TITLES[method]}
        for kind, part in (("", real), (", simulated", simulated)):
            line |= {SCORES[score] + kind: mean for score, mean in averages(part, method).items() if part}
        lines.append(line)
    order = [f"{name} {gain:+.2f}" for name, gain in differences(real)]
    return (
        f"{len(order)} of the {N_PUBLISHED} real series of TCPDBench without gaps, on all of which BOCPD has F1 "
        f"{PUBLISHED['f1']} and cover {PUBLISHED['cover']} (van den Burg & Williams 2020), and "
        f"{len(where(simulated, method='default'))} simulated ones.  Scores of others are published ones of the same "
        "series.\n\n"
        + columns(lines, {title: title for title in lines[0]})
        + f"\nF1 of the default model minus that of BOCPD: {', '.join(order[:5])}; {', '.join(order[:-6:-1])}."
        + lagged(real)
    )


def lagged(rows):
    """A sentence about the model with lags, against others on the series where it was run."""
    names = {row["set"] for row in where(rows, method="lags")}
    if not names:
        return "\n"
    rows = [row for row in rows if row["set"] in names]
    said = {
        method: "{f1:.3f} and {cover:.3f}".format(**averages(rows, method)) for method in ("lags", "default", "bocpd")
    }
    return (
        f"  With `lags=1`, {len(names)} of these series have F1 and cover {said['lags']}; the default has "
        f"{said['default']} on them, BOCPD {said['bocpd']}.\n"
    )


def headline(rows):
    real = compared(rows)
    n = len(where(real, method="default"))
    ours, peer = averages(real, "default"), averages(real, "bocpd")
    return [
        (
            f"Segmentation: {title} of {n} real series of TCPDBench",
            f"{ours[score]:.3f}",
            f"BOCPD's {peer[score]:.3f}; {PUBLISHED[score]} on all {N_PUBLISHED}",
            ours[score] >= peer[score],
        )
        for score, title in SCORES.items()
    ]


MEANING = (
    "Worse than BOCPD, and than no change points at all: regimes are not change points.  A regime has one level and "
    "may return: a trend becomes a staircase of regimes, seasons alternate between two, and chains disagree about the "
    "steps of long trends.  Where levels jump (Nile, debt, rail lines, well log), F1 is near that of BOCPD or above."
)
OPTIONS = {"sets": tuple(json.loads((FOLDER / "annotations.json").read_text())), "methods": tuple(MODELS)}
PART = Part(
    "segmentation",
    measure,
    table,
    headline=headline,
    options=OPTIONS,
    meaning=MEANING,
    peers=("published scores of TCPDBench",),
)
