"""A sentence for users whose data do not tell clusters apart, so that the prior decides on their number."""

# Labels drawn given two Gaussians of equal weight agree by this much at 1.7 standard deviations between them; up to 2,
# their density has a single peak.  Draws from models of one Gaussian, or of two in 20 dimensions, agree by .01, of
# galaxies or two Gaussians 3 standard deviations apart by .35, of penguins by .85, of three clear groups by .95.
_LEAST_AGREEMENT = 0.2
# If a random pair of items is together in more than this share of draws, they are one cluster and few other items.
_ONE_CLUSTER = 0.9


def not_told_apart(name, n_clusters, pairs):
    """What to know and to do if draws hardly agree about who belongs together; empty if they do. ``pairs`` is what
    :func:`~pymc_nrm.stats.partition_convergence.partition_convergence` returns, ``n_clusters`` a mean over draws.
    """
    agreement = float(pairs.draw_agreement)
    if not agreement < _LEAST_AGREEMENT or pairs.probability.mean() > _ONE_CLUSTER:
        return ""
    return (
        f"The data hardly tell the clusters of {name} apart: two draws of a chain agree about which items share a "
        f"cluster with an adjusted Rand index of {agreement:.2f} (1 if equal, 0 by chance), so that their number, "
        f"{n_clusters:.3g} on average, says what the prior says. Use densities and predictions rather than clusters, "
        'or give clusters less freedom: see "When the data do not tell clusters apart" in the documentation, '
        "docs/how-to/read-the-diagnostics.md."
    )
