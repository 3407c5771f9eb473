"""What all pictures share: colours for all kinds of colour vision, axes, files."""

from contextlib import contextmanager

import matplotlib.pyplot as plt

# Okabe & Ito.
BLACK, ORANGE, SKY, GREEN, PINK, BLUE, RED, GREY = (
    *("#000000", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#999999"),
)
COLORS = (BLACK, ORANGE, SKY, GREEN, PINK, BLUE, GREY)
LINES = ("-", "--", "-.", ":")
MARKERS = "osD^v<>P"


@contextmanager
def picture(path, n_rows=1, n_columns=1, dpi=120, **options):
    """A figure and its axes, which are saved without frames."""
    figure, axes = plt.subplots(n_rows, n_columns, layout="constrained", **options)
    yield figure, axes
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=dpi)
    plt.close(figure)


def legend(figure, axis, **options):
    """One legend below all panels, of what one of them shows."""
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", **options)
