"""Centres and covariances of clusters, and the ellipses that show them."""

import numpy as np
import xarray as xr

N_CORNERS = 73


def empirical_moments(values, labels, n_clusters):
    """Means and covariances of the items of each cluster, NaN for clusters of at most d complete items. Shapes:
    ``values`` (n, d), ``labels`` (n,); returns ``means`` (n_clusters, d), ``covariances`` (n_clusters, d, d).
    """
    d = values.shape[1]
    means, covariances = np.full((n_clusters, d), np.nan), np.full((n_clusters, d, d), np.nan)
    complete = np.isfinite(values).all(axis=1)
    for k in range(n_clusters):
        rows = values[complete & (labels == k)]
        if len(rows) > d:
            means[k], covariances[k] = rows.mean(axis=0), np.atleast_2d(np.cov(rows.T))
    return means, covariances


def component_moments(components, labels, n_clusters, n_features):
    """Posterior means of the components' mean and covariance, averaged over the items of each cluster. Shapes:
    ``labels`` (n,); returns ``means`` (n_clusters, d), ``covariances`` (n_clusters, d, d).
    """
    # Parameters of items, unlike those of clusters, can be averaged over draws with different partitions.
    if not isinstance(components, xr.Dataset):
        raise TypeError(f"components must be a Dataset from sample_cluster_parameters; got {type(components).__name__}")
    scale = next((name for name in ("item_covariance", "item_variance") if name in components), None)
    if scale is None or "item_mean" not in components:
        raise ValueError(
            "components must have item_mean and item_covariance or item_variance, from sample_cluster_parameters of a "
            f"normal family; got {', '.join(map(str, components.data_vars))}"
        )
    n, d = len(labels), n_features
    mean = components["item_mean"].mean(("chain", "draw")).values
    spread = components[scale].mean(("chain", "draw")).values
    full = scale == "item_covariance"
    if mean.shape[0] != n or mean.size != n * d or spread.size != n * d * (d if full else 1):
        raise ValueError(f"components must be those of {n} items and {d} features; got item_mean of shape {mean.shape}")
    mean = mean.reshape(n, d)
    spread = spread.reshape(n, d, d) if full else spread.reshape(n, d, 1) * np.eye(d)
    members = np.eye(n_clusters)[:, labels]
    members /= members.sum(axis=1, keepdims=True)
    return members @ mean, np.einsum("kn,nij->kij", members, spread)


def ellipse(mean, covariance, probability):
    """Boundary of the smallest region that has a given probability under a normal distribution in two dimensions. The
    line is closed; it is NaN if the covariance is NaN. Shapes: ``mean`` (2,), ``covariance`` (2, 2); returns (2, 73).
    """
    if not np.isfinite(covariance).all():
        return np.full((2, N_CORNERS), np.nan)
    angle = np.linspace(0.0, 2 * np.pi, N_CORNERS)
    values, vectors = np.linalg.eigh(covariance)
    circle = np.stack([np.cos(angle), np.sin(angle)]) * np.sqrt(-2.0 * np.log1p(-probability))
    return mean[:, None] + vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)


def ellipse_dataset(name, moments, n_clusters, pairs, probability):
    """Ellipses of all clusters in the plots of pairs of features. Dimensions are row, column, cluster, plot_axis and
    corner; ``moments`` gives means (K, 2) and covariances (K, 2, 2) of a pair. Shapes: ``pairs`` (rows, columns, 2).
    """
    lines = np.full((*pairs.shape[:2], n_clusters, 2, N_CORNERS), np.nan)
    for row, column in np.argwhere(pairs[:, :, 0] >= 0):
        for k, (mean, covariance) in enumerate(zip(*moments(pairs[row, column]), strict=True)):
            lines[row, column, k] = ellipse(mean, covariance, probability)
    dims = ("row", "column", "cluster", "plot_axis", "corner")
    coords = {"row": np.arange(len(pairs)), "column": np.arange(pairs.shape[1]), "plot_axis": ["x", "y"]}
    return xr.Dataset({name: (dims, lines)}, coords=coords)
