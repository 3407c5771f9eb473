"""The picture of the documentation: rank ECDF differences of all models, steps and statistics."""

import numpy as np

from .chains import KEPT, STATISTICS
from .uniformity import band, distribution_function

# Colours of Okabe & Ito, which all readers can tell apart; dashes tell them apart in grey.
LOOKS = {
    "TreeGuided": {"color": "#0072B2", "linestyle": "-"},
    "SplitMerge": {"color": "#E69F00", "linestyle": "--"},
    "MarginalGibbs": {"color": "#CC79A7", "linestyle": "-."},
    "SliceSampler": {"color": "#009E73", "linestyle": ":"},
}


def draw(ranks, path):
    """Draw a panel for each family and statistic, with a line for each step, from ranks by family and step."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    kinds = list(dict.fromkeys(kind for kind, _ in ranks))
    shape = (len(kinds), len(STATISTICS))
    size = {"figsize": (1.75 * shape[1], 1.3 * shape[0] + 0.7), "layout": "constrained"}
    figure, axes = pyplot.subplots(*shape, sharex=True, sharey=True, squeeze=False, **size)
    for (kind, step), values in ranks.items():
        row = kinds.index(kind)
        share, lower, upper = band(len(values), KEPT + 1)
        for k, ax in enumerate(axes[row]):
            if step == next(s for other, s in ranks if other == kind):
                ax.fill_between(share, lower, upper, color="0.88", linewidth=0, step=None)
                ax.axhline(0.0, color="0.6", linewidth=0.6)
            difference = distribution_function(values[:, k], KEPT + 1) / len(values) - share
            ax.plot(share, difference, linewidth=1.2, label=step, **LOOKS[step])
    for ax, name in zip(axes[0], STATISTICS, strict=True):
        ax.set_title(name, fontsize=8)
    for ax, kind in zip(axes[:, 0], kinds, strict=True):
        ax.set_ylabel(kind, fontsize=8)
    for ax in axes.ravel():
        ax.tick_params(labelsize=7)
        ax.set_xticks([0.0, 0.5, 1.0])
    largest = max(np.abs(axes[0, 0].get_ylim()))
    axes[0, 0].set_ylim(-largest, largest)
    figure.supxlabel("rank of the truth among draws, as a share", fontsize=8)
    figure.supylabel("difference of distribution functions", fontsize=8)
    shown = [step for step in LOOKS if any(step == other for _, other in ranks)]
    handles = [pyplot.Line2D([], [], label=step, **LOOKS[step]) for step in shown]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(shown), fontsize=8, frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
