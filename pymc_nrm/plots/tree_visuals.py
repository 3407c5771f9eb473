"""Visuals of trees over items: texts, names, pies and images at nodes."""

import numpy as np

__all__ = ["node_images", "only_below", "pies", "right_names", "summarise_names", "texts"]
# A row for several items names so many of them at most.
MAX_SHOWN = 3


def summarise_names(names):
    """The most frequent of some names, with their numbers if they repeat, as one text."""
    counts = dict.fromkeys(names, 0)
    for name in names:
        counts[name] += 1
    shown = sorted(counts, key=lambda name: -counts[name])[:MAX_SHOWN]
    repeated = max(counts.values()) > 1
    text = ", ".join(f"{name} ({counts[name]})" if repeated else name for name in shown)
    n_more = len(names) - sum(counts[name] for name in shown)
    return f"{text} and {n_more} more" if n_more else text


def texts(da, target, *, labels, **kwargs):
    """Visual: one text at each point."""
    from arviz_plots.plot_collection import backend_from_object

    backend = backend_from_object(target)
    drawn = np.empty(len(labels), dtype=object)
    for k, (x, y, label) in enumerate(zip(*da.values, labels, strict=True)):
        drawn[k] = backend.text(x, y, label, target, **kwargs)
    return drawn


def only_below(da, target):
    """Leave of the frame of a plot the x axis only; for matplotlib."""
    if not isinstance(target, list):
        target.spines[["left", "top", "right"]].set_visible(False)
        target.set_yticks([])


def right_names(da, target, *, values, labels, **kwargs):
    """Visual: names at the right end of the y axis, without ticks."""
    if isinstance(target, list):
        target.append({"function": "right_names", "values": values, "labels": labels, **kwargs})
        return target[-1]
    target.yaxis.tick_right()
    target.tick_params(axis="y", length=0)
    target.set_yticks(values)
    return target.set_yticklabels(labels, **kwargs)


def pies(da, target, *, shares, sizes, colors, **kwargs):
    """Visual: a pie at each point. Shapes: ``shares`` (m, K), ``sizes`` (m,); returns (m,)."""
    points = da.values.T
    drawn = np.empty(len(points), dtype=object)
    for k, (x, y) in enumerate(points):
        if isinstance(target, list):
            target.append({"function": "pie", "x": x, "y": y, "shares": shares[k], "size": sizes[k], **kwargs})
            drawn[k] = target[-1]
            continue
        drawn[k], ends = [], np.concatenate([[0.0], np.cumsum(shares[k])])
        for slice_, color in enumerate(colors[: shares.shape[1]]):
            if ends[slice_ + 1] - ends[slice_] < 1e-9:
                continue
            angle = np.pi / 2 - 2 * np.pi * np.linspace(ends[slice_], ends[slice_ + 1], 64)
            corners = np.column_stack([np.cos(angle), np.sin(angle)])
            if shares[k, slice_] < 1 - 1e-9:
                corners = np.concatenate([[[0.0, 0.0]], corners])
            # Markers are scaled to their largest coordinate.
            area = sizes[k] * np.abs(corners).max() ** 2
            drawn[k].append(target.scatter([x], [y], marker=corners, s=area, color=color, **kwargs))
    return drawn


def node_images(da, target, *, images, width, **kwargs):
    """Visual: an image at each point. Shapes: ``images`` (height, width) or (height, width, channels)."""
    drawn = np.empty(len(images), dtype=object)
    for k, ((x, y), image) in enumerate(zip(da.values.T, images, strict=True)):
        if isinstance(target, list):
            target.append({"function": "node_image", "x": x, "y": y, "image": image, **kwargs})
            drawn[k] = target[-1]
            continue
        from matplotlib.offsetbox import AnnotationBbox, OffsetImage

        inner = OffsetImage(image, zoom=width / max(np.shape(image)[:2]), **kwargs)
        drawn[k] = AnnotationBbox(inner, (x, y), pad=0.1, bboxprops={"linewidth": 0.6, "edgecolor": "#4d4d4d"})
        target.add_artist(drawn[k])
    return drawn
