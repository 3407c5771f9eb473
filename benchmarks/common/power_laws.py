"""Fits of power laws to measurements, and their picture."""

import matplotlib.pyplot as plt
import numpy as np

# Okabe & Ito.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")
MARKERS = ("o", "s", "^", "D", "v")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def fit_power_law(x, y):
    """Fit a line to log y against log x by least squares."""
    log_x, log_y = np.log(x), np.log(y)
    centred = log_x - log_x.mean()
    exponent = centred @ log_y / (centred @ centred)
    intercept = log_y.mean() - exponent * log_x.mean()
    residuals = log_y - intercept - exponent * log_x
    error = np.sqrt(residuals @ residuals / (len(log_x) - 2) / (centred @ centred))
    return float(exponent), float(error), float(np.exp(intercept))


def exponent(row):
    """An exponent with its standard error, as text."""
    digits = 2 if row["error"] >= 0.01 else 3
    return f"{row['exponent']:.{digits}f} ± {row['error']:.{digits}f}"


def scaling_picture(rows, panels, folder, name="scaling_exponents.png"):
    """Points and fitted lines on logarithmic axes, with the exponents in the legends."""
    points = [row for row in rows if row["kind"] == "point"]
    shown = {key: labels for key, labels in panels.items() if any(_key(row) == key for row in points)}
    names = list(dict.fromkeys(row["what"] for row in points))
    n_columns = 2 if len(shown) > 3 else len(shown)
    n_rows = -(-len(shown) // n_columns)
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=(min(11, 4.5 * n_columns), 3.8 * n_rows), layout="constrained", squeeze=False
    )
    for axis, (key, (x_label, y_label)) in zip(axes.flat, shown.items(), strict=True):
        for k, what in enumerate(names):
            chosen = [row for row in points if _key(row) == key and row["what"] == what]
            if not chosen:
                continue
            x, y = np.array([row["value"] for row in chosen]), np.array([row["median"] for row in chosen])
            errors = [y - [row["least"] for row in chosen], [row["most"] for row in chosen] - y]
            fit = next((row for row in rows if row["kind"] == "fit" and _key(row) == key and row["what"] == what), None)
            label = what
            if fit:
                label += f": {exponent(fit)}"
                line = fit["factor"] * x ** fit["exponent"]
                axis.plot(x, line, color=COLORS[k], linestyle=LINES[k], linewidth=1.2)
            axis.errorbar(
                x, y, errors, color=COLORS[k], marker=MARKERS[k], linestyle="", label=label, markersize=5, capsize=2
            )
        axis.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
        ticks = sorted({row["value"] for row in points if _key(row) == key})
        if key[0] != "n" or len(ticks) <= 5:
            axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
            axis.set_xticks([], minor=True)
        axis.legend(
            fontsize=8,
            title="fitted exponents",
            title_fontsize=8,
            frameon=False,
            ncols=2,
            columnspacing=1.0,
            handletextpad=0.2,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
        )
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / name, dpi=120)
    plt.close(figure)
    return name


def _key(row):
    return row["against"], row["unit"]
