"""Published data, each in a file beside this one."""

from importlib.resources import files

import numpy as np

__all__ = ["galaxies"]


def galaxies():
    """Velocities of 82 galaxies in the Corona Borealis region, in km/s, in increasing order.

    Distant galaxies recede faster, so that gaps between the velocities show voids between groups of galaxies.

    Returns
    -------
    ndarray of float64, shape (82,)

    Notes
    -----
    Measured by Postman, Huchra & Geller (1986), "Probes of large-scale structure in the Corona Borealis region"; first
    used for mixtures by Roeder (1990), "Density estimation with confidence sets exemplified by superclusters and voids
    in the galaxies".  The 78th value is 26960, as in the first paper; copies of the data with 26690 have two digits
    exchanged.

    Examples
    --------
    >>> velocities = galaxies()
    >>> velocities.shape, velocities.min(), velocities.max()
    ((82,), np.float64(9172.0), np.float64(34279.0))
    """
    text = files(__package__).joinpath("galaxies.csv").read_text(encoding="utf-8")
    return np.array([float(line) for line in text.split()[1:]])
